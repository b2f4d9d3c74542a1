//! Folds events into entries. Stored and live events take the same path, so both look the same.
//!
//! A response is saved when it is complete, so what arrives while it is written comes before it in the log. On the
//! screen it follows the response: it waits in `queued` until the response has ended.

use std::collections::VecDeque;

use crate::base::{EventId, MessageId, TaskId, sanitize};
use crate::model::backend::BackendEvent;
use crate::model::conversation::ToolUse;
use crate::model::event::{Body, Event, Exit, InterruptReason, ResumeShape, StopReason, ToolResult};
use crate::model::hook::{HookDecision, HookEnd};
use crate::model::live_turn::Tail;
use crate::model::message::{Message, MessageSource, TreeAction};
use crate::model::task::EditedBy;
use crate::ui::labels;
use crate::ui::transcript::entry::{DeliveryState, Entry, EntryId, EntryKind, Summary, Tone, ToolEntry};
use crate::ui::transcript::layout::shown_name;

/// Calls that are shown as an Ask or a verdict instead.
const CLARIFY: &str = "clarify";
const DONE: &str = "done";

const INTERRUPTED: &str = "interrupted";
const YOU_INTERRUPTED: &str = "you interrupted the agent";
/// How many of the newest entries can belong to the same moment.
const RECENT: usize = 6;

/// Entries folded from events, oldest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fold {
    /// Boxed, so that growing the deque does not move all entries within one frame.
    pub entries: VecDeque<Box<Entry>>,
    /// Entries that arrived during the response that is being written.
    pub queued: Vec<Entry>,
    /// Whether a request to the model is open, as far as the events tell.
    is_responding: bool,
    /// The last entry of the open response that was saved.
    last_output: Option<EventId>,
    /// Calls without a result.
    open: Vec<String>,
    /// Whether the last notice tells of a rewind, so that the stop that belongs to it is not shown.
    has_just_moved: bool,
    turn: u64,
    /// The model of the last run.
    model: Option<String>,
    /// `clarify` calls whose Ask has not arrived. The Ask shows everything that the call would.
    asking: Vec<ToolUse>,
}

