//! Where rows are laid out: how wide they may be, and which signs can be used.

use crate::theme::Glyphs;

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

    /// Returns the page within something that takes `columns`.
    pub fn narrower(self, columns: usize) -> Self {
        Self { width: self.width.saturating_sub(columns).max(1), ..self }
    }
}
