//! Short notices that disappear by themselves. They take no keys.

use crate::base::Timestamp;
use crate::engine::update::Level;

/// How many toasts are shown at once; the oldest is dropped.
const MAX_TOASTS: usize = 4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toast {
    pub level: Level,
    pub text: String,
    pub until: Timestamp,
}

/// The visible toasts, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Toasts(Vec<Toast>);

impl Toasts {
    /// Shows `text` for a time that depends on `level`. The same text again only extends that time.
    pub fn say(&mut self, level: Level, text: impl Into<String>, now: Timestamp) {
        let text = text.into();
        let seconds = match level {
            Level::Info => 4,
            Level::Warning => 8,
            Level::Error => 14,
        };
        self.0.retain(|toast| toast.text != text);
        self.0.push(Toast { level, text, until: now.later(std::time::Duration::from_secs(seconds)) });
        if self.0.len() > MAX_TOASTS {
            self.0.remove(0);
        }
    }

    /// Removes expired toasts. Returns true if there were any.
    pub fn expire(&mut self, now: Timestamp) -> bool {
        let before = self.0.len();
        self.0.retain(|toast| toast.until > now);
        before != self.0.len()
    }

    /// Removes the newest toast. Returns true if there was one.
    pub fn dismiss(&mut self) -> bool {
        self.0.pop().is_some()
    }

    pub fn next_end(&self) -> Option<Timestamp> {
        self.0.iter().map(|toast| toast.until).min()
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Toast> {
        self.0.iter()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
