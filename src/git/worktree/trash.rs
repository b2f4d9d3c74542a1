//! Deletes folders in two steps: an instant move to the trash, and deletion in the background. A folder that may
//! contain unsaved work is moved aside instead, and never deleted by us.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use ulid::Ulid;

use super::Worktrees;
use crate::git::dir::{Dir, is_in_the_way, split};
use crate::git::error::{Error, blocking};

/// The trash folder beside the worktrees; no task's folder has this name.
pub(super) const TRASH: &str = ".trash";
/// The folder beside the worktrees for what only the user may delete.
pub(super) const ASIDE: &str = ".aside";

impl Worktrees {
    /// Empties the trash. Call it at the start, for what a crash left. Returns the folders that could not be deleted.
    pub async fn empty_trash(&self) -> Result<Vec<PathBuf>, Error> {
        let folder = self.folder()?;
        blocking(move || {
            let failed = || Error::disk("list", folder.path().join(TRASH));
            let trash = match folder.child(OsStr::new(TRASH)) {
                Ok(trash) => trash,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
                Err(error) if is_in_the_way(&error) => return Err(not_a_folder(&folder.path().join(TRASH))),
                Err(error) => return Err(failed()(error)),
            };
            let names = trash.names().map_err(failed())?;
            let remains = names.into_iter().filter(|name| trash.remove_tree(name).is_err());
            Ok(remains.map(|name| trash.path().join(name)).collect())
        })
        .await
    }

    pub(super) async fn set_aside(&self, path: &Path) -> Result<PathBuf, Error> {
        let path = path.to_owned();
        blocking(move || Ok(move_beside(&path, ASIDE)?.path())).await
    }
}

fn not_a_folder(path: &Path) -> Error {
    Error::Refused(format!(
        "{} is a file or a link, but must be a folder (the trash). Nothing was deleted; remove it and try again",
        path.display()
    ))
}

/// A moved folder, file or link, with the open folder that contains it.
pub(super) struct MovedEntry {
    folder: Dir,
    name: OsString,
}

impl MovedEntry {
    pub(super) fn path(&self) -> PathBuf {
        self.folder.path().join(&self.name)
    }
}

/// Moves a path into a folder beside it, under a unique name. A link is moved itself.
pub(super) fn move_beside(path: &Path, beside: &str) -> Result<MovedEntry, Error> {
    let failed = || Error::disk("move away", path);
    let (above, name) = split(path).map_err(failed())?;
    let folder = Dir::open_linked(above).map_err(failed())?;
    let target = match folder.make(Path::new(beside)) {
        Ok(target) => target,
        Err(error) if is_in_the_way(&error) => return Err(not_a_folder(&above.join(beside))),
        Err(error) => return Err(failed()(error)),
    };
    let mut new = name.to_owned();
    new.push(format!(".{}", Ulid::generate()));
    folder.rename(name, &target, &new).map_err(failed())?;
    Ok(MovedEntry { folder: target, name: new })
}

/// Deletes a folder in the background. What is left when the program exits is deleted at the next start.
pub(super) fn delete_later(moved: MovedEntry) {
    tokio::task::spawn_blocking(move || {
        if let Err(error) = moved.folder.remove_tree(&moved.name) {
            tracing::warn!(%error, path = %moved.path().display(), "cannot delete a removed worktree");
        }
    });
}
