//! What can go wrong between Matrix and a repository, each with a sentence that a person can act on.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::base::{Fault, TaskId, disk};
use crate::process::StartError;

/// Why something in a repository was not done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Start(#[from] StartError),
    #[error("`git {call}` failed in {}: {said}", .folder.display())]
    Failed { call: String, folder: PathBuf, code: Option<i32>, said: String },
    #[error("`git {call}` was not done after {} s and was ended; the disk may be slow or a lock may be held", .limit.as_secs())]
    TooSlow { call: String, limit: Duration },
    #[error("`git {call}` said more than {cap} bytes; what it would have listed is too much to work with")]
    TooMuch { call: String, cap: usize },
    #[error("git cannot read {}: {message}", .path.display())]
    Read { path: PathBuf, message: String },
    #[error("cannot {what} {}: {}", .path.display(), disk::sentence(.source))]
    Disk { what: &'static str, path: PathBuf, source: io::Error },
    #[error("there is no branch \"{0}\"; it may have been renamed or deleted")]
    NoBranch(String),
    #[error("there is no commit {0} in this repository")]
    NoCommit(String),
    #[error("the branch \"{branch}\" is checked out in {}; leave it there with `git switch` first", .path.display())]
    BranchBusy { branch: String, path: PathBuf },
    #[error("a branch called \"{0}\" is in the way of the branches below mxd/; rename it with `git branch -m`")]
    BranchInTheWay(String),
    #[error("{} is not a checkout of this repository, and what is in it is not ours to touch; move it away", .0.display())]
    InTheWay(PathBuf),
    #[error(
        "{} is a link to {} and not the worktree that should be there; nothing behind it was read or changed. Remove the \
         link, and the worktree is made again from its branch", .path.display(), .target.display()
    )]
    LinkInPlace { path: PathBuf, target: PathBuf },
    #[error(
        "{} is not the checkout that the repository knows there: {found}. Nothing in it was changed; stop what works there \
         and start the task again, which repairs the worktree or says what is in its way", .path.display()
    )]
    NotTheCheckout { path: PathBuf, found: String },
    #[error("{} has uncommitted changes ({files} files, such as {example}); commit or discard them first", .path.display())]
    Dirty { path: PathBuf, files: usize, example: String },
    #[error("{} is in the middle of a {operation}; finish or abort it first", .path.display())]
    Unfinished { path: PathBuf, operation: String },
    #[error("nothing of task {0} is kept in this repository: no archive and no branch")]
    NothingKept(TaskId),
    #[error("the branch \"{branch}\" moved while it was worked on; nothing was changed, try again")]
    Moved { branch: String },
    #[error("{0}")]
    Refused(String),
    #[error("the work was cut off because the program is ending")]
    CutOff,
}

impl Error {
    /// Tells whether somebody else held one of git's locks, so that trying again makes sense.
    pub(super) fn is_contention(&self) -> bool {
        match self {
            Self::Failed { said, .. } => {
                let locked =
                    said.contains(".lock") && (said.contains("File exists") || said.contains("Unable to create"));
                // Another process is making a worktree: its entry is there, and what is in it is not yet.
                let half_made = said.contains("failed to read") && said.contains("/worktrees/");
                locked || half_made || said.contains("cannot lock ref") || said.contains("could not lock")
            }
            _ => false,
        }
    }

    /// Tells whether the disk refused: the same may succeed when it takes again.
    pub fn is_refusal_of_disk(&self) -> bool {
        match self {
            Self::Disk { source, .. } => disk::refuses(source),
            Self::Failed { said: words, .. } | Self::Read { message: words, .. } => disk::refuses_in_words(words),
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
        let said = error.to_string();
        match error {
            Error::Start(StartError::NoProgram(_)) => Self::environment(said).hint("install git 2.41 or newer"),
            Error::Start(_) | Error::Disk { .. } | Error::TooSlow { .. } | Error::TooMuch { .. } | Error::CutOff => {
                Self::environment(said)
            }
            Error::Failed { .. } | Error::Read { .. } => {
                Self::environment(said).hint("`git fsck` tells whether the repository is sound")
            }
            Error::NoBranch(_) => Self::user(said)
                .hint("if it was the base branch of the project, name another: `mxd init --base BRANCH`"),
            Error::NoCommit(_)
            | Error::BranchBusy { .. }
            | Error::BranchInTheWay(_)
            | Error::InTheWay(_)
            | Error::LinkInPlace { .. }
            | Error::NotTheCheckout { .. }
            | Error::Dirty { .. }
            | Error::Unfinished { .. }
            | Error::NothingKept(_)
            | Error::Moved { .. }
            | Error::Refused(_) => Self::user(said),
        }
    }
}

/// Runs work that blocks on a thread where it disturbs nobody.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    // Boxed, so that there is one kind of task for each result and not one for each of seventy callers.
    let work: Box<dyn FnOnce() -> Result<T, Error> + Send> = Box::new(work);
    tokio::task::spawn_blocking(work).await.unwrap_or(Err(Error::CutOff))
}
