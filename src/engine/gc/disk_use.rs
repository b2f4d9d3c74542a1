//! Measures and deletes files and folders. Never follows links.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::base::Fault;

/// Returns the sorted entries of a folder. Empty if the folder does not exist.
pub(super) fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// Returns the size of a file, or of everything in a folder. Unreadable entries count as 0.
pub(super) fn size_of(path: &Path) -> u64 {
    let mut total = 0;
    let mut pending = vec![path.to_owned()];
    while let Some(path) = pending.pop() {
        let Ok(found) = path.symlink_metadata() else { continue };
        if found.is_dir() {
            pending.extend(entries(&path));
        } else {
            total += found.len();
        }
    }
    total
}

/// Deletes a file or a folder. It is no error if it does not exist.
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
