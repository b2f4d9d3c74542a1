//! Folds: state computed from events, applied one by one. Live and replayed state use the same code.
//!
//! A fold is applied to the events of the active chain, in order. Four events cut that chain, and every fold treats
//! them alike. After `compact_marker` and `head_moved` the state is what the event carries, so that costs stay spent
//! and messages stay sent although their events are out of reach. After `fork_marker` it is empty, because costs,
//! messages and Asks belong to the source; only the shell's folder is part of the conversation.
//!
//! [`SessionState::apply`] is the one exhaustive match over events; the parts have a method for each thing that
//! concerns them and never see a [`Body`]. To add an event, give it a payload in `event/bodies.rs` and a row in the
//! table of `event.rs`. The compiler then asks for its effect here, and for its description where events are put into
//! words (`describe` of `mxd log`, the transcript and its raw log). Every other consumer names the few events that it
//! handles and ignores the rest.

mod activity;
mod asks;
mod backend;
mod background;
mod context_breakdown;
mod cwd;
mod decisions;
mod grants;
mod held_calls;
mod messages;
mod permissions;
mod replies;
mod turns;
mod usage;
mod work;

use serde::{Deserialize, Serialize};

pub use activity::LastActivity;
pub use asks::PendingAsks;
pub use backend::BackendState;
pub use background::{Background, RunningProcess};
pub use context_breakdown::{ContextBreakdown, Part};
pub use cwd::ShellCwd;
pub use decisions::{Decision, PendingDecisions};
pub use grants::Grants;
pub use held_calls::{HeldCall, HeldCalls, Release};
pub use messages::PendingMessages;
pub use permissions::{LastDecision, PermissionTotals};
pub use replies::Replies;
pub use turns::{LastExit, LastTurn, OpenCall, Turns};
pub use usage::{ContextSize, ModelTotals, UsageTotals};
pub use work::WorkState;

use crate::base::EventId;
use crate::model::ask::Ask;
use crate::model::event::{Body, CompactMarker, Event, Exit, HandedOver, InterruptReason, TaskChanged};
use crate::model::message::Message;

/// The folded state of a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionState {
    pub usage: UsageTotals,
    pub messages: PendingMessages,
    pub asks: PendingAsks,
    #[serde(skip_serializing_if = "PendingDecisions::is_empty")]
    pub decisions: PendingDecisions,
    #[serde(skip_serializing_if = "Grants::is_empty")]
    pub grants: Grants,
    #[serde(skip_serializing_if = "HeldCalls::is_empty")]
    pub held_calls: HeldCalls,
    #[serde(skip_serializing_if = "PermissionTotals::is_empty")]
    pub permissions: PermissionTotals,
    pub turns: Turns,
    pub background: Background,
    pub activity: LastActivity,
    #[serde(skip_serializing_if = "WorkState::is_empty")]
    pub work: WorkState,
    #[serde(skip_serializing_if = "Replies::is_empty")]
    pub replies: Replies,
    #[serde(rename = "cwd", skip_serializing_if = "ShellCwd::is_top")]
    pub cwd: ShellCwd,
    #[serde(skip_serializing_if = "BackendState::is_empty")]
    pub backend: BackendState,
    /// The new profile of a hand-over that the tree may not have yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handed_to: Option<String>,
    /// The parts of the session that belong to earlier profiles, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub retired: Vec<RetiredPart>,
}

