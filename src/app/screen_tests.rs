//! The real loop on a terminal without a device and an engine that only says what it is told to, in virtual time. What is
//! counted are frames and wake-ups of the loop's own task.

use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use tempfile::TempDir;
use tokio::task::{JoinHandle, LocalSet};

use super::*;
use crate::base::keys::{Chord, Key};
use crate::base::{TaskId, text};
use crate::engine::command::{Command, Outcome};
use crate::engine::feed::{Feed, Watcher};
use crate::engine::handle::{Pages, Port};
use crate::engine::json_port::JsonPort;
use crate::engine::query::{Answer, Query};
use crate::engine::snapshot::{Snapshot, TaskView};
use crate::engine::staged::staged;
use crate::engine::update::{Notice, Update};
use crate::git::Worktrees;
use crate::git::fresh::{self, Author};
use crate::model::event::Event;
use crate::model::live::Activity;
use crate::model::task::{Status, TaskNode};
use crate::model::{Ask, AskKind, Live};
use crate::term::Staged;
use crate::ui::testing;

/// The time of day as the runtime's clock has it, so that both stand still together.
struct VirtualClock(Instant);

impl Clock for VirtualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(1_794_808_920_000).later(self.0.elapsed())
    }
}

/// A future that counts how often it was woken.
struct Counted<F> {
    future: F,
    polls: Arc<AtomicUsize>,
}

impl<F: Future + Unpin> Future for Counted<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        self.polls.fetch_add(1, Ordering::Relaxed);
        pin!(&mut self.future).poll(cx)
    }
}

/// Reaches another port, and counts what it has not answered yet.
struct Counting {
    handle: Handle,
    open: Arc<AtomicUsize>,
}

/// Counts down when a question is answered or given up.
struct Closing(Arc<AtomicUsize>);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Counting {
    async fn count<T>(&self, answer: impl Future<Output = T>) -> T {
        self.open.fetch_add(1, Ordering::Relaxed);
        let _closing = Closing(Arc::clone(&self.open));
        answer.await
    }
}

impl Port for Counting {
    fn command(&self, command: Command) -> BoxFuture<'_, Result<Outcome, Fault>> {
        self.count(self.handle.command(command)).boxed()
    }

    fn query(&self, query: Query) -> BoxFuture<'_, Result<Answer, Fault>> {
        self.count(self.handle.query(query)).boxed()
    }

    fn session(&self, task: TaskId) -> Pages {
        self.handle.session(task)
    }

    fn look(&self) -> BoxFuture<'_, Result<(Snapshot, Watcher), Fault>> {
        self.handle.look().boxed()
    }

    fn ended(&self) -> BoxFuture<'_, ()> {
        self.handle.ended().boxed()
    }
}

/// The program, with a person in front of it and somebody who plays the engine.
struct Play {
    person: Staged,
    feed: Arc<Feed>,
    polls: Arc<AtomicUsize>,
    /// How many questions the engine has not answered.
    open: Arc<AtomicUsize>,
    ended: JoinHandle<Result<End, Fault>>,
    _folder: TempDir,
}

/// A terminal that was taken over, with a person in front of it, and an engine that will say `snapshot`.
struct Stage {
    opened: Opened,
    handle: Handle,
    person: Staged,
    feed: Arc<Feed>,
    folder: TempDir,
    /// Where the engine reads sessions.
    sessions: std::path::PathBuf,
}

