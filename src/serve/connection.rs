//! One connection to a server: reads requests, carries them out, writes their answers and updates.
//!
//! What a client does not read stays in the ring, not here: a subscription waits while the connection is busy, and
//! then reads merged updates. A client that does not read for a while is disconnected, and may come back.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt as _;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;

use super::frame::{self, FrameError};
use super::guard;
use super::place::program_version;
use super::protocol::{
    ClientFrame, CommandRequest, Goodbye, Hello, Position, RequestId, ServerFrame, VERSION, Welcome,
};
use super::repeat;
use super::ring::NumberedUpdate;
use super::server::Service;
use super::stream::Subscription;
use crate::base::{Fault, TaskId};
use crate::engine::handle::Pages;
use crate::engine::update::Update;

/// How long a client may take to say hello.
const HELLO_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a client may read nothing.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// How much is written at a time. The timeout applies to each piece.
const PIECE: usize = 64 << 10;
/// How many finished frames may wait for the client.
const MAX_WAITING: usize = 8;
/// How many requests of a client are carried out at once. It is read no further meanwhile.
const MAX_REQUESTS: usize = 256;
/// How many subscriptions and open sessions a client may have.
const MAX_OPEN: usize = 32;
/// How long the last updates may take when the server closes.
const LAST_UPDATES: Duration = Duration::from_millis(300);

/// Who is at the other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Peer {
    User,
    /// A process that an agent started. It may only read.
    Agent,
}

/// Serves a connection until it ends.
pub(super) async fn serve(
    service: Arc<Service>,
    peer: Peer,
    mut reader: impl AsyncRead + Send + Unpin,
    writer: impl AsyncWrite + Send + Unpin + 'static,
) {
    let (frames, waiting) = mpsc::channel(MAX_WAITING);
    let writing = AbortOnDropHandle::new(tokio::spawn(write_frames(writer, waiting)));
    let out = Out(frames);
    if let Some(hello) = greet(&service, &mut reader, &out).await {
        service.connected.send_modify(|count| *count += 1);
        let _leaving = Leaving(&service);
        let _attached = service.stream.presence().attach(hello.kind, &hello.name);
        let mut connection = Connection {
            service: &service,
            peer,
            hello,
            out: out.clone(),
            tasks: JoinSet::new(),
            free: Arc::new(Semaphore::new(MAX_REQUESTS)),
            subscriptions: HashMap::new(),
            sessions: HashMap::new(),
        };
        connection.run(&mut reader).await;
    }
    drop(out);
    // What was answered is still written.
    let _ = writing.await;
}

/// Counts a client out.
struct Leaving<'a>(&'a Service);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.0.connected.send_modify(|count| *count -= 1);
    }
}

/// Exchanges hello and welcome. `None` if the client cannot be served.
async fn greet(service: &Service, reader: &mut (impl AsyncRead + Unpin), out: &Out) -> Option<Hello> {
    let refuse = |fault: Fault| out.send(ServerFrame::Refused { id: None, fault });
    let read = tokio::time::timeout(HELLO_TIMEOUT, frame::read(reader, frame::MAX_HELLO));
    let frame = match read.await {
        Ok(Ok(Some(bytes))) => ClientFrame::read(&bytes),
        Ok(Ok(None)) => return None,
        Ok(Err(error)) => {
            refuse(Fault::user(error.to_string())).await;
            return None;
        }
        Err(_) => {
            let seconds = HELLO_TIMEOUT.as_secs();
            refuse(Fault::user(format!("the client did not say hello within {seconds} seconds"))).await;
            return None;
        }
    };
    let hello = match frame {
        Ok(ClientFrame::Hello(hello)) => hello,
        Ok(_) => {
            refuse(Fault::user("the first frame must be a hello")).await;
            return None;
        }
        Err(error) => {
            refuse(error.into()).await;
            return None;
        }
    };
    if !VERSION.speaks(hello.version) {
        refuse(other_version(&hello)).await;
        return None;
    }
    let welcome = Welcome {
        version: VERSION,
        program: program_version().to_owned(),
        epoch: service.epoch(),
        project: service.project,
        pid: std::process::id(),
    };
    out.send(ServerFrame::Welcome(welcome)).await;
    Some(hello)
}

fn other_version(hello: &Hello) -> Fault {
    let (ours, theirs) = (program_version(), &hello.program);
    Fault::environment(format!(
        "this project is open in mxd {ours} (protocol {}), and mxd {theirs} speaks protocol {}",
        VERSION.major, hello.version.major
    ))
    .hint("`mxd serve restart` of the newer one moves its agents over")
}

/// Finished frames on their way to the client.
#[derive(Clone)]
struct Out(mpsc::Sender<Bytes>);

