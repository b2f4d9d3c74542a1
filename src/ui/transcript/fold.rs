//! Folds events into entries. Stored and live events take the same path, so both look the same.

use std::collections::VecDeque;

use crate::base::sanitize;
use crate::model::conversation::ToolUse;
use crate::model::event::{Body, Event, Exit, InterruptReason, ResumeShape, StopReason, ToolResult};
use crate::model::message::{Message, MessageSource, TreeAction};
use crate::ui::labels;
use crate::ui::transcript::entry::{DeliveryState, Entry, EntryId, EntryKind, Output, Summary, Tone, ToolEntry};
use crate::ui::transcript::layout::shown_name;

/// Calls that are shown as an Ask or a verdict instead.
const CLARIFY: &str = "clarify";
const DONE: &str = "done";

/// Entries folded from events, oldest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fold {
    /// Boxed, so that growing the deque does not move all entries within one frame.
    pub entries: VecDeque<Box<Entry>>,
    turn: u64,
    /// `clarify` calls whose Ask has not arrived. The Ask shows everything that the call would.
    asking: Vec<ToolUse>,
}

impl Fold {
    pub fn of<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut fold = Self::default();
        events.into_iter().for_each(|event| fold.apply(event));
        fold
    }

    fn push(&mut self, event: &Event, kind: EntryKind) {
        self.entries.push_back(Box::new(Entry::new(EntryId::Event(event.id), event.ts, self.turn, kind)));
    }

    fn notice(&mut self, event: &Event, tone: Tone, text: impl Into<String>, more: impl Into<String>) {
        self.push(event, EntryKind::Notice { tone, text: text.into(), more: more.into() });
    }

    /// Applies `change` to the latest entry that accepts it. Returns true if there is one.
    fn change(&mut self, change: impl Fn(&mut EntryKind) -> bool) -> bool {
        let found = self.entries.iter_mut().rev().find_map(|entry| change(&mut entry.kind).then_some(entry));
        found.map(|entry| entry.bump_version()).is_some()
    }

    pub fn apply(&mut self, event: &Event) {
        match &event.body {
            Body::Message(message) => self.message(event, message),
            Body::MessagesConsumed(consumed) => self.set_delivery(&consumed.ids, DeliveryState::Read),
            Body::MessagesWithdrawn(withdrawn) => self.set_delivery(&withdrawn.ids, DeliveryState::Withdrawn),
            Body::AssistantText(said) => self.push(event, EntryKind::Text { text: said.text.clone() }),
            Body::Thinking(thought) => {
                let hidden = thought.redacted.is_some() && thought.text.is_empty();
                self.push(event, EntryKind::Thinking { text: thought.text.clone(), hidden });
            }
            Body::ToolCall(asked) if shown_name(&asked.name) == CLARIFY => self.asking.push(asked.clone()),
            Body::ToolCall(asked) => {
                let tool = ToolEntry {
                    call: asked.call.clone(),
                    name: asked.name.clone(),
                    asked: Some(asked.clone()),
                    result: None,
                    output: Output::default(),
                    full: None,
                };
                self.push(event, EntryKind::Tool(Box::new(tool)));
            }
            Body::ToolResult(result) => self.result(event, result),
            Body::TurnEnded(end) => {
                if let Some((tone, text)) = stop(&end.stop) {
                    self.notice(event, tone, text, "");
                }
                self.turn += 1;
            }
            Body::CompactStarted(started) => {
                self.push(event, EntryKind::Compaction { trigger: Some(started.trigger), done: None });
            }
            Body::CompactMarker(marker) => {
                let summary =
                    Summary { text: marker.summary.clone(), before: marker.tokens_before, after: marker.tokens_after };
                let joined = self.change(|kind| match kind {
                    EntryKind::Compaction { done: done @ None, .. } => {
                        *done = Some(summary.clone());
                        true
                    }
                    _ => false,
                });
                if !joined {
                    self.push(event, EntryKind::Compaction { trigger: None, done: Some(summary) });
                }
            }
            Body::ForkMarker(fork) => {
                let text = format!("forked from another session as \"{}\"", sanitize::line(&fork.title));
                self.push(event, EntryKind::Separator { text });
            }
            Body::RunStarted(run) => {
                let text = format!("{} with {}", run_word(run.shape), sanitize::line(&run.model));
                self.push(event, EntryKind::Separator { text });
            }
            Body::RunEnded(run) => {
                if let Some((tone, text, more)) = exit(&run.exit) {
                    self.notice(event, tone, text, more);
                }
            }
            Body::DoneNotified(done) => {
                // The verdict replaces the entry of the `done` call.
                let called = |entry: &Entry| matches!(&entry.kind, EntryKind::Tool(tool) if tool.result.is_none() && shown_name(&tool.name) == DONE);
                if self.entries.back().is_some_and(|entry| called(entry)) {
                    self.entries.pop_back();
                }
                self.push(event, EntryKind::Done { verdict: done.verdict, text: done.result.clone() });
            }
            Body::AskRaised(ask) => {
                let ask = Box::new(ask.clone());
                self.push(event, EntryKind::Ask { ask, answer: None, withdrawn: None });
            }
            Body::AskAnswered(answered) => {
                let joined = self.change(|kind| match kind {
                    EntryKind::Ask { ask, answer, .. } if ask.id == answered.id => {
                        *answer = Some(answered.answer.clone());
                        true
                    }
                    _ => false,
                });
                if !joined {
                    self.notice(event, Tone::Quiet, format!("answered: {}", sanitize::line(&answered.answer.text)), "");
                }
            }
            Body::AskWithdrawn(gone) => {
                self.change(|kind| match kind {
                    EntryKind::Ask { ask, withdrawn, .. } if ask.id == gone.id => {
                        *withdrawn = Some(gone.reason.clone());
                        true
                    }
                    _ => false,
                });
            }
            Body::Granted(it) => {
                self.notice(event, Tone::Quiet, format!("the agent {}", sanitize::line(&it.grant.to_string())), "");
            }
            Body::BudgetWarning(it) => {
                self.notice(event, Tone::Warn, format!("{} of {} spent", it.spent, it.limit), "");
            }
            Body::BudgetExceeded(it) => {
                self.notice(event, Tone::Error, format!("budget of {} exceeded: {} spent", it.limit, it.spent), "");
            }
            Body::Error(note) => self.push(event, EntryKind::Error(note.clone())),
            Body::Repaired(repaired) => {
                self.notice(event, Tone::Quiet, "the session log was repaired", repaired.steps.join("\n"));
            }
            Body::HeadMoved(moved) => {
                let last_kept = moved.to.map(EntryId::Event);
                for entry in &mut self.entries {
                    if last_kept.is_none_or(|last| entry.id > last) && !entry.undone {
                        entry.undone = true;
                        entry.bump_version();
                    }
                }
                self.notice(event, Tone::Quiet, "rewound to an earlier turn", "");
            }
            Body::Unknown(unknown) => {
                let text = format!("unknown event of a newer version: {}", sanitize::line(&unknown.kind));
                self.notice(event, Tone::Quiet, text, unknown.body.as_str());
            }
            Body::SessionConfig(_) | Body::Usage(_) | Body::Snapshot(_) | Body::Work(_) | Body::TaskChanged(_) => {}
        }
    }

    fn result(&mut self, event: &Event, result: &ToolResult) {
        let joined = self.change(|kind| match kind {
            EntryKind::Tool(tool) if tool.call == result.call && tool.result.is_none() => {
                tool.result = Some(result.clone());
                tool.output = Output::default();
                true
            }
            _ => false,
        });
        let name = shown_name(&result.name);
        let asked = self.asking.iter().position(|asked| asked.call == result.call);
        let asked = asked.map(|place| self.asking.remove(place));
        // The result has its own entry, unless it is an error.
        let has_own_entry = !result.is_error && (name == CLARIFY || name == DONE);
        if !joined && !has_own_entry {
            let tool = ToolEntry {
                call: result.call.clone(),
                name: result.name.clone(),
                asked,
                result: Some(result.clone()),
                output: Output::default(),
                full: None,
            };
            self.push(event, EntryKind::Tool(Box::new(tool)));
        }
    }

    fn set_delivery(&mut self, ids: &[crate::base::MessageId], how: DeliveryState) {
        for entry in &mut self.entries {
            if let EntryKind::UserMessage { message, delivery, .. } = &mut entry.kind
                && ids.contains(message)
            {
                *delivery = how;
                entry.bump_version();
            }
        }
    }

    fn message(&mut self, event: &Event, message: &Message) {
        let task_message = |other, name: &str, reply| EntryKind::TaskMessage {
            other,
            name: sanitize::line(name).into_owned(),
            text: message.body.clone(),
            reply,
        };
        let kind = match &message.from {
            MessageSource::Begin | MessageSource::BeginFork => quiet("you started this task", ""),
            MessageSource::Continue => quiet("you resumed this task", ""),
            MessageSource::User => EntryKind::UserMessage {
                message: message.id,
                text: message.body.clone(),
                images: message.images.clone(),
                delivery: DeliveryState::Sent,
            },
            MessageSource::TaskMessage { task, title, request_reply } => {
                task_message(Some(*task), title, *request_reply)
            }
            MessageSource::CrossProject { name, .. } => task_message(None, name, false),
            MessageSource::TaskComplete { task, title, verdict } => EntryKind::Completion {
                task: *task,
                title: sanitize::line(title).into_owned(),
                verdict: *verdict,
                text: message.body.clone(),
            },
            MessageSource::UserMessageForwarded { title, .. } => EntryKind::Notice {
                tone: Tone::Quiet,
                text: format!("you wrote to \"{}\"", sanitize::line(title)),
                more: message.body.clone(),
            },
            MessageSource::TreeChange { title, action, .. } => EntryKind::Notice {
                tone: Tone::Quiet,
                text: format!("you {} \"{}\"", tree_action_label(*action), sanitize::line(title)),
                more: message.body.clone(),
            },
            MessageSource::BackgroundComplete { command, exit, duration_ms, .. } => {
                let how = exit.map_or_else(|| "was killed".to_owned(), |code| format!("exited with {code}"));
                let text = format!("{} {how} after {}", sanitize::line(command), labels::duration(*duration_ms));
                let tone = if *exit == Some(0) { Tone::Quiet } else { Tone::Warn };
                EntryKind::Notice { tone, text, more: message.body.clone() }
            }
            MessageSource::WorkContext => quiet("context given to the agent", &message.body),
            MessageSource::Interrupt => quiet("you interrupted the agent", &message.body),
            MessageSource::Compact => quiet("you asked for a summary", ""),
            MessageSource::Notice => {
                let (first, rest) = message.body.split_once('\n').unwrap_or((&message.body, ""));
                quiet(&sanitize::line(first), rest)
            }
            // The Ask and the summary have their own entries.
            MessageSource::ClarifyResponse { .. } | MessageSource::CompactedResume => return,
        };
        self.push(event, kind);
    }
}

