//! A run of the real agent, from the disk to the socket: a session in a temporary folder, the HTTP provider against the
//! mock, a few tools that leave traces.
//!
//! A run is polled by hand, so a test sees every acknowledged event before anything else happens and can kill the run
//! there: the future and the store are dropped, nothing is cleaned up, and the next run finds what the disk has. The clock
//! stands still and ids are seeded, so two runs of one script send the same bytes.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a helper of tests may fail like a test")]

mod tools;

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use futures::future::BoxFuture;
use mxd::agent::driver::{self, FileSnapshotter, RunSetup};
use mxd::agent::machine::Limits;
use mxd::agent::prompt::{self, TaskBrief};
use mxd::agent::segment::{SegmentTools, ToolSource, WorktreePreparer};
use mxd::base::{Clock, IdSource, MessageId, RunId, Secret, TaskId, Timestamp};
use mxd::engine::blobs::StoredBlobs;
use mxd::model::conversation::Wire;
use mxd::model::event::{AskAnswered, Body, CachePolicy, Event, Exit, SessionConfig};
use mxd::model::live::Activity;
use mxd::model::message::{Message, MessageSource};
use mxd::model::run::{Ending, RunCommand};
use mxd::model::{Answer, Live, SessionState};
use mxd::process::Environment;
use mxd::provider::budget::Budget;
use mxd::provider::http::{HttpProvider, Timeouts};
use mxd::provider::{Credential, ModelInfo, Prices, Provider, RateGate};
use mxd::store::writer::{Durability, Options};
use mxd::store::{RealDisk, Store, StoreError};
use mxd::tools::{
    AllowAll, BackgroundJobs, BlobSink, CancelTokens, Cwd, Folders, Foreground, PathPolicy, ReadTracker, Registry,
    ToolContext,
};
use tokio::sync::mpsc;

pub use tools::{Brake, tool};

/// The time of day in every test: it never passes.
pub struct Still;

impl Clock for Still {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(1_800_000_000_000)
    }
}

/// A time of day that is a second later whenever somebody asks, for sessions in which the same thing is said twice.
pub struct Ticking(AtomicI64);

impl Default for Ticking {
    fn default() -> Self {
        Self(AtomicI64::new(Still.now().as_millis()))
    }
}

impl Clock for Ticking {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.fetch_add(1_000, Ordering::Relaxed))
    }
}

/// Where a session lives between its runs.
#[derive(Clone)]
pub struct AgentFixture {
    folder: Arc<tempfile::TempDir>,
    pub wire: Wire,
    pub model: String,
    /// What the mock knows the conversation by.
    pub title: String,
    pub task: TaskId,
    pub ids: IdSource,
    pub clock: Arc<dyn Clock>,
    pub provider: Arc<dyn Provider>,
    pub gate: Arc<RateGate>,
    pub limits: Limits,
    pub brake: Arc<Brake>,
    pub keeper: Option<Arc<dyn FileSnapshotter>>,
    /// What is paid from, made anew for every run.
    pub purse: Arc<dyn Fn() -> Budget + Send + Sync>,
    pub prices: Option<Prices>,
    written: Written,
}

/// The events that runs wrote and no test has looked at yet, by task.
type Written = Arc<Mutex<BTreeMap<TaskId, Vec<Event>>>>;

/// Limits that a test against loopback never meets unless it wants to.
pub const TIMEOUTS: Timeouts = Timeouts {
    connect: Duration::from_secs(10),
    first_byte: Duration::from_secs(20),
    idle: Duration::from_secs(20),
    content: Duration::from_secs(40),
    response: Duration::from_secs(600),
};

/// Returns the provider that speaks to the mock.
pub fn provider(url: &str, wire: Wire) -> Arc<dyn Provider> {
    let credential =
        Credential { group: "test".to_owned(), wire, base_url: url.to_owned(), api_key: Some(Secret::new("sk-test")) };
    Arc::new(HttpProvider::new(credential, TIMEOUTS, Arc::new(Still)))
}

