//! The updates of a project as server-sent events. Each has an id, `epoch.seq`, with which a client resumes.
//!
//! A stream begins with the rest of the updates after the client's last id, or with a `snapshot`. If updates were
//! dropped, `resync` and a `snapshot` follow: the client forgets what it has and takes the snapshot. An event is
//! pulled only when the connection can take it, so a client that does not read lags behind in the ring and costs
//! nothing.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::{BufMut as _, Bytes, BytesMut};
use tokio::sync::watch;

use super::access::{Access, Client};
use crate::base::{Fault, known_secrets};
use crate::engine::snapshot::Snapshot;
use crate::engine::update::Update;
use crate::model::ClientKind;
use crate::serve::presence::Attached;
use crate::serve::protocol::{Epoch, Position};
use crate::serve::ring::NumberedUpdate;
use crate::serve::stream::{Stream, Subscription};

/// How long a stream may be silent: proxies close silent connections.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// The first bytes: how long a browser waits before it connects again.
const PREAMBLE: &str = "retry: 1000\n\n";

/// Where a client wants to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// With a snapshot.
    Fresh,
    After(Position),
}

/// Not the id of an event.
#[derive(Debug, PartialEq, Eq)]
pub struct InvalidId;

/// Returns the position that an id names.
pub fn parse_id(id: &str) -> Result<Position, InvalidId> {
    let (epoch, seq) = id.split_once('.').ok_or(InvalidId)?;
    let epoch = ulid::Ulid::from_string(epoch).map(Epoch).map_err(|_| InvalidId)?;
    let is_number = !seq.is_empty() && seq.bytes().all(|byte| byte.is_ascii_digit());
    let seq = seq.parse().ok().filter(|_| is_number).ok_or(InvalidId)?;
    Ok(Position { epoch, seq })
}

/// What ends a stream besides the engine.
pub struct Limits {
    pub access: Arc<Access>,
    pub client: Client,
    pub closing: watch::Receiver<bool>,
}

/// A stream of events, as chunks of an answer.
struct Events {
    stream: Arc<Stream>,
    state: State,
    limits: Limits,
    tokens: watch::Receiver<u64>,
    _attached: Option<Attached>,
}

enum State {
    /// The stream begins.
    Begin(Start),
    /// A snapshot is next.
    Snapshot,
    Updates(Subscription),
    Ended,
}

/// Returns the events of a stream from `start` on.
pub fn events(
    stream: Arc<Stream>,
    start: Start,
    limits: Limits,
) -> impl futures::Stream<Item = Result<Bytes, Infallible>> + Send + 'static {
    let tokens = limits.access.changes();
    let attached = stream.presence().attach(ClientKind::Http, &limits.client.shown_name());
    let events = Events { stream, state: State::Begin(start), limits, tokens, _attached: attached };
    futures::stream::unfold(events, |mut events| async move {
        let chunk = events.next().await?;
        Some((Ok(chunk), events))
    })
}

impl Events {
    /// Returns the next chunk, or `None` at the end.
    async fn next(&mut self) -> Option<Bytes> {
        let mut out = BytesMut::new();
        match std::mem::replace(&mut self.state, State::Ended) {
            State::Begin(start) => {
                out.put_slice(PREAMBLE.as_bytes());
                self.begin(start, &mut out);
            }
            State::Snapshot => match self.stream.subscribe().await {
                Ok((snapshot, subscription)) => {
                    write_snapshot(&mut out, subscription.position(), &snapshot);
                    self.state = State::Updates(subscription);
                }
                Err(fault) => write_fault(&mut out, &fault),
            },
            State::Updates(subscription) => self.updates(subscription, &mut out).await?,
            State::Ended => return None,
        }
        Some(out.freeze())
    }

