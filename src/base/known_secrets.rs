//! The credentials that this process knows, and their masking in texts.
//!
//! A key is masked by its value and not by its name: the same key may be in another variable, in a file or in the
//! output of a command. There is one list per process, because the code that reads keys (settings, the environment)
//! and the code that must not repeat them (tools, logs, exports, the environment of children) do not know each other.
//! Values are only ever added.

use std::borrow::Cow;
use std::sync::{PoisonError, RwLock};

use memchr::memmem;

/// The replacement for a masked value.
pub const MASK: &str = "****";
/// Shorter values are ordinary words: masking them would garble texts and protect nothing.
const SHORTEST: usize = 8;
/// A value of at least this length counts as a credential, whatever its characters.
const CERTAINLY_LONG: usize = 20;

static KNOWN: RwLock<KnownSecrets> = RwLock::new(KnownSecrets { values: Vec::new() });

/// The values to mask, longest first: masking a value that is part of another would leave the rest of it visible.
#[derive(Clone, Default)]
pub struct KnownSecrets {
    values: Vec<String>,
}

impl KnownSecrets {
    /// Adds the values that are distinct from ordinary text. A value of several lines is added line by line.
    pub fn add(&mut self, values: impl IntoIterator<Item = String>) {
        for value in values {
            let lines = value.lines().map(str::trim).filter(|line| is_distinct(line));
            self.values.extend(lines.filter(|line| !line.starts_with("-----")).map(str::to_owned));
        }
        self.values.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        self.values.dedup();
    }

    /// Returns true if `text` contains one of the values.
    pub fn is_in(&self, text: &str) -> bool {
        self.values.iter().any(|value| text.contains(value.as_str()))
    }

    /// Returns `text` with every value replaced by a mask.
    pub fn mask<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut text = Cow::Borrowed(text);
        for value in &self.values {
            if text.contains(value.as_str()) {
                text = text.replace(value.as_str(), MASK).into();
            }
        }
        text
    }

    /// Overwrites every value in `bytes` with asterisks of the same length. Returns the ranges that were changed.
    pub fn blank(&self, bytes: &mut [u8]) -> Vec<(usize, usize)> {
        let mut changed = Vec::new();
        for value in &self.values {
            let found: Vec<usize> = memmem::find_iter(bytes, value.as_bytes()).collect();
            for at in found {
                bytes[at..at + value.len()].fill(b'*');
                changed.push((at, at + value.len()));
            }
        }
        changed
    }

    pub fn longest(&self) -> usize {
        self.values.first().map_or(0, String::len)
    }

    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

/// Returns true if a value can be masked everywhere: it is no path, number, date or plain word.
fn is_distinct(value: &str) -> bool {
    let has_digit = value.bytes().any(|byte| byte.is_ascii_digit());
    let has_letter = value.bytes().any(|byte| byte.is_ascii_alphabetic());
    value.len() >= SHORTEST
        && !value.starts_with(['/', '~', '.'])
        && !value.contains("://")
        && has_letter
        && (has_digit || value.len() >= CERTAINLY_LONG)
}

/// Adds values to the list of this process.
pub fn remember(values: impl IntoIterator<Item = String>) {
    KNOWN.write().unwrap_or_else(PoisonError::into_inner).add(values);
}

/// Returns a copy of the list of this process.
pub fn known() -> KnownSecrets {
    KNOWN.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Returns true if `text` contains a value that this process knows.
pub fn is_in(text: &str) -> bool {
    KNOWN.read().unwrap_or_else(PoisonError::into_inner).is_in(text)
}

/// Returns `text` with every value that this process knows replaced by a mask.
pub fn mask(text: &str) -> Cow<'_, str> {
    KNOWN.read().unwrap_or_else(PoisonError::into_inner).mask(text)
}

#[cfg(test)]
#[path = "known_secrets_tests.rs"]
mod tests;
