//! The task behind a [`super::Remote`]: it owns the connection, the unanswered requests and the subscriptions.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::process::Child;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::{LinkRequest, has_ended};
use crate::base::Fault;
use crate::engine::command::{Command, Outcome};
use crate::engine::feed::{Feed, Watcher};
use crate::engine::query::{Page, Query, QueryAnswer};
use crate::engine::snapshot::Snapshot;
use crate::engine::update::{Level, Notice, Update};
use crate::serve::connector::{ConnectError, Connection, Connector};
use crate::serve::frame;
use crate::serve::place::is_older;
use crate::serve::protocol::{
    ClientFrame, CommandRequest, Epoch, Goodbye, Hello, Position, RequestId, ServerFrame, VERSION, Welcome,
};

/// The first and the longest pause between two attempts to connect.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// How long a server may take to greet.
const WELCOME_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a cut lasts before the user is told.
const TELL_AFTER: Duration = Duration::from_millis(500);
/// How many frames of the server wait to be handled.
const MAX_UNREAD: usize = 64;

pub(super) struct Link {
    connector: Box<dyn Connector>,
    hello: Hello,
    wire: Wire,
    requests: mpsc::UnboundedReceiver<LinkRequest>,
    last_id: RequestId,
    /// Requests without an answer, in the order in which they were made.
    pending: BTreeMap<RequestId, Pending>,
    subscriptions: HashMap<RequestId, Subscribed>,
}

enum Pending {
    Command {
        command: Box<Command>,
        first: Option<Epoch>,
        answer: oneshot::Sender<Result<Outcome, Fault>>,
    },
    Query {
        query: Query,
        answer: oneshot::Sender<Result<QueryAnswer, Fault>>,
    },
    /// A session that is read. It cannot be resumed.
    Session {
        pages: mpsc::Sender<Result<Page, Fault>>,
    },
    Subscribe {
        answer: oneshot::Sender<Result<(Snapshot, Watcher), Fault>>,
    },
}

struct Subscribed {
    feed: Feed,
    at: Position,
}

/// An open connection. Reading and writing have their own tasks, so that neither waits for the other.
struct Wire {
    epoch: Epoch,
    /// The version of the server's program.
    program: String,
    out: mpsc::UnboundedSender<Vec<u8>>,
    frames: mpsc::Receiver<Result<ServerFrame, Fault>>,
    _tasks: [AbortOnDropHandle<()>; 2],
    _carrier: Option<Child>,
}

/// What a link does next.
enum Next {
    Continue,
    Reconnect,
    End,
}

impl Link {
    /// Connects for the first time.
    pub(super) async fn open(
        mut connector: Box<dyn Connector>,
        hello: Hello,
        requests: mpsc::UnboundedReceiver<LinkRequest>,
    ) -> Result<(Self, Welcome), Fault> {
        let (wire, welcome) = connect(&mut *connector, &hello, || {}).await?;
        let (pending, subscriptions) = (BTreeMap::new(), HashMap::new());
        Ok((Self { connector, hello, wire, requests, last_id: 0, pending, subscriptions }, welcome))
    }

    /// Runs until the front end leaves or the engine ends.
    pub(super) async fn run(mut self) {
        loop {
            let next = tokio::select! {
                biased;
                frame = self.wire.frames.recv() => match frame {
                    Some(Ok(frame)) => self.on_frame(frame),
                    Some(Err(fault)) => {
                        tracing::info!(%fault, "the connection to the engine was lost");
                        Next::Reconnect
                    }
                    None => Next::Reconnect,
                },
                request = self.requests.recv() => match request {
                    Some(request) => self.on_request(request),
                    None => Next::End,
                },
            };
            match next {
                Next::Continue => {}
                Next::Reconnect => {
                    if let Err(fault) = self.reconnect().await {
                        return self.end(&fault);
                    }
                }
                Next::End => return self.end(&has_ended()),
            }
        }
    }

    fn on_request(&mut self, request: LinkRequest) -> Next {
        self.last_id += 1;
        let id = self.last_id;
        let pending = match request {
            LinkRequest::Command { command, answer } => Pending::Command { command, first: None, answer },
            LinkRequest::Query { query, answer } => Pending::Query { query, answer },
            LinkRequest::Session { task, pages } => {
                self.send(&ClientFrame::Session { id, task });
                self.send(&ClientFrame::NextPage { id });
                self.pending.insert(id, Pending::Session { pages });
                return Next::Continue;
            }
            LinkRequest::Subscribe { answer } => Pending::Subscribe { answer },
            LinkRequest::Detach => return Next::End,
        };
        self.pending.insert(id, pending);
        self.send_pending(id);
        Next::Continue
    }

