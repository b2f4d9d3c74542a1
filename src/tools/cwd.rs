//! The current folder of the agent's shell. Every result outside of the worktree's root names it, so that the agent
//! never works in a wrong folder unnoticed.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::tools::path_display::spelled;

/// The shell's current folder, stored between commands, and the previous one for `cd -`.
#[derive(Debug)]
pub struct Cwd {
    /// The real path of the worktree.
    worktree: PathBuf,
    steps: Mutex<CwdHistory>,
}

#[derive(Debug)]
struct CwdHistory {
    now: PathBuf,
    before: Option<PathBuf>,
}

impl Cwd {
    /// Returns a shell at the root of a worktree, given by its real path.
    pub fn new(worktree: PathBuf) -> Self {
        Self::at(worktree, None)
    }

    /// Returns a shell in a stored folder, as written by `Cwd::moved`.
    pub fn at(worktree: PathBuf, folder: Option<&str>) -> Self {
        let now = folder.map_or_else(|| worktree.clone(), |folder| worktree.join(folder));
        Self { worktree, steps: Mutex::new(CwdHistory { now, before: None }) }
    }

    /// Returns the folder in its stored form if it is no longer `before`: relative to the worktree, `.` for its root,
    /// or absolute.
    pub(super) fn moved(&self, before: &Path) -> Option<String> {
        let now = self.get();
        let below = now.strip_prefix(&self.worktree).unwrap_or(&now);
        let stored = if below.as_os_str().is_empty() { Path::new(".") } else { below };
        // A name that is not valid UTF-8 is lost; the next command reports that there is no such folder.
        (now != before).then(|| stored.to_string_lossy().into_owned())
    }

    /// Returns the note for the agent about its folder, or `None` at the root of its worktree.
    pub fn notice(&self) -> Option<String> {
        FolderLocation::of(&self.get(), &self.worktree).notice()
    }

    pub fn get(&self) -> PathBuf {
        self.lock().now.clone()
    }

    /// Returns the previous folder, or `None` if the agent has not changed it yet.
    pub fn before(&self) -> Option<PathBuf> {
        self.lock().before.clone()
    }

    pub fn set(&self, folder: PathBuf) {
        let mut steps = self.lock();
        if steps.now != folder {
            steps.before = Some(std::mem::replace(&mut steps.now, folder));
        }
    }

    fn lock(&self) -> MutexGuard<'_, CwdHistory> {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The relation of a folder to the worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
enum FolderLocation {
    Root,
    Inside(PathBuf),
    /// Inside the worktree, but in another repository or worktree: commits made here are not this task's.
    Nested(PathBuf),
    Outside(PathBuf),
}

impl FolderLocation {
    /// Classifies `folder`. Both paths are real, without links.
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

    /// Returns the note for the agent, added to every result.
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
