//! Completion: `@` offers files and tasks, `/` at the start offers commands.

use crate::ui::action::Action;
use crate::ui::list::Cursor;

/// The kind of completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// `@`: files and tasks.
    Mention,
    /// `/` as the first character: commands.
    Command,
}

/// A completion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompletionItem {
    pub label: String,
    pub note: String,
    /// The text that replaces the typed word.
    pub insert: String,
    /// The action of a command.
    pub action: Option<Action>,
}

/// The completion popup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Popup {
    pub trigger: Trigger,
    /// The start of the completed word.
    pub start: usize,
    pub query: String,
    pub offers: Vec<CompletionItem>,
    pub cursor: Cursor,
}

/// Returns the kind of completion at `cursor`, where its word starts, and the typed query.
pub fn trigger(text: &str, cursor: usize) -> Option<(Trigger, usize, &str)> {
    let before = text.get(..cursor)?;
    if let Some(query) = before.strip_prefix('/').filter(|query| !query.contains(char::is_whitespace)) {
        return Some((Trigger::Command, 0, query));
    }
    let start =
        before.rfind(char::is_whitespace).map_or(0, |at| at + before[at..].chars().next().map_or(0, char::len_utf8));
    let query = before[start..].strip_prefix('@')?;
    Some((Trigger::Mention, start, query))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_sign_starts_a_mention_only_at_a_word_start() {
        assert_eq!(trigger("see @src/ma", 11), Some((Trigger::Mention, 4, "src/ma")));
        assert_eq!(trigger("see @src/ma", 5), Some((Trigger::Mention, 4, "")));
        assert_eq!(trigger("me@example.org", 14), None);
        assert_eq!(trigger("a\n@x", 4), Some((Trigger::Mention, 2, "x")));
    }

    #[test]
    fn slash_starts_a_command_only_at_the_start() {
        assert_eq!(trigger("/sto", 4), Some((Trigger::Command, 0, "sto")));
        assert_eq!(trigger("/stop now", 9), None);
        assert_eq!(trigger("a /sto", 6), None);
    }
}