impl AgentFixture {
    pub fn new(url: &str, wire: Wire, title: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("work/.git")).unwrap();
        std::fs::create_dir_all(folder.path().join("data/sessions")).unwrap();
        let ids = IdSource::seeded(Arc::new(Still), 7);
        Self {
            folder: Arc::new(folder),
            wire,
            model: "mock-model".to_owned(),
            title: title.to_owned(),
            task: TaskId::fresh(&ids),
            ids,
            clock: Arc::new(Still),
            provider: provider(url, wire),
            gate: Arc::default(),
            limits: Limits {
                profile: "engineer".to_owned(),
                model: "mock-model".to_owned(),
                auth_group: Some("main".to_owned()),
                ..Limits::default()
            },
            brake: Arc::default(),
            keeper: None,
            purse: Arc::new(Budget::default),
            prices: Some(PRICES),
            written: Arc::default(),
        }
    }

    /// Returns another task of the same project.
    pub fn sibling(&self, title: &str) -> Self {
        Self {
            folder: Arc::clone(&self.folder),
            wire: self.wire,
            model: self.model.clone(),
            title: title.to_owned(),
            task: TaskId::fresh(&self.ids),
            ids: self.ids.clone(),
            clock: Arc::clone(&self.clock),
            provider: Arc::clone(&self.provider),
            gate: Arc::clone(&self.gate),
            limits: self.limits.clone(),
            brake: Arc::clone(&self.brake),
            keeper: self.keeper.clone(),
            purse: Arc::new(Budget::default),
            prices: self.prices,
            written: Arc::clone(&self.written),
        }
    }

    pub fn ledger(&self) -> PathBuf {
        self.folder.path().join("ledger")
    }

    /// Returns how often each call was carried out.
    pub fn carried_out(&self) -> BTreeMap<String, usize> {
        let mut times = BTreeMap::new();
        for line in std::fs::read_to_string(self.ledger()).unwrap_or_default().lines() {
            *times.entry(line.split(' ').next().unwrap_or_default().to_owned()).or_default() += 1;
        }
        times
    }

    pub fn store(&self) -> Store {
        let data = self.folder.path().join("data");
        let options = Options {
            disk: Arc::new(RealDisk),
            clock: Arc::clone(&self.clock),
            ids: self.ids.clone(),
            sessions: data.join("sessions"),
            blobs: data.join("blobs"),
            durability: Durability::Os,
        };
        let written = Arc::clone(&self.written);
        Store::start_watched(options, move |task, events| {
            let by_runs = events.iter().filter(|event| event.run.is_some());
            written.lock().unwrap().entry(task).or_default().extend(by_runs.map(|event| (**event).clone()));
        })
        .unwrap()
    }

    pub fn card(&self) -> TaskBrief {
        TaskBrief {
            task: self.task,
            title: self.title.clone(),
            description: "Do what the script says.".to_owned(),
            parent: None,
            branch: None,
            folder: "/project".into(),
            budget: None,
        }
    }

    pub fn message(&self, from: MessageSource, body: &str) -> Message {
        Message::new(MessageId::fresh(&self.ids), self.clock.now(), from, body)
    }

    /// Starts a run, or takes the session up again.
    pub fn run(&self) -> Running {
        self.run_on(self.store())
    }

    pub fn run_on(&self, store: Store) -> Running {
        self.written.lock().unwrap().remove(&self.task);
        let live = Arc::new(Mutex::new(Vec::new()));
        let (fixture, shown, shared) = (self.clone(), Arc::clone(&live), store.clone());
        let start = move || fixture.start(shared.clone(), Arc::clone(&shown));
        Running {
            current: Some(start()),
            start: Box::new(start),
            store,
            task: self.task,
            written: Arc::clone(&self.written),
            live,
            shown: 0,
            activity: None,
        }
    }

    fn start(&self, store: Store, live: Arc<Mutex<Vec<Live>>>) -> Started {
        let (mailbox, inbox) = mpsc::unbounded_channel();
        let (completed, completions) = mpsc::unbounded_channel();
        let root = self.folder.path().join("work");
        let data = self.folder.path().join("data");
        let blobs: Arc<dyn BlobSink> = Arc::new(StoredBlobs(store.blobs().clone()));
        let limits = mxd::tools::Limits::default();
        let registry = Arc::new(tools::registry(self.ledger(), Arc::clone(&self.brake)));
        let context = ToolContext {
            registry: Arc::clone(&registry),
            gate: Arc::new(AllowAll),
            consent: None,
            hooks: mxd::hooks::TaskHooks::none(self.ids.clone()),
            path_policy: Arc::new(PathPolicy::new(&root).unwrap()),
            cwd: Arc::new(Cwd::new(root.clone())),
            reads: Arc::new(ReadTracker::default()),
            jobs: BackgroundJobs::new(completed, Arc::clone(&blobs), limits.output_bytes),
            foreground: Arc::new(Foreground::default()),
            tokens: CancelTokens::default(),
            live: Arc::new(move |update: Live| live.lock().unwrap().push(update)),
            blobs,
            environment: Environment::new(),
            folders: Folders { spill: data.join("spill"), records: data.join("running") },
            ids: self.ids.clone(),
            limits,
        };
        let preparer = WorktreePreparer {
            config: SessionConfig {
                model: self.model.clone(),
                wire: self.wire,
                tools: Vec::new(),
                system: prompt::system(mxd::config::profile::SystemPrompt::Add, "", "You are tested."),
                cache: CachePolicy::default(),
                max_output: 4_096,
                effort: None,
            },
            brief: self.card(),
            worktree: root,
            tool_source: Arc::new(Fixed(Arc::clone(&registry))),
            notes: Vec::new(),
            cwd: Arc::clone(&context.cwd),
            tools: Mutex::default(),
            ids: self.ids.clone(),
            clock: Arc::clone(&self.clock),
        };
        let window = self.limits.window.unwrap_or(200_000);
        let setup = RunSetup {
            task: self.task,
            run: RunId::fresh(&self.ids),
            store,
            provider: Arc::clone(&self.provider),
            gate: Arc::clone(&self.gate),
            late_catalogue: None,
            facts: ModelInfo { window, max_output: 4_096, prices: self.prices },
            tools: context,
            preparer: Arc::new(preparer),
            snapshotter: self.keeper.clone(),
            budget: (self.purse)(),
            limits: self.limits.clone(),
            ids: self.ids.clone(),
            clock: Arc::clone(&self.clock),
            completions,
        };
        Started { drive: Box::pin(driver::drive(setup, inbox)), mailbox }
    }

    /// Writes a message into the session while no run is alive.
    pub async fn leave(&self, from: MessageSource, body: &str) {
        self.store().append(self.task, None, self.message(from, body)).await.unwrap();
    }

    /// Returns every event of the active log.
    pub fn log(&self) -> Vec<Event> {
        self.store().sessions().active(self.task).unwrap().events
    }

    pub fn state(&self) -> SessionState {
        SessionState::replay(&self.log())
    }
}

