//! Where file tools may write and what they may see.
//!
//! A path is first made real: links followed, `..` applied, nothing left to interpretation. The real path must lie in
//! the worktree, and in no `.git`, no folder of git's hooks and no hidden place. What is then opened is reached from the
//! worktree's descriptor, one component at a time, without following any link: a link that appears between the decision
//! and the opening makes the opening fail, it does not lead elsewhere. Reading is allowed everywhere but in hidden
//! places and in other processes, and marked when it is outside.

mod hooks;
mod real;
mod slot;

use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

pub use hooks::Hooks;
pub use slot::{Found, Slot};

use real::real;

use crate::config::secret_places::SecretPlaces;
use crate::tools::spelling::spelled;

/// The limits of a worktree.
#[derive(Clone, Debug)]
pub struct Fence {
    root: PathBuf,
    /// What holds credentials: neither read nor written.
    secrets: SecretPlaces,
    /// Some of that lies in the worktree.
    has_secrets_inside: bool,
    git_data: Vec<PathBuf>,
    hooks: Option<Arc<dyn Hooks>>,
    staging: Option<PathBuf>,
}

/// A path that may be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Readable {
    /// The real path.
    pub path: PathBuf,
    /// It lies outside the worktree.
    pub is_outside: bool,
}

/// A path that may be written: `below` is relative to `base`, without links and without `..`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Writable {
    pub base: PathBuf,
    pub below: PathBuf,
    /// Where the new content is written before it is moved into place. `None`: beside the file.
    pub staging: Option<PathBuf>,
}

impl Writable {
    pub fn path(&self) -> PathBuf {
        self.base.join(&self.below)
    }
}

/// Why a path was refused. Each is a sentence for the model.
#[derive(Debug, thiserror::Error)]
pub enum FenceError {
    #[error("the path is empty; give a path relative to the current folder, or an absolute one")]
    Empty,
    #[error("the path contains a zero byte, which no path can")]
    ZeroByte,
    #[error("\"~\" means nothing outside a shell; give the whole path, or ./~ for a folder that is really called so")]
    Tilde,
    #[error("{} cannot be followed: {source}", spelled(path))]
    Unresolvable { path: PathBuf, source: io::Error },
    #[error(
        "{} is outside the worktree {}, where files may not be written; choose a path inside it",
        spelled(path),
        spelled(root)
    )]
    Outside { path: PathBuf, root: PathBuf },
    #[error("{} belongs to git's own data, which file tools never write; use git commands with bash", spelled(.0))]
    Git(PathBuf),
    #[error(
        "{} lies where git finds its hooks ({}, by core.hooksPath): what is written there would run in the person's own \
         checkout, so file tools never write it; describe the change to the person and ask them to make it",
        spelled(path),
        spelled(folder)
    )]
    Hook { path: PathBuf, folder: PathBuf },
    #[error(
        "nobody can tell whether {} would be a hook of git's, because its settings cannot be read: {problem}; tell the person",
        spelled(path)
    )]
    HooksUnknown { path: PathBuf, problem: String },
    #[error("{} is protected: it can hold credentials; ask the person to change it", spelled(.0))]
    Protected(PathBuf),
    #[error("{} names a folder, not a file", spelled(.0))]
    Folder(PathBuf),
    #[error("{} may not be read: it can hold credentials", spelled(.0))]
    Hidden(PathBuf),
}

impl Fence {
    /// Returns a fence around `worktree`, which must exist.
    pub fn new(worktree: &Path) -> io::Result<Self> {
        let root = worktree.canonicalize()?;
        let secrets = SecretPlaces::default().open(&root);
        Ok(Self { root, secrets, has_secrets_inside: false, git_data: Vec::new(), hooks: None, staging: None })
    }

    /// Closes a folder with git's own data for writing, for repositories that do not call it `.git`.
    pub fn with_git_data(mut self, folder: &Path) -> io::Result<Self> {
        let folder = real(folder)?;
        // A worktree may itself lie in one.
        if folder != self.root && folder.starts_with(&self.root) {
            self.git_data.push(folder);
        }
        Ok(self)
    }

    /// Writes the new content of files in `folder` before it is moved into place. It should be on the worktree's file
    /// system and out of sight of `git add`: the worktree's private git folder.
    pub fn with_staging(mut self, folder: &Path) -> Self {
        self.staging = Some(folder.to_owned());
        self
    }

