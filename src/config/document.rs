//! JSON text with positions: objects as lists of raw members, and the line and column of any part.
//!
//! `serde_json` parses; the position of a part is the offset of its borrowed slice. Comments and trailing commas are
//! replaced by blanks first, so offsets stay the same. Does not know which keys exist.

use std::fmt;
use std::ops::Range;

use jsonc_parser::tokens::Token;
use jsonc_parser::{Scanner, ScannerOptions};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::base::text;
use crate::config::problem::{FileLocation, Position, ProblemKind};

/// A text and the offsets of its lines.
pub(super) struct Document<'a> {
    text: &'a str,
    /// The text as it is in the file. A comment has the same number of bytes, but may have fewer characters.
    written: &'a str,
    file: String,
    line_starts: Vec<usize>,
}

/// A decoded settings file, before its keys are read.
pub(super) struct DecodedFile<'a> {
    /// The text of the file without its byte order mark.
    written: &'a str,
    /// The same with comments and trailing commas replaced by blanks.
    pub(super) text: String,
    pub(super) had_mark: bool,
    pub(super) comments: Vec<&'a str>,
}

/// Decodes a settings file. Leaves the text unchanged after a syntax error, which the parser reports.
pub(super) fn decode(bytes: &[u8]) -> Result<DecodedFile<'_>, ProblemKind> {
    let written = std::str::from_utf8(bytes).map_err(|error| ProblemKind::NotUtf8(error.valid_up_to()))?;
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
    Ok(DecodedFile { written, text, had_mark: stripped.is_some(), comments })
}

fn blank(text: &mut String, range: Range<usize>) {
    let blanks: String = text[range.clone()].bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }).collect();
    text.replace_range(range, &blanks);
}

impl DecodedFile<'_> {
    pub(super) fn document(&self, file: impl Into<String>) -> Document<'_> {
        Document { written: self.written, ..Document::new(file, &self.text) }
    }
}

/// A member of an object.
pub(super) struct Member<'a> {
    pub(super) name: String,
    pub(super) value: &'a RawValue,
    /// The slice of the key, for its position.
    pub(super) key: &'a str,
}

/// The keys and values of an object in text order, including duplicates.
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

/// A parse error and its position.
pub(super) struct ParseFailure {
    pub(super) message: String,
    pub(super) at: Option<Position>,
}

impl<'a> Document<'a> {
    pub(super) fn new(file: impl Into<String>, text: &'a str) -> Self {
        let line_starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { text, written: text, file: file.into(), line_starts }
    }

    /// Returns the whole text as one value, or `None` if it is blank.
    pub(super) fn root(&self) -> Result<Option<&'a RawValue>, ParseFailure> {
        if self.text.trim().is_empty() {
            return Ok(None);
        }
        serde_json::from_str(self.text).map(Some).map_err(|error| self.failure(self.text, &error))
    }

    pub(super) fn members(&self, raw: &'a RawValue) -> Result<Vec<Member<'a>>, ParseFailure> {
        let Members(members) = serde_json::from_str(raw.get()).map_err(|error| self.failure(raw.get(), &error))?;
        let named = members.into_iter().map(|(key, value)| {
            // A raw key is not decoded yet: it can still hold half a surrogate pair.
            let name = serde_json::from_str(key.get()).map_err(|error| self.failure(key.get(), &error))?;
            Ok(Member { name, value, key: key.get() })
        });
        named.collect()
    }

    pub(super) fn items(&self, raw: &'a RawValue) -> Result<Vec<&'a RawValue>, ParseFailure> {
        serde_json::from_str(raw.get()).map_err(|error| self.failure(raw.get(), &error))
    }

    fn failure(&self, part: &str, error: &serde_json::Error) -> ParseFailure {
        let message = error.to_string();
        let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message).to_owned();
        ParseFailure { message, at: self.position_of_error(part, error) }
    }

    /// Returns the position of a parse error. The parser counts lines and bytes within `part`.
    fn position_of_error(&self, part: &str, error: &serde_json::Error) -> Option<Position> {
        let before: usize = part.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
        self.offset_of(part).map(|start| self.position(start + before + error.column().saturating_sub(1)))
    }

    /// Returns the offset of `part`, or `None` if it is not a slice of the text.
    fn offset_of(&self, part: &str) -> Option<usize> {
        let offset = part.as_ptr().addr().checked_sub(self.text.as_ptr().addr())?;
        (offset + part.len() <= self.text.len()).then_some(offset)
    }

    /// Returns the line and column of `part`, a slice of the text.
    pub(super) fn position_of(&self, part: &str) -> Option<Position> {
        self.offset_of(part).map(|offset| self.position(offset))
    }

    fn position(&self, offset: usize) -> Position {
        let offset = text::prefix(self.written, offset).len();
        let line = self.line_starts.partition_point(|start| *start <= offset);
        let start = self.line_starts.get(line.saturating_sub(1)).copied().unwrap_or_default();
        Position { line, column: self.written[start..offset].chars().count() + 1 }
    }

    pub(super) fn location(&self, at: Option<Position>) -> FileLocation {
        FileLocation { file: self.file.clone(), at }
    }
}

/// Returns the JSON type of `raw`, with its article.
pub(super) fn shape(raw: &RawValue) -> &'static str {
    match raw.get().as_bytes().first() {
        Some(b'{') => "an object",
        Some(b'[') => "a list",
        Some(b'"') => "a string",
        Some(b't') => "true",
        Some(b'f') => "false",
        Some(b'n') => "null",
        _ => "a number",
    }
}

#[cfg(test)]
#[path = "document_tests.rs"]
mod tests;
