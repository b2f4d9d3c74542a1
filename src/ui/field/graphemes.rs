//! Grapheme boundaries around a byte offset.
//!
//! Looks only at the text around the offset, so the cost does not depend on the length.

use unicode_segmentation::GraphemeCursor;

/// Returns `at`, or the end of the grapheme around it.
pub fn boundary_after(text: &str, at: usize) -> usize {
    let mut graphemes = GraphemeCursor::new(at, text.len(), true);
    match graphemes.is_boundary(text, 0) {
        Ok(false) => graphemes.next_boundary(text, 0).ok().flatten().unwrap_or(text.len()),
        Ok(true) | Err(_) => at,
    }
}

/// Returns `at`, or the start of the grapheme around it.
pub fn boundary_before(text: &str, at: usize) -> usize {
    let mut graphemes = GraphemeCursor::new(at, text.len(), true);
    match graphemes.is_boundary(text, 0) {
        Ok(false) => graphemes.prev_boundary(text, 0).ok().flatten().unwrap_or(0),
        Ok(true) | Err(_) => at,
    }
}