    fn begin(&mut self, start: Start, out: &mut BytesMut) {
        // The token may have been revoked after the request was let in and before changes were watched.
        if !self.limits.access.is_current(&self.limits.client) {
            return write_revoked(out);
        }
        self.state = match start {
            Start::Fresh => State::Snapshot,
            Start::After(position) => match self.stream.resume(position) {
                Some(subscription) => State::Updates(subscription),
                None => {
                    write_resync(out, position);
                    State::Snapshot
                }
            },
        };
    }

    /// Writes the next updates. Returns `None` if the stream ends without one.
    async fn updates(&mut self, mut subscription: Subscription, out: &mut BytesMut) -> Option<()> {
        let batch = loop {
            tokio::select! {
                biased;
                _ = self.limits.closing.wait_for(|closing| *closing) => return None,
                Ok(()) = self.tokens.changed() => {
                    if !self.limits.access.is_current(&self.limits.client) {
                        write_revoked(out);
                        return Some(());
                    }
                }
                batch = subscription.next() => break batch,
                () = tokio::time::sleep(KEEP_ALIVE) => {
                    out.put_slice(b":\n\n");
                    self.state = State::Updates(subscription);
                    return Some(());
                }
            }
        };
        let epoch = subscription.position().epoch;
        let Ok(batch) = batch else {
            write_resync(out, subscription.position());
            self.state = State::Snapshot;
            return Some(());
        };
        for NumberedUpdate { seq, update, json } in &batch {
            write_update(out, Position { epoch, seq: *seq }, update, json);
            match **update {
                Update::Resync => {
                    self.state = State::Snapshot;
                    return Some(());
                }
                // The client finds the other process and starts over there.
                Update::Moved | Update::Ended => return Some(()),
                Update::Task { .. }
                | Update::Removed { .. }
                | Update::Event { .. }
                | Update::Live { .. }
                | Update::Project { .. }
                | Update::Notice { .. }
                | Update::Clients { .. }
                | Update::Quiet => {}
            }
        }
        self.state = State::Updates(subscription);
        Some(())
    }
}

/// Returns the name of the event that carries an update.
pub fn event_name(update: &Update) -> &'static str {
    match update {
        Update::Task { .. } => "task",
        Update::Removed { .. } => "removed",
        Update::Event { .. } => "event",
        Update::Live { .. } => "live",
        Update::Project { .. } => "project",
        Update::Notice { .. } => "notice",
        Update::Quiet => "quiet",
        Update::Resync => "resync",
        Update::Clients { .. } => "clients",
        Update::Moved => "moved",
        Update::Ended => "ended",
    }
}

fn write_update(out: &mut BytesMut, at: Position, update: &Update, json: &[u8]) {
    write(out, Some(at), event_name(update), json);
}

fn write_resync(out: &mut BytesMut, at: Position) {
    write(out, Some(at), "resync", br#"{"update":"resync"}"#);
}

fn write_snapshot(out: &mut BytesMut, at: Position, snapshot: &Snapshot) {
    match serde_json::to_vec(snapshot) {
        Ok(json) => write(out, Some(at), "snapshot", &json),
        Err(error) => write_fault(out, &Fault::internal(error.to_string())),
    }
}

/// Writes why the stream ends.
fn write_fault(out: &mut BytesMut, fault: &Fault) {
    write(out, None, "fault", &serde_json::to_vec(fault).unwrap_or_default());
}

fn write_revoked(out: &mut BytesMut) {
    write_fault(out, &Fault::user("the token was revoked or has expired"));
}

/// Writes an event. JSON has no line breaks, so it is one line of data.
fn write(out: &mut BytesMut, at: Option<Position>, event: &str, json: &[u8]) {
    if let Some(Position { epoch, seq }) = at {
        out.put_slice(format!("id: {}.{seq}\n", epoch.0).as_bytes());
    }
    out.put_slice(format!("event: {event}\ndata: ").as_bytes());
    out.put_slice(known_secrets::mask(&String::from_utf8_lossy(json)).as_bytes());
    out.put_slice(b"\n\n");
}

#[cfg(test)]
#[path = "sse_tests.rs"]
mod tests;
