//! Formats one event as text: a line with time and kind, and its content below.

use std::time::Duration;

use crate::base::text;
use crate::cli::local_time;
use crate::model::ask::AnsweredBy;
use crate::model::content::Content;
use crate::model::event::{Attempt, Body, Event, Exit, InterruptReason, StopReason, TaskChanged, Verdict};
use crate::model::message::MessageSource;
use crate::model::tool_words;
use crate::tools::names;

/// Maximum lines of content per event. `--json` prints all of it.
const SHOWN_LINES: usize = 12;

pub fn lines(event: &Event) -> Vec<String> {
    let (head, body) = describe(&event.body);
    let mut lines = vec![format!("{}  {head}", local_time::moment(event.ts))];
    let total = body.lines().count();
    lines.extend(body.lines().take(SHOWN_LINES).map(|line| format!("    {line}")));
    if total > SHOWN_LINES {
        lines.push(format!("    … {}", text::count(total - SHOWN_LINES, "more line", "more lines")));
    }
    lines
}

/// Returns a short description of an event, and its content.
pub fn describe(body: &Body) -> (String, String) {
    let short = |head: &str| (head.to_owned(), String::new());
    match body {
        Body::Message(message) => (format!("message from {}", source(&message.from)), message.body.clone()),
        Body::MessagesConsumed(consumed) => {
            short(&format!("{} read", text::count(consumed.ids.len(), "message", "messages")))
        }
        Body::MessagesWithdrawn(gone) => {
            short(&format!("{} withdrawn", text::count(gone.ids.len(), "message", "messages")))
        }
        Body::SessionConfig(config) => {
            short(&format!("configured: {} with {}", config.model, text::count(config.tools.len(), "tool", "tools")))
        }
        Body::AssistantText(answer) => ("agent".to_owned(), answer.text.clone()),
        Body::Thinking(thought) if thought.redacted.is_some() => short("thinking (hidden by the provider)"),
        Body::Thinking(thought) => ("thinking".to_owned(), thought.text.clone()),
        Body::ToolCall(call) => (tool_words::sentence(call), tool_words::arguments(call)),
        Body::ToolResult(result) => {
            let state = if result.is_error { "failed" } else { "returned" };
            let shown = match &result.content {
                Content::Text { text } => text.clone(),
                Content::Blob(blob) => format!("[{} in blob {}]", text::size(blob.bytes), blob.blob),
            };
            (format!("{} {state} ({} ms)", names::display_name(&result.name), result.duration_ms), shown)
        }
        Body::Usage(usage) => {
            let cost = usage.cost.map_or_else(|| "price unknown".to_owned(), |cost| cost.to_string());
            short(&format!("used {} in, {} out, {cost}", usage.tokens.context(), usage.tokens.output))
        }
        Body::TurnEnded(end) => short(&format!("turn ended: {}", stop(&end.stop))),
        Body::CompactStarted(_) => short("compaction started"),
        Body::CompactMarker(marker) => (
            format!("compacted from about {} to {} tokens", marker.tokens_before, marker.tokens_after),
            marker.summary.clone(),
        ),
        Body::ForkMarker(marker) => {
            (format!("forked from {}: {}", marker.source, marker.title), marker.description.clone())
        }
        Body::HandedOver(handed) => {
            let from = handed.from.as_deref().unwrap_or("nobody");
            short(&format!("handed over from {from}, retired, to {}", handed.to))
        }
        Body::RunStarted(run) => short(&format!("run started: {} on {}", run.profile, run.model)),
        Body::RunEnded(run) => short(&format!("run ended: {}", exit(&run.exit))),
        Body::DoneNotified(done) => (format!("done: {}", verdict(done.verdict)), done.result.clone()),
        Body::AskRaised(ask) => {
            let choices = ask.choices.iter().zip(1..).map(|(choice, n)| format!("{n}. {choice}"));
            let lines = std::iter::once(ask.detail.clone()).filter(|detail| !detail.is_empty()).chain(choices);
            (format!("asks: {}", ask.question), lines.collect::<Vec<_>>().join("\n"))
        }
        Body::AskAnswered(answered) => short(&match answered.answer.by {
            AnsweredBy::User => match &answered.answer.client {
                Some(name) => format!("answered by {name}: {}", answered.answer.text),
                None => format!("answered: {}", answered.answer.text),
            },
            AnsweredBy::Timeout => format!("timed out, used the default: {}", answered.answer.text),
            AnsweredBy::Task => format!("answered by the task above: {}", answered.answer.text),
            AnsweredBy::Rule => format!("decided by a rule: {}", answered.answer.text),
        }),
        Body::AskWithdrawn(withdrawn) => short(&format!("question withdrawn: {}", withdrawn.reason)),
        Body::CallReleased(_) => short("the call that waited for permission starts"),
        Body::Granted(granted) => short(&format!("the agent {}", granted.grant)),
        Body::BudgetWarning(budget) => short(&format!("{} of {} spent", budget.spent, budget.limit)),
        Body::BudgetExceeded(budget) => short(&format!("budget exceeded: {} of {}", budget.spent, budget.limit)),
        Body::Error(error) => {
            let next = error.attempt.map_or_else(String::new, |attempt| {
                let Attempt { number, of, wait_ms } = attempt;
                format!(", retrying in {:.1} s ({number} of {of})", Duration::from_millis(wait_ms).as_secs_f64())
            });
            (format!("error ({}){next}", error.class.replace('_', " ")), error.message.clone())
        }
        Body::Repaired(repaired) => ("repaired".to_owned(), repaired.steps.join("\n")),
        Body::HeadMoved(moved) => {
            short(&moved.to.map_or_else(|| "rewound to the beginning".to_owned(), |to| format!("rewound to {to}")))
        }
        Body::Snapshot(snapshot) => short(&format!("files saved as {}", snapshot.tree)),
        Body::Work(work) => (work.to_string(), work.detail()),
        Body::Backend(event) => (event.to_string(), event.detail()),
        Body::TaskChanged(TaskChanged::Set { node }) => short(&format!("task is now {}: {}", node.status, node.title)),
        Body::TaskChanged(TaskChanged::Removed) => short("task removed"),
        Body::HookRan(ran) => (format!("{} ({} ms)", ran.sentence(), ran.ms), ran.line.clone()),
        Body::Unknown(unknown) => {
            (format!("{} (unknown to this version)", unknown.kind), unknown.body.as_str().to_owned())
        }
    }
}