impl Stage {
    async fn new(snapshot: Snapshot) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().join("calc");
        std::fs::create_dir(&top).unwrap();
        std::fs::write(top.join("README.md"), "# calc\n").unwrap();
        fresh::make(&top, "main", Author { name: "test", email: "test@localhost" }, "start").unwrap();
        let home = Home::locate(Some(folder.path().join("data").as_os_str()), None, None).unwrap();
        let clock = Arc::new(VirtualClock(Instant::now()));
        let project = Project {
            id: snapshot.project.id,
            name: snapshot.project.name.clone(),
            path: top,
            base_branch: "main".to_owned(),
            created_at: clock.now(),
            former: Vec::new(),
            extra: serde_json::Map::new(),
        };
        let worktrees = Worktrees::open(&project.path, &home.project(project.id).worktrees(), None).await.unwrap();
        let (handle, feed) = staged(snapshot, worktrees, &home, &project, clock.clone());
        let sessions = home.project(project.id).sessions();
        let options = Options {
            home,
            project,
            keys: std::collections::BTreeMap::new(),
            key_places: std::collections::BTreeMap::new(),
            settings: ui::Settings::default(),
            notify: Notify { desktop: false, bell: false, command: None },
            ids: IdSource::new(clock.clone()),
            clock,
            zone: TimeZone::UTC,
            greeting: Vec::new(),
            suggestion: None,
        };
        let (terminal, person) = Terminal::staged(120, 40);
        let opened = Opened::over(terminal, options);
        Self { opened, handle, person, feed, folder, sessions }
    }

    /// Lets the engine stand, and waits until everything is drawn.
    async fn play(self) -> Play {
        let Self { opened, handle, person, feed, folder, .. } = self;
        let polls = Arc::new(AtomicUsize::new(0));
        let open = Arc::new(AtomicUsize::new(0));
        let handle = Handle::new(Counting { handle, open: Arc::clone(&open) });
        let counted = Counted { future: Box::pin(opened.run(handle)), polls: Arc::clone(&polls) };
        let ended = tokio::task::spawn_local(counted);
        let play = Play { person, feed, polls, open, ended, _folder: folder };
        play.settle().await;
        assert!(play.person.count() > 0, "the first frame was drawn");
        play
    }
}

impl Play {
    /// Opens the screen on `snapshot` and waits until it has drawn what there is.
    async fn open(snapshot: Snapshot) -> Self {
        Stage::new(snapshot).await.play().await
    }

