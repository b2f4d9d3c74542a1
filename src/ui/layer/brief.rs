//! The brief of a new task: a text of several lines whose first line is the title, and the profile that works on it.

use crate::base::{TaskId, text};
use crate::engine::command::TaskDraft;
use crate::ui::field::Field;

/// The longest title in characters. The text of a longer first line is in the description, too.
const TITLE: usize = 72;

#[derive(Clone, Debug)]
pub struct Brief {
    pub parent: TaskId,
    pub before: Option<TaskId>,
    pub title: String,
    pub field: Field,
    /// `None` for the default.
    pub profile: Option<String>,
    /// The problem with the text.
    pub problem: Option<&'static str>,
}

impl Brief {
    /// Returns the new task, or `None` if nothing is written.
    pub fn draft(&self) -> Option<TaskDraft> {
        let content = self.field.content();
        let content = content.trim();
        let (first, rest) = content.split_once('\n').unwrap_or((content, ""));
        let first = first.trim_end();
        if first.is_empty() {
            return None;
        }
        let (title, description) = if first.chars().count() > TITLE {
            (text::headline(first, TITLE), content)
        } else {
            (first.to_owned(), rest.trim())
        };
        let profile = self.profile.clone();
        Some(TaskDraft { title, description: description.to_owned(), profile, ..TaskDraft::default() })
    }
}

/// The text of a brief that was neither started nor saved. It is there again in the next one.
#[derive(Clone, Debug, Default)]
pub struct UnsentBrief {
    text: String,
    /// Set when the text differs from the saved one.
    unsaved: bool,
}

impl UnsentBrief {
    pub fn new(text: String) -> Self {
        Self { text, unsaved: false }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn keep(&mut self, text: String) {
        self.unsaved |= self.text != text;
        self.text = text;
    }

    /// Returns true once after the text has changed.
    pub fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.unsaved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::testing::task;

    fn brief(text: &str) -> Option<(String, String)> {
        let brief = Brief {
            parent: task(1),
            before: None,
            title: String::new(),
            field: Field::with(text),
            profile: None,
            problem: None,
        };
        brief.draft().map(|draft| (draft.title, draft.description))
    }

    #[test]
    fn first_line_is_the_title_and_the_rest_the_description() {
        let owned = |title: &str, description: &str| Some((title.to_owned(), description.to_owned()));
        assert_eq!(brief("Add OAuth"), owned("Add OAuth", ""));
        assert_eq!(
            brief("\n Add OAuth \n\nUse the store.\nNo new crates.\n"),
            owned("Add OAuth", "Use the store.\nNo new crates.")
        );
        assert_eq!(brief(" \n "), None);
    }

    #[test]
    fn a_long_first_line_is_shortened_in_the_title_and_whole_in_the_description() {
        let long = "word ".repeat(40);
        let (title, description) = brief(&long).unwrap();
        assert!(title.ends_with('…') && title.chars().count() <= TITLE, "{title}");
        assert_eq!(description, long.trim());
    }
}
