//! Short words to the person that go away by themselves. They take no keys and cover no more than they need.

use crate::base::Timestamp;
use crate::engine::update::Level;

/// How many are shown at once; older ones make room.
const MOST: usize = 4;

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toast {
    pub level: Level,
    pub text: String,
    pub until: Timestamp,
}

/// Those that are being shown, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Toasts(Vec<Toast>);

impl Toasts {
    /// Shows `text` for as long as it takes to read it. The same words again stay longer instead of standing twice.
    pub fn say(&mut self, level: Level, text: impl Into<String>, now: Timestamp) {
        let text = text.into();
        let seconds = match level {
            Level::Info => 4,
            Level::Warning => 8,
            Level::Error => 14,
        };
        self.0.retain(|toast| toast.text != text);
        self.0.push(Toast { level, text, until: now.later(std::time::Duration::from_secs(seconds)) });
        if self.0.len() > MOST {
            self.0.remove(0);
        }
    }

    /// Forgets those whose time is over. Tells whether there were any.
    pub fn expire(&mut self, now: Timestamp) -> bool {
        let before = self.0.len();
        self.0.retain(|toast| toast.until > now);
        before != self.0.len()
    }

    /// Takes the newest away, if there is one.
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
