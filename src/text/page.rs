//! The width and the glyphs for a layout.

use crate::theme::Glyphs;

/// The widest line of prose, however wide the screen is. Code and tables take the space they need.
pub const MEASURE: usize = 110;

/// A width and a set of glyphs. The width is at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    pub width: usize,
    pub glyphs: &'static Glyphs,
}

impl Page {
    pub fn new(width: usize, glyphs: &'static Glyphs) -> Self {
        Self { width: width.max(1), glyphs }
    }

    /// Returns the page for prose, limited to a readable width.
    pub fn for_reading(self) -> Self {
        Self { width: self.width.min(MEASURE), ..self }
    }

    /// Returns the page inside something that takes `columns`.
    pub fn narrower(self, columns: usize) -> Self {
        Self { width: self.width.saturating_sub(columns).max(1), ..self }
    }
}
