//! Saves session states, so that the next start need not read whole sessions. Saves a few seconds after a run ends,
//! and on quit.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tokio_util::task::AbortOnDropHandle;

use super::{Driver, EngineContext, Incoming};
use crate::base::{EventId, TaskId};
use crate::model::event::Event;
use crate::model::fold::SessionState;
use crate::model::tree::Tree;

/// How long to wait after the end of a run: other runs may end meanwhile.
const SAVE_AFTER: Duration = Duration::from_secs(3);

pub(super) struct StateSaves {
    /// The last event of each session that changed since the last save, as far as the machine has seen it.
    heads: BTreeMap<TaskId, EventId>,
    timer: Option<AbortOnDropHandle<()>>,
}

impl StateSaves {
    pub(super) fn new(heads: BTreeMap<TaskId, EventId>) -> Self {
        Self { heads, timer: None }
    }

    pub(super) fn on_events(&mut self, task: TaskId, events: &[Arc<Event>]) {
        if let Some(last) = events.last() {
            self.heads.insert(task, last.id);
        }
    }
}

/// The states of sessions at one point in time.
pub(super) struct SessionStates {
    sessions: Vec<(TaskId, EventId, SessionState)>,
    tree: Tree,
}

impl SessionStates {
    /// Writes the states. A failure only makes the next start slower.
    pub(super) fn save(self, ctx: &EngineContext) {
        let mut cache = ctx.state_cache.lock().unwrap_or_else(PoisonError::into_inner);
        for (task, head, state) in &self.sessions {
            if let Err(error) = cache.note(ctx.store.sessions(), *task, *head, state) {
                tracing::debug!(%task, %error, "the state of a session could not be cached");
            }
        }
        cache.retain(|task| self.tree.get(task).is_some());
        if let Err(error) = cache.save() {
            tracing::debug!(%error, "the state cache could not be saved");
        }
    }
}

impl Driver {
    pub(super) fn save_states_soon(&mut self) {
        if self.state_saves.timer.is_some() {
            return;
        }
        let incoming = self.ctx.incoming.clone();
        let wait = async move {
            tokio::time::sleep(SAVE_AFTER).await;
            let _ = incoming.send(Incoming::SaveStates);
        };
        self.state_saves.timer = Some(AbortOnDropHandle::new(tokio::spawn(wait)));
    }

    pub(super) fn save_states(&mut self) {
        self.state_saves.timer = None;
        let (states, ctx) = (self.take_states(), Arc::clone(&self.ctx));
        tokio::task::spawn_blocking(move || states.save(&ctx));
    }

    /// Returns the current states of the sessions that changed since the last save.
    pub(super) fn take_states(&mut self) -> SessionStates {
        let heads = std::mem::take(&mut self.state_saves.heads);
        let state = |task| self.machine.state(task).cloned();
        let sessions = heads.into_iter().filter_map(|(task, head)| Some((task, head, state(task)?))).collect();
        SessionStates { sessions, tree: self.machine.tree().clone() }
    }
}
