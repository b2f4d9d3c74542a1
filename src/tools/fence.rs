//! The path policy of file tools: where they may write and what they may read.
//!
//! A path is first made real: links followed, `..` applied. The real path must be in the worktree, and not in `.git`,
//! in a folder of git hooks or in a hidden path. The file is then opened from the worktree's descriptor, one
//! component at a time, without following links: a link that appears between the check and the opening makes the
//! opening fail. Reading is allowed everywhere except in hidden paths and other processes, and is marked when it is
//! outside.

mod hooks;
mod real;
mod slot;

use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

pub use hooks::HookLocator;
pub use slot::{FileContent, FileTarget};

pub(in crate::tools) use real::real_path;

use crate::config::secret_places::SecretPaths;
use crate::tools::path_display::spelled;

#[derive(Clone, Debug)]
pub struct PathPolicy {
    root: PathBuf,
    /// Paths that hold credentials: neither read nor written.
    secrets: SecretPaths,
    /// Some of them are in the worktree.
    has_secrets_inside: bool,
    git_data: Vec<PathBuf>,
    hooks: Option<Arc<dyn HookLocator>>,
    staging: Option<PathBuf>,
}

/// A path that may be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Readable {
    pub path: PathBuf,
    /// It is outside the worktree.
    pub is_outside: bool,
}

/// A path that may be written: `below` is relative to `base`, without links and without `..`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Writable {
    pub base: PathBuf,
    pub below: PathBuf,
    /// The folder in which the new content is written before it is moved into place. `None` for the file's own
    /// folder.
    pub staging: Option<PathBuf>,
}

impl Writable {
    pub fn path(&self) -> PathBuf {
        self.base.join(&self.below)
    }
}

/// Why a path was refused. Each message is for the model.
#[derive(Debug, thiserror::Error)]
pub enum PathPolicyError {
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
        "{} lies where git finds its hooks ({}, by core.hooksPath): what is written there would run in the user's own \
         checkout, so file tools never write it; describe the change to the user and ask them to make it",
        spelled(path),
        spelled(folder)
    )]
    Hook { path: PathBuf, folder: PathBuf },
    #[error(
        "nobody can tell whether {} would be a hook of git's, because its settings cannot be read: {problem}; tell the user",
        spelled(path)
    )]
    HooksUnknown { path: PathBuf, problem: String },
    #[error("{} is protected: it can hold credentials; ask the user to change it", spelled(.0))]
    Protected(PathBuf),
    #[error("{} names a folder, not a file", spelled(.0))]
    Folder(PathBuf),
    #[error("{} may not be read: it can hold credentials", spelled(.0))]
    Hidden(PathBuf),
}

impl PathPolicy {
    /// Returns the policy for `worktree`, which must exist.
    pub fn new(worktree: &Path) -> io::Result<Self> {
        let root = worktree.canonicalize()?;
        let secrets = SecretPaths::default().open(&root);
        Ok(Self { root, secrets, has_secrets_inside: false, git_data: Vec::new(), hooks: None, staging: None })
    }

    /// Denies writing to a folder with git data that is not called `.git`.
    pub fn with_git_data(mut self, folder: &Path) -> io::Result<Self> {
        let folder = real_path(folder)?;
        // A worktree may itself be inside one.
        if folder != self.root && folder.starts_with(&self.root) {
            self.git_data.push(folder);
        }
        Ok(self)
    }

    /// Sets the folder in which new content is written before it is moved into place. It should be on the worktree's
    /// file system and invisible to `git add`: the worktree's private git folder.
    pub fn with_staging(mut self, folder: &Path) -> Self {
        self.staging = Some(folder.to_owned());
        self
    }

    /// Denies writing to the folders of git hooks.
    pub fn with_hooks(mut self, hooks: Arc<dyn HookLocator>) -> Self {
        self.hooks = Some(hooks);
        self
    }

    /// Denies reading and writing of a path, existing or not.
    pub fn hide(self, path: &Path) -> io::Result<Self> {
        let path = real_path(path)?;
        let secrets = self.secrets.clone().close(path);
        Ok(self.with_secrets(secrets))
    }

    /// Denies reading and writing of all paths that can hold credentials. The worktree stays accessible.
    pub fn with_secrets(mut self, places: SecretPaths) -> Self {
        let places = places.open(&self.root);
        self.secrets = places.resolved(|path| real_path(path).unwrap_or_else(|_| path.to_owned()));
        self.has_secrets_inside = self.secrets.has_closed_below(&self.root);
        self
    }

    /// Returns the real path of the worktree.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns a real path as shown to the model: relative to the worktree where possible.
    pub fn shown<'a>(&self, path: &'a Path) -> &'a Path {
        path.strip_prefix(&self.root).ok().filter(|below| !below.as_os_str().is_empty()).unwrap_or(path)
    }

    pub fn for_reading(&self, path: &str, cwd: &Path) -> Result<Readable, PathPolicyError> {
        let path = resolve(path, cwd)?;
        if self.is_hidden(&path) {
            return Err(PathPolicyError::Hidden(path));
        }
        let is_outside = !path.starts_with(&self.root);
        Ok(Readable { path, is_outside })
    }

    /// Returns true if a real path must not be read.
    pub fn is_hidden(&self, path: &Path) -> bool {
        // The environment and memory of processes; our own holds the API keys.
        let is_process = path.strip_prefix("/proc").is_ok_and(|below| {
            let first = below.components().next().map(|first| first.as_os_str().to_string_lossy().into_owned());
            first.is_some_and(|first| first.bytes().all(|byte| byte.is_ascii_digit()))
        });
        is_process || self.is_secret(path)
    }

    fn is_secret(&self, path: &Path) -> bool {
        // Fast path: nearly every path is in the worktree, which nearly never has secrets.
        (self.has_secrets_inside || !path.starts_with(&self.root)) && self.secrets.covers(path)
    }

    pub fn for_writing(&self, path: &str, cwd: &Path) -> Result<Writable, PathPolicyError> {
        let names_folder = path.ends_with('/') || path.ends_with("/.") || path.ends_with("/..");
        let path = resolve(path, cwd)?;
        let Ok(below) = path.strip_prefix(&self.root).map(Path::to_owned) else {
            return Err(PathPolicyError::Outside { path, root: self.root.clone() });
        };
        if below.components().any(is_git) || self.git_data.iter().any(|folder| path.starts_with(folder)) {
            return Err(PathPolicyError::Git(path));
        }
        if let Some(hooks) = &self.hooks {
            hooks::refuse(hooks.as_ref(), &self.root, &path)?;
        }
        if self.is_secret(&path) {
            return Err(PathPolicyError::Protected(path));
        }
        if names_folder || below.as_os_str().is_empty() {
            return Err(PathPolicyError::Folder(path));
        }
        Ok(Writable { base: self.root.clone(), below, staging: self.staging.clone() })
    }
}

fn resolve(path: &str, cwd: &Path) -> Result<PathBuf, PathPolicyError> {
    if path.is_empty() {
        return Err(PathPolicyError::Empty);
    }
    if path.contains('\0') {
        return Err(PathPolicyError::ZeroByte);
    }
    // Taken as a name it would create a folder `~`, and a later `rm -r ~` would hit the home folder instead.
    if path == "~" || path.starts_with("~/") {
        return Err(PathPolicyError::Tilde);
    }
    let path = cwd.join(path);
    real_path(&path).map_err(|source| PathPolicyError::Unresolvable { path, source })
}

/// Returns true if a component is git data, in any spelling that some file system treats as `.git`.
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
