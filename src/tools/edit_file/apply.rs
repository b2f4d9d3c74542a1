//! Applies edits as a pure function of bytes. Nothing in the new text is interpreted.

use std::borrow::Cow;

use crate::base::text::count;
use crate::model::render;
use crate::process::output::line_breaks;

use super::Edit;
use super::nearest;

/// The largest file that edits may produce.
const LARGEST: usize = 64 << 20;
/// How many places of an ambiguous text are listed.
const NAMED: usize = 8;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct EditResult {
    pub(super) bytes: Vec<u8>,
    pub(super) replaced: usize,
}

/// Returns `before` with every edit applied in order, or the sentence that says which one failed and why.
pub(super) fn apply(before: &[u8], edits: &[Edit]) -> Result<EditResult, String> {
    let mut bytes = before.to_vec();
    let mut replaced = 0;
    for (index, edit) in edits.iter().enumerate() {
        let (new, times) = one(&bytes, edit).map_err(|problem| match edits.len() {
            1 => problem,
            _ => format!("edits[{index}]: {problem} (none of the {} edits was applied)", edits.len()),
        })?;
        bytes = new;
        replaced += times;
    }
    if edits.is_empty() {
        return Err("\"edits\" is empty; give at least one".to_owned());
    }
    Ok(EditResult { bytes, replaced })
}

fn one(text: &[u8], edit: &Edit) -> Result<(Vec<u8>, usize), String> {
    let (old, new) = (edit.old_string.as_bytes(), edit.new_string.as_bytes());
    if old.is_empty() {
        return Err("old_string is empty; to write a whole file use write_file".to_owned());
    }
    if old == new {
        return Err("old_string and new_string are the same, so nothing would change".to_owned());
    }
    // Overlapping occurrences are ambiguous too.
    let places = occurrences(text, old, if edit.replace_all { old.len() } else { 1 });
    if let ([], Cow::Owned(old_string)) = (places.as_slice(), render::unescape_tags(&edit.old_string)) {
        let new_string = render::unescape_tags(&edit.new_string).into_owned();
        return one(text, &Edit { old_string, new_string, replace_all: edit.replace_all });
    }
    match places.as_slice() {
        [] => Err(nearest::explain(text, &edit.old_string)),
        [_, _, ..] if !edit.replace_all => Err(ambiguous(text, &places)),
        places => {
            let grown = (text.len() + places.len() * new.len()).saturating_sub(places.len() * old.len());
            if grown > LARGEST {
                return Err(format!("the result would have {grown} bytes; the most is {LARGEST}"));
            }
            let mut out = Vec::with_capacity(grown);
            let mut done = 0;
            for place in places {
                out.extend_from_slice(&text[done..*place]);
                out.extend_from_slice(new);
                done = place + old.len();
            }
            out.extend_from_slice(&text[done..]);
            Ok((out, places.len()))
        }
    }
}

/// Returns where `needle` occurs. After each match, the search continues `step` bytes later.
fn occurrences(text: &[u8], needle: &[u8], step: usize) -> Vec<usize> {
    let mut places = Vec::new();
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| find(rest, needle)) {
        places.push(from + at);
        from += at + step;
    }
    places
}

fn find(text: &[u8], needle: &[u8]) -> Option<usize> {
    let first = *needle.first()?;
    let mut from = 0;
    loop {
        from += text.get(from..)?.iter().position(|byte| *byte == first)?;
        if text[from..].starts_with(needle) {
            return Some(from);
        }
        from += 1;
    }
}

fn ambiguous(text: &[u8], places: &[usize]) -> String {
    let line = |at: &usize| line_breaks(&text[..*at]) + 1;
    let mut lines: Vec<String> = places.iter().take(NAMED).map(|at| line(at).to_string()).collect();
    if places.len() > NAMED {
        lines.push("…".to_owned());
    }
    format!(
        "old_string occurs {} (at lines {}). Add surrounding lines until it occurs once, or set replace_all.",
        count(places.len(), "time", "times"),
        lines.join(", ")
    )
}

#[cfg(test)]
#[path = "apply_tests.rs"]
mod tests;
