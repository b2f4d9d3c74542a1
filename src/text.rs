//! Words to rows: width, wrapping, Markdown, syntax colours, diffs, what tools print, fuzzy finding, humane numbers.
//!
//! Everything here is a pure function of text and width. A [`Row`] carries roles, never colours, and knows which of
//! its text is decoration, so that what is copied is what was said. No control character and nothing that hides or
//! turns text ever gets into a row. Nothing here reads a file, asks for the time, or knows what a pane is.

pub mod ansi;
pub mod diff;
pub mod document;
pub mod fuzzy;
pub mod highlight;
pub mod humane;
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

/// Returns the role of a task that a person has marked.
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
