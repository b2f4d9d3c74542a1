//! Imports sessions of Claude Code, Codex and the first version of Matrix as closed tasks.
//!
//! Owns the foreign file formats and the conversion to our events. Never writes foreign files. Lines that cannot be
//! parsed are skipped and counted. The same file always gives the same task and event ids, so a second import creates
//! no duplicates.

mod claude;
mod codex;
mod convert;
mod find;
mod item;
mod lines;
mod matrix;
mod store;
mod value;

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::base::Timestamp;

pub use find::{Homes, Wanted, candidates};
pub use item::{ItemKind, Picture, SessionItem};
pub use store::{ImportStatus, ImportedSession, import_status, store_sessions, task_ids};

/// The program that wrote a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    Matrix,
    Claude,
    Codex,
}

impl Origin {
    pub const ALL: [Self; 3] = [Self::Matrix, Self::Claude, Self::Codex];

    /// The name in commands and files.
    pub fn word(self) -> &'static str {
        match self {
            Self::Matrix => "matrix",
            Self::Claude => "claude",
            Self::Codex => "codex",
        }
    }

    /// The name in messages and titles.
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

/// A parsed session of another program.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignSession {
    pub origin: Origin,
    /// The id in the other program, unique there.
    pub session: String,
    pub title: String,
    pub description: String,
    /// The working directory of its agent.
    pub cwd: Option<PathBuf>,
    pub started: Timestamp,
    /// The session that started this one.
    pub parent: Option<String>,
    pub path: PathBuf,
    /// The size of the file.
    pub bytes: u64,
    pub items: Vec<SessionItem>,
    /// Number of lines that are damaged, too long, or of an unknown kind.
    pub left_out: usize,
}

/// The reason why a file cannot be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error("cannot read {}: {source}", .path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("{} is not a session file of a known format", .0.display())]
    Unknown(PathBuf),
}

/// Reads the sessions in a file: the conversation, and those of its sub-agents in the same file.
pub fn read(path: &Path, origin: Option<Origin>) -> Result<Vec<ForeignSession>, ImportError> {
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
