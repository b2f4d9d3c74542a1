//! Words: how a text becomes words, and how what a person wrote becomes a question that holds nothing but words.
//!
//! Scripts that put no space between words are taken apart letter by letter; a word of them is letters in a row. Case and
//! accents make no difference. A text and a question go through the same door, so that each finds the other.

use std::collections::VecDeque;
use std::ops::Range;

/// How many parts of a question are looked for. Nobody writes more; a pasted page must not become a query of thousands.
const MOST_PARTS: usize = 32;

/// What a person asked, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    parts: Vec<Part>,
}

/// Words that must stand together, in this order. The last one may go on.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    words: Vec<String>,
    /// In quotes: the last word is whole.
    whole: bool,
}

impl Asked {
    /// Takes a question apart: at spaces, except within double quotes. A quote that is never closed is a sign like any
    /// other.
    pub fn new(text: &str) -> Self {
        let mut parts = Vec::new();
        let mut rest = text;
        while !rest.is_empty() && parts.len() < MOST_PARTS {
            if let Some((quoted, after)) = rest.strip_prefix('"').and_then(|inner| inner.split_once('"')) {
                parts.extend(Part::of(quoted, true));
                rest = after;
                continue;
            }
            let end = rest.find(|c: char| c.is_whitespace() || c == '"').filter(|end| *end > 0).unwrap_or_else(|| {
                // A lone quote or a space at the front is stepped over.
                rest.chars().next().map_or(rest.len(), |first| {
                    if first.is_whitespace() || first == '"' { first.len_utf8() } else { rest.len() }
                })
            });
            parts.extend(Part::of(&rest[..end], false));
            rest = &rest[end..];
        }
        Self { parts }
    }

    /// Tells whether there is nothing to look for.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Returns the question as the index understands it. Every word stands in quotes, and holds nothing but letters and
    /// digits: there is nothing in it that could be an operator.
    pub fn expression(&self) -> String {
        let parts = self.parts.iter().map(|part| {
            let star = if part.goes_on() { "*" } else { "" };
            format!("\"{}\"{star}", part.words.join(" "))
        });
        parts.collect::<Vec<_>>().join(" AND ")
    }

    /// Returns where the first of them stands in a text. Holds no more of it than it takes to compare.
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
            if let Some(part) = self.parts.iter().find(|part| part.stands_at(here)) {
                return Some(start..here[part.words.len() - 1].at.end);
            }
            ahead.pop_front();
        }
    }

    /// Returns where the words stand in a text, in its bytes, in order and without overlap.
    pub fn marks(&self, text: &str) -> Vec<Range<usize>> {
        let words: Vec<_> = words(text).collect();
        let mut marks: Vec<Range<usize>> = Vec::new();
        for part in &self.parts {
            for start in 0..words.len() {
                if part.stands_at(&words[start..]) {
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

    /// Tells whether the last word may be the start of a longer one. A single letter starts half of all words, and
    /// looking at all of them takes longer than anybody waits.
    fn goes_on(&self) -> bool {
        !self.whole && self.words.last().is_some_and(|word| word.chars().nth(1).is_some())
    }

    fn stands_at(&self, text: &[Word]) -> bool {
        let last = self.words.len() - 1;
        text.len() > last
            && self.words.iter().zip(text).enumerate().all(|(at, (wanted, word))| {
                if at == last && self.goes_on() {
                    word.folded.starts_with(wanted.as_str())
                } else {
                    word.folded == *wanted
                }
            })
    }
}

/// A word of a text: how it is compared, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Word {
    folded: String,
    at: Range<usize>,
}

/// Returns the words of a text.
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

/// Returns a text as the index takes it in: its words, with spaces between them and nothing else.
pub fn plain(text: &str) -> String {
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

/// Tells whether a character goes on top of the one before it.
fn is_mark(letter: char) -> bool {
    matches!(letter, '\u{300}'..='\u{36f}' | '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}')
}

/// Tells whether a letter is of a script that puts no space between words.
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

/// Adds a letter as it is compared: small, without accents.
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
#[path = "words_tests.rs"]
mod tests;
