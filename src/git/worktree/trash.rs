//! Folders on their way out: moved beside their old place in an instant, deleted at leisure. What may hold work that is
//! nowhere else is moved aside instead, and never deleted by us.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use ulid::Ulid;

use super::Worktrees;
use crate::git::error::{Error, blocking};

/// Beside the worktrees; a name that no task's folder has.
pub(super) const TRASH: &str = ".trash";
/// Beside the worktrees: what only a person may delete.
pub(super) const ASIDE: &str = ".aside";

impl Worktrees {
    /// Deletes what removals left to be deleted. To be called at the start, for what a crash left. Returns the folders that
    /// could not be deleted.
    pub async fn empty_trash(&self) -> Result<Vec<PathBuf>, Error> {
        let trash = self.folder.join(TRASH);
        blocking(move || {
            let listed = match fs::read_dir(&trash) {
                Ok(listed) => listed,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
                Err(error) => return Err(Error::disk("list", trash)(error)),
            };
            Ok(listed.flatten().map(|entry| entry.path()).filter(|path| delete(path).is_err()).collect())
        })
        .await
    }

    pub(super) async fn set_aside(&self, path: &Path) -> Result<PathBuf, Error> {
        let path = path.to_owned();
        blocking(move || move_beside(&path, ASIDE)).await
    }
}

/// Moves a folder into another one beside it, under a name that is free.
pub(super) fn move_beside(path: &Path, beside: &str) -> Result<PathBuf, Error> {
    let failed = || Error::disk("move away", path);
    let home = path.parent().unwrap_or(path).join(beside);
    fs::create_dir_all(&home).map_err(failed())?;
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}", Ulid::generate()));
    let moved = home.join(name);
    fs::rename(path, &moved).map_err(failed())?;
    Ok(moved)
}

/// Deletes a folder in the background. What is not done when the program ends is done at the next start.
pub(super) fn delete_later(path: PathBuf) {
    tokio::task::spawn_blocking(move || {
        if let Err(error) = delete(&path) {
            tracing::warn!(%error, path = %path.display(), "a removed worktree could not be deleted");
        }
    });
}

/// Deletes a folder, also one with folders in it that forbid it: some package caches are made read-only.
fn delete(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            permit(path);
            fs::remove_dir_all(path)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

fn permit(folder: &Path) {
    let Ok(found) = fs::symlink_metadata(folder) else { return };
    if !found.is_dir() {
        return;
    }
    let _ = fs::set_permissions(folder, fs::Permissions::from_mode(found.permissions().mode() | 0o700));
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        permit(&entry.path());
    }
}
