//! Tests of the real loop with a fake terminal and a fake engine, in virtual time. They count frames and wake-ups of
//! the loop's task.

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
use crate::engine::fake::fake_engine;
use crate::engine::feed::{Feed, SnapshotSlot, Watcher};
use crate::engine::handle::{Pages, Port};
use crate::engine::json_port::JsonPort;
use crate::engine::query::{Query, QueryAnswer};
use crate::engine::snapshot::{Snapshot, TaskView};
use crate::engine::update::{EngineEnd, Notice, Update};
use crate::git::Worktrees;
use crate::git::init::{self, Author};
use crate::model::event::Event;
use crate::model::live::Activity;
use crate::model::task::{Status, TaskNode};
use crate::model::{Ask, AskKind, Live};
use crate::term::FakeUser;
use crate::ui::testing;

/// A clock that follows the runtime's virtual time.
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

/// Forwards to another port, and counts open requests.
struct Counting {
    handle: Handle,
    open: Arc<AtomicUsize>,
}

/// Decrements the counter when a request is answered or dropped.
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

    fn query(&self, query: Query) -> BoxFuture<'_, Result<QueryAnswer, Fault>> {
        self.count(self.handle.query(query)).boxed()
    }

    fn session(&self, task: TaskId) -> Pages {
        self.handle.session(task)
    }

    fn subscribe(&self) -> BoxFuture<'_, Result<(Snapshot, Watcher), Fault>> {
        self.handle.subscribe().boxed()
    }

    fn add_snapshot(&self, _slot: SnapshotSlot) -> BoxFuture<'_, Result<(), Fault>> {
        async { Err(Fault::internal("no screen asks for this")) }.boxed()
    }

    fn ended(&self) -> BoxFuture<'_, EngineEnd> {
        self.handle.ended().boxed()
    }
}

/// The running UI with a fake user and a fake engine.
struct RunningScreen {
    user: FakeUser,
    feed: Arc<Feed>,
    polls: Arc<AtomicUsize>,
    /// Number of open requests.
    open: Arc<AtomicUsize>,
    ended: JoinHandle<Result<End, Fault>>,
    _folder: TempDir,
}

/// The UI before it runs, with a fake user, and an engine that returns `snapshot`.
struct Fixture {
    opened: StartingScreen,
    handle: Handle,
    user: FakeUser,
    feed: Arc<Feed>,
    folder: TempDir,
    /// The engine's folder with sessions.
    sessions: std::path::PathBuf,
}

impl Fixture {
    async fn new(snapshot: Snapshot) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().join("calc");
        std::fs::create_dir(&top).unwrap();
        std::fs::write(top.join("README.md"), "# calc\n").unwrap();
        init::make(&top, "main", Author { name: "test", email: "test@localhost" }, "start").unwrap();
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
        let (handle, feed) = fake_engine(snapshot, worktrees, &home, &project, clock.clone());
        let sessions = home.project(project.id).sessions();
        let options = Options {
            home,
            project,
            keys: std::collections::BTreeMap::new(),
            key_places: std::collections::BTreeMap::new(),
            settings: ui::Settings::default(),
            client_name: "maria".to_owned(),
            hosts: Vec::new(),
            host: None,
            notify: Notify { desktop: false, bell: false, command: None },
            ids: IdSource::new(clock.clone()),
            clock,
            zone: TimeZone::UTC,
            greeting: Vec::new(),
            suggestion: None,
        };
        let (terminal, user) = Terminal::fake(120, 40);
        let opened = StartingScreen::over(terminal, options);
        Self { opened, handle, user, feed, folder, sessions }
    }

    /// Starts the loop, and waits until everything is drawn.
    async fn run(self) -> RunningScreen {
        let Self { opened, handle, user, feed, folder, .. } = self;
        let polls = Arc::new(AtomicUsize::new(0));
        let open = Arc::new(AtomicUsize::new(0));
        let handle = Handle::new(Counting { handle, open: Arc::clone(&open) });
        let counted = Counted { future: Box::pin(opened.run(handle)), polls: Arc::clone(&polls) };
        let ended = tokio::task::spawn_local(counted);
        let screen = RunningScreen { user, feed, polls, open, ended, _folder: folder };
        screen.settle().await;
        assert!(screen.user.count() > 0, "the first frame was drawn");
        screen
    }
}

impl RunningScreen {
    /// Opens the UI on `snapshot` and waits until everything is drawn.
    async fn open(snapshot: Snapshot) -> Self {
        Fixture::new(snapshot).await.run().await
    }