impl Out {
    /// Queues a frame. Waits while the client is slow.
    async fn send(&self, frame: ServerFrame) {
        self.send_encoded(frame.id(), frame::encode(&frame)).await;
    }

    async fn send_encoded(&self, id: Option<RequestId>, frame: Result<Vec<u8>, FrameError>) {
        let frame = frame.or_else(|error| {
            tracing::error!(%error, "an answer cannot be sent");
            frame::encode(&ServerFrame::Refused { id, fault: Fault::environment(error.to_string()) })
        });
        if let Ok(frame) = frame {
            // Fails if the connection has ended.
            let _ = self.0.send(frame.into()).await;
        }
    }
}

impl ServerFrame {
    fn id(&self) -> Option<RequestId> {
        match self {
            Self::Refused { id, .. } => *id,
            Self::Outcome { id, .. }
            | Self::Answer { id, .. }
            | Self::Page { id, .. }
            | Self::Subscribed { id, .. }
            | Self::Update { id, .. } => Some(*id),
            Self::Welcome(_) | Self::Goodbye(_) => None,
        }
    }
}

/// Writes frames until there are no more, or the client does not read them.
async fn write_frames(mut writer: impl AsyncWrite + Unpin, mut frames: mpsc::Receiver<Bytes>) {
    while let Some(frame) = frames.recv().await {
        for piece in frame.chunks(PIECE) {
            match tokio::time::timeout(WRITE_TIMEOUT, writer.write_all(piece)).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return,
                Err(_) => return tracing::info!("a client that does not read was disconnected"),
            }
        }
        if frames.is_empty() && writer.flush().await.is_err() {
            return;
        }
    }
    let _ = writer.shutdown().await;
}

struct Connection<'a> {
    service: &'a Arc<Service>,
    peer: Peer,
    hello: Hello,
    out: Out,
    /// Requests that are carried out. They end with the connection; commands do not.
    tasks: JoinSet<()>,
    free: Arc<Semaphore>,
    subscriptions: HashMap<RequestId, AbortOnDropHandle<()>>,
    sessions: HashMap<RequestId, Arc<tokio::sync::Mutex<Pages>>>,
}

