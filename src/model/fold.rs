//! Folds: state that is nothing but events, applied one by one. Live and replayed state come from the same code.
//!
//! A fold is applied to the events of the active chain, in order. Three events cut that chain, and every fold treats
//! them alike: after `compact_marker` and `head_moved` it is what the event carries, so that money stays spent and
//! messages stay sent although the events that said so are out of reach; after `fork_marker` it is empty, because
//! what the source spent, was sent and was asked is the source's. Only where its shell stands goes with the conversation.
//!
//! [`SessionState::apply`] is the one exhaustive match over events that state follows from; the parts have a method for each
//! thing that concerns them and never see a [`Body`]. To add an event, give it a payload in `event/bodies.rs` and a row in
//! the table of `event.rs`. The compiler then asks here what it changes, and where events are put into words (`describe`
//! of `mxd log`, the transcript and its raw log) what it is called. Every other consumer names the few events that it acts
//! on and passes over the rest; add the new one there if that is what it is for.

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

use crate::model::event::{Body, CompactMarker, Event, Exit, InterruptReason, TaskChanged};
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
        match &event.body {
            Body::Message(message) => {
                self.usage.filling.message(message);
                self.messages.sent(message);
                self.decisions.message(message, event.run);
                self.grants.message(message);
                self.background.message(message);
                self.replies.message(message);
            }
            Body::MessagesConsumed(consumed) => {
                self.turns.consumed(&consumed.ids, &self.messages);
                self.messages.settled(&consumed.ids);
                self.work.conversation_went_on();
            }
            Body::MessagesWithdrawn(withdrawn) => {
                self.messages.settled(&withdrawn.ids);
                self.replies.withdrawn(&withdrawn.ids);
            }
            Body::SessionConfig(config) => self.usage.filling.configured(config),
            Body::AssistantText(said) => {
                self.usage.filling.said(&said.text);
                if !said.text.trim().is_empty() {
                    self.turns.assistant_spoke();
                }
            }
            Body::Thinking(thought) => {
                self.usage.filling.said(&thought.text);
                self.turns.assistant_spoke();
            }
            Body::ToolCall(call) => {
                self.usage.filling.tool_call(call);
                self.turns.tool_call(call);
            }
            Body::ToolResult(result) => {
                self.usage.filling.tool_result(result);
                self.turns.tool_result(result);
                self.background.tool_result(result, event.ts);
                self.whereabouts.tool_result(result);
            }
            Body::Usage(usage) => self.usage.spent(usage),
            Body::TurnEnded(end) => {
                self.turns.turn_ended(end);
                self.decisions.acted_on();
                self.work.conversation_went_on();
            }
            Body::CompactStarted(_) => self.decisions.acted_on(),
            Body::RunEnded(run) => {
                self.turns.run_ended(run, event.id);
                self.decisions.acted_on();
                self.grants.run_ended(&run.exit);
            }
            Body::DoneNotified(_) => self.turns.notified(),
            Body::AskRaised(ask) => {
                self.decisions.asked(ask, event.run);
                self.asks.raised(ask);
            }
            Body::AskAnswered(answered) => {
                if let Some(ask) = self.asks.get(answered.id) {
                    self.decisions.answered(ask, &answered.answer, event.id);
                }
                self.asks.settled(answered.id);
            }
            Body::AskWithdrawn(withdrawn) => {
                self.decisions.settled(withdrawn.id);
                self.asks.settled(withdrawn.id);
            }
            Body::Granted(granted) => {
                self.decisions.settled(granted.ask);
                self.grants.granted(&granted.grant);
            }
            Body::BudgetWarning(warning) => self.grants.warned_of(warning.limit),
            Body::Work(work) => self.work.done(work),
            Body::CompactMarker(marker) => *self = Self::summarized(marker),
            Body::HeadMoved(moved) => {
                *self = (*moved.carry).clone();
                self.work.conversation_went_on();
            }
            Body::ForkMarker(_) => self.fork(),
            Body::TaskChanged(TaskChanged::Removed) => self.work.task_removed(),
            Body::RunStarted(_)
            | Body::BudgetExceeded(_)
            | Body::Error(_)
            | Body::Repaired(_)
            | Body::Snapshot(_)
            | Body::TaskChanged(TaskChanged::Set { .. })
            | Body::Unknown(_) => {}
        }
        self.activity.seen(event);
    }

    /// Returns what is in force after a summary.
    fn summarized(marker: &CompactMarker) -> Self {
        let CompactMarker { summary, carry, .. } = marker;
        let usage = UsageTotals { filling: carry.usage.filling.summarized(summary), ..carry.usage.clone() };
        // The open calls are in the part that was summarized: nobody can answer them any more.
        let turns = Turns { open: Vec::new(), voice: None, ..carry.turns.clone() };
        let work = WorkDone { rewound: None, ..carry.work.clone() };
        Self { usage, turns, work, decisions: Decisions::default(), ..(**carry).clone() }
    }

    /// Forgets what is the source's. The copied conversation is as large as it was, and its calls are still open.
    fn fork(&mut self) {
        let mut copied = std::mem::take(self);
        copied.usage.by_model.clear();
        copied.turns.forked();
        copied.whereabouts.forked();
        *self = Self { usage: copied.usage, turns: copied.turns, whereabouts: copied.whereabouts, ..Self::default() };
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
