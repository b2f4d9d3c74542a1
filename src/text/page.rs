//! Where rows are laid out: how wide they may be, and which signs can be used.

use crate::theme::Glyphs;

/// The most columns that a line of sentences has, however wide the screen is. Code and tables take what they need.
pub const MEASURE: usize = 110;

/// A width and a set of signs. A page is at least one column wide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    pub width: usize,
    pub glyphs: &'static Glyphs,
}

impl Page {
    pub fn new(width: usize, glyphs: &'static Glyphs) -> Self {
        Self { width: width.max(1), glyphs }
    }

    /// Returns the page for sentences: no wider than what the eye finds its way back from.
    pub fn for_reading(self) -> Self {
        Self { width: self.width.min(MEASURE), ..self }
    }

    /// Returns the page within something that takes `columns`.
    pub fn narrower(self, columns: usize) -> Self {
        Self { width: self.width.saturating_sub(columns).max(1), ..self }
    }
}
