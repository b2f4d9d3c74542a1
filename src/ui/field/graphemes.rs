//! Where what a person sees as one character begins and ends.
//!
//! Looks only at what stands around a place, so that a long text costs no more than a short one.

use unicode_segmentation::GraphemeCursor;

/// Returns `at`, or the end of the grapheme that it stands in.
pub fn boundary_after(text: &str, at: usize) -> usize {
    let mut graphemes = GraphemeCursor::new(at, text.len(), true);
    match graphemes.is_boundary(text, 0) {
        Ok(false) => graphemes.next_boundary(text, 0).ok().flatten().unwrap_or(text.len()),
        Ok(true) | Err(_) => at,
    }
}

/// Returns `at`, or the start of the grapheme that it stands in.
pub fn boundary_before(text: &str, at: usize) -> usize {
    let mut graphemes = GraphemeCursor::new(at, text.len(), true);
    match graphemes.is_boundary(text, 0) {
        Ok(false) => graphemes.prev_boundary(text, 0).ok().flatten().unwrap_or(0),
        Ok(true) | Err(_) => at,
    }
}