    /// Closes the folders of hooks for writing.
    pub fn with_hooks(mut self, hooks: Arc<dyn Hooks>) -> Self {
        self.hooks = Some(hooks);
        self
    }

    /// Closes a path for reading and for writing, existing or not: files with keys in them.
    pub fn hide(self, path: &Path) -> io::Result<Self> {
        let path = real(path)?;
        let secrets = self.secrets.clone().close(path);
        Ok(self.with_secrets(secrets))
    }

    /// Closes every place that can hold credentials for reading and for writing. The worktree stays open.
    pub fn with_secrets(mut self, places: SecretPlaces) -> Self {
        let places = places.open(&self.root);
        self.secrets = places.resolved(|path| real(path).unwrap_or_else(|_| path.to_owned()));
        self.has_secrets_inside = self.secrets.reach_below(&self.root);
        self
    }

    /// Returns the worktree's real path.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns how a real path is said to the model: relative to the worktree where possible.
    pub fn shown<'a>(&self, path: &'a Path) -> &'a Path {
        path.strip_prefix(&self.root).ok().filter(|below| !below.as_os_str().is_empty()).unwrap_or(path)
    }

    pub fn for_reading(&self, path: &str, cwd: &Path) -> Result<Readable, FenceError> {
        let path = resolve(path, cwd)?;
        if self.is_hidden(&path) {
            return Err(FenceError::Hidden(path));
        }
        let is_outside = !path.starts_with(&self.root);
        Ok(Readable { path, is_outside })
    }

    /// Tells whether a real path may not be read.
    pub fn is_hidden(&self, path: &Path) -> bool {
        // Another process's environment and memory; ours holds the API keys.
        let is_process = path.strip_prefix("/proc").is_ok_and(|below| {
            let first = below.components().next().map(|first| first.as_os_str().to_string_lossy().into_owned());
            first.is_some_and(|first| first.bytes().all(|byte| byte.is_ascii_digit()))
        });
        is_process || self.is_secret(path)
    }

    fn is_secret(&self, path: &Path) -> bool {
        // Nearly every path that is asked about lies in the worktree, where there is nearly never anything to hide.
        (self.has_secrets_inside || !path.starts_with(&self.root)) && self.secrets.covers(path)
    }

    pub fn for_writing(&self, path: &str, cwd: &Path) -> Result<Writable, FenceError> {
        let names_folder = path.ends_with('/') || path.ends_with("/.") || path.ends_with("/..");
        let path = resolve(path, cwd)?;
        let Ok(below) = path.strip_prefix(&self.root).map(Path::to_owned) else {
            return Err(FenceError::Outside { path, root: self.root.clone() });
        };
        if below.components().any(is_git) || self.git_data.iter().any(|folder| path.starts_with(folder)) {
            return Err(FenceError::Git(path));
        }
        if let Some(hooks) = &self.hooks {
            hooks::refuse(hooks.as_ref(), &self.root, &path)?;
        }
        if self.is_secret(&path) {
            return Err(FenceError::Protected(path));
        }
        if names_folder || below.as_os_str().is_empty() {
            return Err(FenceError::Folder(path));
        }
        Ok(Writable { base: self.root.clone(), below, staging: self.staging.clone() })
    }
}

fn resolve(path: &str, cwd: &Path) -> Result<PathBuf, FenceError> {
    if path.is_empty() {
        return Err(FenceError::Empty);
    }
    if path.contains('\0') {
        return Err(FenceError::ZeroByte);
    }
    // Taken as a name it would make a folder that the next `rm -r ~` is not about.
    if path == "~" || path.starts_with("~/") {
        return Err(FenceError::Tilde);
    }
    let path = cwd.join(path);
    real(&path).map_err(|source| FenceError::Unresolvable { path, source })
}

/// Tells whether a component is a repository's data, in any spelling that some file system takes for `.git`.
fn is_git(component: Component<'_>) -> bool {
    let name = component.as_os_str().to_string_lossy();
    let plain: String = name.chars().filter(|c| !is_ignorable(*c)).collect();
    let plain = plain.trim_end_matches(['.', ' ']);
    plain.eq_ignore_ascii_case(".git") || plain.eq_ignore_ascii_case("git~1")
}

/// Characters that a case-folding file system ignores in names.
fn is_ignorable(c: char) -> bool {
    matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
#[path = "fence_tests.rs"]
mod tests;
