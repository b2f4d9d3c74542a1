//! Completion: `@` offers files and tasks, `/` at the beginning offers commands.

use crate::ui::action::Action;
use crate::ui::list::Cursor;

/// What is being completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// `@`: files and tasks.
    Mention,
    /// `/` as the first character: commands.
    Command,
}

/// Something that can be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    pub label: String,
    pub note: String,
    /// What takes the place of what was typed.
    pub insert: String,
    /// For a command: what it does.
    pub action: Option<Action>,
}

/// What is offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Popup {
    pub trigger: Trigger,
    /// Where the word begins that is being completed.
    pub start: usize,
    pub query: String,
    pub offers: Vec<Offer>,
    pub cursor: Cursor,
}

/// Returns what is being completed at `cursor` of `text`: the kind, where it begins, and what was typed of it.
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
    fn an_at_sign_begins_a_mention_only_at_the_start_of_a_word() {
        assert_eq!(trigger("see @src/ma", 11), Some((Trigger::Mention, 4, "src/ma")));
        assert_eq!(trigger("see @src/ma", 5), Some((Trigger::Mention, 4, "")));
        assert_eq!(trigger("me@example.org", 14), None);
        assert_eq!(trigger("a\n@x", 4), Some((Trigger::Mention, 2, "x")));
    }

    #[test]
    fn a_slash_begins_a_command_only_at_the_very_beginning() {
        assert_eq!(trigger("/sto", 4), Some((Trigger::Command, 0, "sto")));
        assert_eq!(trigger("/stop now", 9), None);
        assert_eq!(trigger("a /sto", 6), None);
    }
}
