//! The links between a repository and its worktrees after one of them was moved: what `git worktree repair` does, for the
//! worktrees of one folder, from what lies on the disk alone. Files in the worktrees are not touched.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::git::entry::{self, Entry};
use crate::git::error::Error;

/// Repairs the worktrees below `folder` that belong to the repository with the git folder `common`. Returns those that had to
/// be repaired. A worktree that still leads to another repository, or an entry whose worktree still stands elsewhere, is
/// left alone: one of the two is a copy.
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
        let is_noted = entry.path.as_ref() == Some(&path);
        if !is_noted && stands_elsewhere(entry) {
            continue;
        }
        if !is_noted {
            note(&entry.git_dir.join("gitdir"), b"", &path.join(".git"))?;
        }
        if !leads_here {
            note(&path.join(".git"), b"gitdir: ", &entry.git_dir)?;
        }
        if !is_noted || !leads_here {
            repaired.push(path);
        }
    }
    Ok(repaired)
}

fn stands_elsewhere(entry: &Entry) -> bool {
    entry.path.as_ref().is_some_and(|path| path.join(".git").exists())
}

/// Replaces a file of git's that holds a path.
fn note(file: &Path, before: &[u8], path: &Path) -> Result<(), Error> {
    let mut text = before.to_vec();
    text.extend_from_slice(path.as_os_str().as_bytes());
    text.push(b'\n');
    let mut draft = file.as_os_str().to_owned();
    draft.push(".mxd");
    let draft = PathBuf::from(draft);
    fs::write(&draft, text).map_err(Error::disk("write", &draft))?;
    fs::rename(&draft, file).map_err(Error::disk("write", file))
}
