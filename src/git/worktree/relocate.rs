//! Repairs the links between a repository and its worktrees after one of them was moved, like `git worktree repair`,
//! for the worktrees of one folder. Files in the worktrees are not touched.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::git::entry::{self, WorktreeEntry};
use crate::git::error::Error;

/// Repairs the worktrees below `folder` that belong to the repository with the git folder `common`. Returns the
/// repaired ones. Leaves alone a worktree that still points to another repository, and an entry whose worktree still
/// exists elsewhere: one of the two is a copy.
pub fn repair_links(common: &Path, folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let Ok(folder) = fs::canonicalize(folder) else { return Ok(Vec::new()) };
    let entries = entry::all(common)?;
    let listed = fs::read_dir(&folder).map_err(Error::disk("list", &folder))?;
    let mut repaired = Vec::new();
    for path in listed.flatten().map(|entry| entry.path()) {
        let Some(link) = entry::link_of(&path) else { continue };
        let Some(entry) = entries.iter().find(|entry| entry.git_dir.file_name() == link.file_name()) else { continue };
        let leads_here = link == entry.git_dir;
        if !leads_here && link.exists() {
            continue;
        }
        let is_recorded = entry.path.as_ref() == Some(&path);
        if !is_recorded && exists_elsewhere(entry) {
            continue;
        }
        if !is_recorded {
            write_path(&entry.git_dir.join("gitdir"), b"", &path.join(".git"))?;
        }
        if !leads_here {
            write_path(&path.join(".git"), b"gitdir: ", &entry.git_dir)?;
        }
        if !is_recorded || !leads_here {
            repaired.push(path);
        }
    }
    Ok(repaired)
}

fn exists_elsewhere(entry: &WorktreeEntry) -> bool {
    entry.path.as_ref().is_some_and(|path| path.join(".git").exists())
}

/// Replaces a git file that contains a path.
fn write_path(file: &Path, before: &[u8], path: &Path) -> Result<(), Error> {
    let mut text = before.to_vec();
    text.extend_from_slice(path.as_os_str().as_bytes());
    text.push(b'\n');
    let mut draft = file.as_os_str().to_owned();
    draft.push(".mxd");
    let draft = PathBuf::from(draft);
    fs::write(&draft, text).map_err(Error::disk("write", &draft))?;
    fs::rename(&draft, file).map_err(Error::disk("write", file))
}
