//! From events to entries. One function for what is read from disk and what happens now, so that both look the same.

use std::collections::VecDeque;

use crate::base::sanitize;
use crate::model::conversation::ToolUse;
use crate::model::event::{Body, Event, Exit, InterruptReason, ResumeShape, StopReason, ToolResult};
use crate::model::message::{Message, Source, TreeAction};
use crate::ui::transcript::entry::{Entry, Id, Kind, Output, Reached, Summary, Tone, Tool};
use crate::ui::transcript::lay::shown_name;
use crate::ui::words;

/// Calls that are told of in other words: by an Ask, by a verdict.
const CLARIFY: &str = "clarify";
const DONE: &str = "done";

/// Entries that grow by events, oldest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fold {
    /// Each in a place of its own: where many are kept, growing must not move them all within one frame.
    pub entries: VecDeque<Box<Entry>>,
    turn: u64,
    /// Questions to the person that wait for their Ask, which says everything that the call would.
    asking: Vec<ToolUse>,
}

impl Fold {
    pub fn of<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut fold = Self::default();
        events.into_iter().for_each(|event| fold.apply(event));
        fold
    }

    fn push(&mut self, event: &Event, kind: Kind) {
        self.entries.push_back(Box::new(Entry::new(Id::Event(event.id), event.ts, self.turn, kind)));
    }

    fn notice(&mut self, event: &Event, tone: Tone, text: impl Into<String>, more: impl Into<String>) {
        self.push(event, Kind::Notice { tone, text: text.into(), more: more.into() });
    }

    /// Finds the latest entry for which `change` says that it was the one.
    fn change(&mut self, change: impl Fn(&mut Kind) -> bool) -> bool {
        let found = self.entries.iter_mut().rev().find_map(|entry| change(&mut entry.kind).then_some(entry));
        found.map(|entry| entry.changed()).is_some()
    }

    pub fn apply(&mut self, event: &Event) {
        match &event.body {
            Body::Message(message) => self.message(event, message),
            Body::MessagesConsumed(consumed) => self.reached(&consumed.ids, Reached::Read),
            Body::MessagesWithdrawn(withdrawn) => self.reached(&withdrawn.ids, Reached::Withdrawn),
            Body::AssistantText(said) => self.push(event, Kind::Text { text: said.text.clone() }),
            Body::Thinking(thought) => {
                let hidden = thought.redacted.is_some() && thought.text.is_empty();
                self.push(event, Kind::Thinking { text: thought.text.clone(), hidden });
            }
            Body::ToolCall(asked) if shown_name(&asked.name) == CLARIFY => self.asking.push(asked.clone()),
            Body::ToolCall(asked) => {
                let tool = Tool {
                    call: asked.call.clone(),
                    name: asked.name.clone(),
                    asked: Some(asked.clone()),
                    result: None,
                    output: Output::default(),
                    full: None,
                };
                self.push(event, Kind::Tool(Box::new(tool)));
            }
            Body::ToolResult(result) => self.result(event, result),
            Body::TurnEnded(end) => {
                if let Some((tone, text)) = stop(&end.stop) {
                    self.notice(event, tone, text, "");
                }
                self.turn += 1;
            }
            Body::CompactStarted(started) => {
                self.push(event, Kind::Compaction { trigger: Some(started.trigger), done: None });
            }
            Body::CompactMarker(marker) => {
                let summary =
                    Summary { text: marker.summary.clone(), before: marker.tokens_before, after: marker.tokens_after };
                let joined = self.change(|kind| match kind {
                    Kind::Compaction { done: done @ None, .. } => {
                        *done = Some(summary.clone());
                        true
                    }
                    _ => false,
                });
                if !joined {
                    self.push(event, Kind::Compaction { trigger: None, done: Some(summary) });
                }
            }
            Body::ForkMarker(fork) => {
                let text = format!("continues a copy of another session as \"{}\"", sanitize::line(&fork.title));
                self.push(event, Kind::Separator { text });
            }
            Body::RunStarted(run) => {
                let text = format!("{} with {}", run_word(run.shape), sanitize::line(&run.model));
                self.push(event, Kind::Separator { text });
            }
            Body::RunEnded(run) => {
                if let Some((tone, text, more)) = exit(&run.exit) {
                    self.notice(event, tone, text, more);
                }
            }
            Body::DoneNotified(done) => {
                // The verdict says all that the call for it did.
                let called = |entry: &Entry| matches!(&entry.kind, Kind::Tool(tool) if tool.result.is_none() && shown_name(&tool.name) == DONE);
                if self.entries.back().is_some_and(|entry| called(entry)) {
                    self.entries.pop_back();
                }
                self.push(event, Kind::Done { verdict: done.verdict, text: done.result.clone() });
            }
            Body::AskRaised(ask) => {
                let ask = Box::new(ask.clone());
                self.push(event, Kind::Ask { ask, answer: None, withdrawn: None });
            }
            Body::AskAnswered(answered) => {
                let joined = self.change(|kind| match kind {
                    Kind::Ask { ask, answer, .. } if ask.id == answered.id => {
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
                    Kind::Ask { ask, withdrawn, .. } if ask.id == gone.id => {
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
                self.notice(event, Tone::Error, format!("the budget of {} is spent ({})", it.limit, it.spent), "");
            }
            Body::Error(note) => self.push(event, Kind::Error(note.clone())),
            Body::Repaired(repaired) => {
                self.notice(event, Tone::Quiet, "the log was put in order", repaired.steps.join("\n"));
            }
            Body::HeadMoved(moved) => {
                let kept = moved.to.map(Id::Event);
                for entry in &mut self.entries {
                    if kept.is_none_or(|kept| entry.id > kept) && !entry.undone {
                        entry.undone = true;
                        entry.changed();
                    }
                }
                self.notice(event, Tone::Quiet, "the conversation goes on from an earlier point", "");
            }
            Body::Unknown(unknown) => {
                let text = format!("something that this version does not know: {}", sanitize::line(&unknown.kind));
                self.notice(event, Tone::Quiet, text, unknown.body.as_str());
            }
            Body::SessionConfig(_) | Body::Usage(_) | Body::Snapshot(_) | Body::Work(_) | Body::TaskChanged(_) => {}
        }
    }

    fn result(&mut self, event: &Event, result: &ToolResult) {
        let joined = self.change(|kind| match kind {
            Kind::Tool(tool) if tool.call == result.call && tool.result.is_none() => {
                tool.result = Some(result.clone());
                tool.output = Output::default();
                true
            }
            _ => false,
        });
        let name = shown_name(&result.name);
        let asked = self.asking.iter().position(|asked| asked.call == result.call);
        let asked = asked.map(|place| self.asking.remove(place));
        // What came of it has an entry of its own, unless it was refused.
        let told = !result.is_error && (name == CLARIFY || name == DONE);
        if !joined && !told {
            let tool = Tool {
                call: result.call.clone(),
                name: result.name.clone(),
                asked,
                result: Some(result.clone()),
                output: Output::default(),
                full: None,
            };
            self.push(event, Kind::Tool(Box::new(tool)));
        }
    }

    fn reached(&mut self, ids: &[crate::base::MessageId], how: Reached) {
        for entry in &mut self.entries {
            if let Kind::Said { message, reached, .. } = &mut entry.kind
                && ids.contains(message)
            {
                *reached = how;
                entry.changed();
            }
        }
    }

    fn message(&mut self, event: &Event, message: &Message) {
        let letter = |other, name: &str, reply| Kind::Letter {
            other,
            name: sanitize::line(name).into_owned(),
            text: message.body.clone(),
            reply,
        };
        let kind = match &message.from {
            Source::Begin | Source::BeginFork => quiet("you started this task", ""),
            Source::Continue => quiet("you let it go on", ""),
            Source::User => Kind::Said {
                message: message.id,
                text: message.body.clone(),
                images: message.images.clone(),
                reached: Reached::Sent,
            },
            Source::TaskMessage { task, title, request_reply } => letter(Some(*task), title, *request_reply),
            Source::CrossProject { name, .. } => letter(None, name, false),
            Source::TaskComplete { task, title, verdict } => Kind::Completion {
                task: *task,
                title: sanitize::line(title).into_owned(),
                verdict: *verdict,
                text: message.body.clone(),
            },
            Source::UserMessageForwarded { title, .. } => Kind::Notice {
                tone: Tone::Quiet,
                text: format!("you wrote to \"{}\"", sanitize::line(title)),
                more: message.body.clone(),
            },
            Source::TreeChange { title, action, .. } => Kind::Notice {
                tone: Tone::Quiet,
                text: format!("you {} \"{}\"", tree_word(*action), sanitize::line(title)),
                more: message.body.clone(),
            },
            Source::BackgroundComplete { command, exit, duration_ms, .. } => {
                let how = exit.map_or_else(|| "was ended".to_owned(), |code| format!("ended with {code}"));
                let text = format!("{} {how} after {}", sanitize::line(command), words::duration(*duration_ms));
                let tone = if *exit == Some(0) { Tone::Quiet } else { Tone::Warn };
                Kind::Notice { tone, text, more: message.body.clone() }
            }
            Source::WorkContext => quiet("where the agent is and what it should know", &message.body),
            Source::Interrupt => quiet("you interrupted the agent", &message.body),
            Source::Compact => quiet("you asked for a summary", ""),
            Source::Notice => {
                let (first, rest) = message.body.split_once('\n').unwrap_or((&message.body, ""));
                quiet(&sanitize::line(first), rest)
            }
            // The Ask and the summary have entries of their own.
            Source::ClarifyResponse { .. } | Source::CompactedResume => return,
        };
        self.push(event, kind);
    }
}

fn quiet(text: &str, more: &str) -> Kind {
    Kind::Notice { tone: Tone::Quiet, text: text.to_owned(), more: more.to_owned() }
}

fn tree_word(action: TreeAction) -> &'static str {
    match action {
        TreeAction::Created => "made",
        TreeAction::Updated => "changed",
        TreeAction::Moved => "moved",
        TreeAction::Reordered => "put in another order what is below",
        TreeAction::Closed => "closed",
        TreeAction::Reset => "reset",
        TreeAction::Deleted => "deleted",
        TreeAction::Restored => "brought back",
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

/// Returns what to say of a turn that did not end as turns do.
fn stop(stop: &StopReason) -> Option<(Tone, String)> {
    match stop {
        StopReason::EndTurn | StopReason::ToolUse | StopReason::Pause => None,
        StopReason::MaxTokens => Some((Tone::Warn, "the answer was cut: it was as long as it may be".to_owned())),
        StopReason::Refusal => Some((Tone::Error, "the model refused".to_owned())),
        StopReason::ContextOverflow => {
            Some((Tone::Warn, "the conversation is longer than the model can read".to_owned()))
        }
        StopReason::Interrupted => Some((Tone::Warn, "interrupted".to_owned())),
        StopReason::Other(word) => Some((Tone::Warn, format!("the model stopped: {}", sanitize::line(word)))),
    }
}

/// Returns what to say of the end of a run. A verdict has an entry of its own.
fn exit(exit: &Exit) -> Option<(Tone, &'static str, String)> {
    let reason = match exit {
        Exit::DonePassed | Exit::DoneFailed => return None,
        Exit::Interrupted(reason) => reason,
    };
    Some(match reason {
        InterruptReason::Stopped => (Tone::Quiet, "stopped by you", String::new()),
        InterruptReason::Quit => (Tone::Quiet, "stopped with the program", String::new()),
        InterruptReason::TaskGone => (Tone::Quiet, "stopped: the task was put away", String::new()),
        InterruptReason::Budget => (Tone::Warn, "stopped: the budget is spent", String::new()),
        InterruptReason::TurnLimit => (Tone::Warn, "stopped: as many turns as it may have", String::new()),
        InterruptReason::Provider(why) => (Tone::Error, "stopped: the model could not be reached", why.clone()),
        InterruptReason::Storage(why) => (Tone::Error, "stopped: the disk did not take an event", why.clone()),
        InterruptReason::Internal(why) => (Tone::Error, "stopped by a fault of Matrix", why.clone()),
    })
}

#[cfg(test)]
#[path = "fold_tests.rs"]
mod tests;