fn quiet(text: &str, more: &str) -> EntryKind {
    EntryKind::Notice { tone: Tone::Quiet, text: text.to_owned(), more: more.to_owned() }
}

fn tree_action_label(action: TreeAction) -> &'static str {
    match action {
        TreeAction::Created => "created",
        TreeAction::Updated => "changed",
        TreeAction::Moved => "moved",
        TreeAction::Reordered => "reordered the subtasks of",
        TreeAction::Closed => "closed",
        TreeAction::Reset => "reset",
        TreeAction::Deleted => "deleted",
        TreeAction::Restored => "restored",
        TreeAction::Stopped => "stopped",
    }
}

fn run_word(shape: ResumeShape) -> &'static str {
    match shape {
        ResumeShape::Fresh => "started",
        ResumeShape::Interrupted | ResumeShape::PendingYield | ResumeShape::Parked => "continued",
        ResumeShape::PendingDone => "finishing",
        ResumeShape::NeedsRepair => "continued after a repair",
    }
}

/// Returns a notice for a turn that did not end normally.
fn stop(stop: &StopReason) -> Option<(Tone, String)> {
    match stop {
        StopReason::EndTurn | StopReason::ToolUse | StopReason::Pause => None,
        StopReason::MaxTokens => Some((Tone::Warn, "the response was cut off at the token limit".to_owned())),
        StopReason::Refusal => Some((Tone::Error, "the model refused to answer".to_owned())),
        StopReason::ContextOverflow => {
            Some((Tone::Warn, "the conversation exceeds the model's context window".to_owned()))
        }
        StopReason::Interrupted => Some((Tone::Warn, "interrupted".to_owned())),
        StopReason::Other(word) => Some((Tone::Warn, format!("the model stopped: {}", sanitize::line(word)))),
    }
}

/// Returns a notice for the end of a run. A verdict has its own entry.
fn exit(exit: &Exit) -> Option<(Tone, &'static str, String)> {
    let reason = match exit {
        Exit::DonePassed | Exit::DoneFailed => return None,
        Exit::Interrupted(reason) => reason,
    };
    Some(match reason {
        InterruptReason::Stopped => (Tone::Quiet, "stopped by you", String::new()),
        InterruptReason::Quit => (Tone::Quiet, "paused when you quit", String::new()),
        InterruptReason::TaskGone => (Tone::Quiet, "stopped: the task was closed or deleted", String::new()),
        InterruptReason::Budget => (Tone::Warn, "stopped: budget exceeded", String::new()),
        InterruptReason::TurnLimit => (Tone::Warn, "stopped: turn limit delivery", String::new()),
        InterruptReason::Provider(why) => (Tone::Error, "stopped: provider error", why.clone()),
        InterruptReason::Storage(why) => (Tone::Error, "stopped: an event could not be saved", why.clone()),
        InterruptReason::Internal(why) => (Tone::Error, "stopped: internal error", why.clone()),
    })
}

#[cfg(test)]
#[path = "fold_tests.rs"]
mod tests;
