//! Opens and verifies the top folder of a checkout: it is not a link, its `.git` names the right git folder, and that
//! git folder names it back.
//!
//! Later reads and writes go through the open handle, so that swapping the folder has no effect.

use std::ffi::OsStr;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::dir::{Dir, is_file};
use super::entry;
use super::error::Error;
use super::program::Checkout;

const LINK: &str = ".git";
/// The longest `.git` file that is read: one path.
const MAX_LINK_BYTES: u64 = 16 << 10;

impl Checkout {
    /// Opens the top folder of this checkout, or returns an error that names what is there instead.
    pub(super) fn anchor(&self) -> Result<Dir, Error> {
        if self.git_dir == self.common { self.anchor_main() } else { self.anchor_linked() }
    }

    /// Returns an open handle on the top folder, for a process that runs there.
    pub fn handle(&self) -> Result<Arc<OwnedFd>, Error> {
        self.anchor().map(|top| top.handle())
    }

    /// Returns the path of the top folder with links above it resolved. If it is a link itself, that is not followed.
    pub fn real_path(&self) -> PathBuf {
        entry::plain(&self.path)
    }

    /// Opens the main checkout. It may be a link: the user may have moved it. What counts is the repository in it.
    fn anchor_main(&self) -> Result<Dir, Error> {
        let top = Dir::open_linked(&self.path).map_err(Error::disk("open", &self.path))?;
        let found = top.stat_linked(OsStr::new(LINK)).map_err(Error::disk("find", self.path.join(LINK)))?;
        let common = rustix::fs::stat(&self.common).map_err(|error| Error::disk("find", &self.common)(error.into()))?;
        let is_same = if is_file(&found) {
            entry::link_of(&self.path).as_ref() == Some(&self.common)
        } else {
            (found.st_dev, found.st_ino) == (common.st_dev, common.st_ino)
        };
        let found = || format!("its .git is not {}", self.common.display());
        if is_same { Ok(top) } else { Err(Error::NotTheCheckout { path: self.path.clone(), found: found() }) }
    }

    fn anchor_linked(&self) -> Result<Dir, Error> {
        refuse_link(&self.path)?;
        let top = match Dir::open(&self.path) {
            Ok(top) => top,
            Err(error) => {
                // It may have become a link in between.
                refuse_link(&self.path)?;
                return Err(Error::disk("open", &self.path)(error));
            }
        };
        let wrong = |found: &str| Error::NotTheCheckout { path: self.path.clone(), found: found.to_owned() };
        let link = top.read(OsStr::new(LINK), MAX_LINK_BYTES).map_err(|_| wrong("it has no .git file"))?;
        let link = entry::trim_line_end(link);
        let link = link
            .strip_prefix(b"gitdir: ")
            .map(|target| entry::absolute(&self.path, Path::new(OsStr::from_bytes(target))));
        let real = |path: &Path| fs::canonicalize(path).ok();
        if link.as_deref().and_then(real).is_none_or(|link| Some(link) != real(&self.git_dir)) {
            return Err(wrong("its .git file names another git folder"));
        }
        if entry::path_in(&self.git_dir).is_none_or(|path| path != entry::plain(&self.path)) {
            return Err(wrong("the repository has another path recorded for it"));
        }
        Ok(top)
    }
}

/// Refuses a path whose last part is a link.
pub(super) fn refuse_link(path: &Path) -> Result<(), Error> {
    match fs::read_link(path) {
        Ok(target) => Err(Error::LinkInPlace { path: path.to_owned(), target }),
        Err(_) => Ok(()),
    }
}

/// Refuses a worktrees folder that is a link.
pub(super) fn refuse_link_to_folder(path: &Path) -> Result<(), Error> {
    match fs::read_link(path) {
        Ok(target) => Err(Error::Refused(format!(
            "{} is a link to {}. Worktrees are created and deleted in that folder, so it must not be a link. Nothing was \
             changed; replace the link with a folder",
            path.display(),
            target.display()
        ))),
        Err(_) => Ok(()),
    }
}
