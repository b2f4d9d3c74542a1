//! What is told to those who watch. Every watcher has a queue of its own: state changes stay in it until they are read,
//! streamed text is put together while it waits, and one who falls too far behind is told to look anew.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::Notify;

use crate::base::TaskId;
use crate::engine::update::Update;

/// How much may wait for one watcher before it is told to look anew.
const LONGEST: usize = 20_000;
/// How many notices are kept for whoever comes first.
const MOST_UNHEARD: usize = 100;

/// Everybody who watches.
#[derive(Debug, Default)]
pub struct Feed {
    watchers: Mutex<Vec<Weak<Queue>>>,
    /// Notices that nobody heard, as while the engine starts: no snapshot has them, so whoever comes first is told.
    unheard: Mutex<Vec<Update>>,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    news: Notify,
}

/// What one watcher has not read.
#[derive(Debug, Default)]
struct Waiting {
    updates: VecDeque<Update>,
    /// How many updates were taken out at the front: the place of an update counts from the first there ever was.
    read: u64,
    /// Where the last view of a task waits, if nothing of that task came after it.
    views: HashMap<TaskId, u64>,
}

/// One watcher's end. Dropping it ends the watching.
#[derive(Debug)]
pub struct Watcher {
    queue: Arc<Queue>,
}

impl Feed {
    /// Returns a new watcher, who is told everything from now on, and what nobody has heard yet.
    pub fn watch(&self) -> Watcher {
        let queue = Arc::new(Queue::default());
        let mut watchers = self.lock();
        let unheard = std::mem::take(&mut *self.unheard.lock().unwrap_or_else(PoisonError::into_inner));
        unheard.into_iter().for_each(|notice| queue.push(notice));
        watchers.push(Arc::downgrade(&queue));
        Watcher { queue }
    }

    pub fn tell(&self, update: &Update) {
        let mut watchers = self.lock();
        watchers.retain(|watcher| match watcher.upgrade() {
            Some(queue) => {
                queue.push(update.clone());
                true
            }
            None => false,
        });
        if watchers.is_empty() && matches!(update, Update::Notice { .. }) {
            let mut unheard = self.unheard.lock().unwrap_or_else(PoisonError::into_inner);
            if unheard.len() < MOST_UNHEARD {
                unheard.push(update.clone());
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Weak<Queue>>> {
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, update: Update) {
        let mut waiting = self.lock();
        if waiting.updates.len() >= LONGEST {
            waiting.clear();
            waiting.add(Update::Resync);
        }
        let Some(update) = waiting.join(update) else { return };
        waiting.add(update);
        drop(waiting);
        self.news.notify_one();
    }
}

impl Waiting {
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
            Update::Task { task } => drop(self.views.insert(task.node.id, self.read + self.updates.len() as u64)),
            Update::Event { task, .. } | Update::Live { task, .. } | Update::Removed { task } => {
                self.views.remove(task);
            }
            Update::Resync => self.views.clear(),
            Update::Project { .. } | Update::Notice { .. } | Update::Quiet | Update::Ended => {}
        }
        self.updates.push_back(update);
    }

    /// Returns the view of a task that waits, if nothing of that task came after it.
    fn view(&mut self, task: TaskId) -> Option<&mut Update> {
        let at = self.views.get(&task)?.checked_sub(self.read)?;
        self.updates.get_mut(usize::try_from(at).ok()?)
    }

    /// Puts an update together with one that still waits, where nothing is lost by it. Returns it if that cannot be done.
    fn join(&mut self, update: Update) -> Option<Update> {
        match update {
            Update::Live { task, live } => {
                let last = match self.updates.back_mut() {
                    Some(Update::Live { task: of, live }) if *of == task => live,
                    _ => return Some(Update::Live { task, live }),
                };
                last.join(live).map(|live| Update::Live { task, live })
            }
            // A view is whole: the newer one takes the place of the older, unless something of that task came between.
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
            | Update::Quiet
            | Update::Resync
            | Update::Ended) => Some(other),
        }
    }
}

impl Watcher {
    /// Tells this watcher alone.
    pub(in crate::engine) fn tell(&self, update: Update) {
        self.queue.push(update);
    }

    /// Returns the next update, once there is one.
    pub async fn next(&mut self) -> Update {
        loop {
            if let Some(update) = self.try_next() {
                return update;
            }
            self.queue.news.notified().await;
        }
    }

    /// Returns the next update if there is one.
    pub fn try_next(&mut self) -> Option<Update> {
        self.queue.lock().next()
    }
}

#[cfg(test)]
#[path = "feed_tests.rs"]
mod tests;
