//! Lays out text as rows: width, wrapping, Markdown, syntax highlighting, diffs, tool output, fuzzy matches, number
//! formats.
//!
//! Everything here is a pure function of text and width. A [`Row`] carries roles, never colours, and knows which of
//! its text is decoration, so that copying returns the original text. No row contains control characters or
//! characters that hide or reorder text. Nothing here reads a file or the clock, or knows about panes.

pub mod ansi;
pub mod diff;
pub mod document;
pub mod format;
pub mod fuzzy;
pub mod highlight;
pub mod markdown;
pub mod page;
pub mod row;
pub mod width;
pub mod wrap;

use crate::model::task;
use crate::theme::Role;

pub use ansi::AnsiText;
pub use diff::DiffRows;
pub use document::Document;
pub use markdown::StreamingMarkdown;
pub use page::{MEASURE, Page};
pub use row::{Ink, Row, Span};

/// Returns the role of a task with a user-chosen colour.
pub fn mark_role(colour: task::Colour) -> Role {
    match colour {
        task::Colour::Red => Role::TaskRed,
        task::Colour::Orange => Role::TaskOrange,
        task::Colour::Yellow => Role::TaskYellow,
        task::Colour::Green => Role::TaskGreen,
        task::Colour::Blue => Role::TaskBlue,
        task::Colour::Purple => Role::TaskPurple,
        task::Colour::Gray => Role::TaskGray,
    }
}
