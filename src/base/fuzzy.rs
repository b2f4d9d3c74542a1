//! Fuzzy matching for the palette, files and tasks: ranked by `nucleo`, with the matched letters.
//!
//! A palette entry is `name: description`. Names are matched fuzzily; descriptions only by whole words or parts of words,
//! because scattered letters are found in almost every sentence.

use std::ops::Range;

use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use unicode_segmentation::UnicodeSegmentation;

/// The kind of names that are searched. In paths a match after a `/` counts for more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    Words,
    Paths,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The index of the item among those searched.
    pub index: usize,
    pub score: u32,
    /// The matched letters, as byte ranges.
    pub letters: Vec<Range<usize>>,
}

/// A text with more words is a sentence, not a name.
const MAX_NAME_WORDS: usize = 3;

#[derive(Debug)]
pub struct Fuzzy {
    names: Names,
    matcher: Matcher,
}

/// The part of an item that matched. A match in the name ranks above any match elsewhere.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Name,
    Whole,
}

/// A query in both forms: fuzzy for names, substrings for whole entries.
struct Query {
    fuzzy: Pattern,
    substrings: Pattern,
}

impl Query {
    fn new(text: &str) -> Self {
        let fuzzy = Pattern::parse(text, CaseMatching::Smart, Normalization::Smart);
        let mut substrings = fuzzy.clone();
        for atom in substrings.atoms.iter_mut().filter(|atom| atom.kind == AtomKind::Fuzzy) {
            atom.kind = AtomKind::Substring;
        }
        Self { fuzzy, substrings }
    }
}

impl Fuzzy {
    pub fn new(names: Names) -> Self {
        let mut config = match names {
            Names::Words => Config::DEFAULT,
            Names::Paths => Config::DEFAULT.match_paths(),
        };
        config.prefer_prefix = names == Names::Words;
        Self { names, matcher: Matcher::new(config) }
    }

    /// Returns the best `limit` of `items`, best first; ties by length, then by position. An empty query returns all
    /// items in their order.
    pub fn rank<'a>(&mut self, query: &str, items: impl IntoIterator<Item = &'a str>, limit: usize) -> Vec<Hit> {
        if query.trim().is_empty() {
            let all = items.into_iter().take(limit).enumerate();
            return all.map(|(index, _)| Hit { index, score: 0, letters: Vec::new() }).collect();
        }
        let query = Query::new(query);
        let mut found = Vec::new();
        for (index, text) in items.into_iter().enumerate() {
            found.extend(self.score(&query, text).map(|(part, score)| (part, score, index, text)));
        }
        found.sort_by_key(|(part, score, index, text)| (*part, std::cmp::Reverse(*score), text.len(), *index));
        found.truncate(limit);
        let hit = |(part, score, index, text)| Hit { index, score, letters: self.letters(&query, part, text) };
        found.into_iter().map(hit).collect()
    }

    fn score(&mut self, query: &Query, text: &str) -> Option<(Part, u32)> {
        let mut buffer = Vec::new();
        let mut score = |pattern: &Pattern, text| pattern.score(Utf32Str::new(text, &mut buffer), &mut self.matcher);
        if let Some(score) = score(&query.fuzzy, name_of(self.names, text)) {
            return Some((Part::Name, score));
        }
        score(&query.substrings, text).map(|score| (Part::Whole, score))
    }

    fn letters(&mut self, query: &Query, part: Part, text: &str) -> Vec<Range<usize>> {
        let (pattern, searched) = match part {
            Part::Name => (&query.fuzzy, name_of(self.names, text)),
            Part::Whole => (&query.substrings, text),
        };
        let (mut buffer, mut places) = (Vec::new(), Vec::new());
        pattern.indices(Utf32Str::new(searched, &mut buffer), &mut self.matcher, &mut places);
        byte_ranges(searched, places)
    }
}

/// Returns the part of a text that is matched fuzzily: the name of a palette entry, a short text, a path. Empty for a
/// sentence.
fn name_of(names: Names, text: &str) -> &str {
    let name = match names {
        Names::Paths => return text,
        Names::Words => text.split_once(':').map_or(text, |(name, _)| name),
    };
    if name.split_whitespace().nth(MAX_NAME_WORDS).is_none() { name } else { "" }
}

/// Converts positions of graphemes into byte ranges, with neighbours joined.
fn byte_ranges(item: &str, mut places: Vec<u32>) -> Vec<Range<usize>> {
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

#[cfg(test)]
#[path = "fuzzy_tests.rs"]
mod tests;
