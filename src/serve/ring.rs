//! The last updates of a project, numbered. Every client reads them at its own pace.
//!
//! Updates are never dropped inside the ring, only at its old end. A reader whose position was dropped learns that it
//! has to start over. Streamed text and views of tasks are merged for each reader, as far as they are unread.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;

use crate::base::TaskId;
use crate::engine::update::Update;

/// How many updates a ring keeps.
pub const MAX_UPDATES: usize = 10_000;
/// How many bytes of JSON a ring keeps.
pub const MAX_BYTES: usize = 8 << 20;

#[derive(Debug)]
pub struct Ring {
    entries: VecDeque<Entry>,
    /// The number of the last update. The first one is 1.
    last: u64,
    bytes: usize,
    max_updates: usize,
    max_bytes: usize,
}

#[derive(Debug)]
struct Entry {
    update: Arc<Update>,
    json: Bytes,
}

/// An update for one reader.
#[derive(Clone, Debug, PartialEq)]
pub struct NumberedUpdate {
    /// The number of the last update that is contained in this one.
    pub seq: u64,
    pub update: Arc<Update>,
    pub json: Bytes,
}

/// Some updates after the reader's position are gone. It has to take a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lagged;

impl Default for Ring {
    fn default() -> Self {
        Self::new(MAX_UPDATES, MAX_BYTES)
    }
}

impl Ring {
    pub fn new(max_updates: usize, max_bytes: usize) -> Self {
        Self { entries: VecDeque::new(), last: 0, bytes: 0, max_updates, max_bytes }
    }

    /// Returns the number of the last update.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Adds an update and returns its number.
    pub fn push(&mut self, update: Update) -> u64 {
        let json = to_json(&update);
        self.bytes += json.len();
        self.entries.push_back(Entry { update: Arc::new(update), json });
        self.last += 1;
        // One update larger than the whole ring still has to reach its readers.
        while self.entries.len() > 1 && (self.entries.len() > self.max_updates || self.bytes > self.max_bytes) {
            self.bytes -= self.entries.pop_front().map_or(0, |entry| entry.json.len());
        }
        self.last
    }

    /// Forgets all updates. Readers that have not read them lag.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.bytes = 0;
    }

    /// Returns true if nothing after this position was dropped.
    pub fn has_all_after(&self, seq: u64) -> bool {
        seq <= self.last && self.last - seq <= self.entries.len() as u64
    }

    /// Returns the updates after `seq`, up to about `max_bytes`, merged where that loses nothing.
    pub fn read(&self, seq: u64, max_bytes: usize) -> Result<Vec<NumberedUpdate>, Lagged> {
        if !self.has_all_after(seq) {
            return Err(Lagged);
        }
        let first = usize::try_from(seq + self.entries.len() as u64 - self.last).map_err(|_| Lagged)?;
        let (mut batch, mut bytes, mut end) = (Batch::default(), 0, seq);
        for (entry, seq) in self.entries.iter().skip(first).zip(seq + 1..) {
            bytes += entry.json.len();
            if bytes > max_bytes && !batch.updates.is_empty() {
                break;
            }
            batch.add(seq, entry);
            end = seq;
        }
        Ok(batch.finish(end))
    }
}

/// Updates for one reader, while they are merged.
#[derive(Default)]
struct Batch {
    updates: Vec<Pending>,
    /// Where the last view of each task is, if no later update is about the same task.
    views: HashMap<TaskId, usize>,
}

struct Pending {
    seq: u64,
    update: Arc<Update>,
    /// `None` if updates were merged into this one.
    json: Option<Bytes>,
}

impl Batch {
    fn add(&mut self, seq: u64, entry: &Entry) {
        match &*entry.update {
            Update::Live { task, live } => {
                self.views.remove(task);
                if let Some(last) = self.updates.last_mut()
                    && let Update::Live { task: of, .. } = &*last.update
                    && of == task
                    && let Update::Live { live: joined, .. } = Arc::make_mut(&mut last.update)
                    && joined.join(live.clone()).is_none()
                {
                    (last.seq, last.json) = (seq, None);
                    return;
                }
            }
            // The newer view takes the place of the older one: others may come after it that refer to the task.
            Update::Task { task } => {
                let end = self.updates.len();
                let at = *self.views.entry(task.node.id).or_insert(end);
                if let Some(earlier) = self.updates.get_mut(at) {
                    // The number stays: a reader that is cut here gets the view once more, which changes nothing.
                    (earlier.update, earlier.json) = (Arc::clone(&entry.update), Some(entry.json.clone()));
                    return;
                }
            }
            Update::Event { task, .. } | Update::Removed { task } => drop(self.views.remove(task)),
            Update::Resync | Update::Moved | Update::Ended => self.views.clear(),
            Update::Project { .. } | Update::Notice { .. } | Update::Clients { .. } | Update::Quiet => {}
        }
        self.updates.push(Pending { seq, update: Arc::clone(&entry.update), json: Some(entry.json.clone()) });
    }

    /// Returns the updates up to number `end`.
    fn finish(mut self, end: u64) -> Vec<NumberedUpdate> {
        if let Some(last) = self.updates.last_mut() {
            last.seq = end;
        }
        let encode = |Pending { seq, update, json }| {
            let json = json.unwrap_or_else(|| to_json(&update));
            NumberedUpdate { seq, update, json }
        };
        self.updates.into_iter().map(encode).collect()
    }
}

/// Returns an update as JSON. If that fails, which no value of the type does, readers start over.
fn to_json(update: &Update) -> Bytes {
    match serde_json::to_vec(update) {
        Ok(json) => json.into(),
        Err(error) => {
            tracing::error!(%error, "an update cannot be sent");
            Bytes::from_static(br#"{"update":"resync"}"#)
        }
    }
}

#[cfg(test)]
#[path = "ring_tests.rs"]
mod tests;