    /// Sends a request, for the first time or again.
    fn send_pending(&mut self, id: RequestId) {
        let epoch = self.wire.epoch;
        let is_command = |pending: &Pending| matches!(pending, Pending::Command { .. });
        let answered_below =
            self.pending.iter().find(|(_, pending)| is_command(pending)).map_or(id, |(first, _)| *first);
        let frame = match self.pending.get_mut(&id) {
            Some(Pending::Command { command, first, .. }) => {
                let request = CommandRequest { id, command: (**command).clone(), first: *first, answered_below };
                first.get_or_insert(epoch);
                ClientFrame::Command(Box::new(request))
            }
            Some(Pending::Query { query, .. }) => ClientFrame::Query { id, query: query.clone() },
            Some(Pending::Subscribe { .. }) => ClientFrame::Subscribe { id, after: None },
            Some(Pending::Session { .. }) | None => return,
        };
        self.send(&frame);
    }

    fn send(&self, frame: &ClientFrame) {
        match frame::encode(frame) {
            // Fails if the connection was just lost, which the reader notices.
            Ok(frame) => drop(self.wire.out.send(frame)),
            Err(error) => tracing::error!(%error, "a request cannot be sent"),
        }
    }

    fn on_frame(&mut self, frame: ServerFrame) -> Next {
        match frame {
            ServerFrame::Welcome(_) => {}
            ServerFrame::Refused { id: Some(id), fault } => self.refuse(id, fault),
            ServerFrame::Refused { id: None, fault } => {
                tracing::warn!(%fault, "the engine refused a frame");
                return Next::Reconnect;
            }
            ServerFrame::Outcome { id, result } => {
                if let Some(Pending::Command { answer, .. }) = self.pending.remove(&id) {
                    let _ = answer.send(result);
                }
            }
            ServerFrame::Answer { id, result } => {
                if let Some(Pending::Query { answer, .. }) = self.pending.remove(&id) {
                    let _ = answer.send(*result);
                }
            }
            ServerFrame::Page { id, page } => self.on_page(id, page),
            ServerFrame::Subscribed { id, at, snapshot } => self.on_subscribed(id, at, snapshot),
            ServerFrame::Update { id, seq, update } => self.on_update(id, seq, &update),
            ServerFrame::Goodbye(Goodbye::Moved) => {
                // A newer program takes over from an older one. Otherwise the one who left starts the next.
                let is_newer = is_older(&self.wire.program, &self.hello.program);
                self.connector.on_moved(is_newer);
                self.answer_quits();
                return Next::Reconnect;
            }
            ServerFrame::Goodbye(Goodbye::Ended) => return Next::End,
        }
        Next::Continue
    }

    /// Answers requests to end the engine: it has ended, and the next one is not meant.
    fn answer_quits(&mut self) {
        let is_quit = |pending: &Pending| matches!(pending, Pending::Command { command, .. } if matches!(**command, Command::Quit | Command::HandOver { .. }));
        let quits: Vec<RequestId> =
            self.pending.iter().filter(|(_, pending)| is_quit(pending)).map(|(id, _)| *id).collect();
        for id in quits {
            if let Some(Pending::Command { answer, .. }) = self.pending.remove(&id) {
                let _ = answer.send(Ok(Outcome::Done));
            }
        }
    }

    fn refuse(&mut self, id: RequestId, fault: Fault) {
        match self.pending.remove(&id) {
            Some(Pending::Command { answer, .. }) => drop(answer.send(Err(fault))),
            Some(Pending::Query { answer, .. }) => drop(answer.send(Err(fault))),
            Some(Pending::Subscribe { answer }) => drop(answer.send(Err(fault))),
            Some(Pending::Session { pages }) => drop(pages.try_send(Err(fault))),
            // A subscription that cannot be resumed.
            None => {
                if let Some(subscribed) = self.subscriptions.remove(&id) {
                    subscribed.feed.publish(&Update::Resync);
                }
            }
        }
    }

    /// Passes a page on and asks for the next one. Only one page is under way, so there is room for it.
    fn on_page(&mut self, id: RequestId, page: Option<Result<Page, Fault>>) {
        let Some(Pending::Session { pages }) = self.pending.get(&id) else { return };
        let (pages, is_last) = (pages.clone(), !matches!(page, Some(Ok(_))));
        let is_unwanted = page.is_some_and(|page| pages.try_send(page).is_err());
        if is_last || is_unwanted {
            self.pending.remove(&id);
            return self.send(&ClientFrame::CloseSession { id });
        }
        // Ask for the next page when this one is taken. One more place stays free for an error.
        let out = self.wire.out.clone();
        tokio::spawn(async move {
            if let (Ok(_room), Ok(frame)) = (pages.reserve_many(2).await, frame::encode(&ClientFrame::NextPage { id }))
            {
                let _ = out.send(frame);
            }
        });
    }

