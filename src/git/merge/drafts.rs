//! What becomes of drafts of solved conflicts that nobody needs any more. A draft as it was written can be written again;
//! one that the person has worked on is theirs, and is never removed here.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::solve::{DRAFTS, LIST, MADE_OF, SOLVING, decided, made_of};
use crate::base::TaskId;
use crate::git::anchor;
use crate::git::dir::Dir;
use crate::git::error::{Error, blocking};
use crate::git::repo_file;
use crate::git::worktree::Worktrees;

/// The drafts of one task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drafts {
    /// Nothing: the folder is not called like one of ours.
    pub task: Option<TaskId>,
    pub path: PathBuf,
    /// Files that are not as they were written: the person has worked on them.
    pub edited: Vec<PathBuf>,
}

impl Worktrees {
    /// Lists the drafts that there are, whoever they belong to.
    pub async fn drafts(&self) -> Result<Vec<Drafts>, Error> {
        let folder = self.folder.join(SOLVING);
        blocking(move || {
            anchor::refuse_link_to_folder(&folder)?;
            list(&folder)
        })
        .await
    }

    /// Removes a task's drafts as far as they can be written again. Returns what stays.
    pub async fn drop_drafts(&self, task: TaskId) -> Result<Option<Drafts>, Error> {
        let (path, all) = (self.solving(task), self.folder()?);
        blocking(move || {
            let edited = edited(&path)?;
            if !edited.is_empty() {
                return Ok(Some(Drafts { task: Some(task), path, edited }));
            }
            remove(&all, task).map(|()| None)
        })
        .await
    }

    /// Forgets what was solved: it is in a commit.
    pub(super) async fn forget_solving(&self, task: TaskId) -> Result<(), Error> {
        let all = self.folder()?;
        blocking(move || remove(&all, task)).await
    }
}

fn list(folder: &Path) -> Result<Vec<Drafts>, Error> {
    let mut all = Vec::new();
    for path in inside(folder)? {
        let task = path.file_name().and_then(|name| name.to_str()?.parse().ok());
        all.push(Drafts { task, edited: edited(&path)?, path });
    }
    Ok(all)
}

/// Returns the files that are not as they were written. What we have never written counts: an editor's copy may be all that
/// is left of an hour's work.
fn edited(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let made = made_of(folder);
    let mut found = Vec::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(path) = waiting.pop() {
        if path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            waiting.extend(inside(&path)?);
            continue;
        }
        let below = path.strip_prefix(folder).unwrap_or(&path);
        let untouched = if below == Path::new(MADE_OF) {
            true
        } else if below == Path::new(LIST) {
            decided(folder).is_empty()
        } else {
            let made = below.strip_prefix(DRAFTS).ok().and_then(|draft| made.get(draft));
            made.is_some_and(|made| {
                repo_file::read_plain(&path, u64::MAX).is_some_and(|content| made.is_as_drafted(&content))
            })
        };
        if !untouched && path.symlink_metadata().is_ok() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn remove(all: &Dir, task: TaskId) -> Result<(), Error> {
    let solving = match all.child(OsStr::new(SOLVING)) {
        Ok(solving) => solving,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Error::disk("open", all.path().join(SOLVING))(error)),
    };
    let name = OsString::from(task.to_string());
    solving.remove_tree(&name).map_err(Error::disk("remove", solving.path().join(&name)))?;
    // The folder around it goes with the last one.
    let _ = all.remove_dir(OsStr::new(SOLVING));
    Ok(())
}

fn inside(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let listed = match fs::read_dir(folder) {
        Ok(listed) => listed,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::disk("list", folder)(error)),
    };
    let mut paths = Vec::new();
    for entry in listed {
        paths.push(entry.map_err(Error::disk("list", folder))?.path());
    }
    paths.sort();
    Ok(paths)
}
