//! Displays paths on one line for models. A file name may contain line breaks, which could forge lines of an output.

use std::borrow::Cow;
use std::path::Path;

/// Returns a path on one line: unchanged, or quoted with line breaks and control characters escaped.
pub(super) fn spelled(path: &Path) -> Cow<'_, str> {
    let text = path.to_string_lossy();
    if !text.contains(|c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')) {
        return text;
    }
    let mut quoted = String::with_capacity(text.len() + 8);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') => quoted.extend(c.escape_default()),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    Cow::Owned(quoted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_name_that_could_forge_a_line_is_quoted() {
        for plain in ["src/lib.rs", "read me.md", "ünï/日本", "a\"b\\c"] {
            assert_eq!(spelled(Path::new(plain)), plain);
        }
        assert_eq!(spelled(Path::new("a\nb.rs:1:x")), "\"a\\nb.rs:1:x\"");
        assert_eq!(spelled(Path::new("\u{1b}[2J\"\u{9b}")), "\"\\u{1b}[2J\\\"\\u{9b}\"");
    }
}
