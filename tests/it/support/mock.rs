//! A model API on loopback that answers from a script and holds every request to the vendors' rules and to ours.
//!
//! It speaks Anthropic Messages, OpenAI Responses and OpenAI Chat Completions, streaming and not. It runs on a thread
//! and runtime of its own, so a test may pause its clock or have none. A request that breaks a rule is answered 400 and
//! kept; a mock that is dropped with violations nobody has taken fails the test.

pub mod cache;
pub mod check;
pub mod delivery;
pub mod fault;
pub mod http;
pub mod mind;
pub mod models;
pub mod pattern;
pub mod raw;
pub mod reply;
pub mod rules;
pub mod script;
pub mod seen;
pub mod serve;
pub mod shared;
pub mod turn;
pub mod wire;

use std::fmt::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

pub use check::{anywhere, first_user, last_user, result, result_of, results, system, tools};
pub use fault::{ErrorKind, Fault};
pub use mind::{Mind, Outcome, Record};
pub use models::Model;
pub use rules::{Rule, Violation};
pub use script::{Conversation, Exhausted, Script};
pub use seen::{Seen, Wire};
pub use turn::{Chunk, Counts, Stop, Turn, answer, gate, say};

use shared::Shared;

/// How long a test waits for what it says must happen. It only ever runs out in a test that fails.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running mock. Dropping it ends it.
pub struct Mock {
    shared: Arc<Shared>,
    address: SocketAddr,
    runtime: Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Mock {
    /// Starts a mock on a free port.
    pub fn start(script: Script) -> Self {
        match Self::start_on(0, script) {
            Ok(mock) => mock,
            Err(error) => panic!("the mock cannot listen on loopback: {error}"),
        }
    }

    /// Starts a mock on `port`; 0 is any.
    pub fn start_on(port: u16, script: Script) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::new(script));
        let (stop, stopped) = oneshot::channel();
        let (tell, told) = mpsc::channel();
        let served = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("mock".to_owned()).spawn(move || {
            let runtime = match Builder::new_current_thread().enable_all().build() {
                Ok(runtime) => runtime,
                Err(error) => return drop(tell.send(Err(error))),
            };
            runtime.block_on(async move {
                let listening = async {
                    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
                    Ok((listener.local_addr()?, listener))
                };
                match listening.await {
                    Ok((address, listener)) => {
                        let _ = tell.send(Ok((address, Handle::current())));
                        tokio::select! {
                            () = serve::accept(listener, served) => {}
                            _ = stopped => {}
                        }
                    }
                    Err(error) => drop(tell.send(Err(error))),
                }
            });
        })?;
        let (address, runtime) = told.recv().map_err(std::io::Error::other)??;
        Ok(Self { shared, address, runtime, stop: Some(stop), thread: Some(thread) })
    }

    /// Returns the base URL for clients that add `/v1` themselves.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the base URL for clients that expect `/v1` in it.
    pub fn url_v1(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Looks at everything the mock knows.
    pub fn look<T>(&self, look: impl FnOnce(&Mind) -> T) -> T {
        self.shared.read(look)
    }

    /// Returns every request so far.
    pub fn requests(&self) -> Vec<Record> {
        self.look(|mind| mind.records.clone())
    }

    /// Returns the requests of one conversation.
    pub fn requests_of(&self, conversation: &str) -> Vec<Record> {
        let mut records = self.requests();
        records.retain(|record| record.conversation == conversation);
        records
    }

    /// Returns how many requests there were.
    pub fn count(&self) -> usize {
        self.look(|mind| mind.records.len())
    }

    pub fn violations(&self) -> Vec<Violation> {
        self.look(|mind| mind.violations.clone())
    }

    /// Returns the violations so far and forgets them: the test has expected them.
    pub fn take_violations(&self) -> Vec<Violation> {
        self.shared.take_violations()
    }

    /// Returns what a check has captured.
    pub fn captured(&self, name: &str) -> Option<String> {
        self.look(|mind| mind.captures.get(name).cloned())
    }

    /// Opens a gate for good.
    pub fn open(&self, gate: &str) {
        self.shared.open(gate);
    }

    /// Lets the next request of a conversation depart from what it sent, as after a rewind.
    pub fn new_epoch(&self, conversation: &str) {
        self.shared.new_epoch(conversation);
    }

    /// Drops the text of every request so far: a test that runs for long has no use for it and no room.
    pub fn forget_bodies(&self) {
        self.shared.forget_bodies();
    }

    /// Fails unless nothing was violated and every turn was used.
    pub fn assert_finished(&self) {
        self.assert_clean();
        let left: Vec<_> = self.look(Mind::turns_left).into_iter().filter(|(_, left)| *left > 0).collect();
        assert!(left.is_empty(), "turns that nobody asked for: {left:?}\n{}", self.story());
    }

    /// Fails if anything was violated.
    pub fn assert_clean(&self) {
        let violations = self.violations();
        assert!(violations.is_empty(), "the mock saw violations: {violations:#?}\n{}", self.story());
    }

    /// Waits until a response stands before the gate.
    pub async fn reached(&self, gate: &str) {
        let name = gate.to_owned();
        self.until(&format!("a response reaches the gate {gate:?}"), move |mind| mind.gates_reached.contains(&name))
            .await;
    }

    /// Waits until there were `count` requests.
    pub async fn requested(&self, count: usize) {
        self.until(&format!("there are {count} requests"), move |mind| mind.records.len() >= count).await;
    }

    /// Waits until `holds`, and fails with the mock's story if it never does.
    pub async fn until(&self, what: &str, holds: impl Fn(&Mind) -> bool + Send + Sync + 'static) {
        let shared = Arc::clone(&self.shared);
        // Waited for on the mock's own runtime, whose clock nobody pauses.
        let waiting = self.runtime.spawn(async move { tokio::time::timeout(PATIENCE, shared.until(holds)).await });
        assert!(matches!(waiting.await, Ok(Ok(()))), "waited in vain until {what}\n{}", self.story());
    }

    /// [`Mock::until`] for tests without a runtime.
    pub fn until_blocking(&self, what: &str, holds: impl Fn(&Mind) -> bool + Send + Sync + 'static) {
        let shared = Arc::clone(&self.shared);
        let (tell, told) = mpsc::channel();
        self.runtime.spawn(async move {
            shared.until(holds).await;
            let _ = tell.send(());
        });
        assert!(told.recv_timeout(PATIENCE).is_ok(), "waited in vain until {what}\n{}", self.story());
    }

    /// Returns what happened, a line a request, for a user who reads a failed test.
    pub fn story(&self) -> String {
        let mut story = String::from("requests:\n");
        for r in self.requests() {
            let Record { number, conversation, path, outcome, .. } = &r;
            let _ = writeln!(story, "  {number:>3} {conversation:<16} {path:<24} {:>8} B  {outcome:?}", r.body.len());
        }
        story
    }
}

impl Drop for Mock {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        if !std::thread::panicking() {
            self.assert_clean();
        }
    }
}