pub fn source(from: &MessageSource) -> String {
    match from {
        MessageSource::User | MessageSource::Begin | MessageSource::BeginFork | MessageSource::Continue => {
            "you".to_owned()
        }
        MessageSource::TaskMessage { title, .. } => format!("task \"{title}\""),
        MessageSource::TaskComplete { title, verdict: outcome, .. } => {
            format!("task \"{title}\", which {}", verdict(*outcome))
        }
        MessageSource::UserMessageForwarded { title, .. } => format!("you, to task \"{title}\""),
        MessageSource::TreeChange { title, .. } => format!("the tree, about \"{title}\""),
        MessageSource::ClarifyResponse { question, defaulted: true, .. } => {
            format!("the default answer to \"{question}\" (timed out)")
        }
        MessageSource::ClarifyResponse { question, .. } => format!("you, about \"{question}\""),
        MessageSource::CrossProject { name, .. } => format!("project {name}"),
        MessageSource::BackgroundComplete { command, exit, .. } => {
            let code = exit.map_or_else(|| "unknown exit".to_owned(), |code| format!("exit {code}"));
            format!("background process `{command}` ({code})")
        }
        MessageSource::WorkContext => "Matrix: context".to_owned(),
        MessageSource::CompactedResume => "Matrix: summary so far".to_owned(),
        MessageSource::Compact => "you: compact".to_owned(),
        MessageSource::Interrupt => "you: interrupt".to_owned(),
        MessageSource::Notice => "Matrix".to_owned(),
        MessageSource::Handover { from: Some(from) } => format!("hand-over from {from}"),
        MessageSource::Handover { from: None } => "hand-over".to_owned(),
        MessageSource::Hook { event, .. } => format!("{event} hook"),
    }
}

fn stop(stop: &StopReason) -> &str {
    match stop {
        StopReason::EndTurn => "finished",
        StopReason::ToolUse => "calls tools",
        StopReason::MaxTokens => "output limit reached",
        StopReason::Refusal => "refused",
        StopReason::Pause => "paused",
        StopReason::ContextOverflow => "context full",
        StopReason::Interrupted => "interrupted",
        StopReason::Other(word) => word,
    }
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Passed => "passed",
        Verdict::Failed => "failed",
    }
}

fn exit(exit: &Exit) -> String {
    match exit {
        Exit::DonePassed => "done, passed".to_owned(),
        Exit::DoneFailed => "done, failed".to_owned(),
        Exit::Interrupted(reason) => match reason {
            InterruptReason::Stopped => "stopped by you".to_owned(),
            InterruptReason::Quit => "Matrix was quit".to_owned(),
            InterruptReason::TaskGone => "the task was closed, reset or deleted".to_owned(),
            InterruptReason::Budget => "the budget is spent".to_owned(),
            InterruptReason::TurnLimit => "the turn limit is reached".to_owned(),
            InterruptReason::Program(why) => format!("the agent program failed: {why}"),
            InterruptReason::Provider(why) => format!("the model API failed: {why}"),
            InterruptReason::Storage(why) => format!("the disk failed: {why}"),
            InterruptReason::Internal(why) => format!("internal error: {why}"),
        },
    }
}

#[cfg(test)]
#[path = "entry_tests.rs"]
mod tests;
