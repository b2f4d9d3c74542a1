//! Server-sent events that are cut at random bytes and resumed: the client gets what an uncut one gets, or a snapshot
//! of the same state and everything after it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use mxd::base::{Fault, IdSource, ProjectId, SystemClock, TaskId, Timestamp};
use mxd::engine::Handle;
use mxd::engine::command::{Command, Outcome};
use mxd::engine::feed::{Feed, SnapshotSlot, Watcher};
use mxd::engine::handle::{Pages, Port};
use mxd::engine::query::{Query, QueryAnswer};
use mxd::engine::snapshot::{ProjectView, Snapshot, TaskView};
use mxd::engine::update::{EngineEnd, Level, Notice, Update};
use mxd::model::live_turn::LiveTurns;
use mxd::model::task::TaskNode;
use mxd::model::{Live, Project};
use mxd::serve::http::{self, HttpOptions, HttpProject, HttpServer, Listen, Timeouts};
use mxd::serve::protocol::Epoch;
use mxd::serve::stream::Stream;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::until;
use crate::cli_support::World;
use crate::engine_support::PATIENCE;
use crate::support::dice::{Dice, fresh_seed, number};

/// How long a client that is to be cut waits for more.
const SILENCE: Duration = Duration::from_millis(3);
/// How many tasks change.
const TASKS: u64 = 5;

/// An engine that only changes at random and remembers every state that it was in.
#[derive(Clone)]
struct Changing {
    feed: Arc<Feed>,
    state: Arc<Mutex<History>>,
}

struct History {
    snapshot: Snapshot,
    /// The tasks after each change. The number of a change is in the snapshot, as the limit of agents.
    tasks: Vec<Value>,
    /// What each change said: a notice, or streamed text of a task.
    said: Vec<Said>,
    number: u32,
}

#[derive(Clone, Debug, PartialEq)]
enum Said {
    Nothing,
    Notice(String),
    Text(usize, String),
}

impl Changing {
    fn new() -> Self {
        let ids = IdSource::new(Arc::new(SystemClock));
        let mut tasks: Vec<TaskView> = (0..TASKS)
            .map(|number| {
                TaskView::of(TaskNode::new(TaskId::fresh(&ids), format!("task {number}"), "engineer", Timestamp::EPOCH))
            })
            .collect();
        let root = tasks[0].node.id;
        tasks[0].node.children = tasks[1..].iter().map(|task| task.node.id).collect();
        let project = Project {
            id: ProjectId::fresh(&ids),
            name: "app".to_owned(),
            path: "/app".into(),
            base_branch: "main".to_owned(),
            created_at: Timestamp::EPOCH,
            former: Vec::new(),
            extra: serde_json::Map::new(),
        };
        let snapshot = Snapshot {
            project: ProjectView::of(&project, 0),
            root,
            tasks,
            quiet: false,
            live: LiveTurns::default(),
            clients: Vec::new(),
        };
        let first = serde_json::to_value(&snapshot.tasks).unwrap();
        let history = History { snapshot, tasks: vec![first], said: vec![Said::Nothing], number: 0 };
        Self { feed: Arc::default(), state: Arc::new(Mutex::new(history)) }
    }

    /// Makes one change and publishes it.
    fn change(&self, dice: &mut Dice) {
        let mut state = self.state.lock().unwrap();
        state.number += 1;
        let (number, at) = (state.number, draw(dice, TASKS));
        let task = state.snapshot.tasks[at].node.id;
        let (update, said) = match draw(dice, 4) {
            0 => {
                state.snapshot.tasks[at].turns = u64::from(number);
                (Update::Task { task: Box::new(state.snapshot.tasks[at].clone()) }, Said::Nothing)
            }
            1 => {
                let text = number.to_string();
                let notice = Notice { level: Level::Info, text: text.clone(), task: None };
                (Update::Notice { notice }, Said::Notice(text))
            }
            _ => {
                let text = format!("{number},");
                (Update::Live { task, live: Live::TextDelta { text: text.clone() } }, Said::Text(at, text))
            }
        };
        state.snapshot.project.max_running = number;
        let tasks = serde_json::to_value(&state.snapshot.tasks).unwrap();
        state.tasks.push(tasks);
        state.said.push(said);
        // Under the lock, so that a snapshot is before or after it.
        self.feed.publish(&update);
    }
}

