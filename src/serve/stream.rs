//! The updates of one engine for all clients of its server: one watcher fills the [`Ring`], clients read it.
//!
//! The watcher exists only while somebody is subscribed, and a while longer so that a client that was cut off can
//! resume. A snapshot comes through the same queue as the updates, so its position in the stream is exact.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};

use super::presence::Presence;
use super::protocol::{Epoch, Position};
use super::ring::{Lagged, NumberedUpdate, Ring};
use crate::base::Fault;
use crate::engine::Handle;
use crate::engine::feed::{FeedItem, Watcher};
use crate::engine::snapshot::Snapshot;
use crate::engine::update::Update;

/// How long updates are kept for clients that were cut off, if nobody is subscribed.
const LINGER: Duration = Duration::from_secs(60);
/// How many updates are taken from the watcher at a time.
const MAX_TAKEN: usize = 512;
/// How much a client gets at a time, in bytes of JSON. What waits longer is merged more.
const MAX_BATCH: usize = 256 << 10;

/// A numbered stream of updates.
pub struct Stream {
    handle: Handle,
    epoch: Epoch,
    state: Mutex<State>,
    /// The number of the last update.
    last: watch::Sender<u64>,
    subscriptions: AtomicUsize,
    presence: Arc<Presence>,
}

#[derive(Default)]
struct State {
    ring: Ring,
    /// Reaches the task that fills the ring, if there is one.
    pump: Option<mpsc::UnboundedSender<SnapshotRequest>>,
}

/// The snapshot and the number of the last update that it contains.
type NumberedSnapshot = (u64, Box<Snapshot>);
type SnapshotRequest = oneshot::Sender<Result<NumberedSnapshot, Fault>>;

