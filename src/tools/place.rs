//! Where the agent's shell stands, and what that means: a wrong folder must be said every time, not once.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::tools::spelling::spelled;

/// The shell's folder, kept from one command to the next, and the one before it: `cd -` goes there.
#[derive(Debug)]
pub struct Cwd {
    /// The real path of the worktree.
    worktree: PathBuf,
    steps: Mutex<Steps>,
}

#[derive(Debug)]
struct Steps {
    now: PathBuf,
    before: Option<PathBuf>,
}

impl Cwd {
    /// Returns a shell at the top of a worktree, whose real path this is.
    pub fn new(worktree: PathBuf) -> Self {
        Self::at(worktree, None)
    }

    /// Returns a shell that stands where another one stood, as `Cwd::moved` spelled it.
    pub fn at(worktree: PathBuf, folder: Option<&str>) -> Self {
        let now = folder.map_or_else(|| worktree.clone(), |folder| worktree.join(folder));
        Self { worktree, steps: Mutex::new(Steps { now, before: None }) }
    }

    /// Returns how the folder is kept for another life of the agent, if it is no longer `before`: below the worktree, as `.`
    /// at the top of it, or absolute.
    pub(super) fn moved(&self, before: &Path) -> Option<String> {
        let now = self.get();
        let below = now.strip_prefix(&self.worktree).unwrap_or(&now);
        let kept = if below.as_os_str().is_empty() { Path::new(".") } else { below };
        // A name that is not text is lost, and the next command says that there is no such folder.
        (now != before).then(|| kept.to_string_lossy().into_owned())
    }

    /// Returns what the agent must be told about where it is. Nothing: it is at the top of its worktree.
    pub fn notice(&self) -> Option<String> {
        Place::of(&self.get(), &self.worktree).notice()
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
        self.steps.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How a folder lies to the worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Root,
    Inside(PathBuf),
    /// Below the worktree, but in a repository or a worktree of its own: commits made here are not this task's.
    Nested(PathBuf),
    Outside(PathBuf),
}

impl Place {
    /// Looks where `folder` lies. Both paths are real ones, without links.
    fn of(folder: &Path, worktree: &Path) -> Self {
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
    fn notice(&self) -> Option<String> {
        match self {
            Self::Root => None,
            Self::Inside(below) => Some(format!("[cwd: {}]", spelled(below))),
            Self::Nested(below) => Some(format!(
                "[cwd: {}: WARNING, this is another git repository or worktree inside yours; what you commit here is \
                 not on your branch]",
                spelled(below)
            )),
            Self::Outside(path) => Some(format!(
                "[cwd: {}: WARNING, this is OUTSIDE your worktree; go back with cd before you change anything]",
                spelled(path)
            )),
        }
    }
}