/// Tools that never change.
struct Fixed(Arc<Registry>);

impl ToolSource for Fixed {
    fn open(&self) -> BoxFuture<'_, SegmentTools> {
        Box::pin(async { SegmentTools { registry: Arc::clone(&self.0), notes: Vec::new() } })
    }
}

/// A dollar a million, so that a test can compute in its head.
pub const PRICES: Prices =
    Prices { input: 1_000_000, output: 1_000_000, cache_read: None, cache_write_5m: None, cache_write_1h: None };

struct Started {
    drive: Pin<Box<dyn Future<Output = Result<Ending, StoreError>> + Send>>,
    mailbox: mpsc::UnboundedSender<RunCommand>,
}

/// A run that is polled by hand. It ends when it is idle, and the next message starts another, as in the engine.
/// Dropping it is killing it.
pub struct Running {
    /// `None` while the session is idle.
    current: Option<Started>,
    start: Box<dyn Fn() -> Started + Send>,
    pub store: Store,
    pub task: TaskId,
    written: Written,
    live: Arc<Mutex<Vec<Live>>>,
    shown: usize,
    activity: Option<Activity>,
}

/// What came of one poll.
#[derive(Debug, Default)]
pub struct News {
    /// Acknowledged since the last poll.
    pub events: Vec<Event>,
    pub live: Vec<Live>,
    /// The last activity of a run that ended because it was idle.
    pub idle: Option<Activity>,
    pub exit: Option<Exit>,
}