impl Fold {
    pub fn of<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut fold = Self::default();
        events.into_iter().for_each(|event| drop(fold.apply(event)));
        fold
    }

    fn push(&mut self, event: &Event, kind: EntryKind) {
        self.has_just_moved = false;
        if self.queued.is_empty() {
            self.entries.push_back(Box::new(Entry::new(EntryId::Event(event.id), event.ts, self.turn, kind)));
        } else {
            self.queued.push(Entry::new(EntryId::Queued(event.id), event.ts, self.turn, kind));
        }
    }

    /// Adds a part of the response, before what arrived while it was written.
    fn push_output(&mut self, event: &Event, kind: EntryKind) {
        self.has_just_moved = false;
        self.last_output = Some(event.id);
        self.entries.push_back(Box::new(Entry::new(EntryId::Event(event.id), event.ts, self.turn, kind)));
    }

    fn push_message(&mut self, event: &Event, message: &Message, kind: EntryKind) {
        self.has_just_moved = false;
        let is_queued = !self.queued.is_empty() || (self.is_responding && self.open.is_empty());
        let id = if is_queued { EntryId::Queued(event.id) } else { EntryId::Event(event.id) };
        let entry = Entry { message: Some(message.id), ..Entry::new(id, event.ts, self.turn, kind) };
        if is_queued { self.queued.push(entry) } else { self.entries.push_back(Box::new(entry)) }
    }

    /// Moves what arrived during the response behind it. Returns the new id of each moved entry.
    fn settle(&mut self) -> Vec<(EntryId, EntryId)> {
        self.is_responding = false;
        let after = self.last_output.take();
        let mut moved = Vec::new();
        for mut entry in self.queued.drain(..) {
            let Some(event) = entry.id.event() else { continue };
            let id = after.map_or(EntryId::Event(event), |after| EntryId::Delayed { after, event });
            moved.push((std::mem::replace(&mut entry.id, id), id));
            self.entries.push_back(Box::new(entry));
        }
        moved
    }

    fn all_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut Entry> {
        self.entries.iter_mut().map(Box::as_mut).chain(&mut self.queued)
    }

    fn notice(&mut self, event: &Event, tone: Tone, text: impl Into<String>, more: impl Into<String>) {
        self.push(event, EntryKind::Notice { tone, text: text.into(), more: more.into() });
    }

    /// Applies `change` to the latest entry that accepts it. Returns true if there is one.
    fn change(&mut self, change: impl Fn(&mut EntryKind) -> bool) -> bool {
        let found = self.all_mut().rev().find_map(|entry| change(&mut entry.kind).then_some(entry));
        found.map(Entry::bump_version).is_some()
    }

    /// Returns true if one of the newest entries of this turn is a notice with this text.
    fn has_recent_notice(&self, wanted: &str) -> bool {
        let mut newest = self.entries.iter().rev().take(RECENT);
        newest.any(|entry| matches!(&entry.kind, EntryKind::Notice { text, .. } if text == wanted))
    }

    fn remove_recent_notice(&mut self, wanted: &str) {
        let from = self.entries.len().saturating_sub(RECENT);
        let found = self
            .entries
            .range(from..)
            .position(|entry| matches!(&entry.kind, EntryKind::Notice { text, .. } if text == wanted));
        if let Some(place) = found {
            self.entries.remove(from + place);
        }
    }

    /// Applies an event. Returns the entries that got a new place, and with it a new id.
    pub fn apply(&mut self, event: &Event) -> Vec<(EntryId, EntryId)> {
        let mut places = Vec::new();
        match &event.body {
            Body::Message(message) => self.message(event, message),
            Body::MessagesConsumed(consumed) => {
                places = self.settle();
                self.set_delivery(event, &consumed.ids, DeliveryState::Read);
                self.is_responding = true;
            }
            Body::MessagesWithdrawn(withdrawn) => {
                self.set_delivery(event, &withdrawn.ids, DeliveryState::Withdrawn);
            }
            Body::AssistantText(said) => self.push_output(event, EntryKind::Text { text: said.text.clone() }),
            Body::Thinking(thought) => {
                let hidden = thought.redacted.is_some() && thought.text.is_empty();
                self.push_output(event, EntryKind::Thinking { text: thought.text.clone(), hidden });
            }
            Body::ToolCall(asked) if shown_name(&asked.name) == CLARIFY => {
                self.open.push(asked.call.clone());
                self.asking.push(asked.clone());
            }
            Body::ToolCall(asked) => {
                self.open.push(asked.call.clone());
                let tool = ToolEntry {
                    call: asked.call.clone(),
                    name: asked.name.clone(),
                    asked: Some(asked.clone()),
                    result: None,
                    output: Tail::default(),
                    full: None,
                };
                self.push_output(event, EntryKind::Tool(Box::new(tool)));
            }
            Body::ToolResult(result) => {
                self.open.retain(|call| *call != result.call);
                self.result(event, result);
                self.is_responding |= self.open.is_empty();
            }
            Body::TurnEnded(end) => {
                let told = end.stop == StopReason::Interrupted && self.has_recent_notice(YOU_INTERRUPTED);
                if let Some((tone, text)) = stop(&end.stop).filter(|_| !told) {
                    self.push_output(event, EntryKind::Notice { tone, text, more: String::new() });
                }
                places = self.settle();
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
            Body::HandedOver(handed) => {
                places = self.settle();
                self.open.clear();
                let from = handed.from.as_deref().map_or("nobody".into(), sanitize::line);
                let by = match handed.by {
                    EditedBy::User => "you",
                    EditedBy::Agent => "an agent above",
                };
                let text = format!("{from}, retired · handed over to {} by {by}", sanitize::line(&handed.to));
                self.push(event, EntryKind::Separator { text });
            }
            Body::RunStarted(run) => {
                places = self.settle();
                let text = self.run_words(run.shape, &run.model);
                self.push(event, EntryKind::Separator { text });
            }
            Body::RunEnded(run) => {
                places = self.settle();
                self.open.clear();
                // A rewind leaves the task stopped, which its own notice says.
                let told = self.has_just_moved && run.exit == Exit::Interrupted(InterruptReason::Stopped);
                if let Some((tone, text, more)) = exit(&run.exit).filter(|_| !told) {
                    self.remove_recent_notice(INTERRUPTED);
                    self.notice(event, tone, text, more);
                }
            }
            Body::DoneNotified(done) => {
                // The verdict replaces the entry of the `done` call.
                let called = |entry: &Entry| matches!(&entry.kind, EntryKind::Tool(tool) if tool.result.is_none() && shown_name(&tool.name) == DONE);
                let from = self.entries.len().saturating_sub(RECENT);
                if let Some(place) = self.entries.range(from..).position(|entry| called(entry)) {
                    self.entries.remove(from + place);
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
            // The call itself is shown.
            Body::CallReleased(_) => {}
            Body::Granted(it) => {
                self.notice(event, Tone::Quiet, format!("the agent {}", sanitize::line(&it.grant.to_string())), "");
            }
            Body::BudgetWarning(it) => {
                self.notice(event, Tone::Warn, format!("{} of {} spent", it.spent, it.limit), "");
            }
            Body::BudgetExceeded(it) => {
                self.notice(event, Tone::Error, format!("budget of {} exceeded: {} spent", it.limit, it.spent), "");
            }
            Body::HookRan(ran) if ran.is_notable() => {
                let tone = match (ran.end, ran.decision) {
                    (HookEnd::Failed | HookEnd::TimedOut, _) => Tone::Warn,
                    (_, Some(HookDecision::Deny | HookDecision::Block | HookDecision::Stop)) => Tone::Warn,
                    _ => Tone::Quiet,
                };
                self.notice(event, tone, sanitize::line(&ran.sentence()), ran.line.clone());
            }
            Body::Error(note) => self.push(event, EntryKind::Error(note.clone())),
            Body::Repaired(repaired) => {
                self.notice(event, Tone::Quiet, "the session log was repaired", repaired.steps.join("\n"));
            }
            Body::HeadMoved(moved) => {
                places = self.settle();
                self.open.clear();
                for entry in &mut self.entries {
                    if !entry.undone && entry.is_undone_by(moved.to) {
                        entry.undone = true;
                        entry.bump_version();
                    }
                }
                self.notice(event, Tone::Quiet, "rewound to an earlier turn", "");
                self.has_just_moved = true;
            }
            Body::Unknown(unknown) => {
                let text = format!("unknown event of a newer version: {}", sanitize::line(&unknown.kind));
                self.notice(event, Tone::Quiet, text, unknown.body.as_str());
            }
            Body::Backend(BackendEvent::Prompted { .. } | BackendEvent::Update { .. }) => {}
            Body::Backend(it) => {
                let tone = if matches!(it, BackendEvent::ToolsMissing) { Tone::Warn } else { Tone::Quiet };
                self.notice(event, tone, sanitize::line(&it.to_string()), it.detail());
            }
            Body::SessionConfig(_)
            | Body::Usage(_)
            | Body::Snapshot(_)
            | Body::Work(_)
            | Body::HookRan(_)
            | Body::TaskChanged(_) => {}
        }
        places
    }

    /// Returns what to say about a new run beside its time: nothing if it continues with the same model.
    fn run_words(&mut self, shape: ResumeShape, model: &str) -> String {
        let is_same = self.model.as_deref() == Some(model);
        if !is_same {
            self.model = Some(model.to_owned());
        }
        let word = run_word(shape);
        match (is_same, word) {
            (true, "continued") => String::new(),
            (true, word) => word.to_owned(),
            (false, word) => format!("{word} with {}", sanitize::line(model)),
        }
    }

    /// Ends the fold of a page of older events.
    pub fn finish(&mut self) {
        self.settle();
    }

    fn result(&mut self, event: &Event, result: &ToolResult) {
        let joined = self.change(|kind| match kind {
            EntryKind::Tool(tool) if tool.call == result.call && tool.result.is_none() => {
                tool.result = Some(result.clone());
                tool.output = Tail::default();
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
                output: Tail::default(),
                full: None,
            };
            self.push(event, EntryKind::Tool(Box::new(tool)));
        }
    }

    fn set_delivery(&mut self, event: &Event, ids: &[MessageId], how: DeliveryState) {
        for entry in self.all_mut().filter(|entry| entry.message.is_some_and(|message| ids.contains(&message))) {
            entry.read = (how == DeliveryState::Read).then_some(event.id);
            if let EntryKind::UserMessage { delivery, .. } = &mut entry.kind {
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
            MessageSource::Interrupt => {
                self.remove_recent_notice(INTERRUPTED);
                quiet(YOU_INTERRUPTED, &message.body)
            }
            MessageSource::Compact => quiet("you asked for a summary", ""),
            MessageSource::Hook { event, .. } => quiet(&format!("{event} hook"), &message.body),
            MessageSource::Notice => {
                let (first, rest) = headline(&message.body);
                quiet(&without_ids(&sanitize::line(first)), rest)
            }
            MessageSource::Handover { .. } => quiet("hand-over note", &message.body),
            // The Ask and the summary have their own entries.
            MessageSource::ClarifyResponse { .. } | MessageSource::CompactedResume => return,
        };
        self.push_message(event, message, kind);
    }
}

/// Splits a notice into its first sentence or line, and the rest.
fn headline(body: &str) -> (&str, &str) {
    let (first, rest) = body.split_once('\n').unwrap_or((body, ""));
    match first.split_once(". ") {
        // The rest stays together, so that it reads as it was written.
        Some((sentence, more)) if rest.is_empty() => (sentence, more),
        _ => (first, rest),
    }
}

/// Returns a text without the ids of tasks in parentheses: they are for agents.
fn without_ids(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(" (") {
        shown.push_str(before);
        match after.split_once(')').filter(|(id, _)| id.parse::<TaskId>().is_ok()) {
            Some((_, after)) => rest = after,
            None => {
                shown.push_str(" (");
                rest = after;
            }
        }
    }
    shown + rest
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
        ResumeShape::Interrupted | ResumeShape::PendingYield | ResumeShape::Parked | ResumeShape::Held => "continued",
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
        StopReason::Interrupted => Some((Tone::Warn, INTERRUPTED.to_owned())),
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
        InterruptReason::TurnLimit => (Tone::Warn, "stopped: turn limit reached", String::new()),
        InterruptReason::Program(why) => (Tone::Error, "stopped: the agent program failed", why.clone()),
        InterruptReason::Provider(why) => (Tone::Error, "stopped: provider error", why.clone()),
        InterruptReason::Storage(why) => (Tone::Error, "stopped: an event could not be saved", why.clone()),
        InterruptReason::Internal(why) => (Tone::Error, "stopped: internal error", why.clone()),
    })
}

#[cfg(test)]
#[path = "fold_tests.rs"]
mod tests;