    fn on_subscribed(&mut self, id: RequestId, at: Position, snapshot: Option<Box<Snapshot>>) {
        let Some(Pending::Subscribe { answer }) = self.pending.remove(&id) else { return };
        let Some(snapshot) = snapshot else { return };
        let feed = Feed::default();
        if answer.send(Ok((*snapshot, feed.watch()))).is_ok() {
            self.subscriptions.insert(id, Subscribed { feed, at });
        } else {
            self.send(&ClientFrame::Unsubscribe { id });
        }
    }

    fn on_update(&mut self, id: RequestId, seq: u64, update: &Update) {
        let Some(subscribed) = self.subscriptions.get_mut(&id) else { return };
        subscribed.at = Position { epoch: self.wire.epoch, seq };
        subscribed.feed.publish(update);
        if matches!(update, Update::Resync | Update::Ended) {
            self.subscriptions.remove(&id);
        } else if !subscribed.feed.is_watched() {
            self.subscriptions.remove(&id);
            self.send(&ClientFrame::Unsubscribe { id });
        }
    }

    /// Connects again, sends what is unanswered again and resumes the subscriptions.
    async fn reconnect(&mut self) -> Result<(), Fault> {
        let lost = Fault::environment("the connection was lost while a session was read").hint("try again");
        self.pending.retain(|_, pending| match pending {
            Pending::Session { pages } => {
                let _ = pages.try_send(Err(lost.clone()));
                false
            }
            Pending::Command { .. } | Pending::Query { .. } | Pending::Subscribe { .. } => true,
        });
        let subscriptions = &self.subscriptions;
        let told = AtomicBool::new(false);
        let tell = || {
            let text = "Connection lost. Reconnecting …".to_owned();
            let notice = Notice { level: Level::Warning, text, task: None };
            subscriptions.values().for_each(|one| one.feed.publish(&Update::Notice { notice: notice.clone() }));
            told.store(true, Ordering::Relaxed);
        };
        let mut connecting = Box::pin(connect(&mut *self.connector, &self.hello, tell));
        let connected = loop {
            tokio::select! {
                connected = &mut connecting => break connected,
                // The user may give up.
                request = self.requests.recv() => match request {
                    Some(LinkRequest::Detach) | None => return Err(has_ended()),
                    Some(LinkRequest::Session { pages, .. }) => drop(pages.try_send(Err(lost.clone()))),
                    Some(LinkRequest::Command { command, answer }) => {
                        self.last_id += 1;
                        self.pending.insert(self.last_id, Pending::Command { command, first: None, answer });
                    }
                    Some(LinkRequest::Query { query, answer }) => {
                        self.last_id += 1;
                        self.pending.insert(self.last_id, Pending::Query { query, answer });
                    }
                    Some(LinkRequest::Subscribe { answer }) => {
                        self.last_id += 1;
                        self.pending.insert(self.last_id, Pending::Subscribe { answer });
                    }
                },
            }
        };
        drop(connecting);
        self.wire = connected?.0;
        if told.load(Ordering::Relaxed) {
            let notice = Notice { level: Level::Info, text: "Reconnected.".to_owned(), task: None };
            self.subscriptions.values().for_each(|one| one.feed.publish(&Update::Notice { notice: notice.clone() }));
        }
        for (id, subscribed) in &self.subscriptions {
            self.send(&ClientFrame::Subscribe { id: *id, after: Some(subscribed.at) });
        }
        for id in self.pending.keys().copied().collect::<Vec<_>>() {
            self.send_pending(id);
        }
        Ok(())
    }

    /// Answers everything that is still open.
    fn end(self, fault: &Fault) {
        for pending in self.pending.into_values() {
            match pending {
                // The engine ended because of it.
                Pending::Command { command, answer, .. } if *command == Command::Quit => {
                    let _ = answer.send(Ok(Outcome::Done));
                }
                Pending::Command { first: Some(_), answer, .. } => {
                    let fault = Fault::environment(format!("{}; the command may be carried out or not", fault.message));
                    drop(answer.send(Err(fault.hint("look before you repeat it"))));
                }
                Pending::Command { first: None, answer, .. } => drop(answer.send(Err(fault.clone()))),
                Pending::Query { answer, .. } => drop(answer.send(Err(fault.clone()))),
                Pending::Subscribe { answer } => drop(answer.send(Err(fault.clone()))),
                Pending::Session { pages } => drop(pages.try_send(Err(fault.clone()))),
            }
        }
        self.subscriptions.values().for_each(|subscribed| subscribed.feed.publish(&Update::Ended));
    }
}