impl News {
    fn is_empty(&self) -> bool {
        self.events.is_empty() && self.live.is_empty() && self.idle.is_none() && self.exit.is_none()
    }

    /// Returns true if the run ended with nothing left to do.
    pub fn parked(&self) -> bool {
        self.idle == Some(Activity::Idle)
    }

    /// Returns true if the run ended to wait for the user's answer.
    pub fn asks(&self) -> bool {
        self.idle == Some(Activity::Waiting)
    }
}

fn activity(live: &Live) -> Option<Activity> {
    match live {
        Live::Activity { activity } => Some(*activity),
        _ => None,
    }
}

impl Running {
    /// Polls until there is news.
    pub async fn next(&mut self) -> News {
        loop {
            let news = self.once().await;
            if !news.is_empty() {
                return news;
            }
        }
    }

    /// Polls once, when there is reason to.
    pub async fn once(&mut self) -> News {
        let mut polled = false;
        poll_fn(|cx| {
            if std::mem::replace(&mut polled, true) {
                return Poll::Ready(self.take());
            }
            let Some(current) = &mut self.current else { return Poll::Pending };
            match current.drive.as_mut().poll(cx) {
                Poll::Ready(ending) => {
                    self.current = None;
                    let mut news = self.take();
                    match ending.unwrap() {
                        Ending::Exited(exit) => news.exit = Some(exit),
                        Ending::Idle => news.idle = self.activity,
                    }
                    Poll::Ready(news)
                }
                Poll::Pending => {
                    let news = self.take();
                    if news.is_empty() { Poll::Pending } else { Poll::Ready(news) }
                }
            }
        })
        .await
    }

    fn take(&mut self) -> News {
        let events = self.written.lock().unwrap().remove(&self.task).unwrap_or_default();
        let live = self.live.lock().unwrap();
        let news = News { events, live: live[self.shown..].to_vec(), ..News::default() };
        self.shown = live.len();
        self.activity = news.live.iter().rev().find_map(activity).or(self.activity);
        news
    }

    /// Goes on until `holds` of something that happened. Returns everything that did.
    pub async fn until(&mut self, what: &str, mut holds: impl FnMut(&News) -> bool) -> News {
        let mut all = News::default();
        loop {
            let mut news = self.next().await;
            let found = holds(&news);
            let over = news.exit.is_some();
            all.events.append(&mut news.events);
            all.live.append(&mut news.live);
            all.idle = news.idle;
            all.exit = news.exit;
            if found {
                return all;
            }
            assert!(!over, "the run ended with {:?} before: {what}\n{:#?}", all.exit, all.events);
        }
    }

    pub async fn until_parked(&mut self) -> News {
        self.until("it sleeps", News::parked).await
    }

    pub async fn until_asked(&mut self) -> News {
        self.until("it asks", News::asks).await
    }

    pub async fn until_over(&mut self) -> (Exit, News) {
        let mut news = self.until("its end", |news| news.exit.is_some()).await;
        (news.exit.take().unwrap(), news)
    }

    /// Sends a command to the run, if there is one.
    pub fn send(&self, command: RunCommand) {
        if let Some(current) = &self.current {
            let _ = current.mailbox.send(command);
        }
    }

    /// Tells the run of an event that is in the session, or starts another run, which reads it there.
    pub fn wake(&mut self, event: Arc<Event>) {
        if self.current.is_some() {
            self.send(RunCommand::Deliver(event));
        } else {
            self.current = Some((self.start)());
        }
    }

    /// Sends a message and tells the run.
    pub async fn deliver(&mut self, message: Message) {
        let event = self.store.append(self.task, None, message).await.unwrap();
        self.wake(event);
    }

    /// Answers the Ask that stands.
    pub async fn answer(&mut self, answer: Answer) {
        let state = self.store.sessions().active(self.task).unwrap().state();
        let id = state.asks.iter().next().expect("nothing is asked").id;
        let event = self.store.append(self.task, None, Body::from(AskAnswered { id, answer })).await.unwrap();
        self.wake(event);
    }
}
