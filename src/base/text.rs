//! Cuts text to a number of bytes or characters, always between two characters, and formats sizes and counts.

/// Returns the longest prefix of `text` that has at most `bytes` bytes and ends between two characters.
pub fn prefix(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// Returns the longest suffix of `text` that has at most `bytes` bytes and starts between two characters.
pub fn suffix(text: &str, bytes: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(bytes))..]
}

/// Returns the first line of `text`, cut to `chars` characters, with an ellipsis if anything is missing.
pub fn headline(text: &str, chars: usize) -> String {
    let text = text.trim();
    let line = text.lines().next().unwrap_or_default();
    if line.chars().count() <= chars && line.len() == text.len() {
        return line.to_owned();
    }
    let mut cut: String = line.chars().take(chars.saturating_sub(1)).collect();
    cut.truncate(cut.trim_end().len());
    cut.push('…');
    cut
}

/// Formats a size: `312 B`, `4.0 KB`, `1.6 MB`.
pub fn size(bytes: u64) -> String {
    let value = bytes as f64;
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} KB", value / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", value / 1e6),
        _ => format!("{:.1} GB", value / 1e9),
    }
}

/// Formats a count with its noun: `1 line`, `2 lines`.
pub fn count(n: usize, one: &str, many: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {many}") }
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
