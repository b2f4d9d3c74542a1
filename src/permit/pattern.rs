//! Patterns of rules: text with `*` for commands, and paths with `*`, `?` and `**`.

use std::path::{Component, Path};

/// Returns true if `text` matches `pattern`, in which `*` stands for any text.
pub fn matches_text(pattern: &str, text: &str) -> bool {
    // `cargo test *` means `cargo test` too.
    if let Some(bare) = pattern.strip_suffix(" *")
        && !bare.contains('*')
    {
        return text.strip_prefix(bare).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
    }
    if pattern.strip_suffix(" *").is_some_and(|bare| wildcard(bare.as_bytes(), text.as_bytes(), |_| true)) {
        return true;
    }
    wildcard(pattern.as_bytes(), text.as_bytes(), |_| true)
}

/// Returns true if the path with these parts, or a folder above it, matches `pattern`.
pub fn matches_parts(pattern: &[String], parts: &[String]) -> bool {
    match (pattern.split_first(), parts.split_first()) {
        // A pattern for a folder matches everything in it.
        (None, _) => true,
        (Some((any, rest)), _) if any == "**" => {
            let least = usize::from(rest.is_empty());
            (least..=parts.len()).any(|skipped| matches_parts(rest, &parts[skipped..]))
        }
        (Some(_), None) => false,
        (Some((first, rest)), Some((part, others))) => {
            wildcard(first.as_bytes(), part.as_bytes(), |byte| byte != b'/') && matches_parts(rest, others)
        }
    }
}

/// Splits a path into its parts.
pub fn parts(path: &Path) -> Vec<String> {
    let named = path.components().filter(|component| !matches!(component, Component::RootDir | Component::CurDir));
    named.map(|component| component.as_os_str().to_string_lossy().into_owned()).collect()
}

/// Matches `*` and, in paths, `?`. Iterative: a hostile pattern costs no more than the product of the lengths.
fn wildcard(pattern: &[u8], text: &[u8], accepts: impl Fn(u8) -> bool) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        if p < pattern.len() && pattern[p] == b'*' {
            star = Some((p, t));
            p += 1;
        } else if p < pattern.len() && (pattern[p] == text[t] || (pattern[p] == b'?' && !accepts(b'/'))) {
            p += 1;
            t += 1;
        } else if let Some((at, from)) = star.filter(|(_, from)| accepts(text[*from])) {
            p = at + 1;
            t = from + 1;
            star = Some((at, from + 1));
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
#[path = "pattern_tests.rs"]
mod tests;
