//! What a model sees of a message. One function, so that live and replayed conversations cannot differ.
//!
//! Every message is wrapped in a tag that says where it comes from. No content can forge such a tag: attributes are
//! escaped in full, and in bodies and tool results the `<` that would open or close one of ours is ([`neutral`]).

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::model::event::Verdict;
use crate::model::message::{Message, Source, TreeAction};

/// Every tag that [`render`] can write. A body that contains one of them is not us speaking.
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
];

/// Returns the text that stands for `message` in a conversation, or nothing if no model is to see it.
pub fn render(message: &Message) -> Option<String> {
    let at = message.at.to_seconds_string();
    let tag = match &message.from {
        Source::User | Source::Begin | Source::BeginFork | Source::Continue => {
            Tag::open("user_message").with("at", &at)
        }
        Source::TaskMessage { task, title, request_reply } => {
            let tag = Tag::open("task_message").with("at", &at).with("task", &task.to_string()).with("title", title);
            if *request_reply { tag.with("request_reply", "true") } else { tag }
        }
        Source::TaskComplete { task, title, verdict } => {
            Tag::open("task_complete").with("at", &at).with("task", &task.to_string()).with("title", title).with(
                "status",
                match verdict {
                    Verdict::Passed => "passed",
                    Verdict::Failed => "failed",
                },
            )
        }
        Source::UserMessageForwarded { task, title, woke } => {
            let tag = Tag::open("user_message_forwarded").with("at", &at).with("to_task", &task.to_string());
            let tag = tag.with("title", title);
            if *woke { tag.with("woke", "true") } else { tag }
        }
        Source::TreeChange { task, title, action } => Tag::open("tree_change")
            .with("at", &at)
            .with("task", &task.to_string())
            .with("title", title)
            .with("action", action_word(*action)),
        Source::ClarifyResponse { ask, question, defaulted } => {
            let tag = Tag::open("clarify_response").with("at", &at).with("ask", &ask.to_string());
            let tag = tag.with("question", question);
            if *defaulted { tag.with("answered_by", "timeout") } else { tag }
        }
        Source::CrossProject { project, name } => {
            Tag::open("cross_project").with("at", &at).with("project", &project.to_string()).with("name", name)
        }
        Source::BackgroundComplete { process, command, exit, duration_ms } => Tag::open("background_complete")
            .with("at", &at)
            .with("id", process)
            .with("command", command)
            .with("exit", &exit.map_or_else(|| "unknown".to_owned(), |code| code.to_string()))
            .with("duration_ms", &duration_ms.to_string()),
        Source::WorkContext => Tag::open("work_context").with("at", &at),
        Source::CompactedResume => Tag::open("compacted_resume").with("at", &at),
        Source::Interrupt => Tag::open("interrupt").with("at", &at),
        Source::Notice => Tag::open("notice").with("at", &at),
        Source::Compact => return None,
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
        if body.is_empty() { format!("{open}/>") } else { format!("{open}>\n{}\n</{name}>", neutral(body)) }
    }
}

/// Returns `value` as it may stand between quotes.
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

/// Returns `body` with every `<` escaped that would start one of our tags. Other markup and code stay as they are.
pub fn neutral(body: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut kept = 0;
    for (at, bracket) in body.match_indices(BRACKETS) {
        let after = at + bracket.len();
        if starts_tag(&body[after..]) {
            out.push_str(&body[kept..at]);
            out.push_str(ESCAPED);
            kept = after;
        }
    }
    if kept == 0 {
        return Cow::Borrowed(body);
    }
    out.push_str(&body[kept..]);
    Cow::Owned(out)
}

/// Undoes [`neutral`]: a model that quotes what it was shown means what stands in the file.
pub fn restored(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut kept = 0;
    for (at, _) in text.match_indices(ESCAPED) {
        if starts_tag(&text[at + ESCAPED.len()..]) {
            out.push_str(&text[kept..at]);
            out.push('<');
            kept = at + ESCAPED.len();
        }
    }
    if kept == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[kept..]);
    Cow::Owned(out)
}

/// What a reader takes for the beginning of a tag: the bracket itself, and its wide and small forms.
const BRACKETS: [char; 3] = ['<', '\u{ff1c}', '\u{fe64}'];
const ESCAPED: &str = "&lt;";

/// Tells whether what follows a `<` reads as one of our tags, however it is spelled or spaced.
fn starts_tag(after: &str) -> bool {
    let name = after.trim_start_matches(|c: char| c == '/' || c.is_whitespace() || is_invisible(c));
    TAGS.iter().any(|tag| is_named(name, tag))
}

/// Tells whether `text` begins with the name `tag`, in any case, and whatever invisible characters are between its
/// letters.
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

/// Tells whether a character takes no room, so that a tag looks whole with it inside.
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
