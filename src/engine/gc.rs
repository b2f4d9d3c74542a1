//! Finds and deletes data that a project no longer needs. Finding changes nothing.
//!
//! Nothing is deleted that exists nowhere else. The work in a worktree is archived first, and what cannot be archived
//! is moved aside. Files that were moved aside stay, and so does everything of a task that a session remembers. The
//! caller must hold the project's lock while deleting.

mod disk_use;
mod owners;
pub mod stages;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::base::{Fault, TaskId, text};
use crate::config::paths::{Home, ProjectFolder};
use crate::engine::driver::{is_ready_mark, ready_mark};
use crate::git::merge::TaskDrafts;
use crate::git::{BranchFate, OwnedWorktree, Removal, Stray, Worktrees, branch};
use crate::model::Project;
use crate::model::task::{Status, TaskNode};
use crate::model::tree::Tree;
use crate::process;
use crate::store::tree_file::{self, TreeFile};
use crate::store::{Disk, RealDisk, Sessions, blob_gc, replace};
use disk_use::{delete, entries, size_of};
use owners::Owners;

/// How long logs of the program and its tool servers are kept.
const LOG_DAYS: u64 = 7;

/// How thorough a scan is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanDepth {
    /// Reads no sessions.
    Quick,
    Full,
}

/// Data that can be deleted, or that looks like it.
#[derive(Debug)]
pub struct Leftover {
    /// A description for the user.
    pub what: String,
    pub bytes: u64,
    /// Why it stays and what the user can do about it. `None` if it can be deleted.
    pub keep_reason: Option<String>,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// Children of a process that has ended, by the folder of their records.
    Processes(PathBuf),
    Paths(Vec<PathBuf>),
    /// A worktree, or only a branch.
    Worktree(Box<Removal>),
    Snapshots(TaskId),
    /// Refs that undo old merges.
    Undos(Vec<String>),
    /// A folder whose deletion was interrupted.
    Trash(PathBuf),
    /// Cannot be deleted automatically.
    Keep,
}

/// Finds and deletes the leftovers of a project.
pub struct Collector {
    project: Project,
    folder: ProjectFolder,
    /// `None` if no worktree was ever created, or if the repository is gone.
    worktrees: Option<Worktrees>,
    owners: Owners,
}

impl Collector {
    /// Opens a project. Creates nothing.
    pub async fn open(home: &Home, project: &Project) -> Result<Self, Fault> {
        let folder = home.project(project.id);
        let worktrees = if folder.worktrees().is_dir() && project.path.is_dir() {
            Some(Worktrees::open(&project.path, &folder.worktrees(), None).await?)
        } else {
            None
        };
        Ok(Self { project: project.clone(), folder, worktrees, owners: Owners::of(home, project) })
    }

    /// Lists the leftovers. `keep` is how many sessions of closed tasks to keep; `None` keeps all.
    pub async fn find(&self, depth: ScanDepth, keep: Option<u32>) -> Result<Vec<Leftover>, Fault> {
        let disk: Arc<dyn Disk> = Arc::new(RealDisk);
        let tree = TreeFile::new(Arc::clone(&disk), self.folder.tree()).load()?.map(|loaded| loaded.tree);
        let sessions = Sessions::new(Arc::clone(&disk), self.folder.sessions());
        let remembered = match depth {
            ScanDepth::Quick => BTreeSet::new(),
            ScanDepth::Full => tree_file::nodes_in(&sessions)?.nodes.into_keys().collect(),
        };
        let mut found = Vec::new();
        found.extend(processes(&self.folder.root().join("running"), "of an earlier run"));
        self.strays(tree.as_ref(), &remembered, &mut found).await?;
        let spill = self.folder.root().join("spill");
        found.extend(paths("command output of an earlier run", entries(&spill)));
        found.extend(paths("old logs of tool servers", old_logs(&self.folder.logs())));
        let folders = [self.folder.root().to_owned(), self.folder.sessions(), self.folder.blobs()];
        found.extend(paths("unfinished writes", folders.iter().flat_map(|folder| partial_files(folder)).collect()));
        let excess = keep.zip(tree.as_ref()).map(|(keep, tree)| closed_beyond(tree, keep)).unwrap_or_default();
        let excess: Vec<PathBuf> =
            excess.into_iter().map(|task| sessions.path(task)).filter(|path| path.exists()).collect();
        if depth == ScanDepth::Full {
            let mut files = entries(&self.folder.sessions());
            files.retain(|path| path.is_file() && !excess.contains(path));
            files.extend(Some(self.folder.drafts()).filter(|drafts| drafts.is_file()));
            let unused = blob_gc::unused_blobs(disk.as_ref(), &self.folder.blobs(), &files)?;
            let blobs = unused.keys().map(|blob| self.folder.blob(blob)).collect();
            found.extend(paths("outputs and images that no session refers to", blobs));
        }
        found.extend(paths("sessions of closed tasks beyond sessionKeep", excess));
        Ok(found)
    }

