//! The note of a hand-over: what the session and the worktree say, put into words for the next agent. Pure text.

use std::collections::VecDeque;
use std::fmt::Write as _;

use serde_json::Value;

use crate::base::text;
use crate::model::Event;
use crate::model::event::{Body, HandoverFacts, NoteAuthor};
use crate::model::message::MessageSource;

/// How much of a summary, and of each answer, a note quotes.
const SUMMARY_BYTES: usize = 12_000;
const ANSWER_BYTES: usize = 2_000;
const LINE_CHARS: usize = 200;
const ANSWERS: usize = 3;
const COMMANDS: usize = 8;
const FILES: usize = 40;
const COMMITS: usize = 20;

/// Returns a note from the events of a conversation.
pub fn note(events: &[Event]) -> String {
    let mut told = Told::default();
    events.iter().for_each(|event| told.apply(event));
    told.write()
}

/// What a conversation tells about the work.
#[derive(Default)]
struct Told {
    goal: Option<String>,
    summary: Option<String>,
    result: Option<String>,
    answers: VecDeque<String>,
    /// Commands, with their outcome once it is known.
    commands: VecDeque<(String, String, Option<bool>)>,
    files: Vec<String>,
    open: Vec<(String, String)>,
}

impl Told {
    fn apply(&mut self, event: &Event) {
        match &event.body {
            Body::Message(message) if message.from == MessageSource::User => self.goal = Some(message.body.clone()),
            Body::CompactMarker(marker) => self.summary = Some(marker.summary.clone()),
            Body::DoneNotified(done) if !done.result.is_empty() => self.result = Some(done.result.clone()),
            Body::AssistantText(said) if !said.text.trim().is_empty() => {
                push(&mut self.answers, said.text.trim().to_owned(), ANSWERS);
            }
            Body::ToolCall(call) => {
                let input: Value = serde_json::from_str(call.input.as_str()).unwrap_or_default();
                let field = |name: &str| input.get(name).and_then(Value::as_str).map(str::to_owned);
                let name = call.name.rsplit("__").next().unwrap_or(&call.name).to_owned();
                if let Some(path) = field("path").filter(|_| matches!(name.as_str(), "write_file" | "edit_file"))
                    && !self.files.contains(&path)
                {
                    self.files.push(path);
                }
                if let Some(command) = field("command") {
                    push(&mut self.commands, (call.call.clone(), command, None), COMMANDS);
                }
                self.open.push((call.call.clone(), name));
            }
            Body::ToolResult(result) => {
                self.open.retain(|(call, _)| *call != result.call);
                if let Some(found) = self.commands.iter_mut().find(|(call, ..)| *call == result.call) {
                    found.2 = Some(!result.is_error);
                }
            }
            _ => {}
        }
    }

    fn write(&self) -> String {
        let mut out = String::new();
        let mut section = |title: &str, body: &str| {
            if !body.trim().is_empty() {
                let _ = write!(out, "## {title}\n\n{}\n\n", body.trim());
            }
        };
        section(
            "The user's last message",
            self.goal.as_deref().map(|goal| text::prefix(goal, ANSWER_BYTES)).unwrap_or_default(),
        );
        section(
            "Summary so far",
            self.summary.as_deref().map(|it| text::prefix(it, SUMMARY_BYTES)).unwrap_or_default(),
        );
        section("Result", self.result.as_deref().map(|it| text::prefix(it, ANSWER_BYTES)).unwrap_or_default());
        let answers: Vec<&str> = self.answers.iter().map(|answer| text::prefix(answer, ANSWER_BYTES)).collect();
        section("What the agent said last", &answers.join("\n\n"));
        let files: Vec<String> = self.files.iter().take(FILES).map(|file| format!("- {file}")).collect();
        section("Files it wrote", &files.join("\n"));
        let commands = self.commands.iter().map(|(_, command, succeeded)| {
            let how = match succeeded {
                Some(true) => "",
                Some(false) => " (failed)",
                None => " (did not end)",
            };
            format!("- {}{how}", text::headline(command, LINE_CHARS))
        });
        section("Its last commands", &commands.collect::<Vec<_>>().join("\n"));
        let open: Vec<String> = self.open.iter().map(|(_, name)| format!("- {name}")).collect();
        section("Calls without a result", &open.join("\n"));
        out.truncate(out.trim_end().len());
        out
    }
}

fn push<T>(list: &mut VecDeque<T>, item: T, most: usize) {
    list.push_back(item);
    if list.len() > most {
        list.pop_front();
    }
}

/// Returns the message that opens the new agent's conversation.
pub fn opening(from: Option<&str>, author: NoteAuthor, note: &str, facts: &HandoverFacts) -> String {
    let owner = from.unwrap_or("another agent");
    let mut out = format!(
        "You take over this task from {owner}. Its conversation is retired: you know what is written here and what is in \
         the worktree. Check what matters before you rely on it, then go on with the task.\n\n"
    );
    let written = match author {
        NoteAuthor::Giver => "# Note",
        NoteAuthor::Session => "# Note, from the session's record",
    };
    if !note.trim().is_empty() {
        let _ = write!(out, "{written}\n\n{}\n\n", note.trim());
    }
    out.push_str("# Facts\n\n");
    for line in lines(facts) {
        let _ = writeln!(out, "- {line}");
    }
    out.truncate(out.trim_end().len());
    out
}

/// Returns the facts of a hand-over, one line each.
pub fn lines(facts: &HandoverFacts) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(branch) = &facts.branch {
        lines.push(format!("branch {branch}: {} ahead, {} behind", facts.ahead, facts.behind));
    }
    lines.push(match facts.uncommitted {
        0 => "no uncommitted changes".to_owned(),
        count => text::count(count, "file with uncommitted changes", "files with uncommitted changes"),
    });
    lines.extend(facts.commits.iter().take(COMMITS).map(|commit| format!("commit: {commit}")));
    if let Some((command, passed)) = &facts.check {
        lines.push(format!("last check: `{command}` {}", if *passed { "succeeded" } else { "failed" }));
    }
    if facts.open_asks > 0 {
        lines.push(text::count(facts.open_asks, "question to the user is open", "questions to the user are open"));
    }
    if facts.unread > 0 {
        lines.push(text::count(facts.unread, "unread message follows", "unread messages follow"));
    }
    lines.push(format!("cost so far: {}", facts.cost));
    lines
}

#[cfg(test)]
#[path = "handover_tests.rs"]
mod tests;
