//! A group of appends that share the cost of a sync.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::base::{EventId, TaskId};
use crate::model::event::Event;
use crate::store::disk::Disk;
use crate::store::writer::actor::OpenLog;
use crate::store::writer::save::save;
use crate::store::writer::{Answer, Durability, Watch};
use crate::store::{StoreError, line};

/// The lines to write together, and the callers that wait for them.
#[derive(Default)]
pub(super) struct Group {
    staged: BTreeMap<TaskId, Staged>,
    waiting: Vec<Waiting>,
}

/// The lines for one session.
#[derive(Default)]
struct Staged {
    lines: Vec<u8>,
    head: Option<EventId>,
}

struct Waiting {
    session: TaskId,
    events: Vec<Arc<Event>>,
    answer: Answer,
}

impl Group {
    /// Returns the last event staged for `session`.
    pub(super) fn head(&self, session: TaskId) -> Option<EventId> {
        self.staged.get(&session).and_then(|staged| staged.head)
    }

    /// Adds events. On an error none of them is added.
    pub(super) fn add(&mut self, session: TaskId, events: &[Event]) -> Result<(), StoreError> {
        let staged = self.staged.entry(session).or_default();
        let before = staged.lines.len();
        for event in events {
            if let Err(error) = line::encode(event, &mut staged.lines) {
                staged.lines.truncate(before);
                return Err(error);
            }
        }
        staged.head = events.last().map(|event| event.id).or(staged.head);
        Ok(())
    }

    /// Adds encoded lines that end in `head`.
    pub(super) fn add_lines(&mut self, session: TaskId, lines: &[u8], head: Option<EventId>) {
        let staged = self.staged.entry(session).or_default();
        staged.lines.extend_from_slice(lines);
        staged.head = head.or(staged.head);
    }

    /// Stores the caller that waits for `staged`, or sends it the error at once.
    pub(super) fn add_caller(&mut self, session: TaskId, staged: Result<Vec<Event>, StoreError>, answer: Answer) {
        match staged {
            Ok(events) => {
                let events = events.into_iter().map(Arc::new).collect();
                self.waiting.push(Waiting { session, events, answer });
            }
            // The caller may have dropped its receiver.
            Err(error) => drop(answer.send(Err(error))),
        }
    }

    /// Writes and syncs everything, and answers all callers in their order.
    pub(super) fn write(
        self,
        disk: &dyn Disk,
        logs: &mut BTreeMap<TaskId, OpenLog>,
        durability: Durability,
        watch: &Watch,
    ) {
        let mut failed: BTreeMap<TaskId, StoreError> = BTreeMap::new();
        let mut staged = self.staged;
        staged.retain(|_, staged| !staged.lines.is_empty());
        // Write all files first, then sync: the disk can start with the first while the last is still being written.
        for (session, staged) in &staged {
            // Staging opened the log; if it is gone, nothing was written.
            let written = logs.get_mut(session).map_or(Err(StoreError::Closed), |open| open.log.write(&staged.lines));
            if let Err(error) = written {
                failed.insert(*session, error);
            }
        }
        if durability == Durability::Sync {
            let written = |session: &TaskId| staged.contains_key(session) && !failed.contains_key(session);
            let unsaved = logs.iter_mut().filter(|(session, _)| written(session));
            let unsaved: Vec<_> = unsaved.map(|(session, open)| (*session, &mut open.log)).collect();
            failed.append(&mut save(unsaved, disk.parallel_syncs()));
        }
        for (session, staged) in &staged {
            let Some(open) = logs.get_mut(session) else { continue };
            if failed.contains_key(session) {
                open.broken = open.log.recover(disk).is_err();
            } else if let Some(head) = staged.head {
                open.log.commit(staged.lines.len(), head);
            }
        }
        for Waiting { session, events, answer } in self.waiting {
            if !failed.contains_key(&session) {
                watch(session, &events);
            }
            let result = failed.get(&session).map_or(Ok(events), |error| Err(error.duplicate()));
            let _ = answer.send(result);
        }
    }
}
