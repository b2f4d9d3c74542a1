//! Finding by a few letters: the best first, with the letters that fitted. For the palette, for files, for tasks.

use std::ops::Range;

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use unicode_segmentation::UnicodeSegmentation;

use super::row::{Ink, Row, Span};
use crate::theme::Role;

/// What kind of names is searched: in paths a hit after a `/` counts for more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    Words,
    Paths,
}

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// Where it stands among what was searched.
    pub index: usize,
    pub score: u32,
    /// The letters that fitted, as ranges of bytes.
    pub letters: Vec<Range<usize>>,
}

/// A searcher. It keeps the memory that searching needs.
#[derive(Debug)]
pub struct Fuzzy {
    matcher: Matcher,
}

impl Fuzzy {
    pub fn new(names: Names) -> Self {
        let config = match names {
            Names::Words => Config::DEFAULT,
            Names::Paths => Config::DEFAULT.match_paths(),
        };
        Self { matcher: Matcher::new(config) }
    }

    /// Returns the best `limit` of `items`, the best first; what fits equally well, the shorter and then the earlier
    /// first. An empty query finds everything in its order.
    pub fn rank<'a>(&mut self, query: &str, items: impl IntoIterator<Item = &'a str>, limit: usize) -> Vec<Hit> {
        if query.trim().is_empty() {
            let all = items.into_iter().take(limit).enumerate();
            return all.map(|(index, _)| Hit { index, score: 0, letters: Vec::new() }).collect();
        }
        let pattern = Pattern::parse(query, CaseMatching::Smart, Normalization::Smart);
        let mut buffer = Vec::new();
        let mut found: Vec<(u32, usize, usize, &str)> = items
            .into_iter()
            .enumerate()
            .filter_map(|(index, item)| {
                let score = pattern.score(Utf32Str::new(item, &mut buffer), &mut self.matcher)?;
                Some((score, item.len(), index, item))
            })
            .collect();
        let order = |a: &(u32, usize, usize, &str), b: &(u32, usize, usize, &str)| {
            b.0.cmp(&a.0).then(a.1.cmp(&b.1)).then(a.2.cmp(&b.2))
        };
        if found.len() > limit && limit > 0 {
            found.select_nth_unstable_by(limit - 1, order);
        }
        found.truncate(limit);
        found.sort_by(order);
        let mut hit = |(score, _, index, item): (u32, usize, usize, &str)| {
            let mut places = Vec::new();
            pattern.indices(Utf32Str::new(item, &mut buffer), &mut self.matcher, &mut places);
            Hit { index, score, letters: letters(item, places) }
        };
        found.into_iter().map(&mut hit).collect()
    }
}

/// Turns the numbers of graphemes into ranges of bytes, neighbours joined.
fn letters(item: &str, mut places: Vec<u32>) -> Vec<Range<usize>> {
    places.sort_unstable();
    places.dedup();
    let mut places = places.into_iter().peekable();
    let mut out: Vec<Range<usize>> = Vec::new();
    for (number, (at, symbol)) in (0u32..).zip(item.grapheme_indices(true)) {
        match places.peek() {
            Some(place) if *place == number => {
                places.next();
                match out.last_mut() {
                    Some(last) if last.end == at => last.end += symbol.len(),
                    _ => out.push(at..at + symbol.len()),
                }
            }
            Some(_) => {}
            None => break,
        }
    }
    out
}

/// Returns a name as a row, with the letters that fitted marked.
pub fn row(name: &str, letters: &[Range<usize>], ink: impl Into<Ink>) -> Row {
    let mut row = Row::new(vec![Span::new(name.to_owned(), ink)]);
    letters.iter().for_each(|range| row.mark(range.clone(), Role::Match));
    row
}

#[cfg(test)]
#[path = "fuzzy_tests.rs"]
mod tests;
