//! Sessions of other programs, read as closed tasks: Matrix's first version, Claude Code and Codex.
//!
//! Owns what their files look like and how a foreign conversation becomes one of ours. Their files are only read. What
//! cannot be understood is left out and counted, never guessed at. The same file always becomes the same tasks and the
//! same events, so that importing twice makes nothing twice.

mod claude;
mod codex;
mod find;
mod item;
mod lines;
mod matrix;
mod shelve;
mod value;
mod weave;

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::base::Timestamp;

pub use find::{Homes, Wanted, candidates};
pub use item::{Item, Picture, What};
pub use shelve::{Fate, Shelved, fate, shelve, tasks};

/// Whose sessions they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    Matrix,
    Claude,
    Codex,
}

impl Origin {
    pub const ALL: [Self; 3] = [Self::Matrix, Self::Claude, Self::Codex];

    /// The word for commands and files.
    pub fn word(self) -> &'static str {
        match self {
            Self::Matrix => "matrix",
            Self::Claude => "claude",
            Self::Codex => "codex",
        }
    }

    /// The name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Matrix => "Matrix (TypeScript)",
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// A session of another program, understood.
#[derive(Clone, Debug, PartialEq)]
pub struct Foreign {
    pub origin: Origin,
    /// What the other program calls it. Unique among its sessions.
    pub session: String,
    pub title: String,
    pub description: String,
    /// Where its agent worked.
    pub cwd: Option<PathBuf>,
    pub started: Timestamp,
    /// The session that this one was started from.
    pub above: Option<String>,
    pub path: PathBuf,
    /// How long the file was.
    pub bytes: u64,
    pub items: Vec<Item>,
    /// Lines that are damaged, too long, or of a kind that nobody knows.
    pub left_out: usize,
}

/// Why a file could not be read at all.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error("cannot read {}: {source}", .path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("{} holds no session of a kind that is known", .0.display())]
    Unknown(PathBuf),
}

/// Reads the sessions in a file: the conversation itself, and those of helpers that are kept in the same file.
pub fn read(path: &Path, origin: Option<Origin>) -> Result<Vec<Foreign>, ImportError> {
    let unreadable = |source| ImportError::Unreadable { path: path.to_owned(), source };
    let read = lines::read(path).map_err(unreadable)?;
    let origin =
        origin.or_else(|| find::origin_of(&read.values)).ok_or_else(|| ImportError::Unknown(path.to_owned()))?;
    let sessions = match origin {
        Origin::Claude => claude::sessions(path, &read),
        Origin::Codex => codex::session(path, &read).into_iter().collect(),
        Origin::Matrix => matrix::session(path, &read).into_iter().collect(),
    };
    Ok(sessions.into_iter().filter(|session| !session.items.is_empty()).collect())
}

#[cfg(test)]
#[path = "import_tests.rs"]
mod tests;
