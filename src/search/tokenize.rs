//! Splits text into words, and a user's query into search terms.
//!
//! Scripts without spaces between words are split into letters; a word of them is a sequence of letters. Case and
//! accents are ignored. Texts and queries are tokenized in the same way.

use std::collections::VecDeque;
use std::ops::Range;

/// The most terms of a query. A pasted page must not become a query of thousands.
const MAX_TERMS: usize = 32;

/// A parsed query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsedQuery {
    parts: Vec<Part>,
}

/// Words that must be adjacent, in this order. The last one may be a prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    words: Vec<String>,
    /// The term is quoted: its last word is complete.
    whole: bool,
}

impl ParsedQuery {
    /// Splits a query at spaces, except within double quotes. A quote that is never closed is ignored.
    pub fn new(text: &str) -> Self {
        let mut parts = Vec::new();
        let mut rest = text;
        while !rest.is_empty() && parts.len() < MAX_TERMS {
            if let Some((quoted, after)) = rest.strip_prefix('"').and_then(|inner| inner.split_once('"')) {
                parts.extend(Part::of(quoted, true));
                rest = after;
                continue;
            }
            let end = rest.find(|c: char| c.is_whitespace() || c == '"').filter(|end| *end > 0).unwrap_or_else(|| {
                // Skips a lone quote or a space.
                rest.chars().next().map_or(rest.len(), |first| {
                    if first.is_whitespace() || first == '"' { first.len_utf8() } else { rest.len() }
                })
            });
            parts.extend(Part::of(&rest[..end], false));
            rest = &rest[end..];
        }
        Self { parts }
    }

    /// Returns true if there is nothing to search for.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Returns the query in the syntax of the index. Every word is quoted and consists of letters and digits, so
    /// nothing in it can be an operator.
    pub fn expression(&self) -> String {
        let parts = self.parts.iter().map(|part| {
            let star = if part.is_prefix() { "*" } else { "" };
            format!("\"{}\"{star}", part.words.join(" "))
        });
        parts.collect::<Vec<_>>().join(" AND ")
    }

    /// Returns the range of the first match in a text. Buffers no more words than it needs to compare.
    pub fn first(&self, text: &str) -> Option<Range<usize>> {
        let longest = self.parts.iter().map(|part| part.words.len()).max()?;
        let mut ahead: VecDeque<Word> = VecDeque::new();
        let mut rest = words(text);
        loop {
            while ahead.len() < longest
                && let Some(word) = rest.next()
            {
                ahead.push_back(word);
            }
            let here = ahead.make_contiguous();
            let start = here.first()?.at.start;
            if let Some(part) = self.parts.iter().find(|part| part.matches_at(here)) {
                return Some(start..here[part.words.len() - 1].at.end);
            }
            ahead.pop_front();
        }
    }

    /// Returns the byte ranges of the matches in a text, in order and without overlap.
    pub fn marks(&self, text: &str) -> Vec<Range<usize>> {
        let words: Vec<_> = words(text).collect();
        let mut marks: Vec<Range<usize>> = Vec::new();
        for part in &self.parts {
            for start in 0..words.len() {
                if part.matches_at(&words[start..]) {
                    marks.push(words[start].at.start..words[start + part.words.len() - 1].at.end);
                }
            }
        }
        marks.sort_by_key(|mark| (mark.start, std::cmp::Reverse(mark.end)));
        let mut end = 0;
        marks.retain(|mark| {
            let fits = mark.start >= end;
            end = if fits { mark.end } else { end };
            fits
        });
        marks
    }
}

impl Part {
    fn of(text: &str, whole: bool) -> Option<Self> {
        let words: Vec<_> = words(text).map(|word| word.folded).collect();
        (!words.is_empty()).then_some(Self { words, whole })
    }

