//! Checks git itself: version, user identity, stale locks. Read-only.

use std::fmt;
use std::path::{Path, PathBuf};

use super::entry;
use super::error::{Error, blocking};
use super::library;
use super::locks;
use super::program::{Call, Checkout};

/// The oldest fully supported version. Older ones cannot switch attributes off, which archives need to store files byte
/// for byte.
pub const RECOMMENDED_VERSION: Version = Version(2, 41, 0);
/// The oldest version that can create a locked worktree.
pub const MINIMUM_VERSION: Version = Version(2, 34, 0);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32, pub u32, pub u32);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

/// The user identity and the stale locks of a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repository {
    pub has_name: bool,
    pub has_email: bool,
    /// Locks that no process holds, in all checkouts.
    pub stale_locks: Vec<PathBuf>,
}

/// Returns the version of the `git` program, or `None` if its output has no version.
pub async fn version() -> Result<Option<Version>, Error> {
    Ok(parse(&Call::anywhere(["--version"]).line().await?))
}

/// Parses `git version 2.39.5 (Apple Git-154)` and the like.
fn parse(output: &str) -> Option<Version> {
    let word = output.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
    let mut parts = word.split('.').map(|part| part.trim_end_matches(|c: char| !c.is_ascii_digit()).parse().ok());
    let major = parts.next()??;
    let mut next = || parts.next().flatten().unwrap_or(0);
    Some(Version(major, next(), next()))
}

/// Checks the repository whose main checkout is `top`.
pub async fn repository(top: &Path) -> Result<Repository, Error> {
    let top = top.to_owned();
    blocking(move || {
        let repository = library::open(&top).map_err(Error::read(&top))?;
        let settings = repository.config().map_err(Error::read(&top))?;
        let has = |name: &str| settings.get_string(name).is_ok_and(|value| !value.trim().is_empty());
        let common = repository.commondir();
        let mut locks = [locks::PACKED_REFS, "config.lock"].map(|name| common.join(name)).to_vec();
        let linked = entry::all(common)?.into_iter().map(|entry| entry.git_dir);
        for folder in std::iter::once(common.to_owned()).chain(linked) {
            locks.extend(["index.lock", "HEAD.lock"].map(|name| folder.join(name)));
        }
        let main = Checkout { path: top, git_dir: common.to_owned(), common: common.to_owned() };
        let folders = locks::folders(&main)?;
        Ok(Repository {
            has_name: has("user.name"),
            has_email: has("user.email"),
            stale_locks: locks.into_iter().filter(|lock| locks::is_stale(lock, &folders)).collect(),
        })
    })
    .await
}

#[cfg(test)]
#[path = "health_tests.rs"]
mod tests;
