//! Short notices that disappear by themselves. They take no keys and never cover anything: the layout reserves rows for
//! them above the hints. A notice that is gone stays in the history.

use crate::base::{TaskId, Timestamp};
use crate::engine::update::Level;
use crate::text::wrap::{self, Break};
use crate::text::{Row, Span, width};
use crate::theme::Role;

/// How many notices wait at once; the oldest is dropped.
const MAX_TOASTS: usize = 4;
/// How many notices the history keeps.
const HISTORY: usize = 100;
/// The most rows that the notices take together.
const MAX_ROWS: usize = 3;
/// The columns before and after the text.
const MARGIN: usize = 4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toast {
    pub level: Level,
    pub text: String,
    /// The task that it is about.
    pub task: Option<TaskId>,
    pub at: Timestamp,
    pub until: Timestamp,
}

impl Toast {
    pub fn role(&self) -> Role {
        match self.level {
            Level::Info => Role::Text,
            Level::Warning => Role::Warn,
            Level::Error => Role::Error,
        }
    }
}

/// The visible notices and the history, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Toasts {
    shown: Vec<Toast>,
    history: Vec<Toast>,
}

impl Toasts {
    /// Shows `text` for a time that depends on `level`. The same text again only extends that time.
    pub fn say(&mut self, level: Level, text: impl Into<String>, now: Timestamp) {
        self.say_about(level, text, None, now);
    }

    /// As [`Toasts::say`], about a task that the history leads to.
    pub fn say_about(&mut self, level: Level, text: impl Into<String>, task: Option<TaskId>, now: Timestamp) {
        let text = text.into();
        let seconds = match level {
            Level::Info => 4,
            Level::Warning => 8,
            Level::Error => 14,
        };
        let toast = Toast { level, text, task, at: now, until: now.later(std::time::Duration::from_secs(seconds)) };
        self.shown.retain(|shown| shown.text != toast.text);
        self.shown.push(toast.clone());
        if self.shown.len() > MAX_TOASTS {
            self.shown.remove(0);
        }
        if self.history.last().is_some_and(|last| last.text == toast.text) {
            self.history.pop();
        }
        self.history.push(toast);
        if self.history.len() > HISTORY {
            self.history.remove(0);
        }
    }

    /// Removes expired notices. Returns true if there were any.
    pub fn expire(&mut self, now: Timestamp) -> bool {
        let before = self.shown.len();
        self.shown.retain(|toast| toast.until > now);
        before != self.shown.len()
    }

    /// Removes the visible notices. Returns true if there were any.
    pub fn dismiss(&mut self) -> bool {
        let any = !self.shown.is_empty();
        self.shown.clear();
        any
    }

    pub fn next_end(&self) -> Option<Timestamp> {
        self.shown.iter().map(|toast| toast.until).min()
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Toast> {
        self.shown.iter()
    }

    pub fn history(&self) -> &[Toast] {
        &self.history
    }

    pub fn is_empty(&self) -> bool {
        self.shown.is_empty()
    }

    /// Returns the rows that the notices need in `columns`.
    pub fn height(&self, columns: u16) -> u16 {
        u16::try_from(self.rows(columns).len()).unwrap_or(u16::MAX)
    }

    /// Returns the rows of the notices, the newest last. If they do not fit, the older ones are left out.
    pub fn rows(&self, columns: u16) -> Vec<Row> {
        let room = usize::from(columns).saturating_sub(MARGIN).max(1);
        let mut rows: Vec<Row> = Vec::new();
        for toast in self.shown.iter().rev() {
            let mut own = toast_rows(toast, room);
            if rows.len() + own.len() > MAX_ROWS && !rows.is_empty() {
                break;
            }
            own.truncate(MAX_ROWS);
            own.append(&mut rows);
            rows = own;
        }
        rows
    }
}

fn toast_rows(toast: &Toast, room: usize) -> Vec<Row> {
    let text = width::visible(&toast.text);
    let spans = |line: &str| vec![Span::new(line.to_owned(), toast.role())];
    text.lines().flat_map(|line| wrap::spans(&spans(line), room, &[], &[], Break::Words)).collect()
}

#[cfg(test)]
#[path = "toast_tests.rs"]
mod tests;