    /// Adds worktrees, branches, drafts and snapshots that belong to no task.
    async fn strays(
        &self,
        tree: Option<&Tree>,
        remembered: &BTreeSet<TaskId>,
        found: &mut Vec<Leftover>,
    ) -> Result<(), Fault> {
        let (Some(worktrees), Some(tree)) = (&self.worktrees, tree) else { return Ok(()) };
        let is_gone = |task: TaskId| tree.get(task).is_none() && !remembered.contains(&task);
        for stray in worktrees.stray(&owned_worktrees(tree, worktrees)).await? {
            // The ready mark of a worktree is deleted only if its task is gone.
            if let Stray::Folder(path) = &stray
                && let Some(task) = task_of_mark(path)
            {
                let mark = paths("the mark of a worktree that is gone", vec![path.clone()]);
                found.extend(mark.filter(|_| is_gone(task)));
                continue;
            }
            found.push(self.stray(stray, worktrees, &is_gone));
        }
        for drafts in worktrees.drafts().await? {
            let is_closed = |task| tree.get(task).is_some_and(|node| node.status == Status::Closed);
            let is_unneeded = drafts.task.is_none_or(|task| is_gone(task) || is_closed(task));
            found.extend(is_unneeded.then(|| leftover_drafts(drafts)));
        }
        let undos = worktrees.old_undo_refs().await?;
        if !undos.is_empty() {
            let what =
                format!("{} of merges older than 30 days", text::count(undos.len(), "undo point", "undo points"));
            found.push(Leftover { what, bytes: 0, keep_reason: None, kind: Kind::Undos(undos) });
        }
        for (task, count) in worktrees.snapshots_by_task().await? {
            // While there is a session, the task can be restored and rewound.
            if is_gone(task) && !self.folder.session(task).exists() {
                let what = format!("{} of task {task}, which is gone", text::count(count, "snapshot", "snapshots"));
                let claim = self.claim(task);
                let kind = if claim.is_some() { Kind::Keep } else { Kind::Snapshots(task) };
                found.push(Leftover { what, bytes: 0, keep_reason: claim, kind });
            }
        }
        Ok(())
    }

    fn stray(&self, stray: Stray, worktrees: &Worktrees, is_gone: &dyn Fn(TaskId) -> bool) -> Leftover {
        let removal = |task: TaskId, path: PathBuf, branch: String| {
            let bases = vec![self.project.base_branch.clone()];
            Kind::Worktree(Box::new(Removal { task, path, branch, fate: BranchFate::Delete, bases }))
        };
        let keep =
            |what: String, bytes: u64, why: String| Leftover { what, bytes, keep_reason: Some(why), kind: Kind::Keep };
        let remembered = || "its task has a session; `mxd check --repair` restores it to the tree".to_owned();
        match stray {
            Stray::Worktree { path, branch } => {
                let what = format!("the worktree {}, which no task owns", path.display());
                let bytes = size_of(&path);
                match branch.and_then(|branch| Some((branch::task_of(&branch)?, branch))) {
                    Some((task, branch)) if is_gone(task) => {
                        Leftover { what, bytes, keep_reason: None, kind: removal(task, path, branch) }
                    }
                    Some(_) => keep(what, bytes, remembered()),
                    None => {
                        let why = format!(
                            "it is not on a task's branch; inspect it, then run `git worktree remove -f -f {}`",
                            quoted(&path)
                        );
                        keep(what, bytes, why)
                    }
                }
            }
            Stray::Folder(path) if entries(&path).is_empty() && path.is_dir() => {
                let what = format!("the empty folder {}", path.display());
                Leftover { what, bytes: 0, keep_reason: None, kind: Kind::Paths(vec![path]) }
            }
            Stray::Folder(path) => {
                let (what, bytes) = (format!("{}, which is not a worktree", path.display()), size_of(&path));
                keep(what, bytes, delete_hint(&path))
            }
            Stray::Branch(branch) => {
                let what = format!("the branch {branch}, which no task owns");
                match branch::task_of(&branch).filter(|task| is_gone(*task)) {
                    Some(task) if self.claim(task).is_some() => keep(what, 0, self.claim(task).unwrap_or_default()),
                    Some(task) => {
                        let kind = removal(task, worktrees.path_for(task, ""), branch);
                        Leftover { what, bytes: 0, keep_reason: None, kind }
                    }
                    None => keep(what, 0, remembered()),
                }
            }
            Stray::Trash(path) => {
                let (what, bytes) = (format!("{}, which was being deleted", path.display()), size_of(&path));
                Leftover { what, bytes, keep_reason: None, kind: Kind::Trash(path) }
            }
            Stray::Aside(path) => {
                let what = format!("{}, which has files that could not be archived", path.display());
                let bytes = size_of(&path);
                keep(what, bytes, delete_hint(&path))
            }
        }
    }