/// A part of a session that a hand-over retired.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetiredPart {
    /// The full name of the profile that had the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The event of the hand-over. Turns and messages before it are retired.
    pub until: EventId,
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
                self.usage.breakdown.on_message(message);
                self.messages.on_sent(message);
                self.decisions.on_message(message, event.run);
                self.grants.on_message(message);
                self.background.on_message(message);
                self.replies.on_message(message);
            }
            Body::MessagesConsumed(consumed) => {
                self.turns.on_messages_consumed(&consumed.ids, &self.messages);
                self.messages.remove(&consumed.ids);
                self.backend.on_messages_consumed();
                self.work.on_conversation_continued();
            }
            Body::MessagesWithdrawn(withdrawn) => {
                self.messages.remove(&withdrawn.ids);
                self.replies.on_withdrawn(&withdrawn.ids);
            }
            Body::SessionConfig(config) => self.usage.breakdown.on_config(config),
            Body::AssistantText(said) => {
                self.usage.breakdown.on_text(&said.text);
                if !said.text.trim().is_empty() {
                    self.turns.on_assistant_output();
                }
            }
            Body::Thinking(thought) => {
                self.usage.breakdown.on_text(&thought.text);
                self.turns.on_assistant_output();
            }
            Body::ToolCall(call) => {
                self.usage.breakdown.on_tool_call(call);
                self.turns.on_tool_call(call);
                self.permissions.on_tool_call();
            }
            Body::ToolResult(result) => {
                self.usage.breakdown.on_tool_result(result);
                self.turns.on_tool_result(result);
                self.held_calls.remove(&result.call);
                self.permissions.on_tool_result(result);
                self.background.on_tool_result(result, event.ts);
                self.cwd.on_tool_result(result);
            }
            Body::Usage(usage) => {
                self.usage.on_usage(usage);
                self.backend.on_usage(usage);
            }
            Body::TurnEnded(end) => {
                self.turns.on_turn_ended(end);
                self.backend.on_turn_ended();
                self.decisions.clear();
                self.work.on_conversation_continued();
            }
            Body::CompactStarted(_) => self.decisions.clear(),
            Body::RunEnded(run) => {
                self.turns.on_run_ended(run, event.id);
                self.decisions.clear();
                self.grants.on_run_ended(&run.exit);
            }
            Body::DoneNotified(_) => self.turns.on_parent_notified(),
            Body::AskRaised(ask) => {
                // The Ask of a call says nothing about the other answers.
                if ask.held_call().is_some() {
                    self.held_calls.on_raised(ask);
                } else {
                    self.decisions.on_asked(ask, event.run);
                }
                self.asks.on_raised(ask);
                self.permissions.on_asked(ask);
            }
            Body::AskAnswered(answered) => {
                if let Some(ask) = self.asks.get(answered.id)
                    && !self.held_calls.on_answered(ask, &answered.answer, event.id)
                {
                    self.decisions.on_answered(ask, &answered.answer, event.id);
                }
                self.asks.remove(answered.id);
            }
            Body::AskWithdrawn(withdrawn) => {
                self.decisions.remove(withdrawn.id);
                self.held_calls.on_withdrawn(withdrawn.id);
                self.asks.remove(withdrawn.id);
            }
            Body::CallReleased(released) => self.held_calls.remove(&released.call),
            Body::Granted(granted) => {
                self.decisions.remove(granted.ask);
                self.grants.on_granted(&granted.grant);
            }
            Body::BudgetWarning(warning) => self.grants.on_budget_warning(warning.limit),
            Body::Work(work) => self.work.on_work(work),
            Body::Backend(event) => self.backend.on_backend(event),
            Body::CompactMarker(marker) => *self = Self::after_compaction(marker),
            Body::HeadMoved(moved) => {
                *self = (*moved.carry).clone();
                self.work.on_conversation_continued();
            }
            Body::ForkMarker(_) => self.fork(),
            Body::HandedOver(handed) => *self = Self::after_handover(handed, event.id),
            Body::TaskChanged(TaskChanged::Removed) => self.work.on_task_removed(),
            Body::TaskChanged(TaskChanged::Set { node }) if node.profile == self.handed_to => self.handed_to = None,
            Body::RunStarted(_)
            | Body::BudgetExceeded(_)
            | Body::Error(_)
            | Body::Repaired(_)
            | Body::Snapshot(_)
            | Body::HookRan(_)
            | Body::TaskChanged(TaskChanged::Set { .. })
            | Body::Unknown(_) => {}
        }
        self.activity.on_event(event);
    }

    /// Returns the state after a compaction.
    fn after_compaction(marker: &CompactMarker) -> Self {
        let CompactMarker { summary, carry, .. } = marker;
        let usage = UsageTotals { breakdown: carry.usage.breakdown.after_compaction(summary), ..carry.usage.clone() };
        // The open calls are in the summarized part: they can no longer be answered.
        let turns = Turns { open: Vec::new(), last_role: None, ..carry.turns.clone() };
        let work = WorkState { rewound: None, ..carry.work.clone() };
        let (decisions, held_calls) = (PendingDecisions::default(), HeldCalls::default());
        let backend = BackendState::default();
        Self { usage, decisions, held_calls, turns, work, backend, ..(**carry).clone() }
    }

    /// Returns the state after a hand-over: the conversation is gone, and what belongs to the task stays.
    fn after_handover(handed: &HandedOver, at: EventId) -> Self {
        let carry = &handed.carry;
        let usage = UsageTotals { breakdown: ContextBreakdown::default(), ..carry.usage.clone() };
        let work = WorkState { rewound: None, ..carry.work.clone() };
        let grants = Grants { turns: None, ..carry.grants.clone() };
        let mut retired = carry.retired.clone();
        retired.push(RetiredPart { profile: handed.from.clone(), until: at });
        Self {
            usage,
            grants,
            retired,
            turns: carry.turns.after_handover(),
            work,
            decisions: PendingDecisions::default(),
            held_calls: HeldCalls::default(),
            // The program's own session is never continued.
            backend: BackendState::default(),
            cwd: ShellCwd::default(),
            handed_to: Some(handed.to.clone()),
            ..(**carry).clone()
        }
    }

    /// Drops the state of the source. The copied conversation has the same size, and its calls are still open.
    fn fork(&mut self) {
        let mut copied = std::mem::take(self);
        copied.usage.by_model.clear();
        copied.turns.on_forked();
        copied.cwd.on_forked();
        *self = Self { usage: copied.usage, turns: copied.turns, cwd: copied.cwd, ..Self::default() };
    }

    /// Returns true if the last run ended the task: its agent declared it done, or the user stopped it.
    pub fn is_ended(&self) -> bool {
        match self.turns.exit() {
            Some(Exit::DonePassed | Exit::DoneFailed | Exit::Interrupted(InterruptReason::Stopped)) => true,
            Some(Exit::Interrupted(_)) | None => false,
        }
    }

    /// Returns true if a pending message is worth a turn by itself. A mere report does not reopen an ended task.
    pub fn is_woken_by(&self, message: &Message) -> bool {
        message.from.wakes() && (message.from.reopens() || !self.is_ended())
    }

    /// Returns the state after the head moves to where it was in state `then`. The conversation is undone; costs,
    /// messages from others and running processes are not. A session of an outside program cannot follow.
    pub fn moved_to(&self, then: &Self) -> Self {
        let turns = Turns { ended: self.turns.ended, ..then.turns.clone() };
        let usage = UsageTotals { breakdown: then.usage.breakdown, ..self.usage.clone() };
        let backend = BackendState::moved_to(&then.backend);
        let mut moved = Self { usage, turns, cwd: then.cwd.clone(), backend, ..self.clone() };
        // A call that is undone waits for nothing.
        moved.held_calls.retain_open(&moved.turns.open);
        let is_undone = |ask: &Ask| ask.held_call().is_some_and(|call| !moved.held_calls.holds(call));
        let undone: Vec<_> = moved.asks.iter().filter(|ask| is_undone(ask)).map(|ask| ask.id).collect();
        undone.into_iter().for_each(|ask| moved.asks.remove(ask));
        moved
    }
}

#[cfg(test)]
#[path = "fold_tests.rs"]
mod tests;