/// Connects and exchanges hello and welcome. Calls `tell` once if that takes a while.
async fn connect(connector: &mut dyn Connector, hello: &Hello, tell: impl FnOnce()) -> Result<(Wire, Welcome), Fault> {
    let started = Instant::now();
    let (mut tell, mut pause) = (Some(tell), FIRST_PAUSE);
    loop {
        let fault = match connector.connect().await {
            Ok(connection) => match greet(connection, hello).await {
                Ok(greeted) => {
                    connector.on_connected();
                    return Ok(greeted);
                }
                Err(Greeting::Refused(fault)) => return Err(fault),
                Err(Greeting::Lost(fault)) => fault,
            },
            Err(ConnectError::Gone(fault)) => return Err(fault),
            Err(ConnectError::Away(fault)) => fault,
        };
        if connector.patience().is_some_and(|patience| started.elapsed() >= patience) {
            return Err(fault);
        }
        if started.elapsed() >= TELL_AFTER
            && let Some(tell) = tell.take()
        {
            tell();
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Why there was no welcome.
enum Greeting {
    /// The server does not want this client.
    Refused(Fault),
    /// The connection was lost, or the server is just closing.
    Lost(Fault),
}

async fn greet(connection: Connection, hello: &Hello) -> Result<(Wire, Welcome), Greeting> {
    let Connection { mut reader, mut writer, carrier } = connection;
    let lost = |error: &dyn std::fmt::Display| Greeting::Lost(Fault::environment(error.to_string()));
    frame::write(&mut writer, &ClientFrame::Hello(hello.clone())).await.map_err(|error| lost(&error))?;
    let first = tokio::time::timeout(WELCOME_TIMEOUT, frame::read(&mut reader, frame::MAX_REPLY)).await;
    let first = match first {
        Ok(Ok(Some(first))) => first,
        Ok(Ok(None)) => return Err(lost(&"the engine closed the connection")),
        Ok(Err(error)) => return Err(lost(&error)),
        Err(_) => return Err(lost(&"the engine does not answer")),
    };
    let welcome = match serde_json::from_slice(&first) {
        Ok(ServerFrame::Welcome(welcome)) => welcome,
        Ok(ServerFrame::Refused { fault, .. }) => return Err(Greeting::Refused(fault)),
        Ok(_) => return Err(lost(&"the engine did not greet")),
        Err(error) => return Err(Greeting::Refused(Fault::environment(format!("this is no engine: {error}")))),
    };
    if !VERSION.speaks(welcome.version) {
        let (theirs, ours) = (&welcome.program, crate::serve::place::program_version());
        let fault =
            Fault::environment(format!("this project is open in mxd {theirs}, which mxd {ours} does not understand"));
        return Err(Greeting::Refused(fault.hint("`mxd serve restart` moves its agents to this version")));
    }
    let (out, unsent) = mpsc::unbounded_channel();
    let (sender, frames) = mpsc::channel(MAX_UNREAD);
    let is_newer = welcome.version.minor > VERSION.minor;
    let tasks = [
        AbortOnDropHandle::new(tokio::spawn(write_frames(writer, unsent))),
        AbortOnDropHandle::new(tokio::spawn(read_frames(reader, sender, is_newer))),
    ];
    let program = welcome.program.clone();
    Ok((Wire { epoch: welcome.epoch, program, out, frames, _tasks: tasks, _carrier: carrier }, welcome))
}

async fn write_frames(
    mut writer: Box<dyn tokio::io::AsyncWrite + Send + Unpin>,
    mut unsent: mpsc::UnboundedReceiver<Vec<u8>>,
) {
    use tokio::io::AsyncWriteExt as _;
    while let Some(frame) = unsent.recv().await {
        // The reader notices a lost connection.
        if writer.write_all(&frame).await.is_err() || (unsent.is_empty() && writer.flush().await.is_err()) {
            return;
        }
    }
}

async fn read_frames(
    mut reader: Box<dyn tokio::io::AsyncRead + Send + Unpin>,
    frames: mpsc::Sender<Result<ServerFrame, Fault>>,
    is_newer: bool,
) {
    loop {
        let frame = match frame::read(&mut reader, frame::MAX_REPLY).await {
            Ok(Some(bytes)) => match serde_json::from_slice(&bytes) {
                // A newer minor version may add kinds of frames and of updates.
                Err(error) if is_newer && error.is_data() => {
                    tracing::debug!(%error, "a frame of a newer version was skipped");
                    continue;
                }
                read => read.map_err(|error| Fault::internal(format!("a frame of the engine cannot be read: {error}"))),
            },
            Ok(None) => return,
            Err(error) => Err(Fault::environment(error.to_string())),
        };
        let is_lost = frame.is_err();
        if frames.send(frame).await.is_err() || is_lost {
            return;
        }
    }
}
