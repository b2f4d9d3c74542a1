//! Finding by a few letters: the best first, with the letters that fitted. For the palette, for files, for tasks.
//!
//! Among words a hit must be one that a person sees: letters in a row, the beginnings of neighbouring words, or letters
//! with few between them. Letters strewn over a sentence are in almost every sentence, and count as nothing.

use std::ops::Range;

use nucleo_matcher::pattern::{Atom, AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use unicode_segmentation::UnicodeSegmentation;

use super::row::{Ink, Row, Span};
use crate::theme::Role;

/// What kind of names is searched. In paths a hit after a `/` counts for more. Among words what stands before a colon is
/// the name, and a hit in it counts for more than one in what follows.
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

/// How well a word that was typed fits, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    /// The name begins with it.
    Start,
    /// A word of the name begins with it, or neighbouring words begin with its parts.
    NameWord,
    /// The letters stand in the name, in a row.
    Name,
    /// A word behind the name begins with it.
    Word,
    /// Its parts begin neighbouring words, or its letters stand close to each other.
    Close,
    /// The letters stand behind the name, in a row.
    Within,
}

/// A searcher. It keeps the memory that searching needs.
#[derive(Debug)]
pub struct Fuzzy {
    names: Names,
    matcher: Matcher,
}

impl Fuzzy {
    pub fn new(names: Names) -> Self {
        let config = match names {
            Names::Words => Config::DEFAULT,
            Names::Paths => Config::DEFAULT.match_paths(),
        };
        Self { names, matcher: Matcher::new(config) }
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
        let mut found: Vec<Candidate<'a>> = items
            .into_iter()
            .enumerate()
            .filter_map(|(index, text)| {
                let score = pattern.score(Utf32Str::new(text, &mut buffer), &mut self.matcher)?;
                let fit = match self.names {
                    Names::Words => self.fit(&pattern, text)?.0,
                    Names::Paths => Fit::Start,
                };
                Some(Candidate { fit, score, index, text })
            })
            .collect();
        let order = |a: &Candidate<'_>, b: &Candidate<'_>| {
            let better = a.fit.cmp(&b.fit).then(b.score.cmp(&a.score));
            better.then(a.text.len().cmp(&b.text.len())).then(a.index.cmp(&b.index))
        };
        if found.len() > limit && limit > 0 {
            found.select_nth_unstable_by(limit - 1, order);
        }
        found.truncate(limit);
        found.sort_by(order);
        let mut hit = |Candidate { score, index, text, .. }: Candidate<'_>| {
            let mut places = Vec::new();
            match self.names {
                Names::Paths => {
                    pattern.indices(Utf32Str::new(text, &mut buffer), &mut self.matcher, &mut places);
                }
                Names::Words => places.extend(self.fit(&pattern, text).into_iter().flat_map(|(_, places)| places)),
            }
            Hit { index, score, letters: letters(text, places) }
        };
        found.into_iter().map(&mut hit).collect()
    }

    /// Returns how well an item fits, which is as well as the word that fits worst, and by which of its symbols.
    /// Nothing: one of the words fits nowhere.
    fn fit(&mut self, pattern: &Pattern, text: &str) -> Option<(Fit, Vec<u32>)> {
        let mut buffer = Vec::new();
        let shown = Utf32Str::new(text, &mut buffer);
        let text = Text::new(text);
        let (mut worst, mut all) = (Fit::Start, Vec::new());
        for atom in pattern.atoms.iter().filter(|atom| !atom.negative) {
            let mut strewn = Vec::new();
            atom.indices(shown, &mut self.matcher, &mut strewn)?;
            // Who writes the signs of a pattern knows what is meant.
            if atom.kind != AtomKind::Fuzzy {
                all.append(&mut strewn);
                continue;
            }
            let mut row = Vec::new();
            let in_a_row = in_a_row(atom).indices(shown, &mut self.matcher, &mut row).map(|_| text.row(&row));
            let (fit, mut places) = match (in_a_row, text.strewn(&strewn)) {
                (Some(fit), Some(close)) if close < fit => (close, strewn),
                (Some(fit), _) => (fit, row),
                (None, Some(close)) => (close, strewn),
                (None, None) => return None,
            };
            worst = worst.max(fit);
            all.append(&mut places);
        }
        Some((worst, all))
    }
}

/// What is searched, symbol by symbol.
struct Text<'a> {
    symbols: Vec<&'a str>,
    /// Where its name ends.
    name: usize,
}

impl<'a> Text<'a> {
    fn new(text: &'a str) -> Self {
        let symbols: Vec<&str> = text.graphemes(true).collect();
        let name = symbols.iter().position(|symbol| *symbol == ":").unwrap_or(symbols.len());
        Self { symbols, name }
    }

    /// Tells whether a word begins there.
    fn begins(&self, at: u32) -> bool {
        !at.checked_sub(1).is_some_and(|before| self.is_letter(before))
    }

    /// Tells whether no other word stands between two places.
    fn are_neighbours(&self, two: &[u32]) -> bool {
        let [before, after] = *two else { return true };
        !(before + 1..after).any(|at| self.is_letter(at) && self.begins(at))
    }

    fn is_letter(&self, at: u32) -> bool {
        let symbol = self.symbols.get(at as usize);
        symbol.is_some_and(|symbol| symbol.chars().next().is_some_and(char::is_alphanumeric))
    }

    fn is_name(&self, at: u32) -> bool {
        (at as usize) < self.name
    }

    /// Returns how well letters in a row fit.
    fn row(&self, places: &[u32]) -> Fit {
        let at = places.first().copied().unwrap_or(0);
        match (self.is_name(at), self.begins(at)) {
            (true, _) if at == 0 => Fit::Start,
            (true, true) => Fit::NameWord,
            (true, false) => Fit::Name,
            (false, true) => Fit::Word,
            (false, false) => Fit::Within,
        }
    }

    /// Returns how well letters fit that stand anywhere. Nothing: nobody sees that they belong together.
    fn strewn(&self, places: &[u32]) -> Option<Fit> {
        let [first, .., last] = places else { return None };
        let mut steps = places.windows(2).filter(|two| two[1] > two[0] + 1);
        let initials = self.begins(*first) && steps.all(|two| self.begins(two[1]) && self.are_neighbours(two));
        let many = u32::try_from(places.len()).unwrap_or(u32::MAX);
        let near = self.begins(*first) && last - first < many.saturating_mul(2);
        match (initials, near) {
            (true, _) if self.is_name(*last) => Some(Fit::NameWord),
            (true, _) | (_, true) => Some(Fit::Close),
            (false, false) => None,
        }
    }
}

/// Something that may be returned.
struct Candidate<'a> {
    fit: Fit,
    score: u32,
    index: usize,
    text: &'a str,
}

/// Returns a word of a pattern that fits only where its letters stand in a row.
fn in_a_row(atom: &Atom) -> Atom {
    let mut row = atom.clone();
    if row.kind == AtomKind::Fuzzy {
        row.kind = AtomKind::Substring;
    }
    row
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
