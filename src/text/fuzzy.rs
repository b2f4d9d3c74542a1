//! Rows for fuzzy matches.

use std::ops::Range;

use super::row::{Ink, Row, Span};
use crate::theme::Role;

/// Returns a name as a row with the matched letters marked.
pub fn row(name: &str, letters: &[Range<usize>], ink: impl Into<Ink>) -> Row {
    let mut row = Row::new(vec![Span::new(name.to_owned(), ink)]);
    letters.iter().for_each(|range| row.mark(range.clone(), Role::Match));
    row
}

#[cfg(test)]
#[path = "fuzzy_tests.rs"]
mod tests;
