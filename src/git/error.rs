//! Errors of the git module, worded for users.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::base::{Fault, TaskId, disk};
use crate::process::StartError;

/// Why a git operation failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Start(#[from] StartError),
    #[error("`git {call}` failed in {}: {message}", .folder.display())]
    Failed { call: String, folder: PathBuf, code: Option<i32>, message: String },
    #[error("`git {call}` timed out after {} s; the disk may be slow or a lock may be held", .limit.as_secs())]
    TooSlow { call: String, limit: Duration },
    #[error("`git {call}` printed more than {cap} bytes, which is too much to process")]
    TooMuch { call: String, cap: usize },
    #[error("git cannot read {}: {message}", .path.display())]
    Read { path: PathBuf, message: String },
    #[error("cannot {what} {}: {}", .path.display(), disk::describe(.source))]
    Disk { what: &'static str, path: PathBuf, source: io::Error },
    #[error("there is no branch \"{0}\"; it may have been renamed or deleted")]
    NoBranch(String),
    #[error("there is no commit {0} in this repository")]
    NoCommit(String),
    #[error("the branch \"{branch}\" is checked out in {}; switch it to another branch with `git switch` first", .path.display())]
    BranchBusy { branch: String, path: PathBuf },
    #[error("a branch called \"{0}\" blocks the branches below mxd/; rename it with `git branch -m`")]
    BranchInTheWay(String),
    #[error("{} exists but is not a checkout of this repository; move it away", .0.display())]
    InTheWay(PathBuf),
    #[error(
        "{} is a link to {} instead of a worktree. Nothing behind it was read or changed. Remove the link; the \
         worktree is then recreated from its branch", .path.display(), .target.display()
    )]
    LinkInPlace { path: PathBuf, target: PathBuf },
    #[error(
        "{} is not the checkout that the repository has recorded: {found}. Nothing in it was changed. Stop what \
         runs there and start the task again; that repairs the worktree or reports the problem", .path.display()
    )]
    NotTheCheckout { path: PathBuf, found: String },
    #[error("{} has uncommitted changes ({files} files, such as {example}); commit or discard them first", .path.display())]
    Dirty { path: PathBuf, files: usize, example: String },
    #[error("{} is in the middle of a {operation}; finish or abort it first", .path.display())]
    Unfinished { path: PathBuf, operation: String },
    #[error("nothing of task {0} is saved in this repository: no archive and no branch")]
    NothingSaved(TaskId),
    #[error("the branch \"{branch}\" moved meanwhile; nothing was changed, try again")]
    Moved { branch: String },
    #[error("{0}")]
    Refused(String),
    #[error("cancelled because the program is exiting")]
    Cancelled,
}

impl Error {
    /// Returns true if another process held one of git's locks, so that a retry makes sense.
    pub(super) fn is_contention(&self) -> bool {
        match self {
            Self::Failed { message, .. } => {
                let locked = message.contains(".lock")
                    && (message.contains("File exists") || message.contains("Unable to create"));
                // Another process is creating a worktree: its entry exists but is incomplete.
                let incomplete = message.contains("failed to read") && message.contains("/worktrees/");
                locked || incomplete || message.contains("cannot lock ref") || message.contains("could not lock")
            }
            _ => false,
        }
    }

    /// Returns true if the disk refused (full, read-only …), so that the same operation may succeed later.
    pub fn is_disk_refusal(&self) -> bool {
        match self {
            Self::Disk { source, .. } => disk::is_refusal(source),
            Self::Failed { message, .. } | Self::Read { message, .. } => disk::is_refusal_message(message),
            _ => false,
        }
    }

    pub(super) fn disk(what: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Disk { what, path, source }
    }

    pub(super) fn read(path: impl Into<PathBuf>) -> impl Fn(git2::Error) -> Self {
        let path = path.into();
        move |error| Self::Read { path: path.clone(), message: error.message().to_owned() }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        match error {
            Error::Start(StartError::NoProgram(_)) => Self::environment(message).hint("install git 2.41 or newer"),
            Error::Start(_) | Error::Disk { .. } | Error::TooSlow { .. } | Error::TooMuch { .. } | Error::Cancelled => {
                Self::environment(message)
            }
            Error::Failed { .. } | Error::Read { .. } => {
                Self::environment(message).hint("check the repository with `git fsck`")
            }
            Error::NoBranch(_) => Self::user(message)
                .hint("if it was the base branch of the project, set another: `mxd init --base BRANCH`"),
            Error::NoCommit(_)
            | Error::BranchBusy { .. }
            | Error::BranchInTheWay(_)
            | Error::InTheWay(_)
            | Error::LinkInPlace { .. }
            | Error::NotTheCheckout { .. }
            | Error::Dirty { .. }
            | Error::Unfinished { .. }
            | Error::NothingSaved(_)
            | Error::Moved { .. }
            | Error::Refused(_) => Self::user(message),
        }
    }
}

/// Runs blocking work on a blocking thread.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    // Boxed, so that there is one task type per result type instead of one per caller.
    let work: Box<dyn FnOnce() -> Result<T, Error> + Send> = Box::new(work);
    tokio::task::spawn_blocking(work).await.unwrap_or(Err(Error::Cancelled))
}