impl Connection<'_> {
    async fn run(&mut self, reader: &mut (impl AsyncRead + Unpin)) {
        let mut closing = self.service.closing.clone();
        let goodbye = loop {
            let free = Arc::clone(&self.free);
            let read = async {
                let permit = free.acquire_owned().await.ok()?;
                Some((permit, frame::read(reader, frame::MAX_REQUEST).await))
            };
            tokio::select! {
                biased;
                goodbye = async { closing.wait_for(Option::is_some).await.ok().and_then(|why| *why) } => {
                    break goodbye.unwrap_or(Goodbye::Ended);
                }
                () = self.out.0.closed() => return,
                read = read => match read {
                    Some((permit, Ok(Some(bytes)))) => self.on_frame(permit, &bytes).await,
                    Some((_, Ok(None))) | None => return,
                    Some((_, Err(error))) => {
                        let fault = Fault::user(error.to_string());
                        return self.out.send(ServerFrame::Refused { id: None, fault }).await;
                    }
                }
            }
            while self.tasks.try_join_next().is_some() {}
        };
        // The subscriptions end with the last update of the engine.
        let subscriptions = std::mem::take(&mut self.subscriptions).into_values();
        let _ = tokio::time::timeout(LAST_UPDATES, futures::future::join_all(subscriptions)).await;
        let _ = tokio::time::timeout(LAST_UPDATES, async { while self.tasks.join_next().await.is_some() {} }).await;
        let _ = tokio::time::timeout(LAST_UPDATES, self.out.send(ServerFrame::Goodbye(goodbye))).await;
    }

    async fn on_frame(&mut self, permit: OwnedSemaphorePermit, bytes: &[u8]) {
        let frame = match ClientFrame::read(bytes) {
            Ok(frame) => frame,
            Err(error) => {
                let id = error.id;
                return self.out.send(ServerFrame::Refused { id, fault: error.into() }).await;
            }
        };
        match frame {
            ClientFrame::Hello(_) => {
                let fault = Fault::user("hello was said already").hint("nothing was changed");
                self.out.send(ServerFrame::Refused { id: None, fault }).await;
            }
            ClientFrame::Command(request) => self.on_command(permit, *request).await,
            ClientFrame::Query { id, query } => {
                let handle = self.service.handle.clone();
                self.answer(
                    permit,
                    async move { ServerFrame::Answer { id, result: Box::new(handle.query(query).await) } },
                );
            }
            ClientFrame::Session { id, task } => self.open_session(id, task).await,
            ClientFrame::NextPage { id } => self.next_page(permit, id).await,
            ClientFrame::CloseSession { id } => drop(self.sessions.remove(&id)),
            ClientFrame::Subscribe { id, after } => self.subscribe(id, after).await,
            ClientFrame::Unsubscribe { id } => drop(self.subscriptions.remove(&id)),
        }
    }

    /// Sends the answer when it is there. Later requests do not wait for it.
    fn answer(&mut self, permit: OwnedSemaphorePermit, answer: impl Future<Output = ServerFrame> + Send + 'static) {
        let out = self.out.clone();
        self.tasks.spawn(async move {
            let _permit = permit;
            out.send(answer.await).await;
        });
    }

    async fn refuse(&self, id: RequestId, fault: Fault) {
        self.out.send(ServerFrame::Refused { id: Some(id), fault }).await;
    }

    async fn on_command(&mut self, permit: OwnedSemaphorePermit, request: CommandRequest) {
        let CommandRequest { id, command, first, answered_below } = request;
        if self.peer == Peer::Agent {
            return self.refuse(id, guard::refusal()).await;
        }
        let (service, client) = (Arc::clone(self.service), self.hello.client);
        let command = command.signed(&self.hello.name);
        let pending = self.service.outcomes.run(client, id, answered_below, move || {
            let of_other_life = first.is_some_and(|first| first != service.epoch());
            let handle = service.handle.clone();
            async move {
                let command = repeat::with_key(command, client, id);
                if of_other_life {
                    repeat::carry_out(&handle, client, command).await
                } else {
                    handle.command(command).await
                }
            }
            .boxed()
        });
        self.answer(permit, async move { ServerFrame::Outcome { id, result: pending.await } });
    }

    async fn open_session(&mut self, id: RequestId, task: TaskId) {
        if self.sessions.len() >= MAX_OPEN {
            return self.refuse(id, Fault::user(format!("at most {MAX_OPEN} sessions can be read at once"))).await;
        }
        let pages = self.service.handle.session(task);
        self.sessions.insert(id, Arc::new(tokio::sync::Mutex::new(pages)));
    }

    async fn next_page(&mut self, permit: OwnedSemaphorePermit, id: RequestId) {
        let Some(pages) = self.sessions.get(&id).cloned() else {
            return self.refuse(id, Fault::user("this session is not open")).await;
        };
        self.answer(permit, async move { ServerFrame::Page { id, page: pages.lock().await.recv().await } });
    }

    async fn subscribe(&mut self, id: RequestId, after: Option<Position>) {
        self.subscriptions.retain(|_, task| !task.is_finished());
        if self.subscriptions.len() >= MAX_OPEN {
            return self.refuse(id, Fault::user(format!("at most {MAX_OPEN} subscriptions are possible"))).await;
        }
        let (service, out) = (Arc::clone(self.service), self.out.clone());
        let task = tokio::spawn(async move {
            let (snapshot, subscription) = match after.map(|after| (after, service.stream.resume(after))) {
                Some((_, Some(subscription))) => (None, subscription),
                Some((after, None)) => {
                    // The client has to start over, whatever its position was.
                    out.send(ServerFrame::Subscribed { id, at: after, snapshot: None }).await;
                    return out.send(ServerFrame::Update { id, seq: after.seq, update: Update::Resync }).await;
                }
                None => match service.stream.subscribe().await {
                    Ok((snapshot, subscription)) => (Some(Box::new(snapshot)), subscription),
                    Err(fault) => return out.send(ServerFrame::Refused { id: Some(id), fault }).await,
                },
            };
            out.send(ServerFrame::Subscribed { id, at: subscription.position(), snapshot }).await;
            send_updates(id, subscription, &out).await;
        });
        self.subscriptions.insert(id, AbortOnDropHandle::new(task));
    }
}

/// Sends updates until one of them is the last.
async fn send_updates(id: RequestId, mut subscription: Subscription, out: &Out) {
    loop {
        let Ok(batch) = subscription.next().await else {
            let seq = subscription.position().seq;
            return out.send(ServerFrame::Update { id, seq, update: Update::Resync }).await;
        };
        let mut frames = Vec::new();
        let mut is_over = false;
        for NumberedUpdate { seq, update, json } in &batch {
            is_over = matches!(**update, Update::Resync | Update::Moved | Update::Ended);
            if matches!(**update, Update::Moved) {
                // The connection ends with a goodbye that says so, and the client resumes elsewhere.
                break;
            }
            let before = format!("{{\"update\":{{\"id\":{id},\"seq\":{seq},\"update\":");
            match frame::join(&[before.as_bytes(), json, b"}}"]) {
                Ok(frame) => frames.extend(frame),
                Err(error) => {
                    tracing::error!(%error, "an update cannot be sent");
                    return out.send(ServerFrame::Update { id, seq: *seq, update: Update::Resync }).await;
                }
            }
            if is_over {
                break;
            }
        }
        if out.0.send(frames.into()).await.is_err() || is_over {
            return;
        }
    }
}
