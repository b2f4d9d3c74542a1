//! Errors of the store.

use std::io;
use std::path::{Path, PathBuf};

use crate::base::{EventId, Fault, TaskId, disk};

/// A failure of the store. Nothing was acknowledged.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("cannot {action} {}: {}", .path.display(), disk::describe(.source))]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    #[error("an event of {bytes} bytes exceeds the limit of {limit} for a session line")]
    TooLong { bytes: usize, limit: usize },
    #[error("session {session} has no event {event}")]
    UnknownEvent { session: TaskId, event: EventId },
    #[error("session {0} already has a conversation; only an empty session can take a copy")]
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
    #[error("{} is damaged: {problem}{}", .path.display(), copy_note(.backup.as_deref()))]
    Corrupt { path: PathBuf, problem: String, backup: Option<PathBuf> },
    #[error("an event could not be written as JSON: {0}")]
    Encode(#[from] serde_json::Error),
    #[error("the store is closed")]
    Closed,
}

fn copy_note(backup: Option<&Path>) -> String {
    backup.map(|path| format!("; a copy is in {}", path.display())).unwrap_or_default()
}

impl StoreError {
    pub fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }

    /// Returns a copy of the error, for another caller that waited for the same write.
    pub fn duplicate(&self) -> Self {
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
                        fault.hint("free some space and run the command again; nothing was lost")
                    }
                    io::ErrorKind::PermissionDenied => fault.hint("make the file and its folder writable"),
                    io::ErrorKind::ReadOnlyFilesystem => {
                        fault.hint("mount it writable, or set MXD_HOME to a folder that is")
                    }
                    _ => fault,
                }
            }
            StoreError::Newer { .. } => Self::config(message).hint("use the newer mxd; nothing was changed"),
            StoreError::Corrupt { .. } | StoreError::Diverged { .. } => {
                Self::config(message).hint("`mxd check` shows the problems, `mxd check --repair` fixes what is safe")
            }
            StoreError::UnknownEvent { .. } | StoreError::NotEmpty(_) | StoreError::Empty(_) => Self::user(message),
            StoreError::TooLong { .. } | StoreError::Encode(_) | StoreError::Closed => Self::internal(message),
        }
    }
}