    /// Returns why data named after a task must stay. `None` if the task was one of this project.
    fn claim(&self, task: TaskId) -> Option<String> {
        if self.folder.session(task).exists() { None } else { self.owners.claim(task) }
    }

    /// Deletes one leftover. Returns a note about it, if there is one.
    pub async fn delete(&self, leftover: &Leftover) -> Result<Option<String>, Fault> {
        match (&leftover.kind, &self.worktrees) {
            (Kind::Worktree(removal), Some(worktrees)) => {
                let removed = worktrees.remove(removal).await?;
                // Removal is asynchronous, but a user who runs gc wants the space now.
                worktrees.empty_trash().await?;
                if let Some(aside) = removed.aside {
                    return Ok(Some(format!("some files could not be archived; they are in {}", aside.display())));
                }
                Ok(removed
                    .archive
                    .map(|_| format!("its work is archived: `git log refs/mxd/archive/{}`", removal.task)))
            }
            (Kind::Snapshots(task), Some(worktrees)) => {
                worktrees.prune_snapshots(*task, 0).await?;
                Ok(None)
            }
            (Kind::Undos(names), Some(worktrees)) => {
                worktrees.delete_undo_refs(names).await?;
                Ok(None)
            }
            (Kind::Trash(path), Some(worktrees)) => {
                let remains = worktrees.empty_trash().await?;
                if remains.contains(path) {
                    return Err(Fault::environment(format!("cannot delete {}", path.display())));
                }
                Ok(None)
            }
            (kind, _) => delete_local(kind).await,
        }
    }
}

/// Lists the leftovers in the data folder outside of projects, and demo folders in the system's temporary folder.
pub fn find_in_home(home: &Home) -> Vec<Leftover> {
    let mut found: Vec<Leftover> =
        processes(&home.root().join("running").join("mcp-test"), "of `mxd mcp test`").into_iter().collect();
    found.extend(paths("old logs", old_logs(&home.root().join("logs"))));
    found.extend(paths("folders of demos that were killed", stages::abandoned(&std::env::temp_dir())));
    found
}

/// Deletes one result of [`find_in_home`].
pub async fn delete_in_home(leftover: &Leftover) -> Result<(), Fault> {
    delete_local(&leftover.kind).await.map(|_| ())
}

async fn delete_local(kind: &Kind) -> Result<Option<String>, Fault> {
    let work: Box<dyn FnOnce() -> Result<(), Fault> + Send> = match kind {
        Kind::Processes(records) => {
            let records = records.clone();
            Box::new(move || {
                process::sweep(&records);
                Ok(())
            })
        }
        Kind::Paths(paths) => {
            let paths = paths.clone();
            Box::new(move || paths.iter().try_for_each(|path| delete(path)))
        }
        Kind::Worktree(_) | Kind::Snapshots(_) | Kind::Undos(_) | Kind::Trash(_) | Kind::Keep => return Ok(None),
    };
    tokio::task::spawn_blocking(work).await.map_err(|error| Fault::internal(error.to_string()))??;
    Ok(None)
}

