//! Forgetting sessions of tasks that were deleted, where the person wants only so many of them kept.
//!
//! A session goes only if its own last word about its task is that it was removed: a tree file that lost a task must
//! not make its conversation go too.

use crate::base::{EventId, TaskId};
use crate::model::event::TaskChanged;
use crate::store::tree_file::last_change;
use crate::store::{Disk, Sessions, StoreError, session};

/// Removes the sessions of deleted tasks but for the `keep` that were written to last, and what was torn off them.
/// `is_known` tells which tasks are in the tree. Returns whose sessions went. The caller holds the project's lock.
pub fn forget_deleted(
    disk: &dyn Disk,
    sessions: &Sessions,
    is_known: impl Fn(TaskId) -> bool,
    keep: usize,
) -> Result<Vec<TaskId>, StoreError> {
    let gone: Vec<TaskId> = sessions.list()?.into_iter().filter(|task| !is_known(*task)).collect();
    if gone.len() <= keep {
        return Ok(Vec::new());
    }
    let mut deleted: Vec<(Option<EventId>, TaskId)> = Vec::new();
    for task in gone {
        // One that cannot be read is not known to be deleted.
        if let Ok(Some(TaskChanged::Removed)) = last_change(sessions, task) {
            deleted.push((sessions.last_page(task, 1)?.events.last().map(|event| event.id), task));
        }
    }
    deleted.sort_unstable();
    let too_many = deleted.len().saturating_sub(keep);
    let forgotten: Vec<TaskId> = deleted.into_iter().take(too_many).map(|(_, task)| task).collect();
    let folder = sessions.folder();
    let names = disk.list(folder).map_err(StoreError::io("list", folder))?;
    for task in &forgotten {
        let log = session::file_name(*task);
        // What was torn off first: a crash in between leaves the session, and with it the rest for the next time.
        let torn = names.iter().filter(|name| name.to_str().is_some_and(|name| is_torn_off(name, &log)));
        for name in torn.cloned().chain([log.clone().into()]) {
            let path = folder.join(name);
            disk.remove(&path).map_err(StoreError::io("remove", &path))?;
        }
    }
    if !forgotten.is_empty() {
        disk.sync_dir(folder).map_err(StoreError::io("save the names in", folder))?;
    }
    Ok(forgotten)
}

/// Tells whether `name` is what was torn off the end of `log`.
fn is_torn_off(name: &str, log: &str) -> bool {
    name.strip_prefix(log).is_some_and(|rest| rest.starts_with(".torn-"))
}
