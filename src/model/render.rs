//! Renders messages for models. One function, so that live and replayed conversations cannot differ.
//!
//! Every message is wrapped in a tag that names its source. No content can forge such a tag: attributes are escaped
//! in full, and in bodies and tool results every `<` that would start or end one of these tags is escaped
//! ([`escape_tags`]).

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::model::event::Verdict;
use crate::model::message::{Message, MessageSource, TreeAction};

/// Every tag that [`render`] can write. In a body they are escaped.
pub const TAGS: &[&str] = &[
    "user_message",
    "task_message",
    "task_complete",
    "user_message_forwarded",
    "tree_change",
    "clarify_response",
    "cross_project",
    "background_complete",
    "work_context",
    "compacted_resume",
    "interrupt",
    "notice",
    "hook",
];

/// Returns the text of `message` in a conversation, or `None` if no model sees it.
pub fn render(message: &Message) -> Option<String> {
    let at = message.at.to_seconds_string();
    let tag = match &message.from {
        MessageSource::User | MessageSource::Begin | MessageSource::BeginFork | MessageSource::Continue => {
            Tag::open("user_message").with("at", &at)
        }
        MessageSource::TaskMessage { task, title, request_reply } => {
            let tag = Tag::open("task_message").with("at", &at).with("task", &task.to_string()).with("title", title);
            if *request_reply { tag.with("request_reply", "true") } else { tag }
        }
        MessageSource::TaskComplete { task, title, verdict } => {
            Tag::open("task_complete").with("at", &at).with("task", &task.to_string()).with("title", title).with(
                "status",
                match verdict {
                    Verdict::Passed => "passed",
                    Verdict::Failed => "failed",
                },
            )
        }
        MessageSource::UserMessageForwarded { task, title, woke } => {
            let tag = Tag::open("user_message_forwarded").with("at", &at).with("to_task", &task.to_string());
            let tag = tag.with("title", title);
            if *woke { tag.with("woke", "true") } else { tag }
        }
        MessageSource::TreeChange { task, title, action } => Tag::open("tree_change")
            .with("at", &at)
            .with("task", &task.to_string())
            .with("title", title)
            .with("action", action_word(*action)),
        MessageSource::ClarifyResponse { ask, question, defaulted } => {
            let tag = Tag::open("clarify_response").with("at", &at).with("ask", &ask.to_string());
            let tag = tag.with("question", question);
            if *defaulted { tag.with("answered_by", "timeout") } else { tag }
        }
        MessageSource::CrossProject { project, name } => {
            Tag::open("cross_project").with("at", &at).with("project", &project.to_string()).with("name", name)
        }
        MessageSource::BackgroundComplete { process, command, exit, duration_ms } => Tag::open("background_complete")
            .with("at", &at)
            .with("id", process)
            .with("command", command)
            .with("exit", &exit.map_or_else(|| "unknown".to_owned(), |code| code.to_string()))
            .with("duration_ms", &duration_ms.to_string()),
        MessageSource::WorkContext => Tag::open("work_context").with("at", &at),
        MessageSource::CompactedResume => Tag::open("compacted_resume").with("at", &at),
        MessageSource::Interrupt => Tag::open("interrupt").with("at", &at),
        MessageSource::Notice => Tag::open("notice").with("at", &at),
        MessageSource::Handover { from } => {
            let tag = Tag::open("handover").with("at", &at);
            match from {
                Some(from) => tag.with("from", from),
                None => tag,
            }
        }
        MessageSource::Hook { event, .. } => Tag::open("hook").with("at", &at).with("event", event.name()),
        MessageSource::Compact => return None,
    };
    Some(tag.around(&message.body))
}

fn action_word(action: TreeAction) -> &'static str {
    match action {
        TreeAction::Created => "created",
        TreeAction::Updated => "updated",
        TreeAction::Moved => "moved",
        TreeAction::Reordered => "reordered",
        TreeAction::Closed => "closed",
        TreeAction::Reset => "reset",
        TreeAction::Deleted => "deleted",
        TreeAction::Restored => "restored",
        TreeAction::Stopped => "stopped",
    }
}

struct Tag {
    name: &'static str,
    open: String,
}

impl Tag {
    fn open(name: &'static str) -> Self {
        Self { name, open: format!("<{name}") }
    }

    fn with(mut self, key: &str, value: &str) -> Self {
        // Writing to a string cannot fail.
        let _ = write!(self.open, " {key}=\"{}\"", attribute(value));
        self
    }

    fn around(self, body: &str) -> String {
        let Self { name, open } = self;
        if body.is_empty() { format!("{open}/>") } else { format!("{open}>\n{}\n</{name}>", escape_tags(body)) }
    }
}

/// Returns `value` escaped for a quoted attribute.
fn attribute(value: &str) -> Cow<'_, str> {
    if !value.contains(|c: char| matches!(c, '&' | '>' | '"') || BRACKETS.contains(&c) || c.is_control()) {
        return Cow::Borrowed(value);
    }
    let mut out = String::with_capacity(value.len() + 8);
    for c in value.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if BRACKETS.contains(&c) => out.push_str(ESCAPED),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Returns `body` with every `<` escaped that would start one of our tags. Other markup and code stay unchanged.
pub fn escape_tags(body: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut copied = 0;
    for (at, bracket) in body.match_indices(BRACKETS) {
        let after = at + bracket.len();
        if starts_tag(&body[after..]) {
            out.push_str(&body[copied..at]);
            out.push_str(ESCAPED);
            copied = after;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(body);
    }
    out.push_str(&body[copied..]);
    Cow::Owned(out)
}

/// Undoes [`escape_tags`]: a model that quotes escaped text means the original text of the file.
pub fn unescape_tags(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut copied = 0;
    for (at, _) in text.match_indices(ESCAPED) {
        if starts_tag(&text[at + ESCAPED.len()..]) {
            out.push_str(&text[copied..at]);
            out.push('<');
            copied = at + ESCAPED.len();
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// Characters that read like the start of a tag: the bracket itself, and its wide and small forms.
const BRACKETS: [char; 3] = ['<', '\u{ff1c}', '\u{fe64}'];
const ESCAPED: &str = "&lt;";

/// Returns true if the text after a `<` reads like one of our tags, however it is spelled or spaced.
fn starts_tag(after: &str) -> bool {
    let name = after.trim_start_matches(|c: char| c == '/' || c.is_whitespace() || is_invisible(c));
    TAGS.iter().any(|tag| is_named(name, tag))
}

/// Returns true if `text` starts with the name `tag`, ignoring case and invisible characters between its letters.
fn is_named(text: &str, tag: &str) -> bool {
    let mut chars = text.chars();
    for letter in tag.chars() {
        let mut visible = chars.by_ref().skip_while(|c| is_invisible(*c) && !c.is_whitespace());
        if !visible.next().is_some_and(|c| c.eq_ignore_ascii_case(&letter)) {
            return false;
        }
    }
    !chars.as_str().starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
}

/// Returns true if a character is invisible, so that a tag looks complete with it inside.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
#[path = "render_tests.rs"]
mod tests;
