//! Copies a conversation into another session. Lifecycle events of the source are not copied.

use crate::base::{EventId, TaskId};
use crate::model::event::{Batch, Body, Event, PartOf};
use crate::store::chain::ActiveChain;
use crate::store::session::Sessions;
use crate::store::{StoreError, line};

/// Returns the conversation that a copy of `task` starts with: the current one, or the one with head `at`.
pub(super) fn source(sessions: &Sessions, task: TaskId, at: Option<EventId>) -> Result<ActiveChain, StoreError> {
    let chain = match at {
        Some(event) => sessions.active_lines_at(task, event)?,
        None => sessions.active_lines(task)?,
    };
    let (events, lines): (Vec<_>, Vec<_>) = chain
        .events
        .into_iter()
        .zip(chain.lines)
        .filter(|(event, _)| event.body.part_of() == PartOf::Conversation)
        .unzip();
    if events.is_empty() {
        return Err(StoreError::Empty(task));
    }
    Ok(ActiveChain { events, lines, damage: chain.damage })
}

/// Refuses a target that has more events than the record of its task's creation.
pub(super) fn check_target(sessions: &Sessions, task: TaskId) -> Result<(), StoreError> {
    let active = sessions.active(task)?;
    let untouched = active.events.iter().all(|event| matches!(event.body, Body::TaskChanged(_)));
    if untouched { Ok(()) } else { Err(StoreError::NotEmpty(task)) }
}

/// Gives copied events the same position in the chain that [`relinked`] gives their lines.
pub(super) fn relink(events: &mut [Event], head: Option<EventId>, of: u32) {
    let mut parent = head;
    for (event, number) in events.iter_mut().zip(1..) {
        (event.parent, event.run, event.batch) = (parent, None, Some(Batch(number, of)));
        parent = Some(event.id);
    }
}

/// Returns the lines of `chain`, linked to each other and to `head`, as the first of a group of `of`.
pub(super) fn relinked(chain: &ActiveChain, head: Option<EventId>, of: u32) -> Result<Vec<u8>, StoreError> {
    let mut out = Vec::with_capacity(chain.lines.iter().map(|line| line.len() + 64).sum());
    let mut parent = head;
    for ((event, text), number) in chain.events.iter().zip(&chain.lines).zip(1..) {
        let text = std::str::from_utf8(text).map_err(serde::de::Error::custom).map_err(StoreError::Encode)?;
        line::relink(text, parent, Batch(number, of), &mut out)?;
        parent = Some(event.id);
    }
    Ok(out)
}