    /// Lets time pass until nothing has been drawn for a while.
    async fn settle(&self) {
        loop {
            let before = (self.person.count(), self.polls.load(Ordering::Relaxed));
            // Files are read on other threads, which virtual time does not wait for.
            for _ in 0..20 {
                tokio::task::spawn_blocking(|| std::thread::sleep(Duration::from_millis(1))).await.unwrap();
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
            let unchanged = before == (self.person.count(), self.polls.load(Ordering::Relaxed));
            if unchanged && before.0 > 0 && self.open.load(Ordering::Relaxed) == 0 {
                return;
            }
        }
    }

    async fn press(&self, keys: &str) {
        let chord: Chord = keys.parse().unwrap();
        for key in chord.keys() {
            self.person.does(Input::Key(*key)).await;
        }
    }

    /// Returns what the terminal shows after its first `frames` frames.
    fn shown(&self, frames: usize) -> String {
        shown(&self.person, frames)
    }

    async fn quit(self) {
        self.press("ctrl-q").await;
        assert_eq!(self.ended.await.unwrap().unwrap(), End::Quit);
    }
}

/// Returns what the terminal of `person` shows after its first `frames` frames.
fn shown(person: &Staged, frames: usize) -> String {
    let cells = |count| std::num::NonZeroU16::new(count).unwrap();
    let mut terminal = vt100::Parser::new(cells(40), cells(120), 0);
    person.frames().iter().take(frames).for_each(|(_, bytes)| terminal.process(bytes));
    terminal.screen().contents()
}

/// Runs `play` where time passes only when nobody has anything to do.
fn in_virtual_time<T>(play: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    LocalSet::new().block_on(&runtime, play)
}

/// A project in which nobody works: some are done, one sleeps, one asks.
fn quiet() -> Snapshot {
    let mut snapshot = testing::snapshot();
    for task in &mut snapshot.tasks {
        task.activity = if task.asks.is_empty() { Activity::Idle } else { Activity::Waiting };
        task.since = None;
    }
    snapshot
}

/// A project with twenty agents that write.
fn busy() -> Snapshot {
    let mut snapshot = testing::snapshot();
    snapshot.tasks.truncate(1);
    let at = Timestamp::from_millis(1_794_808_920_000);
    let ids: Vec<_> = (100..120).map(testing::task).collect();
    snapshot.tasks[0].node.children.clone_from(&ids);
    for (id, number) in ids.into_iter().zip(1..) {
        let mut node = TaskNode::new(id, format!("agent {number}"), "worker", at);
        node.parent = Some(snapshot.root);
        node.status = Status::InProgress;
        snapshot.tasks.push(TaskView {
            activity: Activity::Streaming,
            since: Some(at),
            alive: true,
            ..TaskView::of(node)
        });
    }
    snapshot
}

#[test]
fn a_minute_in_which_nothing_happens_draws_nothing_and_wakes_nobody() {
    in_virtual_time(async {
        let play = Play::open(quiet()).await;
        let before = (play.person.count(), play.polls.load(Ordering::Relaxed));
        tokio::time::sleep(Duration::from_secs(60)).await;
        let after = (play.person.count(), play.polls.load(Ordering::Relaxed));
        assert_eq!(before, after, "frames and wake-ups in a minute");
        assert!(play.shown(usize::MAX).contains("asks you"), "there was something to look at");
        play.quit().await;
    });
}

#[test]
fn keys_typed_while_the_engine_opens_are_not_lost() {
    in_virtual_time(async {
        let stage = Stage::new(quiet()).await;
        stage.person.does(Input::Paste("too early".to_owned())).await;
        let play = stage.play().await;
        let now = play.shown(usize::MAX);
        assert!(now.contains("too early"), "{now}");
        play.quit().await;
    });
}

#[test]
fn an_engine_that_takes_long_to_open_is_announced() {
    in_virtual_time(async {
        let mut stage = Stage::new(quiet()).await;
        stage.opened.until("Opening calc", tokio::time::sleep(Duration::from_millis(100))).await;
        assert_eq!(stage.person.count(), 0, "a short wait draws nothing");
        stage.opened.until("Opening calc", tokio::time::sleep(Duration::from_secs(2))).await;
        let words = shown(&stage.person, 1);
        assert!(words.contains("Opening calc"), "{words}");
        let play = stage.play().await;
        assert!(!play.shown(usize::MAX).contains("Opening calc"), "the project took its place");
        play.quit().await;
    });
}

#[test]
fn an_agent_at_work_costs_one_frame_a_second_for_its_clock() {
    in_virtual_time(async {
        let play = Play::open(busy()).await;
        let before = play.person.count();
        tokio::time::sleep(Duration::from_secs(60)).await;
        let drawn = play.person.count() - before;
        assert!((59..=61).contains(&drawn), "{}", text::count(drawn, "frame", "frames"));
        play.press("ctrl-q y").await;
        assert_eq!(play.ended.await.unwrap().unwrap(), End::Quit);
    });
}

#[test]
fn twenty_agents_that_stream_five_thousand_pieces_each_cost_at_most_thirty_frames_a_second() {
    const AGENTS: u128 = 20;
    const PIECES: u32 = 5_000;
    in_virtual_time(async {
        let play = Play::open(busy()).await;
        // The one that is looked at is among those that write.
        play.press("ctrl-down").await;
        play.settle().await;
        let (start, before) = (Instant::now(), play.person.count());
        for number in 0..PIECES {
            for agent in 0..AGENTS {
                let text = if number + 1 == PIECES { " the-end".to_owned() } else { format!("word{number} ") };
                play.feed.tell(&Update::Live { task: testing::task(100 + agent), live: Live::TextDelta { text } });
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        let frames: Vec<_> = play.person.frames().split_off(before).iter().map(|(at, _)| *at).collect();
        assert!(frames.len() > 200, "it is shown as it comes: {} frames", frames.len());
        for (first, at) in frames.iter().enumerate() {
            let within = frames[first..].iter().take_while(|later| **later - *at < Duration::from_secs(1)).count();
            assert!(within <= 30, "{within} frames in the second that begins {:?} in", *at - start);
        }
        assert!(play.shown(usize::MAX).contains("the-end"), "nothing of it was lost");
        play.press("ctrl-q y").await;
        assert_eq!(play.ended.await.unwrap().unwrap(), End::Quit);
    });
}

#[test]
fn a_key_is_in_the_next_frame_however_much_is_streamed() {
    in_virtual_time(async {
        let play = Play::open(busy()).await;
        let flood = |from: u32| {
            for agent in 0..20 {
                let live = Live::TextDelta { text: format!("word{from} ") };
                play.feed.tell(&Update::Live { task: testing::task(100 + agent), live });
            }
        };
        let mut typed = String::new();
        for (letter, from) in ('a'..='z').zip(0..) {
            // At any distance from the last frame of the engine.
            for number in 0..from {
                flood(number);
                tokio::time::sleep(Duration::from_millis(3)).await;
            }
            flood(from);
            typed.push(letter);
            let (before, pressed) = (play.person.count(), Instant::now());
            play.person.does(Input::Key(Key::char(letter))).await;
            while play.person.count() == before {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            let (drawn, _) = play.person.frames()[before];
            assert!(drawn - pressed <= Duration::from_millis(8), "{letter} waited for {:?}", drawn - pressed);
            assert!(play.shown(before + 1).contains(&typed), "{letter} is in the next frame");
        }
        play.press("ctrl-q y").await;
        assert_eq!(play.ended.await.unwrap().unwrap(), End::Quit);
    });
}

#[test]
fn a_question_that_comes_while_one_types_takes_neither_the_keys_nor_the_place() {
    in_virtual_time(async {
        let mut snapshot = quiet();
        let asking = snapshot.tasks.iter().position(|task| !task.asks.is_empty()).unwrap();
        let question: Ask = snapshot.tasks[asking].asks.remove(0);
        assert_eq!(question.kind(), AskKind::Clarify);
        let play = Play::open(snapshot.clone()).await;
        play.press("h e l l o").await;
        let mut task = snapshot.tasks[asking].clone();
        task.asks.push(question);
        play.feed.tell(&Update::Task { task: Box::new(task) });
        play.settle().await;
        play.press("1 2").await;
        play.settle().await;
        let shown = play.shown(usize::MAX);
        assert!(shown.contains("hello12"), "{shown}");
        assert!(shown.contains("1 asks you"), "{shown}");
        play.quit().await;
    });
}

/// Lays a session of the fixture and an uncommitted change where the staged engine reads them.
fn lay_out_work(stage: &Stage) {
    let sessions = &stage.sessions;
    std::fs::create_dir_all(sessions).unwrap();
    let task = testing::Ids::default().login;
    let mut before = None;
    let lines = testing::events(task).into_iter().map(|event| {
        let event = Event { parent: before.replace(event.id), ..event };
        serde_json::to_string(&event).unwrap() + "\n"
    });
    let lines: String = lines.collect();
    std::fs::write(sessions.join(crate::store::session::file_name(task)), lines).unwrap();
    std::fs::write(stage.folder.path().join("calc/README.md"), "# calc\n\nAdds numbers.\n").unwrap();
}

/// Uses every kind of query, command and update that the screen knows how to make, and returns what it showed on the way.
async fn tour(through_json: bool) -> Vec<String> {
    let mut stage = Stage::new(quiet()).await;
    lay_out_work(&stage);
    if through_json {
        stage.handle = Handle::new(JsonPort(stage.handle));
    }
    let play = stage.play().await;
    let ids = testing::Ids::default();
    let mut shown = Vec::new();
    let steps = [
        "ctrl-down",
        "ctrl-down",
        "esc",
        "d",
        "j",
        "space",
        "1",
        "/",
        "esc",
        "S",
        "t",
        "t",
        "l",
        "esc",
        "g",
        "r",
        "esc",
        "m",
        "esc",
        "i",
        "@",
        "R",
        "E",
        "esc",
        "ctrl-p",
        "esc",
    ];
    for step in steps {
        play.press(step).await;
        play.settle().await;
        shown.push(play.shown(usize::MAX));
    }
    let mut view = quiet().task(ids.login).unwrap().clone();
    view.node.title = "renamed by the engine".to_owned();
    play.feed.tell(&Update::Task { task: Box::new(view) });
    for event in testing::story() {
        play.feed.tell(&Update::Event { task: ids.login, event: Arc::new(event) });
    }
    play.feed.tell(&Update::Live { task: ids.login, live: Live::TextDelta { text: "still *writing*".to_owned() } });
    let notice = Notice { level: Level::Warning, text: "careful".to_owned(), task: Some(ids.login) };
    play.feed.tell(&Update::Notice { notice });
    play.settle().await;
    shown.push(play.shown(usize::MAX));
    play.feed.tell(&Update::Resync);
    play.settle().await;
    shown.push(play.shown(usize::MAX));
    play.press("ctrl-q").await;
    shown
}

/// Returns a screen without how long ago things were: how much virtual time passes depends on how long real files take.
fn without_ages(screen: &str) -> String {
    let parts =
        screen.split(" s ago").map(|part| part.trim_end_matches(|char: char| char.is_ascii_digit() || char == ' '));
    parts.collect::<Vec<_>>().join(" … ago")
}

#[test]
fn a_screen_that_reaches_its_engine_through_json_shows_the_same() {
    let plain = in_virtual_time(tour(false));
    let json = in_virtual_time(tour(true));
    for (step, (plain, json)) in plain.iter().zip(&json).enumerate() {
        assert_eq!(without_ages(plain), without_ages(json), "after step {step}");
    }
    let all = plain.concat();
    for words in ["Adds numbers", "session store", "renamed by the engine", "careful"] {
        assert!(all.contains(words), "the tour showed {words:?}");
    }
}