impl Port for Changing {
    fn command(&self, _: Command) -> BoxFuture<'_, Result<Outcome, Fault>> {
        async { Ok(Outcome::Done) }.boxed()
    }

    fn query(&self, _: Query) -> BoxFuture<'_, Result<QueryAnswer, Fault>> {
        async { Err(Fault::user("nothing is asked")) }.boxed()
    }

    fn session(&self, _: TaskId) -> Pages {
        tokio::sync::mpsc::channel(1).1
    }

    fn subscribe(&self) -> BoxFuture<'_, Result<(Snapshot, Watcher), Fault>> {
        async {
            let state = self.state.lock().unwrap();
            Ok((state.snapshot.clone(), self.feed.watch()))
        }
        .boxed()
    }

    fn add_snapshot(&self, slot: SnapshotSlot) -> BoxFuture<'_, Result<(), Fault>> {
        async move {
            let state = self.state.lock().unwrap();
            slot.add(state.snapshot.clone());
            Ok(())
        }
        .boxed()
    }

    fn ended(&self) -> BoxFuture<'_, EngineEnd> {
        std::future::pending().boxed()
    }
}

/// What a client knows.
#[derive(Default)]
struct Client {
    last: String,
    /// The number of the change that its snapshot contains.
    since: usize,
    tasks: Vec<Value>,
    notices: Vec<String>,
    text: BTreeMap<String, String>,
    resyncs: usize,
    snapshots: usize,
    /// `resync` came, and no snapshot yet.
    starts_over: bool,
}

impl Client {
    fn on_event(&mut self, event: &str, data: &Value, engine: &Changing) {
        // A client that is cut in between is told once more.
        let may_follow = ["snapshot", "resync"].contains(&event);
        assert!(!self.starts_over || may_follow, "after resync comes a snapshot, not {event}");
        match event {
            "snapshot" => {
                assert!(self.starts_over || self.snapshots == 0, "a snapshot that nobody asked for");
                let number = usize::try_from(data["project"]["max_running"].as_u64().unwrap()).unwrap();
                let then = engine.state.lock().unwrap().tasks[number].clone();
                assert_eq!(data["tasks"], then, "the snapshot is the state after change {number}");
                let (last, resyncs, snapshots) = (std::mem::take(&mut self.last), self.resyncs, self.snapshots + 1);
                let tasks = then.as_array().unwrap().clone();
                *self = Self { last, since: number, tasks, resyncs, snapshots, ..Self::default() };
            }
            "resync" => (self.resyncs, self.starts_over) = (self.resyncs + 1, true),
            "task" => {
                let id = &data["task"]["node"]["id"];
                let known = self.tasks.iter_mut().find(|task| task["node"]["id"] == *id).unwrap();
                *known = data["task"].clone();
            }
            "notice" => self.notices.push(data["notice"]["text"].as_str().unwrap().to_owned()),
            "live" => {
                let text = self.text.entry(data["task"].as_str().unwrap().to_owned()).or_default();
                text.push_str(data["live"]["text"].as_str().unwrap());
            }
            other => panic!("unexpected event {other}"),
        }
    }

    /// Checks that the client has everything since its snapshot, once and in order.
    fn check(&self, engine: &Changing) {
        let state = engine.state.lock().unwrap();
        assert_eq!(Value::from(self.tasks.clone()), *state.tasks.last().unwrap());
        let said = &state.said[self.since + 1..];
        let notices = said.iter().filter_map(|said| match said {
            Said::Notice(text) => Some(text.clone()),
            Said::Nothing | Said::Text(..) => None,
        });
        assert_eq!(self.notices, notices.collect::<Vec<_>>());
        for (at, task) in state.snapshot.tasks.iter().enumerate() {
            let text = said.iter().filter_map(|said| match said {
                Said::Text(of, text) if *of == at => Some(text.as_str()),
                Said::Text(..) | Said::Nothing | Said::Notice(_) => None,
            });
            let got = self.text.get(&task.node.id.to_string()).map_or("", String::as_str);
            assert_eq!(got, text.collect::<String>(), "task {at}");
        }
    }