/// Describes conflict drafts that no task needs any more. Drafts that the user has edited stay.
fn leftover_drafts(drafts: TaskDrafts) -> Leftover {
    let what = format!("drafts of conflicts in {}, whose task is closed or gone", drafts.path.display());
    let bytes = size_of(&drafts.path);
    match (drafts.task, drafts.edited.first()) {
        (Some(_), None) => Leftover { what, bytes, keep_reason: None, kind: Kind::Paths(vec![drafts.path]) },
        (_, Some(first)) => {
            let others = drafts.edited.len() - 1;
            let more = if others == 0 { String::new() } else { format!(" and {others} more") };
            let why = format!("you edited {}{more}; {}", first.display(), delete_hint(&drafts.path));
            Leftover { what, bytes, keep_reason: Some(why), kind: Kind::Keep }
        }
        (None, None) => Leftover { what, bytes, keep_reason: Some(delete_hint(&drafts.path)), kind: Kind::Keep },
    }
}

/// Returns the worktrees and branches of the tasks in a tree. Includes branches without a worktree.
fn owned_worktrees(tree: &Tree, worktrees: &Worktrees) -> Vec<OwnedWorktree> {
    let owned = |node: &TaskNode| {
        let path = node.worktree.clone().unwrap_or_else(|| worktrees.path_for(node.id, &node.title));
        Some(OwnedWorktree { path, branch: node.branch.clone()? })
    };
    tree.all().filter_map(owned).collect()
}

/// Returns the task whose worktree a file marks as set up, or `None` if it is no such mark.
fn task_of_mark(path: &Path) -> Option<TaskId> {
    let worktree = path.with_extension("");
    let is_file = path.symlink_metadata().is_ok_and(|found| found.is_file());
    let is_mark = is_file && ready_mark(&worktree) == path && is_ready_mark(path);
    worktree.file_name().filter(|_| is_mark).and_then(|name| branch::task_of(name.to_str()?))
}

fn processes(records: &Path, whose: &str) -> Option<Leftover> {
    let left = process::find_orphans(records);
    let first = left.first()?;
    let count: usize = left.iter().map(|one| one.processes).sum();
    let command = text::headline(&first.command, 60);
    let example = if command.is_empty() { String::new() } else { format!(", such as `{command}`") };
    let what = format!("{} {whose}{example}", text::count(count, "process", "processes"));
    Some(Leftover { what, bytes: 0, keep_reason: None, kind: Kind::Processes(records.to_owned()) })
}

fn paths(what: &str, paths: Vec<PathBuf>) -> Option<Leftover> {
    let bytes = paths.iter().map(|path| size_of(path)).sum();
    let what = format!("{what} ({})", text::count(paths.len(), "file", "files"));
    let has_any = !paths.is_empty();
    has_any.then_some(Leftover { what, bytes, keep_reason: None, kind: Kind::Paths(paths) })
}

fn old_logs(folder: &Path) -> Vec<PathBuf> {
    let old = Duration::from_hours(LOG_DAYS * 24);
    let is_old = |path: &PathBuf| {
        let written = path.symlink_metadata().and_then(|found| found.modified());
        written.is_ok_and(|written| SystemTime::now().duration_since(written).is_ok_and(|age| age > old))
    };
    entries(folder).into_iter().filter(|path| path.extension() == Some("log".as_ref())).filter(is_old).collect()
}

fn partial_files(folder: &Path) -> Vec<PathBuf> {
    entries(folder).into_iter().filter(|path| path.file_name().is_some_and(replace::is_unfinished)).collect()
}

/// Returns all closed tasks except the `keep` most recently closed.
fn closed_beyond(tree: &Tree, keep: u32) -> Vec<TaskId> {
    let mut closed: Vec<&TaskNode> = tree.all().filter(|node| node.status == Status::Closed).collect();
    closed.sort_by_key(|node| std::cmp::Reverse((node.updated_at, node.id)));
    closed.iter().skip(usize::try_from(keep).unwrap_or(usize::MAX)).map(|node| node.id).collect()
}

fn delete_hint(path: &Path) -> String {
    format!("delete it if you do not need it: `rm -rf {}`", quoted(path))
}

/// Returns a path quoted for a shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', "'\\''"))
}

#[cfg(test)]
#[path = "gc_tests.rs"]
mod tests;
