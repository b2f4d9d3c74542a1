//! The blocks of a parsed text, independent of width.

use crate::text::row::Span;
use crate::text::width::Align;
use crate::theme::Role;

/// Text with its ink. A line feed is a hard line break.
pub type Inlines = Vec<Span>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    Heading {
        level: u8,
        words: Inlines,
    },
    Paragraph(Inlines),
    Code {
        /// The info string of the fence.
        info: String,
        text: String,
    },
    Quote {
        kind: Option<Alert>,
        blocks: Vec<Block>,
    },
    List {
        /// The first number of a numbered list.
        start: Option<u64>,
        /// Set when there are blank lines between the items.
        loose: bool,
        items: Vec<Item>,
    },
    Table(Table),
    Footnote {
        label: String,
        blocks: Vec<Block>,
    },
    Html(String),
    Rule,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Item {
    /// Whether the checkbox is ticked, if there is one.
    pub done: Option<bool>,
    pub blocks: Vec<Block>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    pub aligns: Vec<Align>,
    pub head: Vec<Inlines>,
    pub rows: Vec<Vec<Inlines>>,
}

/// The kind of a GitHub alert quote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alert {
    Note,
    Tip,
    Important,
    Warning,
    Caution,
}

impl Alert {
    pub fn title(self) -> (&'static str, Role) {
        match self {
            Self::Note => ("Note", Role::Accent),
            Self::Tip => ("Tip", Role::Ok),
            Self::Important => ("Important", Role::Accent),
            Self::Warning => ("Warning", Role::Warn),
            Self::Caution => ("Caution", Role::Error),
        }
    }
}