    /// Returns true if the last word may be a prefix. A single letter is the prefix of too many words to look up in
    /// time.
    fn is_prefix(&self) -> bool {
        !self.whole && self.words.last().is_some_and(|word| word.chars().nth(1).is_some())
    }

    fn matches_at(&self, text: &[Word]) -> bool {
        let last = self.words.len() - 1;
        text.len() > last
            && self.words.iter().zip(text).enumerate().all(|(at, (wanted, word))| {
                if at == last && self.is_prefix() {
                    word.folded.starts_with(wanted.as_str())
                } else {
                    word.folded == *wanted
                }
            })
    }
}

/// A word of a text: its comparison form and its range.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Word {
    folded: String,
    at: Range<usize>,
}

fn words(text: &str) -> impl Iterator<Item = Word> {
    let mut letters = text.char_indices().peekable();
    std::iter::from_fn(move || {
        while letters.peek().is_some_and(|(_, letter)| !is_letter(*letter)) {
            letters.next();
        }
        let (start, first) = letters.next()?;
        let mut word = Word { folded: String::new(), at: start..start + first.len_utf8() };
        fold(first, &mut word.folded);
        if !stands_alone(first) {
            while let Some((at, letter)) =
                letters.next_if(|(_, letter)| (is_letter(*letter) || is_mark(*letter)) && !stands_alone(*letter))
            {
                fold(letter, &mut word.folded);
                word.at.end = at + letter.len_utf8();
            }
        }
        Some(word)
    })
    .filter(|word| !word.folded.is_empty())
}

/// Returns a text as it is indexed: its words, separated by spaces.
pub fn normalize(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    for word in words(text) {
        out.push_str(&word.folded);
        out.push(' ');
    }
    out
}

fn is_letter(letter: char) -> bool {
    letter.is_alphanumeric()
}

/// Returns true if a character combines with the one before it.
fn is_mark(letter: char) -> bool {
    matches!(letter, '\u{300}'..='\u{36f}' | '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}')
}

/// Returns true if a letter belongs to a script without spaces between words.
fn stands_alone(letter: char) -> bool {
    matches!(u32::from(letter),
        0x0e00..=0x0eff // Thai, Lao
        | 0x1000..=0x109f // Myanmar
        | 0x1780..=0x17ff // Khmer
        | 0x2e80..=0x312f // radicals, kana, bopomofo
        | 0x31a0..=0x4dbf
        | 0x4e00..=0x9fff // Han
        | 0xa960..=0xa97f
        | 0xac00..=0xd7ff // Hangul
        | 0xf900..=0xfaff
        | 0xff66..=0xffdc // half-width kana and Hangul
        | 0x20000..=0x323af)
}

/// Appends the comparison form of a letter: lower case, without accents.
fn fold(letter: char, out: &mut String) {
    match letter {
        _ if letter.is_ascii() => out.push(letter.to_ascii_lowercase()),
        _ if is_mark(letter) => {}
        // Latin with accents, and full-width forms.
        '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' | '\u{ff10}'..='\u{ff5a}' => {
            let plain = any_ascii::any_ascii_char(letter);
            out.extend(plain.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()));
        }
        // Greek with accents.
        '\u{386}' | '\u{3ac}' => out.push('α'),
        '\u{388}' | '\u{3ad}' => out.push('ε'),
        '\u{389}' | '\u{3ae}' => out.push('η'),
        '\u{38a}' | '\u{3af}' | '\u{3ca}' => out.push('ι'),
        '\u{38c}' | '\u{3cc}' => out.push('ο'),
        '\u{38e}' | '\u{3cd}' | '\u{3cb}' => out.push('υ'),
        '\u{38f}' | '\u{3ce}' => out.push('ω'),
        'ς' => out.push('σ'),
        'ё' | 'Ё' => out.push('е'),
        _ => out.extend(letter.to_lowercase().filter(|c| !is_mark(*c))),
    }
}

#[cfg(test)]
#[path = "tokenize_tests.rs"]
mod tests;
