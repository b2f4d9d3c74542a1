//! Folds: state that is nothing but events, applied one by one. Live and replayed state come from the same code.
//!
//! A fold is applied to the events of the active chain, in order. Three events cut that chain, and every fold treats
//! them alike: after `compact_marker` and `head_moved` it is what the event carries, so that money stays spent and
//! messages stay sent although the events that said so are out of reach; after `fork_marker` it is empty, because
//! what the source spent, was sent and was asked is the source's. Only where its shell stands goes with the conversation.

mod activity;
mod asks;
mod background;
mod decisions;
mod filling;
mod grants;
mod messages;
mod replies;
mod turns;
mod usage;
mod whereabouts;
mod work;

use serde::{Deserialize, Serialize};

pub use activity::LastActivity;
pub use asks::PendingAsks;
pub use background::{Background, RunningProcess};
pub use decisions::{Decision, Decisions};
pub use filling::{Filling, Part};
pub use grants::Grants;
pub use messages::PendingMessages;
pub use replies::Replies;
pub use turns::{LastExit, LastTurn, OpenCall, Turns};
pub use usage::{ContextSize, ModelTotals, UsageTotals};
pub use whereabouts::Whereabouts;
pub use work::WorkDone;

use crate::model::event::{Event, Exit, InterruptReason};
use crate::model::message::Message;

/// Everything that is known of a session by folding it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionState {
    pub usage: UsageTotals,
    pub messages: PendingMessages,
    pub asks: PendingAsks,
    #[serde(skip_serializing_if = "Decisions::is_empty")]
    pub decisions: Decisions,
    #[serde(skip_serializing_if = "Grants::is_empty")]
    pub grants: Grants,
    pub turns: Turns,
    pub background: Background,
    pub activity: LastActivity,
    #[serde(skip_serializing_if = "WorkDone::is_empty")]
    pub work: WorkDone,
    #[serde(skip_serializing_if = "Replies::is_empty")]
    pub replies: Replies,
    #[serde(rename = "cwd", skip_serializing_if = "Whereabouts::is_top")]
    pub whereabouts: Whereabouts,
}

impl SessionState {
    pub fn replay<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut state = Self::default();
        events.into_iter().for_each(|event| state.apply(event));
        state
    }

    pub fn apply(&mut self, event: &Event) {
        self.usage.apply(event);
        self.turns.apply(event, &self.messages);
        self.messages.apply(event);
        self.decisions.apply(event, &self.asks);
        self.asks.apply(event);
        self.grants.apply(event);
        self.background.apply(event);
        self.activity.apply(event);
        self.work.apply(event);
        self.replies.apply(event);
        self.whereabouts.apply(event);
    }

    /// Tells whether the last run ended the task: its agent declared it done, or the user stopped it.
    pub fn is_ended(&self) -> bool {
        match self.turns.exit() {
            Some(Exit::DonePassed | Exit::DoneFailed | Exit::Interrupted(InterruptReason::Stopped)) => true,
            Some(Exit::Interrupted(_)) | None => false,
        }
    }

    /// Tells whether a waiting message is worth a turn by itself. One that only reports does not reopen an ended task.
    pub fn is_called_by(&self, message: &Message) -> bool {
        message.from.wakes() && (message.from.reopens() || !self.is_ended())
    }

    /// Returns what is in force after the head of a session in this state is moved to where it was in state `then`.
    /// The conversation is undone; what it cost, what others sent and what still runs is not.
    pub fn moved_to(&self, then: &Self) -> Self {
        let turns = Turns { ended: self.turns.ended, ..then.turns.clone() };
        let usage = UsageTotals { filling: then.usage.filling, ..self.usage.clone() };
        Self { usage, turns, whereabouts: then.whereabouts.clone(), ..self.clone() }
    }
}

#[cfg(test)]
#[path = "fold_tests.rs"]
mod tests;
