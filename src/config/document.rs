//! JSON text with positions: objects as lists of raw members, and the line and column of any part.
//!
//! `serde_json` parses; a part's place is where its borrowed slice lies in the text. Comments and trailing commas of a
//! settings file are blanked out beforehand, so that the rest stands where it stood. Nothing here knows which keys exist.

use std::fmt;
use std::ops::Range;

use jsonc_parser::tokens::Token;
use jsonc_parser::{Scanner, ScannerOptions};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::base::text;
use crate::config::problem::{Place, Spot, Trouble};

/// A text and where its lines start.
pub(super) struct Document<'a> {
    text: &'a str,
    /// The text as it is in the file. A comment has as many bytes there, and may have fewer characters.
    written: &'a str,
    file: String,
    line_starts: Vec<usize>,
}

/// What a file's bytes turned out to be, before any key is looked at.
pub(super) struct Opened<'a> {
    /// The text of the file without its byte order mark.
    written: &'a str,
    /// The same with blanks for comments and trailing commas.
    pub(super) text: String,
    pub(super) had_mark: bool,
    pub(super) comments: Vec<&'a str>,
}

/// Returns the text of a settings file. After a mistake it is left as it is written, for the parser to complain.
pub(super) fn open(bytes: &[u8]) -> Result<Opened<'_>, Trouble> {
    let written = std::str::from_utf8(bytes).map_err(|error| Trouble::NotUtf8(error.valid_up_to()))?;
    let stripped = written.strip_prefix('\u{feff}');
    let written = stripped.unwrap_or(written);
    let (mut text, mut comments) = (written.to_owned(), Vec::new());
    let (mut comma, mut after_value) = (None, false);
    let mut scanner = Scanner::new(written, &ScannerOptions::default());
    while let Ok(Some(token)) = scanner.scan() {
        let range = scanner.token_start()..scanner.token_end();
        match token {
            Token::CommentLine(_) | Token::CommentBlock(_) => {
                comments.push(&written[range.clone()]);
                blank(&mut text, range);
                continue;
            }
            Token::CloseBrace | Token::CloseBracket => comma.take().into_iter().for_each(|at| blank(&mut text, at)),
            Token::Comma => comma = after_value.then_some(range),
            _ => comma = None,
        }
        after_value = !matches!(token, Token::OpenBrace | Token::OpenBracket | Token::Comma | Token::Colon);
    }
    Ok(Opened { written, text, had_mark: stripped.is_some(), comments })
}

fn blank(text: &mut String, range: Range<usize>) {
    let blanks: String = text[range.clone()].bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }).collect();
    text.replace_range(range, &blanks);
}

impl Opened<'_> {
    pub(super) fn document(&self, file: impl Into<String>) -> Document<'_> {
        Document { written: self.written, ..Document::new(file, &self.text) }
    }
}

/// A member of an object.
pub(super) struct Member<'a> {
    pub(super) name: String,
    pub(super) value: &'a RawValue,
    /// The slice that is the key, for its place.
    pub(super) key: &'a str,
}

/// The keys and values of an object in the order of the text, repetitions included.
struct Members<'a>(Vec<(&'a RawValue, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

/// A part of the text that the parser would not take: its complaint, and where in the text.
pub(super) struct Rejected {
    pub(super) words: String,
    pub(super) at: Option<Spot>,
}

impl<'a> Document<'a> {
    pub(super) fn new(file: impl Into<String>, text: &'a str) -> Self {
        let line_starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { text, written: text, file: file.into(), line_starts }
    }

    /// Returns the whole text as one value, or nothing if there is none.
    pub(super) fn root(&self) -> Result<Option<&'a RawValue>, Rejected> {
        if self.text.trim().is_empty() {
            return Ok(None);
        }
        serde_json::from_str(self.text).map(Some).map_err(|error| self.rejected(self.text, &error))
    }

    /// Returns the members of the object `raw`.
    pub(super) fn members(&self, raw: &'a RawValue) -> Result<Vec<Member<'a>>, Rejected> {
        let Members(members) = serde_json::from_str(raw.get()).map_err(|error| self.rejected(raw.get(), &error))?;
        let named = members.into_iter().map(|(key, value)| {
            // A key is checked for balance only until it is read: it can still hold half a surrogate pair.
            let name = serde_json::from_str(key.get()).map_err(|error| self.rejected(key.get(), &error))?;
            Ok(Member { name, value, key: key.get() })
        });
        named.collect()
    }

    /// Returns the items of the list `raw`.
    pub(super) fn items(&self, raw: &'a RawValue) -> Result<Vec<&'a RawValue>, Rejected> {
        serde_json::from_str(raw.get()).map_err(|error| self.rejected(raw.get(), &error))
    }

    fn rejected(&self, part: &str, error: &serde_json::Error) -> Rejected {
        let message = error.to_string();
        let words = message.rsplit_once(" at line ").map_or(message.as_str(), |(words, _)| words).to_owned();
        Rejected { words, at: self.spot_of_error(part, error) }
    }

    /// The parser counts lines and bytes within the part it was given.
    fn spot_of_error(&self, part: &str, error: &serde_json::Error) -> Option<Spot> {
        let before: usize = part.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
        self.offset_of(part).map(|start| self.spot(start + before + error.column().saturating_sub(1)))
    }

    /// Returns where `part`, a slice of the text, starts in it.
    fn offset_of(&self, part: &str) -> Option<usize> {
        let offset = part.as_ptr().addr().checked_sub(self.text.as_ptr().addr())?;
        (offset + part.len() <= self.text.len()).then_some(offset)
    }

    /// Returns the line and column of `part`, a slice of the text.
    pub(super) fn spot_of(&self, part: &str) -> Option<Spot> {
        self.offset_of(part).map(|offset| self.spot(offset))
    }

    fn spot(&self, offset: usize) -> Spot {
        let offset = text::prefix(self.written, offset).len();
        let line = self.line_starts.partition_point(|start| *start <= offset);
        let start = self.line_starts.get(line.saturating_sub(1)).copied().unwrap_or_default();
        Spot { line, column: self.written[start..offset].chars().count() + 1 }
    }

    pub(super) fn place(&self, at: Option<Spot>) -> Place {
        Place { file: self.file.clone(), at }
    }
}

/// Returns what kind of thing `raw` is, with its article.
pub(super) fn shape(raw: &RawValue) -> &'static str {
    match raw.get().as_bytes().first() {
        Some(b'{') => "an object",
        Some(b'[') => "a list",
        Some(b'"') => "a text",
        Some(b't') => "true",
        Some(b'f') => "false",
        Some(b'n') => "null",
        _ => "a number",
    }
}

#[cfg(test)]
#[path = "document_tests.rs"]
mod tests;
