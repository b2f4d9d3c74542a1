//! Cleans up drafts of conflict resolutions. An unedited draft can be written again; one that the user edited is never
//! removed here.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::solve::{DRAFTS, LIST, ORIGINS, SOLVING, read_decisions, read_origins};
use crate::base::TaskId;
use crate::git::anchor;
use crate::git::dir::Dir;
use crate::git::error::{Error, blocking};
use crate::git::repo_file;
use crate::git::worktree::Worktrees;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskDrafts {
    /// `None` if the folder is not named after a task.
    pub task: Option<TaskId>,
    pub path: PathBuf,
    /// Files that the user edited.
    pub edited: Vec<PathBuf>,
}

impl Worktrees {
    /// Lists all drafts.
    pub async fn drafts(&self) -> Result<Vec<TaskDrafts>, Error> {
        let folder = self.folder.join(SOLVING);
        blocking(move || {
            anchor::refuse_link_to_folder(&folder)?;
            list(&folder)
        })
        .await
    }

    /// Removes a task's drafts unless the user edited them. Returns the drafts that stay.
    pub async fn drop_drafts(&self, task: TaskId) -> Result<Option<TaskDrafts>, Error> {
        let (path, all) = (self.drafts_folder(task), self.folder()?);
        blocking(move || {
            let edited = edited(&path)?;
            if !edited.is_empty() {
                return Ok(Some(TaskDrafts { task: Some(task), path, edited }));
            }
            remove(&all, task).map(|()| None)
        })
        .await
    }

    /// Removes a task's drafts after their content was committed.
    pub(super) async fn remove_drafts(&self, task: TaskId) -> Result<(), Error> {
        let all = self.folder()?;
        blocking(move || remove(&all, task)).await
    }
}

fn list(folder: &Path) -> Result<Vec<TaskDrafts>, Error> {
    let mut all = Vec::new();
    for path in inside(folder)? {
        let task = path.file_name().and_then(|name| name.to_str()?.parse().ok());
        all.push(TaskDrafts { task, edited: edited(&path)?, path });
    }
    Ok(all)
}

/// Returns the files that differ from what we wrote. Files that we never wrote count: an editor's backup may be all
/// that is left of the user's work.
fn edited(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let origin = read_origins(folder);
    let mut found = Vec::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(path) = pending.pop() {
        if path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            pending.extend(inside(&path)?);
            continue;
        }
        let below = path.strip_prefix(folder).unwrap_or(&path);
        let untouched = if below == Path::new(ORIGINS) {
            true
        } else if below == Path::new(LIST) {
            read_decisions(folder).is_empty()
        } else {
            let origin = below.strip_prefix(DRAFTS).ok().and_then(|draft| origin.get(draft));
            origin.is_some_and(|origin| {
                repo_file::read_plain(&path, u64::MAX).is_some_and(|content| origin.is_unedited(&content))
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
    // Fails unless this was the last one.
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
