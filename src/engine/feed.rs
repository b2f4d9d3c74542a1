//! Distributes updates to watchers. Each watcher has its own queue. State changes stay in it until they are read,
//! streamed text is merged while it waits, and a watcher that falls too far behind gets `Resync`.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::Notify;

use crate::base::TaskId;
use crate::engine::snapshot::Snapshot;
use crate::engine::update::Update;

/// The longest queue. A watcher whose queue is full gets `Resync` instead.
const MAX_QUEUE: usize = 20_000;
/// How many notices are kept for the first watcher.
const MAX_UNSEEN: usize = 100;

#[derive(Debug, Default)]
pub struct Feed {
    watchers: Mutex<Vec<Weak<Queue>>>,
    /// Notices that had no watcher, for example during startup. No snapshot has them, so the first watcher gets them.
    unseen: Mutex<Vec<Update>>,
}

#[derive(Debug, Default)]
struct Queue {
    unread: Mutex<Unread>,
    added: Notify,
}

#[derive(Debug, Default)]
struct Unread {
    updates: VecDeque<Update>,
    /// How many updates were removed from the front. Positions count from the first update ever.
    read: u64,
    /// The position of the last view of each task, if no later update is about the same task.
    views: HashMap<TaskId, u64>,
    /// Snapshots and their positions, oldest first. Nothing is merged across them.
    snapshots: VecDeque<(u64, Box<Snapshot>)>,
}

/// What a watcher finds in its queue.
#[derive(Debug, PartialEq)]
pub enum FeedItem {
    Update(Update),
    /// The state at this position: it contains all earlier updates of this watcher and none of the later ones.
    Snapshot(Box<Snapshot>),
}

/// The receiving end of a feed. Dropping it unsubscribes.
#[derive(Debug)]
pub struct Watcher {
    queue: Arc<Queue>,
}

impl Feed {
    /// Returns a new watcher. It gets all updates from now on, and the notices that had no watcher.
    pub fn watch(&self) -> Watcher {
        let queue = Arc::new(Queue::default());
        let mut watchers = self.lock();
        let unseen = std::mem::take(&mut *self.unseen.lock().unwrap_or_else(PoisonError::into_inner));
        unseen.into_iter().for_each(|notice| queue.push(notice));
        watchers.push(Arc::downgrade(&queue));
        Watcher { queue }
    }

    pub fn publish(&self, update: &Update) {
        let mut watchers = self.lock();
        watchers.retain(|watcher| match watcher.upgrade() {
            Some(queue) => {
                queue.push(update.clone());
                true
            }
            None => false,
        });
        if watchers.is_empty() && matches!(update, Update::Notice { .. }) {
            let mut unseen = self.unseen.lock().unwrap_or_else(PoisonError::into_inner);
            if unseen.len() < MAX_UNSEEN {
                unseen.push(update.clone());
            }
        }
    }

