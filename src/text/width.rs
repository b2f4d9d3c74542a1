//! The width of text on a terminal, and text cut or padded to a width.
//!
//! The unit is the grapheme, measured exactly as the drawing library measures it. [`visible`] is the entry point for
//! untrusted text: its result has no tabs, control characters or invisible characters.

use std::borrow::Cow;

use ratatui::buffer::CellWidth;
use unicode_segmentation::UnicodeSegmentation;

use crate::base::sanitize;

/// The distance between tab stops.
pub const TAB: usize = 4;

/// Returns the number of columns of `text`, which must have passed [`visible`].
pub fn of(text: &str) -> usize {
    if is_plain(text) { text.len() } else { text.graphemes(true).map(grapheme).sum() }
}

/// Returns the number of columns of one grapheme.
pub fn grapheme(grapheme: &str) -> usize {
    if grapheme.contains(char::is_control) { 0 } else { usize::from(grapheme.cell_width()) }
}

/// Returns true if every byte is one column.
pub fn is_plain(text: &str) -> bool {
    text.bytes().all(|b| matches!(b, b' '..=b'~'))
}

/// Returns the columns left of `width` when `taken` are used, or `None` if there are none.
pub fn left(width: usize, taken: usize) -> Option<usize> {
    width.checked_sub(taken).filter(|left| *left > 0)
}

/// Returns `text` with everything made visible: tabs as spaces, controls as control pictures, characters that hide or
/// reorder text as `\u{fffd}`. Line feeds stay; every other line ending becomes a line feed.
pub fn visible(text: &str) -> Cow<'_, str> {
    let Some(first) = text.find(|c: char| c != '\n' && shown(c) != Some(c)) else { return Cow::Borrowed(text) };
    let mut out = String::with_capacity(text.len() + 16);
    out.push_str(&text[..first]);
    let mut line_start = out.rfind('\n').map_or(0, |at| at + 1);
    let mut rest = text[first..].chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\r' if rest.peek() == Some(&'\n') => {}
            '\n' | '\r' => {
                out.push('\n');
                line_start = out.len();
            }
            '\t' => {
                let column = of(&out[line_start..]);
                out.extend(std::iter::repeat_n(' ', TAB - column % TAB));
                // A tab ends at a stop: counting from here gives the same result and keeps long lines cheap.
                line_start = out.len();
            }
            c => out.push(shown(c).unwrap_or('\u{fffd}')),
        }
    }
    Cow::Owned(out)
}

/// Returns the replacement of `c`, or `None` if `c` must not be shown.
fn shown(c: char) -> Option<char> {
    match c {
        ' '..='~' => Some(c),
        '\u{7f}' => Some('\u{2421}'),
        '\0'..='\u{1f}' => char::from_u32(0x2400 + u32::from(c)),
        c => {
            let mut buffer = [0; 4];
            (!sanitize::lines(c.encode_utf8(&mut buffer)).is_empty()).then_some(c)
        }
    }
}

/// Returns the longest prefix of `text` that is at most `width` columns wide, and its width.
pub fn prefix(text: &str, width: usize) -> (&str, usize) {
    let mut used = 0;
    for (at, symbol) in text.grapheme_indices(true) {
        let wide = grapheme(symbol);
        if used + wide > width {
            return (&text[..at], used);
        }
        used += wide;
    }
    (text, used)
}

/// Returns the longest suffix of `text` that is at most `width` columns wide, and its width.
pub fn suffix(text: &str, width: usize) -> (&str, usize) {
    let mut used = 0;
    let mut from = text.len();
    for (at, symbol) in text.grapheme_indices(true).rev() {
        let wide = grapheme(symbol);
        if used + wide > width {
            break;
        }
        used += wide;
        from = at;
    }
    (&text[from..], used)
}

/// The part of a text that is cut if it is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    Start,
    Middle,
    End,
}

/// Returns `text` in at most `width` columns, with `ellipsis` in place of the removed part.
pub fn truncate<'a>(text: &'a str, width: usize, cut: Cut, ellipsis: &str) -> Cow<'a, str> {
    if fits(text, width) {
        return Cow::Borrowed(text);
    }
    let Some(room) = width.checked_sub(of(ellipsis)) else {
        return Cow::Borrowed(prefix(text, width).0);
    };
    Cow::Owned(match cut {
        Cut::End => format!("{}{ellipsis}", prefix(text, room).0.trim_end()),
        Cut::Start => format!("{ellipsis}{}", suffix(text, room).0.trim_start()),
        Cut::Middle => {
            // The end of a path says more than its beginning.
            let (tail, used) = suffix(text, room.div_ceil(2));
            format!("{}{ellipsis}{tail}", prefix(text, room - used).0)
        }
    })
}

/// Returns true if `text` takes at most `width` columns. Measures no more than necessary.
pub fn fits(text: &str, width: usize) -> bool {
    if text.len() <= width && is_plain(text) {
        return true;
    }
    prefix(text, width).0.len() == text.len()
}

/// The alignment of text in a wider field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Align {
    #[default]
    Left,
    Centre,
    Right,
}

/// Returns `text` in exactly `width` columns: padded with spaces, or cut at the end.
pub fn pad(text: &str, width: usize, align: Align, ellipsis: &str) -> String {
    let text = truncate(text, width, Cut::End, ellipsis);
    let gap = width.saturating_sub(of(&text));
    let before = match align {
        Align::Left => 0,
        Align::Centre => gap / 2,
        Align::Right => gap,
    };
    format!("{:before$}{text}{:after$}", "", "", after = gap - before)
}

#[cfg(test)]
#[path = "width_tests.rs"]
mod tests;
