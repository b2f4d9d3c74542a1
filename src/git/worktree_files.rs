//! The files of a checkout, changed from one tree to another, byte for byte and without git's index.
//!
//! Only what differs between the two trees is touched, nothing through a link, nothing outside the folder.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Component, Path, PathBuf};

use git2::{Delta, DiffOptions, FileMode, Oid, Repository, Tree};

use super::error::Error;
use super::step::step;

/// One file that differs between two trees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) path: PathBuf,
    /// What it shall be: nothing, or content and kind.
    pub(super) wanted: Option<(Oid, FileMode)>,
}

/// Returns what has to change so that files that are as in `from` become as in `to`.
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
        // A submodule's content is its own affair.
        if [old.mode(), new.mode()].contains(&FileMode::Commit) {
            continue;
        }
        changes.push(Change { path, wanted: (!gone).then(|| (new.id(), new.mode())) });
    }
    Ok(changes)
}

/// Carries changes out below `top`. What is gone goes first: a file may become a folder.
pub(super) fn apply(repository: &Repository, top: &Path, changes: &[Change]) -> Result<(), Error> {
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

/// Removes a file, and the folders above it that it leaves empty.
pub(super) fn remove(top: &Path, path: &Path) -> Result<(), Error> {
    let whole = inside(top, path)?;
    if !has_real_folder(top, path) {
        return Ok(());
    }
    match fs::symlink_metadata(&whole) {
        Ok(found) if !found.is_dir() => {
            step("a file is about to go");
            remove_if_there(&whole)?;
        }
        _ => {}
    }
    let mut folder = whole.parent();
    while let Some(empty) = folder.filter(|folder| *folder != top && folder.starts_with(top)) {
        if fs::remove_dir(empty).is_err() {
            break;
        }
        folder = empty.parent();
    }
    Ok(())
}

/// Writes a file in place of whatever is there, unless a folder with other things in it is.
pub(super) fn write(top: &Path, path: &Path, content: &[u8], mode: FileMode) -> Result<(), Error> {
    let whole = inside(top, path)?;
    let failed = || Error::disk("write", &whole);
    step("a file is about to be written");
    let mut folder = top.to_owned();
    for part in path.parent().into_iter().flat_map(Path::components) {
        folder.push(part);
        match fs::symlink_metadata(&folder) {
            Ok(found) if found.is_dir() => {}
            Ok(_) => {
                fs::remove_file(&folder).map_err(failed())?;
                fs::create_dir(&folder).map_err(failed())?;
            }
            Err(_) => fs::create_dir(&folder).map_err(failed())?,
        }
    }
    match fs::symlink_metadata(&whole) {
        Ok(found) if found.is_dir() => remove_empty_folders(&whole)?,
        _ => {}
    }
    if mode == FileMode::Link {
        remove_if_there(&whole)?;
        return std::os::unix::fs::symlink(OsStr::from_bytes(content), &whole).map_err(failed());
    }
    // A new file in its place, so that other names of the old one keep their content, and nobody sees half of it.
    let draft = draft_beside(&whole);
    remove_if_there(&draft)?;
    let bits = if mode == FileMode::BlobExecutable { 0o777 } else { 0o666 };
    let mut file = fs::File::options().write(true).create_new(true).mode(bits).open(&draft).map_err(failed())?;
    file.write_all(content).map_err(failed())?;
    keep_private(&whole, &file);
    step("a file is written and not yet in its place");
    fs::rename(&draft, &whole).map_err(failed())
}

/// A file that only its owner could read stays so.
fn keep_private(old: &Path, new: &fs::File) {
    if let (Ok(old), Ok(fresh)) = (fs::symlink_metadata(old), new.metadata())
        && old.is_file()
    {
        let bits = fresh.permissions().mode() & (old.permissions().mode() | 0o111);
        let _ = new.set_permissions(fs::Permissions::from_mode(bits));
    }
}

fn draft_beside(path: &Path) -> PathBuf {
    let mut name = OsStr::new(".mxd-draft-").to_owned();
    name.push(path.file_name().unwrap_or_default());
    let bytes = name.as_bytes();
    // A name of the greatest length leaves no room for ours.
    path.with_file_name(OsStr::from_bytes(&bytes[..bytes.len().min(250)]))
}

/// Removes a folder that holds nothing but folders.
fn remove_empty_folders(folder: &Path) -> Result<(), Error> {
    for entry in fs::read_dir(folder).map_err(Error::disk("list", folder))?.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_empty_folders(&entry.path())?;
        }
    }
    fs::remove_dir(folder).map_err(Error::disk("replace the folder", folder))
}

/// Tells whether everything above a file is a folder and not a link to one.
fn has_real_folder(top: &Path, path: &Path) -> bool {
    let mut folder = top.to_owned();
    path.parent().into_iter().flat_map(Path::components).all(|part| {
        folder.push(part);
        fs::symlink_metadata(&folder).is_ok_and(|found| found.is_dir())
    })
}

/// Returns the whole path of a file, which cannot lie outside `top` nor in a `.git`.
fn inside(top: &Path, path: &Path) -> Result<PathBuf, Error> {
    let plain = |part: Component<'_>| matches!(part, Component::Normal(name) if !name.eq_ignore_ascii_case(".git"));
    if path.as_os_str().is_empty() || !path.components().all(plain) {
        return Err(Error::Refused(format!(
            "a stored file is called \"{}\", which is no name for one; it was not written",
            path.display()
        )));
    }
    Ok(top.join(path))
}

pub(super) fn remove_if_there(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::disk("remove", path)(error)),
        _ => Ok(()),
    }
}