    /// Lets time pass until nothing has been drawn for a while.
    async fn settle(&self) {
        loop {
            let before = (self.user.count(), self.polls.load(Ordering::Relaxed));
            // Files are read on other threads, which virtual time does not wait for.
            for _ in 0..20 {
                tokio::task::spawn_blocking(|| std::thread::sleep(Duration::from_millis(1))).await.unwrap();
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
            let unchanged = before == (self.user.count(), self.polls.load(Ordering::Relaxed));
            if unchanged && before.0 > 0 && self.open.load(Ordering::Relaxed) == 0 {
                return;
            }
        }
    }

    async fn press(&self, keys: &str) {
        let chord: Chord = keys.parse().unwrap();
        for key in chord.keys() {
            self.user.send_input(Input::Key(*key)).await;
        }
    }

    /// Returns the content of the terminal after the first `frames` frames.
    fn shown(&self, frames: usize) -> String {
        shown(&self.user, frames)
    }

    async fn quit(self) {
        self.press("ctrl-q").await;
        assert_eq!(self.ended.await.unwrap().unwrap(), End::Quit);
    }
}

/// Returns the content of the fake terminal after the first `frames` frames.
fn shown(user: &FakeUser, frames: usize) -> String {
    let cells = |count| std::num::NonZeroU16::new(count).unwrap();
    let mut terminal = vt100::Parser::new(cells(40), cells(120), 0);
    user.frames().iter().take(frames).for_each(|(_, bytes)| terminal.process(bytes));
    terminal.screen().contents()
}

/// Runs `work` in virtual time, which passes only while all tasks are idle.
fn in_virtual_time<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    LocalSet::new().block_on(&runtime, work)
}

/// A project without a running agent: some tasks are done, one is idle, one asks.
fn quiet() -> Snapshot {
    let mut snapshot = testing::snapshot();
    for task in &mut snapshot.tasks {
        task.activity = if task.asks.is_empty() { Activity::Idle } else { Activity::Waiting };
        task.since = None;
    }
    snapshot
}

/// A project with twenty streaming agents.
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
fn an_idle_minute_draws_nothing_and_causes_no_wakeups() {
    in_virtual_time(async {
        let screen = RunningScreen::open(quiet()).await;
        let before = (screen.user.count(), screen.polls.load(Ordering::Relaxed));
        tokio::time::sleep(Duration::from_secs(60)).await;
        let after = (screen.user.count(), screen.polls.load(Ordering::Relaxed));
        assert_eq!(before, after, "frames and wake-ups in a minute");
        assert!(screen.shown(usize::MAX).contains(" question"), "there was something to look at");
        screen.quit().await;
    });
}

#[test]
fn keys_typed_while_the_engine_opens_are_not_lost() {
    in_virtual_time(async {
        let fixture = Fixture::new(quiet()).await;
        fixture.user.send_input(Input::Paste("too early".to_owned())).await;
        let screen = fixture.run().await;
        let now = screen.shown(usize::MAX);
        assert!(now.contains("too early"), "{now}");
        screen.quit().await;
    });
}

#[test]
fn a_slow_start_shows_a_splash_screen() {
    in_virtual_time(async {
        let mut fixture = Fixture::new(quiet()).await;
        fixture.opened.until("Opening calc", tokio::time::sleep(Duration::from_millis(100))).await;
        assert_eq!(fixture.user.count(), 0, "a short wait draws nothing");
        fixture.opened.until("Opening calc", tokio::time::sleep(Duration::from_secs(2))).await;
        let words = shown(&fixture.user, 1);
        assert!(words.contains("Opening calc"), "{words}");
        let screen = fixture.run().await;
        assert!(!screen.shown(usize::MAX).contains("Opening calc"), "the project took its place");
        screen.quit().await;
    });
}

#[test]
fn a_running_agent_costs_four_frames_a_second_for_its_spinner() {
    in_virtual_time(async {
        let screen = RunningScreen::open(busy()).await;
        let before = screen.user.count();
        tokio::time::sleep(Duration::from_secs(60)).await;
        let drawn = screen.user.count() - before;
        assert!((238..=242).contains(&drawn), "{}", text::count(drawn, "frame", "frames"));
        screen.press("ctrl-q y").await;
        assert_eq!(screen.ended.await.unwrap().unwrap(), End::Quit);
    });
}

