//! The values of credentials that this process knows, and what takes them out of texts.
//!
//! A key is masked by its value and not by the name it goes by: the same key may be in another variable, in a file or in
//! the output of a command. The list is one per process, because whatever learns a key (settings, the environment) and
//! whatever must not repeat it (tools, logs, exports, the environment of children) know nothing of each other. Values
//! are only ever added.

use std::borrow::Cow;
use std::sync::{PoisonError, RwLock};

use memchr::memmem;

/// What stands for a masked value.
pub const MASK: &str = "****";
/// Shorter values are everyday words: masking them would garble texts and protect nothing.
const SHORTEST: usize = 8;
/// From this length on a value is taken for a credential whatever it is made of.
const CERTAINLY_LONG: usize = 20;

static KNOWN: RwLock<KnownSecrets> = RwLock::new(KnownSecrets { values: Vec::new() });

/// A list of values to be masked, longest first: one within another must not leave the rest of it standing.
#[derive(Clone, Default)]
pub struct KnownSecrets {
    values: Vec<String>,
}

impl KnownSecrets {
    /// Adds the values that can be told from everyday text. Of one with several lines, its lines.
    pub fn add(&mut self, values: impl IntoIterator<Item = String>) {
        for value in values {
            let lines = value.lines().map(str::trim).filter(|line| is_distinct(line));
            self.values.extend(lines.filter(|line| !line.starts_with("-----")).map(str::to_owned));
        }
        self.values.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        self.values.dedup();
    }

    /// Tells whether `text` contains one of the values.
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

    /// Returns the length of the longest value.
    pub fn longest(&self) -> usize {
        self.values.first().map_or(0, String::len)
    }

    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

/// Tells whether a value can be masked wherever it stands: it is no path, no number, no date, and no plain word.
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

/// Returns the list of this process as it is now.
pub fn known() -> KnownSecrets {
    KNOWN.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Tells whether `text` contains a value that this process knows.
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