    /// Returns true if somebody watches.
    pub fn is_watched(&self) -> bool {
        self.lock().iter().any(|watcher| watcher.strong_count() > 0)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Weak<Queue>>> {
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Unread> {
        self.unread.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, update: Update) {
        let mut unread = self.lock();
        if unread.updates.len() >= MAX_QUEUE {
            unread.clear();
            unread.add(Update::Resync);
        }
        let Some(update) = unread.merge(update) else { return };
        unread.add(update);
        drop(unread);
        self.added.notify_one();
    }
}

impl Unread {
    fn end(&self) -> u64 {
        self.read + self.updates.len() as u64
    }

    /// Adds a snapshot after all updates so far.
    fn add_snapshot(&mut self, snapshot: Box<Snapshot>) {
        self.views.clear();
        self.snapshots.push_back((self.end(), snapshot));
    }

    fn next_item(&mut self) -> Option<FeedItem> {
        let is_due = self.snapshots.front().is_some_and(|(at, _)| *at <= self.read);
        let snapshot = if is_due { self.snapshots.pop_front() } else { None };
        match snapshot {
            Some((_, snapshot)) => Some(FeedItem::Snapshot(snapshot)),
            None => self.next().map(FeedItem::Update),
        }
    }

    fn clear(&mut self) {
        self.read += self.updates.len() as u64;
        self.updates.clear();
        self.views.clear();
    }

    fn next(&mut self) -> Option<Update> {
        let update = self.updates.pop_front()?;
        if let Update::Task { task } = &update
            && self.views.get(&task.node.id) == Some(&self.read)
        {
            self.views.remove(&task.node.id);
        }
        self.read += 1;
        Some(update)
    }

    fn add(&mut self, update: Update) {
        match &update {
            Update::Task { task } => drop(self.views.insert(task.node.id, self.end())),
            Update::Event { task, .. } | Update::Live { task, .. } | Update::Removed { task } => {
                self.views.remove(task);
            }
            Update::Resync => self.views.clear(),
            Update::Project { .. }
            | Update::Notice { .. }
            | Update::Clients { .. }
            | Update::Quiet
            | Update::Moved
            | Update::Ended => {}
        }
        self.updates.push_back(update);
    }

    /// Returns the unread view of a task, if no later update is about the same task.
    fn view(&mut self, task: TaskId) -> Option<&mut Update> {
        let at = self.views.get(&task)?.checked_sub(self.read)?;
        self.updates.get_mut(usize::try_from(at).ok()?)
    }

    /// Merges an update into an unread one if that loses nothing. Returns the update if it cannot be merged.
    fn merge(&mut self, update: Update) -> Option<Update> {
        match update {
            Update::Live { task, live } => {
                let end = self.end();
                if self.snapshots.back().is_some_and(|(at, _)| *at == end) {
                    return Some(Update::Live { task, live });
                }
                let last = match self.updates.back_mut() {
                    Some(Update::Live { task: of, live }) if *of == task => live,
                    _ => return Some(Update::Live { task, live }),
                };
                last.join(live).map(|live| Update::Live { task, live })
            }
            // A view is complete, so the newer one replaces the older, unless another update of that task is between
            // them.
            Update::Task { task } => match self.view(task.node.id) {
                Some(earlier) => {
                    *earlier = Update::Task { task };
                    None
                }
                None => Some(Update::Task { task }),
            },
            other @ (Update::Removed { .. }
            | Update::Event { .. }
            | Update::Project { .. }
            | Update::Notice { .. }
            | Update::Clients { .. }
            | Update::Quiet
            | Update::Resync
            | Update::Moved
            | Update::Ended) => Some(other),
        }
    }
}

impl Watcher {
    /// Sends an update to this watcher only.
    pub(in crate::engine) fn push(&self, update: Update) {
        self.queue.push(update);
    }

    /// Waits for the next update. Skips snapshots.
    pub async fn next(&mut self) -> Update {
        loop {
            if let FeedItem::Update(update) = self.next_item().await {
                return update;
            }
        }
    }

    /// Returns the next update, or `None` if the queue is empty. Skips snapshots.
    pub fn try_next(&mut self) -> Option<Update> {
        loop {
            if let FeedItem::Update(update) = self.try_next_item()? {
                return Some(update);
            }
        }
    }

    /// Waits for the next update or snapshot.
    pub async fn next_item(&mut self) -> FeedItem {
        loop {
            if let Some(item) = self.try_next_item() {
                return item;
            }
            self.queue.added.notified().await;
        }
    }

    /// Returns the next update or snapshot, or `None` if the queue is empty.
    pub fn try_next_item(&mut self) -> Option<FeedItem> {
        self.queue.lock().next_item()
    }

    /// Returns the place where snapshots for this watcher are added.
    pub fn snapshots(&self) -> SnapshotSlot {
        SnapshotSlot(Arc::downgrade(&self.queue))
    }
}

/// Adds snapshots to the queue of one watcher.
#[derive(Clone, Debug)]
pub struct SnapshotSlot(Weak<Queue>);

impl SnapshotSlot {
    /// Adds a snapshot. The caller makes sure that no update is published between taking and adding it.
    pub fn add(&self, snapshot: Snapshot) {
        if let Some(queue) = self.0.upgrade() {
            queue.lock().add_snapshot(Box::new(snapshot));
            queue.added.notify_one();
        }
    }
}

#[cfg(test)]
#[path = "feed_tests.rs"]
mod tests;
