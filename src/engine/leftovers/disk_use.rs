//! How much room something takes, and its deletion. Links are never followed.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::base::Fault;

/// Returns what lies in a folder, in a fixed order; nothing if there is no such folder.
pub(super) fn inside(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// Returns how many bytes a file, or everything in a folder, has. What cannot be looked at counts as nothing.
pub(super) fn size_of(path: &Path) -> u64 {
    let mut total = 0;
    let mut waiting = vec![path.to_owned()];
    while let Some(path) = waiting.pop() {
        let Ok(found) = path.symlink_metadata() else { continue };
        if found.is_dir() {
            waiting.extend(inside(&path));
        } else {
            total += found.len();
        }
    }
    total
}

/// Deletes a file, or a folder with everything in it. What is gone already is no error.
pub(super) fn delete(path: &Path) -> Result<(), Fault> {
    let is_folder = path.symlink_metadata().is_ok_and(|found| found.is_dir());
    let done = if is_folder { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match done {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(Fault::environment(format!("cannot delete {}: {error}", path.display())))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}
