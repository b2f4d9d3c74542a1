//! Changes the files of a checkout from one tree to another, byte for byte and without git's index.
//!
//! Touches only what differs between the trees, nothing through a link and nothing outside the folder.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path, PathBuf};

use git2::{Delta, DiffOptions, FileMode, Oid, Repository, Tree};
use rustix::fs::{Mode, Stat};

use super::crash_points::crash_point;
use super::dir::{Dir, is_file, is_folder, split};
use super::error::Error;

/// A file that differs between two trees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) path: PathBuf,
    /// The new content and mode; `None` to remove it.
    pub(super) wanted: Option<(Oid, FileMode)>,
}

/// Returns the changes from `from` to `to`.
pub(super) fn changes(repository: &Repository, from: &Tree<'_>, to: &Tree<'_>) -> Result<Vec<Change>, Error> {
    let failed = Error::read(repository.path());
    let mut options = DiffOptions::new();
    options.include_typechange(true).skip_binary_check(true);
    let diff = repository.diff_tree_to_tree(Some(from), Some(to), Some(&mut options)).map_err(&failed)?;
    let mut changes = Vec::new();
    for delta in diff.deltas() {
        let (old, new) = (delta.old_file(), delta.new_file());
        let gone = delta.status() == Delta::Deleted;
        let Some(bytes) = (if gone { old.path_bytes() } else { new.path_bytes() }) else { continue };
        let path = PathBuf::from(OsStr::from_bytes(bytes));
        // Submodules are not touched.
        if [old.mode(), new.mode()].contains(&FileMode::Commit) {
            continue;
        }
        changes.push(Change { path, wanted: (!gone).then(|| (new.id(), new.mode())) });
    }
    Ok(changes)
}

/// Applies changes below `top`. Removals first: a file may become a folder.
pub(super) fn apply(repository: &Repository, top: &Dir, changes: &[Change]) -> Result<(), Error> {
    for change in changes.iter().filter(|change| change.wanted.is_none()) {
        remove(top, &change.path)?;
    }
    for change in changes {
        if let Some((id, mode)) = change.wanted {
            let blob = repository.find_blob(id).map_err(Error::read(repository.path()))?;
            write(top, &change.path, blob.content(), mode)?;
        }
    }
    Ok(())
}

/// Removes a file, and the folders above it that become empty. Does nothing if something above it is not a folder.
fn remove(top: &Dir, path: &Path) -> Result<(), Error> {
    refuse_invalid_path(path)?;
    let failed = || Error::disk("remove", top.path().join(path));
    let mut folders = vec![top.clone()];
    let names: Vec<&OsStr> = path.iter().collect();
    let Some((name, above)) = names.split_last() else { return Ok(()) };
    for part in above {
        let Some(Ok(folder)) = folders.last().map(|folder| folder.child(part)) else { return Ok(()) };
        folders.push(folder);
    }
    let Some(folder) = folders.last() else { return Ok(()) };
    if folder.stat(name).map_err(failed())?.is_some_and(|found| !is_folder(&found)) {
        crash_point("a file is about to go");
        folder.remove_file(name).map_err(failed())?;
    }
    for (folder, part) in folders.iter().zip(above).rev() {
        if folder.remove_dir(part).is_err() {
            break;
        }
    }
    Ok(())
}

/// Writes a file in place of whatever is there, except a folder with other content. A link above it is replaced by a
/// folder.
pub(super) fn write(top: &Dir, path: &Path, content: &[u8], mode: FileMode) -> Result<(), Error> {
    refuse_invalid_path(path)?;
    let failed = || Error::disk("write", top.path().join(path));
    crash_point("a file is about to be written");
    let (above, name) = split(path).map_err(failed())?;
    let folder = top.make_over(above).map_err(failed())?;
    let old = folder.stat(name).map_err(failed())?;
    if old.as_ref().is_some_and(is_folder) {
        folder.remove_empty_dirs(name).map_err(Error::disk("replace the folder", top.path().join(path)))?;
    }
    if mode == FileMode::Link {
        folder.remove_file(name).map_err(failed())?;
        return folder.symlink(OsStr::from_bytes(content), name).map_err(failed());
    }
    // A new file, so that hard links of the old one keep their content, and no reader sees a partial file.
    let draft = draft_name(name);
    folder.remove_file(&draft).map_err(failed())?;
    let bits = Mode::from_raw_mode(if mode == FileMode::BlobExecutable { 0o777 } else { 0o666 });
    let mut file = folder.create(&draft, bits).map_err(failed())?;
    file.write_all(content).map_err(failed())?;
    if let Some(old) = old.filter(is_file) {
        keep_private(&old, &file);
    }
    crash_point("a file is written and not yet in its place");
    folder.rename(&draft, &folder, name).map_err(failed())
}

/// Keeps a private file private.
fn keep_private(old: &Stat, new: &File) {
    let Ok(fresh) = rustix::fs::fstat(new) else { return };
    let allowed = Mode::from_raw_mode(old.st_mode) | Mode::XUSR | Mode::XGRP | Mode::XOTH;
    let _ = rustix::fs::fchmod(new, Mode::from_raw_mode(fresh.st_mode) & allowed);
}

fn draft_name(name: &OsStr) -> OsString {
    let mut draft = b".mxd-draft-".to_vec();
    draft.extend_from_slice(name.as_bytes());
    // A name of maximum length leaves no room for the prefix.
    draft.truncate(250);
    OsString::from_vec(draft)
}

/// Refuses a path that points out of the checkout or into a `.git`.
fn refuse_invalid_path(path: &Path) -> Result<(), Error> {
    let plain = |part: Component<'_>| matches!(part, Component::Normal(name) if !name.eq_ignore_ascii_case(".git"));
    if path.as_os_str().is_empty() || !path.components().all(plain) {
        return Err(Error::Refused(format!(
            "the stored file name \"{}\" is not valid; the file was not written",
            path.display()
        )));
    }
    Ok(())
}

pub(super) fn remove_if_there(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::disk("remove", path)(error)),
        _ => Ok(()),
    }
}
