//! Colours of the lines of a hunk: their syntax, and the words that differ.

use std::ops::Range;

use super::intraline::{Emphasis, emphasis};
use crate::base;
use crate::model::diff::{Hunk, Line, LineKind};
use crate::text::highlight::{self, Language, Parts};
use crate::text::row::{Copied, Ink, Row, Span};
use crate::text::width;
use crate::theme::Role;

/// Only this much of a longer line is shown, with the number of missing characters.
const MAX_LINE: usize = 4096;
/// Up to this many lines, a hunk is highlighted from its first line on.
const EXACT: usize = 1_000;
/// In longer hunks, highlighting starts this many lines above the window. A comment or a string that began earlier
/// then looks like code, which costs less than highlighting everything for each row.
const LEAD: usize = 200;

/// Returns the displayed part of a line, made visible.
pub fn shown(text: &str) -> String {
    let cut = base::text::prefix(text, MAX_LINE);
    let visible = width::visible(cut).replace('\n', "\u{240a}");
    match text.len() - cut.len() {
        0 => visible,
        more => format!("{visible} … {} more", base::text::size(more as u64)),
    }
}

/// The syntax and the differing words of the lines of a hunk in a window.
#[derive(Default)]
pub struct Colours {
    old: Vec<Parts>,
    new: Vec<Parts>,
    /// The first line that was coloured.
    first: usize,
    /// The index of each line, from `first` to the end of the window, in the old and the new side.
    places: Vec<(usize, usize)>,
    emphasis: Emphasis,
}

impl Colours {
    pub fn of(hunk: &Hunk, window: &Range<usize>, language: Option<Language>) -> Self {
        let first = if window.end <= EXACT { 0 } else { window.start.saturating_sub(LEAD) };
        let mut colours = Self { emphasis: emphasis(&hunk.lines, window), first, ..Self::default() };
        let Some(language) = language else { return colours };
        let (mut old, mut new) = (String::new(), String::new());
        let (mut old_lines, mut new_lines) = (0, 0);
        for line in &hunk.lines[first.min(window.end)..window.end] {
            colours.places.push((old_lines, new_lines));
            let text = shown(&line.shown());
            if line.kind != LineKind::Added {
                old.push_str(&text);
                old.push('\n');
                old_lines += 1;
            }
            if line.kind != LineKind::Removed {
                new.push_str(&text);
                new.push('\n');
                new_lines += 1;
            }
        }
        colours.old = highlight::lines_from(language, &old, 0);
        colours.new = highlight::lines_from(language, &new, 0);
        colours
    }

    /// Returns a line in its colours, with the differing words on a stronger background.
    pub fn spans(&self, line: &Line, at: usize, over: Option<Role>) -> Vec<Span> {
        let text = shown(&line.shown());
        let place = at.checked_sub(self.first).and_then(|at| self.places.get(at));
        let parts = place.and_then(|(old, new)| match line.kind {
            LineKind::Removed => self.old.get(*old),
            LineKind::Added | LineKind::Context => self.new.get(*new),
        });
        let parts = parts.filter(|parts| parts.last().is_some_and(|(range, _)| range.end == text.len()));
        let spans: Vec<Span> = match parts {
            Some(parts) => parts
                .iter()
                .map(|(range, role)| Span::new(text[range.clone()].to_owned(), Ink { over, ..Ink::new(*role) }))
                .collect(),
            None => vec![Span::new(text.clone(), Ink { over, ..Ink::new(Role::DiffContext) })],
        };
        let strong = match line.kind {
            LineKind::Added => Role::DiffAddStrong,
            LineKind::Removed => Role::DiffRemoveStrong,
            LineKind::Context => return spans,
        };
        // The ranges refer to the original line; tabs and controls make the displayed one longer.
        let ranges = self.emphasis.get(&at).into_iter().flatten();
        let (mut row, whole) = (Row::new(spans), line.shown());
        for range in ranges {
            let (Some(before), Some(inside)) = (whole.get(..range.start), whole.get(range.clone())) else {
                continue;
            };
            let start = shown(before).len();
            let end = shown(&format!("{before}{inside}")).len();
            row.mark(start..end, strong);
        }
        row.spans
    }
}

/// Returns a span with its spaces shown as `sign`. Copying still returns spaces.
pub fn visible_spaces(span: &Span, sign: &'static str) -> Vec<Span> {
    const SPACES: &str = "                                                                ";
    let is_space = |c: char| c == ' ';
    let mut out = Vec::new();
    let mut rest = span.text.as_ref();
    while let Some(first) = rest.chars().next() {
        let len = rest.find(|c| is_space(c) != is_space(first)).unwrap_or(rest.len());
        if is_space(first) {
            let len = len.min(SPACES.len());
            let ink = Ink { role: Role::Whitespace, ..span.ink };
            out.push(Span { text: sign.repeat(len).into(), ink, copied: Copied::As(&SPACES[..len]) });
            rest = &rest[len..];
        } else {
            out.push(Span { text: rest[..len].to_owned().into(), ..span.clone() });
            rest = &rest[len..];
        }
    }
    out
}
