//! Folders on their way out: moved beside their old place in an instant, deleted at leisure. What may hold work that is
//! nowhere else is moved aside instead, and never deleted by us.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use ulid::Ulid;

use super::Worktrees;
use crate::git::dir::{Dir, is_in_the_way, split};
use crate::git::error::{Error, blocking};

/// Beside the worktrees; a name that no task's folder has.
pub(super) const TRASH: &str = ".trash";
/// Beside the worktrees: what only a person may delete.
pub(super) const ASIDE: &str = ".aside";

impl Worktrees {
    /// Deletes what removals left to be deleted. To be called at the start, for what a crash left. Returns the folders that
    /// could not be deleted.
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
        "{} is not a folder but a file or a link; what is deleted is moved there first. Nothing was deleted; remove it and \
         try again",
        path.display()
    ))
}

/// A folder, a file or a link that was moved, with the open folder that it is in now.
pub(super) struct Moved {
    home: Dir,
    name: OsString,
}

impl Moved {
    pub(super) fn path(&self) -> PathBuf {
        self.home.path().join(&self.name)
    }
}

/// Moves a folder into another one beside it, under a name that is free. A link is moved itself, not what it leads to.
pub(super) fn move_beside(path: &Path, beside: &str) -> Result<Moved, Error> {
    let failed = || Error::disk("move away", path);
    let (above, name) = split(path).map_err(failed())?;
    let folder = Dir::open_linked(above).map_err(failed())?;
    let home = match folder.make(Path::new(beside)) {
        Ok(home) => home,
        Err(error) if is_in_the_way(&error) => return Err(not_a_folder(&above.join(beside))),
        Err(error) => return Err(failed()(error)),
    };
    let mut new = name.to_owned();
    new.push(format!(".{}", Ulid::generate()));
    folder.rename(name, &home, &new).map_err(failed())?;
    Ok(Moved { home, name: new })
}

/// Deletes a folder in the background. What is not done when the program ends is done at the next start.
pub(super) fn delete_later(moved: Moved) {
    tokio::task::spawn_blocking(move || {
        if let Err(error) = moved.home.remove_tree(&moved.name) {
            tracing::warn!(%error, path = %moved.path().display(), "a removed worktree could not be deleted");
        }
    });
}