#[test]
fn twenty_streaming_agents_cost_at_most_thirty_frames_a_second() {
    const AGENTS: u128 = 20;
    const PIECES: u32 = 5_000;
    in_virtual_time(async {
        let screen = RunningScreen::open(busy()).await;
        // The selected task is one of the streaming ones.
        screen.press("ctrl-down").await;
        screen.settle().await;
        let (start, before) = (Instant::now(), screen.user.count());
        for number in 0..PIECES {
            for agent in 0..AGENTS {
                let text = if number + 1 == PIECES { " the-end".to_owned() } else { format!("word{number} ") };
                screen.feed.publish(&Update::Live { task: testing::task(100 + agent), live: Live::TextDelta { text } });
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        let frames: Vec<_> = screen.user.frames().split_off(before).iter().map(|(at, _)| *at).collect();
        assert!(frames.len() > 200, "it is shown as it comes: {} frames", frames.len());
        for (first, at) in frames.iter().enumerate() {
            let within = frames[first..].iter().take_while(|later| **later - *at < Duration::from_secs(1)).count();
            assert!(within <= 30, "{within} frames in the second that begins {:?} in", *at - start);
        }
        assert!(screen.shown(usize::MAX).contains("the-end"), "nothing of it was lost");
        screen.press("ctrl-q y").await;
        assert_eq!(screen.ended.await.unwrap().unwrap(), End::Quit);
    });
}

#[test]
fn a_key_is_drawn_in_the_next_frame_during_streaming() {
    in_virtual_time(async {
        let screen = RunningScreen::open(busy()).await;
        let flood = |from: u32| {
            for agent in 0..20 {
                let live = Live::TextDelta { text: format!("word{from} ") };
                screen.feed.publish(&Update::Live { task: testing::task(100 + agent), live });
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
            let (before, pressed) = (screen.user.count(), Instant::now());
            screen.user.send_input(Input::Key(Key::char(letter))).await;
            while screen.user.count() == before {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            let (drawn, _) = screen.user.frames()[before];
            assert!(drawn - pressed <= Duration::from_millis(8), "{letter} waited for {:?}", drawn - pressed);
            assert!(screen.shown(before + 1).contains(&typed), "{letter} is in the next frame");
        }
        screen.press("ctrl-q y").await;
        assert_eq!(screen.ended.await.unwrap().unwrap(), End::Quit);
    });
}

#[test]
fn a_new_question_steals_neither_keys_nor_focus() {
    in_virtual_time(async {
        let mut snapshot = quiet();
        let asking = snapshot.tasks.iter().position(|task| !task.asks.is_empty()).unwrap();
        let question: Ask = snapshot.tasks[asking].asks.remove(0);
        assert_eq!(question.kind(), AskKind::Clarify);
        let screen = RunningScreen::open(snapshot.clone()).await;
        screen.press("h e l l o").await;
        let mut task = snapshot.tasks[asking].clone();
        task.asks.push(question);
        screen.feed.publish(&Update::Task { task: Box::new(task) });
        screen.settle().await;
        screen.press("1 2").await;
        screen.settle().await;
        let shown = screen.shown(usize::MAX);
        assert!(shown.contains("hello12"), "{shown}");
        assert!(shown.contains("1 question"), "{shown}");
        screen.quit().await;
    });
}

/// Writes a session and an uncommitted change where the fake engine reads them.
fn write_work(fixture: &Fixture) {
    let sessions = &fixture.sessions;
    std::fs::create_dir_all(sessions).unwrap();
    let task = testing::Ids::default().login;
    let mut before = None;
    let lines = testing::events(task).into_iter().map(|event| {
        let event = Event { parent: before.replace(event.id), ..event };
        serde_json::to_string(&event).unwrap() + "\n"
    });
    let lines: String = lines.collect();
    std::fs::write(sessions.join(crate::store::session::file_name(task)), lines).unwrap();
    std::fs::write(fixture.folder.path().join("calc/README.md"), "# calc\n\nAdds numbers.\n").unwrap();
}

/// Uses every kind of query, command and update of the UI, and returns the screens on the way.
async fn tour(through_json: bool) -> Vec<String> {
    let mut fixture = Fixture::new(quiet()).await;
    write_work(&fixture);
    if through_json {
        fixture.handle = Handle::new(JsonPort(fixture.handle));
    }
    let screen = fixture.run().await;
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
        screen.press(step).await;
        screen.settle().await;
        shown.push(screen.shown(usize::MAX));
    }
    let mut view = quiet().task(ids.login).unwrap().clone();
    view.node.title = "renamed by the engine".to_owned();
    screen.feed.publish(&Update::Task { task: Box::new(view) });
    for event in testing::story() {
        screen.feed.publish(&Update::Event { task: ids.login, event: Arc::new(event) });
    }
    screen
        .feed
        .publish(&Update::Live { task: ids.login, live: Live::TextDelta { text: "still *writing*".to_owned() } });
    let notice = Notice { level: Level::Warning, text: "careful".to_owned(), task: Some(ids.login) };
    screen.feed.publish(&Update::Notice { notice });
    screen.settle().await;
    shown.push(screen.shown(usize::MAX));
    screen.feed.publish(&Update::Resync);
    screen.settle().await;
    shown.push(screen.shown(usize::MAX));
    screen.press("ctrl-q").await;
    shown
}

/// Removes ages from a screen. Virtual time depends on how long real file reads take.
fn without_ages(screen: &str) -> String {
    let parts =
        screen.split(" s ago").map(|part| part.trim_end_matches(|char: char| char.is_ascii_digit() || char == ' '));
    parts.collect::<Vec<_>>().join(" … ago")
}

#[test]
fn the_ui_shows_the_same_through_a_json_port() {
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
