//! Keeps what the sessions add up to, so that the next start need not read them. After runs, together and not too often;
//! and at the end.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tokio_util::task::AbortOnDropHandle;

use super::{Driver, Incoming, Parts};
use crate::base::{EventId, TaskId};
use crate::model::event::Event;
use crate::model::fold::SessionState;
use crate::model::tree::Tree;

/// How long after a run ended its session is digested: others may end meanwhile.
const DIGEST_AFTER: Duration = Duration::from_secs(3);

/// What is to be digested next.
pub(super) struct Digesting {
    /// The sessions that went on since they were last digested, with the last event that the machine knows.
    heads: BTreeMap<TaskId, EventId>,
    soon: Option<AbortOnDropHandle<()>>,
}

impl Digesting {
    pub(super) fn new(heads: BTreeMap<TaskId, EventId>) -> Self {
        Self { heads, soon: None }
    }

    pub(super) fn moved(&mut self, task: TaskId, events: &[Arc<Event>]) {
        if let Some(last) = events.last() {
            self.heads.insert(task, last.id);
        }
    }
}

/// What sessions added up to at one moment.
pub(super) struct Moment {
    sessions: Vec<(TaskId, EventId, SessionState)>,
    tree: Tree,
}

impl Moment {
    /// Writes it down. Without it the next start takes longer, and that is all.
    pub(super) fn keep(self, parts: &Parts) {
        let mut digests = parts.digests.lock().unwrap_or_else(PoisonError::into_inner);
        for (task, head, state) in &self.sessions {
            if let Err(error) = digests.note(parts.store.sessions(), *task, *head, state) {
                tracing::debug!(%task, %error, "a session could not be digested");
            }
        }
        digests.retain(|task| self.tree.get(task).is_some());
        if let Err(error) = digests.save() {
            tracing::debug!(%error, "digests could not be saved");
        }
    }
}

impl Driver {
    pub(super) fn digest_soon(&mut self) {
        if self.digesting.soon.is_some() {
            return;
        }
        let incoming = self.parts.incoming.clone();
        let wait = async move {
            tokio::time::sleep(DIGEST_AFTER).await;
            let _ = incoming.send(Incoming::Digest);
        };
        self.digesting.soon = Some(AbortOnDropHandle::new(tokio::spawn(wait)));
    }

    pub(super) fn digest(&mut self) {
        self.digesting.soon = None;
        let (moment, parts) = (self.take_digest(), Arc::clone(&self.parts));
        tokio::task::spawn_blocking(move || moment.keep(&parts));
    }

    /// Returns what the sessions that went on add up to now.
    pub(super) fn take_digest(&mut self) -> Moment {
        let heads = std::mem::take(&mut self.digesting.heads);
        let state = |task| self.machine.state(task).cloned();
        let sessions = heads.into_iter().filter_map(|(task, head)| Some((task, head, state(task)?))).collect();
        Moment { sessions, tree: self.machine.tree().clone() }
    }
}