/// A reader of the stream.
pub struct Subscription {
    stream: Arc<Stream>,
    after: u64,
    last: watch::Receiver<u64>,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.stream.subscriptions.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Stream {
    pub fn new(handle: Handle, epoch: Epoch) -> Arc<Self> {
        let (last, _) = watch::channel(0);
        let (presence, state, subscriptions) = (Presence::new(handle.clone()), Mutex::default(), AtomicUsize::new(0));
        Arc::new(Self { handle, epoch, state, last, subscriptions, presence })
    }

    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Returns the list of who is attached.
    pub fn presence(&self) -> &Arc<Presence> {
        &self.presence
    }

    /// Returns the current state, and a reader of all later updates.
    pub async fn subscribe(self: &Arc<Self>) -> Result<(Snapshot, Subscription), Fault> {
        // Counted before the snapshot is taken, so that the pump does not end in between.
        let mut subscription = self.reader(0);
        let (answer, result) = oneshot::channel();
        self.request_snapshot(answer);
        let (seq, snapshot) = result.await.map_err(|_| Fault::environment("the engine has ended"))??;
        subscription.after = seq;
        Ok((*snapshot, subscription))
    }

    /// Returns a reader of all updates after `position`, or `None` if they are not all there.
    pub fn resume(self: &Arc<Self>, position: Position) -> Option<Subscription> {
        if position.epoch != self.epoch {
            return None;
        }
        let subscription = self.reader(position.seq);
        let state = self.lock();
        (state.pump.is_some() && state.ring.has_all_after(position.seq)).then_some(subscription)
    }

    fn reader(self: &Arc<Self>, after: u64) -> Subscription {
        self.subscriptions.fetch_add(1, Ordering::Relaxed);
        Subscription { stream: Arc::clone(self), after, last: self.last.subscribe() }
    }

    fn request_snapshot(self: &Arc<Self>, mut request: SnapshotRequest) {
        let mut state = self.lock();
        if let Some(pump) = &state.pump {
            match pump.send(request) {
                Ok(()) => return,
                Err(mpsc::error::SendError(unsent)) => request = unsent,
            }
        }
        let (requests, inbox) = mpsc::unbounded_channel();
        let _ = requests.send(request);
        state.pump = Some(requests);
        tokio::spawn(Arc::clone(self).pump(inbox));
    }

    /// Fills the ring until nobody has needed it for a while, or the engine has ended.
    async fn pump(self: Arc<Self>, mut requests: mpsc::UnboundedReceiver<SnapshotRequest>) {
        let (snapshot, mut watcher) = match self.handle.subscribe().await {
            Ok(subscribed) => subscribed,
            Err(fault) => return self.fail(requests, &fault),
        };
        let mut waiting: VecDeque<SnapshotRequest> = VecDeque::new();
        // Nobody else fills the ring, so the first snapshot stands at its end.
        if let Some(first) = requests.recv().await {
            let _ = first.send(Ok((self.lock().ring.last(), Box::new(snapshot))));
        }
        loop {
            tokio::select! {
                biased;
                Some(request) = requests.recv() => {
                    waiting.push_back(request);
                    if let Err(fault) = self.handle.add_snapshot(&watcher).await {
                        return self.fail_all(requests, waiting, &fault);
                    }
                }
                item = watcher.next_item() => {
                    if self.take(item, &mut watcher, &mut waiting) {
                        let ended = Fault::environment("the engine has ended");
                        return self.fail_all(requests, waiting, &ended);
                    }
                }
                () = tokio::time::sleep(LINGER), if waiting.is_empty() && self.is_unused() => {
                    let mut state = self.lock();
                    if self.is_unused() && requests.is_empty() {
                        state.pump = None;
                        state.ring.clear();
                        return;
                    }
                }
            }
        }
    }

    /// Takes an item and what waits behind it. Returns true if the engine has ended.
    fn take(&self, item: FeedItem, watcher: &mut Watcher, waiting: &mut VecDeque<SnapshotRequest>) -> bool {
        let mut state = self.lock();
        let mut ended = false;
        let more = std::iter::from_fn(|| watcher.try_next_item()).take(MAX_TAKEN);
        for item in std::iter::once(item).chain(more) {
            match item {
                FeedItem::Update(update) => {
                    ended |= matches!(update, Update::Moved | Update::Ended);
                    state.ring.push(update);
                }
                FeedItem::Snapshot(snapshot) => {
                    if let Some(request) = waiting.pop_front() {
                        let _ = request.send(Ok((state.ring.last(), snapshot)));
                    }
                }
            }
        }
        self.last.send_replace(state.ring.last());
        ended
    }

    fn fail_all(
        &self,
        requests: mpsc::UnboundedReceiver<SnapshotRequest>,
        waiting: VecDeque<SnapshotRequest>,
        fault: &Fault,
    ) {
        waiting.into_iter().for_each(|request| drop(request.send(Err(fault.clone()))));
        self.fail(requests, fault);
    }

    /// Ends the pump. The ring stays, so that every client still reads the end.
    fn fail(&self, mut requests: mpsc::UnboundedReceiver<SnapshotRequest>, fault: &Fault) {
        let mut state = self.lock();
        state.pump = None;
        requests.close();
        while let Ok(request) = requests.try_recv() {
            let _ = request.send(Err(fault.clone()));
        }
    }

    fn is_unused(&self) -> bool {
        self.subscriptions.load(Ordering::Relaxed) == 0
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Subscription {
    /// Returns the position up to which updates were read.
    pub fn position(&self) -> Position {
        Position { epoch: self.stream.epoch, seq: self.after }
    }

    /// Waits for the next updates, as many as there are within a limit.
    pub async fn next(&mut self) -> Result<Vec<NumberedUpdate>, Lagged> {
        loop {
            // Seen before the ring is read: a later update is noticed by the next wait.
            self.last.borrow_and_update();
            let batch = self.stream.lock().ring.read(self.after, MAX_BATCH)?;
            if let Some(last) = batch.last() {
                self.after = last.seq;
                return Ok(batch);
            }
            // The sender lives as long as the stream, which this reader holds.
            let _ = self.last.changed().await;
        }
    }
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