    /// Connects, takes events from about `bytes` bytes, and is cut.
    async fn follow(&mut self, server: &Server, bytes: usize, engine: &Changing) {
        self.read(server, bytes, None, engine).await;
    }

    /// Connects and takes events until the change whose number is in `end` has come. 0 if it is not known yet.
    async fn follow_to(&mut self, server: &Server, end: &AtomicUsize, engine: &Changing) {
        self.read(server, usize::MAX, Some(end), engine).await;
    }

    async fn read(&mut self, server: &Server, bytes: usize, end: Option<&AtomicUsize>, engine: &Changing) {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        // The answer to HTTP/1.0 has no chunks.
        let request = format!(
            "GET /v1/projects/app/updates HTTP/1.0\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nLast-Event-ID: {}\r\n\r\n",
            server.token, self.last
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let (mut got, mut parsed, mut is_body) = (Vec::new(), 0, false);
        while got.len() < bytes {
            let mut buffer = vec![0; 4096.min(bytes - got.len())];
            let Ok(read) = tokio::time::timeout(SILENCE, stream.read(&mut buffer)).await else {
                match end.map(|end| end.load(Ordering::Relaxed)) {
                    None => break,
                    Some(0) => continue,
                    Some(number) if self.has_seen(number, engine) => break,
                    Some(_) => continue,
                }
            };
            let read = read.unwrap();
            assert!(read > 0, "the server ended the stream");
            got.extend_from_slice(&buffer[..read]);
            if !is_body {
                let Some(end) = got.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
                assert!(got.starts_with(b"HTTP/1.0 200"), "{}", String::from_utf8_lossy(&got));
                (parsed, is_body) = (end + 4, true);
            }
            while let Some(end) = got[parsed..].windows(2).position(|two| two == b"\n\n") {
                let event = String::from_utf8(got[parsed..parsed + end].to_vec()).unwrap();
                parsed += end + 2;
                self.take(&event, engine);
            }
        }
    }

    fn take(&mut self, event: &str, engine: &Changing) {
        let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        let Some(name) = field("event") else { return };
        // The id counts only with its whole event, as in browsers.
        let data = serde_json::from_str(field("data").unwrap()).unwrap();
        self.on_event(name, &data, engine);
        self.last = field("id").unwrap().to_owned();
    }

    /// Returns true if it has all notices up to a change.
    fn has_seen(&self, number: usize, engine: &Changing) -> bool {
        let last = self.notices.last().and_then(|notice| notice.parse::<usize>().ok());
        let marker = &engine.state.lock().unwrap().said[number];
        !self.starts_over && (self.since >= number || *marker == Said::Notice(last.unwrap_or(0).to_string()))
    }
}

#[derive(Clone)]
struct Server {
    address: SocketAddr,
    token: String,
}

fn draw(dice: &mut Dice, bound: u64) -> usize {
    usize::try_from(dice.below(bound)).unwrap()
}

/// Serves an engine that changes.
async fn serve(world: &World, engine: &Changing) -> (HttpServer, Server) {
    let handle = Handle::new(engine.clone());
    let stream = Stream::new(handle.clone(), Epoch::fresh());
    let id = engine.state.lock().unwrap().snapshot.project.id;
    let options = HttpOptions {
        home: world.home(),
        clock: Arc::new(SystemClock),
        hosts: Vec::new(),
        timeouts: Timeouts::default(),
    };
    let projects = vec![HttpProject { id, name: "app".to_owned(), handle, stream }];
    let running = http::start(vec![Listen::new("0", None).unwrap()], projects, options).await.unwrap();
    let server = Server { address: running.addresses()[0], token: running.info().token.expose().to_owned() };
    (running, server)
}

async fn cut_and_resume(cuts: usize, seed: u64) {
    let world = World::new();
    let engine = Changing::new();
    let (running, server) = serve(&world, &engine).await;
    let mut dice = Dice::new(seed);
    let end = Arc::new(AtomicUsize::new(0));
    let uncut = {
        let (server, engine, end) = (server.clone(), engine.clone(), Arc::clone(&end));
        tokio::spawn(async move {
            let mut uncut = Client::default();
            uncut.follow_to(&server, &end, &engine).await;
            uncut
        })
    };
    // A notice that nobody watched goes to the first watcher, after its snapshot (`Feed::watch`). The clients here check
    // what came after their snapshot, so somebody watches before the first change.
    until("the uncut client watches", async || engine.feed.is_watched()).await;
    let mut client = Client::default();
    for cut in 0..cuts {
        // Now and then more than the server keeps: the client has to start over.
        let changes = if cut % 997 == 500 { 10_100 } else { draw(&mut dice, 40) };
        (0..changes).for_each(|_| engine.change(&mut dice));
        if cut % 211 == 100 {
            // The position of another life of the server.
            client.last = format!("{}.{}", Epoch::fresh().0, draw(&mut dice, 100));
        }
        client.follow(&server, draw(&mut dice, 6000), &engine).await;
    }
    // A last notice, which shows that everything before it has come.
    {
        let mut state = engine.state.lock().unwrap();
        state.number += 1;
        let (number, tasks) = (state.number, state.tasks.last().unwrap().clone());
        state.snapshot.project.max_running = number;
        state.tasks.push(tasks);
        state.said.push(Said::Notice(number.to_string()));
        let notice = Notice { level: Level::Info, text: number.to_string(), task: None };
        engine.feed.publish(&Update::Notice { notice });
        end.store(usize::try_from(number).unwrap(), Ordering::Relaxed);
    }
    client.follow_to(&server, &end, &engine).await;
    let uncut = tokio::time::timeout(PATIENCE, uncut).await.unwrap().unwrap();
    client.check(&engine);
    uncut.check(&engine);
    assert_eq!(client.tasks, uncut.tasks);
    assert!(client.resyncs >= cuts / 211, "{} resyncs for {cuts} cuts", client.resyncs);
    assert!(client.resyncs <= 2 * (cuts / 211 + cuts / 997 + 2), "{} resyncs for {cuts} cuts", client.resyncs);
    running.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_is_cut_and_resumed_loses_and_repeats_nothing() {
    cut_and_resume(700, number("MXD_SEED", 14)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "minutes; `cargo proof`"]
async fn proof_ten_thousand_cuts_of_a_stream_lose_and_repeat_nothing() {
    cut_and_resume(10_000, fresh_seed("cuts of a stream")).await;
}

/// Returns the memory of this process in bytes.
#[cfg(target_os = "linux")]
fn memory() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

/// Both ends of the connections are in this process, so the limit holds for the server all the more.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "thousands of open files, and nothing else in the process; `cargo proof`"]
async fn proof_a_thousand_idle_streams_take_at_most_64_kb_each() {
    const STREAMS: usize = 1000;
    let world = World::new();
    let engine = Changing::new();
    let (running, server) = serve(&world, &engine).await;
    let mut streams = Vec::new();
    let mut before = 0;
    for number in 0..=STREAMS {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        let request = format!(
            "GET /v1/projects/app/updates HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\r\n",
            server.token
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let (mut got, mut buffer) = (Vec::new(), [0; 4096]);
        while !got.windows(15).any(|bytes| bytes == b"event: snapshot") {
            let read = stream.read(&mut buffer).await.unwrap();
            got.extend_from_slice(&buffer[..read]);
        }
        streams.push(stream);
        if number == 0 {
            before = memory();
        }
    }
    let each = memory().saturating_sub(before) / STREAMS;
    println!("{each} bytes for each idle stream");
    assert!(each <= 64 << 10, "{each} bytes for each idle stream");
    running.close().await;
}
