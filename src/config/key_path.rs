//! Paths of settings: `budgetUsd`, `authGroups.main.apiKey`, `models."gpt-4.1".window`.
//!
//! A part that contains a dot, a quote, whitespace or a control character is written as a JSON string. Every path has
//! one written form, which parses back to it.

use std::fmt;
use std::str::FromStr;

/// The parts of a path, outermost first. Never empty.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyPath(Vec<String>);

impl KeyPath {
    pub fn top(name: impl Into<String>) -> Self {
        Self(vec![name.into()])
    }

    pub fn child(&self, name: impl Into<String>) -> Self {
        let mut parts = self.0.clone();
        parts.push(name.into());
        Self(parts)
    }

    pub fn parts(&self) -> &[String] {
        &self.0
    }

    /// Returns the top-level key.
    pub fn key(&self) -> &str {
        self.0.first().map_or("", String::as_str)
    }

    /// Returns the innermost part.
    pub fn last(&self) -> &str {
        self.0.last().map_or("", String::as_str)
    }

    /// Returns the outermost `count` parts, at least one.
    pub fn first(&self, count: usize) -> Self {
        Self(self.0.iter().take(count.max(1)).cloned().collect())
    }

    /// Returns true if this path equals `other` or is a prefix of it.
    pub fn contains(&self, other: &Self) -> bool {
        other.0.starts_with(&self.0)
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, part) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(".")?;
            }
            if is_plain(part) {
                f.write_str(part)?;
            } else {
                write!(f, "{}", serde_json::Value::from(part.as_str()))?;
            }
        }
        Ok(())
    }
}

fn is_plain(part: &str) -> bool {
    !part.is_empty() && !part.contains(|c: char| c == '.' || c == '"' || c.is_whitespace() || c.is_control())
}

/// A text that is not a valid path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is not the name of a setting: {why}")]
pub struct InvalidPath {
    pub text: String,
    pub why: &'static str,
}

impl FromStr for KeyPath {
    type Err = InvalidPath;

    fn from_str(text: &str) -> Result<Self, InvalidPath> {
        let fail = |why| InvalidPath { text: text.to_owned(), why };
        let mut parts = Vec::new();
        let mut rest = text;
        loop {
            let end = if rest.starts_with('"') {
                let mut strings = serde_json::Deserializer::from_str(rest).into_iter::<String>();
                let part = strings.next().and_then(Result::ok).ok_or_else(|| fail("a quoted part is not closed"))?;
                parts.push(part);
                strings.byte_offset()
            } else {
                let end = rest.find('.').unwrap_or(rest.len());
                let part = &rest[..end];
                if part.is_empty() {
                    return Err(fail("a part between the dots is empty"));
                }
                if !is_plain(part) {
                    return Err(fail("a part with quotes or spaces must be in double quotes"));
                }
                parts.push(part.to_owned());
                end
            };
            rest = &rest[end..];
            if rest.is_empty() {
                return Ok(Self(parts));
            }
            rest = rest.strip_prefix('.').ok_or_else(|| fail("a dot must follow a quoted part"))?;
        }
    }
}

#[cfg(test)]
#[path = "key_path_tests.rs"]
mod tests;
