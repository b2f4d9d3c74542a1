//! Where the agent's shell stands, and what that means: a wrong folder must be said every time, not once.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The shell's folder, kept from one command to the next, and the one before it: `cd -` goes there.
#[derive(Debug)]
pub struct Cwd(Mutex<Steps>);

#[derive(Debug)]
struct Steps {
    now: PathBuf,
    before: Option<PathBuf>,
}

impl Cwd {
    pub fn new(folder: PathBuf) -> Self {
        Self(Mutex::new(Steps { now: folder, before: None }))
    }

    pub fn get(&self) -> PathBuf {
        self.lock().now.clone()
    }

    /// Returns the folder before this one. Nothing: the agent has not gone anywhere yet.
    pub fn before(&self) -> Option<PathBuf> {
        self.lock().before.clone()
    }

    pub fn set(&self, folder: PathBuf) {
        let mut steps = self.lock();
        if steps.now != folder {
            steps.before = Some(std::mem::replace(&mut steps.now, folder));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Steps> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How a folder lies to the worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Root,
    Inside(PathBuf),
    /// Below the worktree, but in a repository or a worktree of its own: commits made here are not this task's.
    Nested(PathBuf),
    Outside(PathBuf),
}

impl Place {
    /// Looks where `folder` lies. Both paths are real ones, without links.
    pub(super) fn of(folder: &Path, worktree: &Path) -> Self {
        let Ok(below) = folder.strip_prefix(worktree) else {
            return Self::Outside(folder.to_owned());
        };
        if below.as_os_str().is_empty() {
            return Self::Root;
        }
        let nested = folder.ancestors().take_while(|above| *above != worktree).any(|above| above.join(".git").exists());
        if nested { Self::Nested(below.to_owned()) } else { Self::Inside(below.to_owned()) }
    }

    /// Returns what the agent must be told about it, on every result.
    pub(super) fn notice(&self) -> Option<String> {
        match self {
            Self::Root => None,
            Self::Inside(below) => Some(format!("[cwd: {}]", below.display())),
            Self::Nested(below) => Some(format!(
                "[cwd: {}: WARNING, this is another git repository or worktree inside yours; what you commit here is \
                 not on your branch]",
                below.display()
            )),
            Self::Outside(path) => Some(format!(
                "[cwd: {}: WARNING, this is OUTSIDE your worktree; go back with cd before you change anything]",
                path.display()
            )),
        }
    }
}
