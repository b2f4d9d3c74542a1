//! What can go wrong between memory and disk, in sentences.

use std::io;
use std::path::{Path, PathBuf};

use crate::base::{EventId, Fault, TaskId, disk};

/// A failure of the store. Nothing was acknowledged.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("cannot {action} {}: {}", .path.display(), disk::sentence(.source))]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    #[error("an event of {bytes} bytes is larger than the {limit} a session line may have; put its content in a blob")]
    TooLong { bytes: usize, limit: usize },
    #[error("session {session} has no event {event} to go back to")]
    UnknownEvent { session: TaskId, event: EventId },
    #[error("session {0} already holds a conversation; a copy can only go into an empty session")]
    NotEmpty(TaskId),
    #[error("session {0} has no events to copy")]
    Empty(TaskId),
    #[error(
        "after a failed write, {} no longer ends with what was acknowledged (event {expected} is missing)",
        .path.display()
    )]
    Diverged { path: PathBuf, expected: EventId },
    #[error("{} was written by a newer version (format {found}, this version reads up to {known})", .path.display())]
    Newer { path: PathBuf, found: u64, known: u64 },
    #[error("{} is damaged: {problem}{}", .path.display(), kept_at(.backup.as_deref()))]
    Corrupt { path: PathBuf, problem: String, backup: Option<PathBuf> },
    #[error("an event could not be written as JSON: {0}")]
    Encode(#[from] serde_json::Error),
    #[error("the store is closed")]
    Closed,
}

fn kept_at(backup: Option<&Path>) -> String {
    backup.map(|path| format!("; a copy is kept in {}", path.display())).unwrap_or_default()
}

impl StoreError {
    pub fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }

    /// Returns the same failure once more, for another who waited for the same write.
    pub fn again(&self) -> Self {
        match self {
            Self::Io { action, path, source } => {
                let source = match source.raw_os_error() {
                    Some(code) => io::Error::from_raw_os_error(code),
                    None => io::Error::new(source.kind(), source.to_string()),
                };
                Self::Io { action, path: path.clone(), source }
            }
            Self::TooLong { bytes, limit } => Self::TooLong { bytes: *bytes, limit: *limit },
            Self::UnknownEvent { session, event } => Self::UnknownEvent { session: *session, event: *event },
            Self::NotEmpty(session) => Self::NotEmpty(*session),
            Self::Empty(session) => Self::Empty(*session),
            Self::Diverged { path, expected } => Self::Diverged { path: path.clone(), expected: *expected },
            Self::Newer { path, found, known } => Self::Newer { path: path.clone(), found: *found, known: *known },
            Self::Corrupt { path, problem, backup } => {
                Self::Corrupt { path: path.clone(), problem: problem.clone(), backup: backup.clone() }
            }
            Self::Encode(error) => Self::Encode(serde::de::Error::custom(error)),
            Self::Closed => Self::Closed,
        }
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        let message = error.to_string();
        match error {
            StoreError::Io { source, .. } => {
                let fault = Self::environment(message);
                match source.kind() {
                    io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                        fault.hint("free some space; nothing was lost, and the same command works afterwards")
                    }
                    io::ErrorKind::PermissionDenied => fault.hint("make the file and its folder writable for you"),
                    io::ErrorKind::ReadOnlyFilesystem => {
                        fault.hint("mount it writable, or set MXD_HOME to a folder that is")
                    }
                    _ => fault,
                }
            }
            StoreError::Newer { .. } => Self::config(message).hint("use the newer mxd; this one changed nothing"),
            StoreError::Corrupt { .. } | StoreError::Diverged { .. } => {
                Self::config(message).hint("`mxd check` says what is wrong, `mxd check --repair` mends what is safe")
            }
            StoreError::UnknownEvent { .. } | StoreError::NotEmpty(_) | StoreError::Empty(_) => Self::user(message),
            StoreError::TooLong { .. } | StoreError::Encode(_) | StoreError::Closed => Self::internal(message),
        }
    }
}
