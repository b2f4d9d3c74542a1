//! What a text consists of, before it has a width.

use crate::text::row::Span;
use crate::text::width::Align;
use crate::theme::Role;

/// Words with their ink. A line feed is a line break that was asked for.
pub type Inlines = Vec<Span>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    Heading {
        level: u8,
        words: Inlines,
    },
    Paragraph(Inlines),
    Code {
        /// What stands behind the fence.
        info: String,
        text: String,
    },
    Quote {
        kind: Option<Alert>,
        blocks: Vec<Block>,
    },
    List {
        /// The first number, if it is numbered.
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
    /// Whether its box is ticked, if it has one.
    pub done: Option<bool>,
    pub blocks: Vec<Block>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    pub aligns: Vec<Align>,
    pub head: Vec<Inlines>,
    pub rows: Vec<Vec<Inlines>>,
}

/// A quote that is a remark.
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
