//! What a project no longer needs, found without touching it and freed one by one.
//!
//! Nothing here may hold work that is nowhere else: a worktree goes the same way as any other (its work is archived first,
//! and what cannot be archived is moved aside), what was moved aside stays, and so does whatever belongs to a task that a
//! session remembers. Freeing needs the project's lock, which is the caller's to take.

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
use crate::git::merge::Drafts;
use crate::git::{BranchFate, Known, Removal, Stray, Worktrees, branch};
use crate::model::Project;
use crate::model::task::{Status, TaskNode};
use crate::model::tree::Tree;
use crate::process;
use crate::store::tree_file::{self, TreeFile};
use crate::store::{Disk, RealDisk, Sessions, replace, unused};
use disk_use::{delete, inside, size_of};
use owners::Owners;

/// How long what the program and its tool servers wrote about themselves is kept.
const LOG_DAYS: u64 = 7;

/// How closely it is looked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Without reading any session.
    Glance,
    Thorough,
}

/// Something that is in the way, or only seems to be.
#[derive(Debug)]
pub struct Leftover {
    /// What it is, for a person.
    pub what: String,
    /// How much room it takes.
    pub bytes: u64,
    /// Why it stays, and what the person can do about it. Nothing: it can be freed.
    pub stays: Option<String>,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// Children of a process that is gone, by the folder of their records.
    Processes(PathBuf),
    Paths(Vec<PathBuf>),
    /// A worktree, or only a branch.
    Worktree(Box<Removal>),
    Snapshots(TaskId),
    /// Refs that take back merges which are long past.
    Undos(Vec<String>),
    /// A folder that was on its way out.
    Trash(PathBuf),
    /// Not ours to take away.
    Stays,
}

/// A project in which leftovers are looked for and freed.
pub struct Attic {
    project: Project,
    folder: ProjectFolder,
    /// Nothing: no worktree was ever made, or the repository is gone.
    worktrees: Option<Worktrees>,
    owners: Owners,
}

impl Attic {
    /// Opens a project's attic. Makes nothing.
    pub async fn open(home: &Home, project: &Project) -> Result<Self, Fault> {
        let folder = home.project(project.id);
        let worktrees = if folder.worktrees().is_dir() && project.path.is_dir() {
            Some(Worktrees::open(&project.path, &folder.worktrees(), None).await?)
        } else {
            None
        };
        Ok(Self { project: project.clone(), folder, worktrees, owners: Owners::of(home, project) })
    }

    /// Lists what is left over. `keep`: how many sessions of closed tasks are kept; nothing: all.
    pub async fn find(&self, look: Look, keep: Option<u32>) -> Result<Vec<Leftover>, Fault> {
        let disk: Arc<dyn Disk> = Arc::new(RealDisk);
        let tree = TreeFile::new(Arc::clone(&disk), self.folder.tree()).load()?.map(|loaded| loaded.tree);
        let sessions = Sessions::new(Arc::clone(&disk), self.folder.sessions());
        let remembered = match look {
            Look::Glance => BTreeSet::new(),
            Look::Thorough => tree_file::nodes_in(&sessions)?.nodes.into_keys().collect(),
        };
        let mut found = Vec::new();
        found.extend(processes(&self.folder.root().join("running"), "of an earlier run"));
        self.strays(tree.as_ref(), &remembered, &mut found).await?;
        let spill = self.folder.root().join("spill");
        found.extend(paths("output that an earlier run was writing", inside(&spill)));
        found.extend(paths("old logs of tool servers", old_logs(&self.folder.logs())));
        let folders = [self.folder.root().to_owned(), self.folder.sessions(), self.folder.blobs()];
        found.extend(paths(
            "writes that never finished",
            folders.iter().flat_map(|folder| unfinished(folder)).collect(),
        ));
        let beyond = keep.zip(tree.as_ref()).map(|(keep, tree)| closed_beyond(tree, keep)).unwrap_or_default();
        let beyond: Vec<PathBuf> =
            beyond.into_iter().map(|task| sessions.path(task)).filter(|path| path.exists()).collect();
        if look == Look::Thorough {
            let mut files = inside(&self.folder.sessions());
            files.retain(|path| path.is_file() && !beyond.contains(path));
            files.extend(Some(self.folder.drafts()).filter(|drafts| drafts.is_file()));
            let unused = unused::blobs(disk.as_ref(), &self.folder.blobs(), &files)?;
            let blobs = unused.keys().map(|blob| self.folder.blob(blob)).collect();
            found.extend(paths("outputs and images that no session refers to", blobs));
        }
        found.extend(paths("sessions of closed tasks beyond sessionKeep", beyond));
        Ok(found)
    }

    /// Adds what lies among the worktrees, branches and snapshots and belongs to no task.
    async fn strays(
        &self,
        tree: Option<&Tree>,
        remembered: &BTreeSet<TaskId>,
        found: &mut Vec<Leftover>,
    ) -> Result<(), Fault> {
        let (Some(worktrees), Some(tree)) = (&self.worktrees, tree) else { return Ok(()) };
        let is_gone = |task: TaskId| tree.get(task).is_none() && !remembered.contains(&task);
        for stray in worktrees.stray(&known(tree, worktrees)).await? {
            // A file that only says that a worktree was set up goes with its task.
            if let Stray::Folder(path) = &stray
                && let Some(task) = marked(path)
            {
                let mark = paths("the mark of a worktree that is gone", vec![path.clone()]);
                found.extend(mark.filter(|_| is_gone(task)));
                continue;
            }
            found.push(self.stray(stray, worktrees, &is_gone));
        }
        for drafts in worktrees.drafts().await? {
            let is_closed = |task| tree.get(task).is_some_and(|node| node.status == Status::Closed);
            let unneeded = drafts.task.is_none_or(|task| is_gone(task) || is_closed(task));
            found.extend(unneeded.then(|| drafted(drafts)));
        }
        let undos = worktrees.old_undos().await?;
        if !undos.is_empty() {
            let what =
                format!("{} of merges of more than 30 days ago", text::count(undos.len(), "undo point", "undo points"));
            found.push(Leftover { what, bytes: 0, stays: None, kind: Kind::Undos(undos) });
        }
        for (task, count) in worktrees.snapshots_by_task().await? {
            // As long as there is a session, the task can be brought back and rewound.
            if is_gone(task) && !self.folder.session(task).exists() {
                let what = format!("{} of task {task}, which is gone", text::count(count, "snapshot", "snapshots"));
                let stays = self.claim(task);
                let kind = if stays.is_some() { Kind::Stays } else { Kind::Snapshots(task) };
                found.push(Leftover { what, bytes: 0, stays, kind });
            }
        }
        Ok(())
    }

    fn stray(&self, stray: Stray, worktrees: &Worktrees, is_gone: &dyn Fn(TaskId) -> bool) -> Leftover {
        let removal = |task: TaskId, path: PathBuf, branch: String| {
            let bases = vec![self.project.base_branch.clone()];
            Kind::Worktree(Box::new(Removal { task, path, branch, fate: BranchFate::Delete, bases }))
        };
        let stays =
            |what: String, bytes: u64, why: String| Leftover { what, bytes, stays: Some(why), kind: Kind::Stays };
        let remembered =
            || "a session remembers its task: `mxd check --repair` brings it back into the tree".to_owned();
        match stray {
            Stray::Worktree { path, branch } => {
                let what = format!("the worktree {}, which no task owns", path.display());
                let bytes = size_of(&path);
                match branch.and_then(|branch| Some((branch::task_of(&branch)?, branch))) {
                    Some((task, branch)) if is_gone(task) => {
                        Leftover { what, bytes, stays: None, kind: removal(task, path, branch) }
                    }
                    Some(_) => stays(what, bytes, remembered()),
                    None => {
                        let why = format!(
                            "it is on no branch of a task; look at it, then `git worktree remove -f -f {}`",
                            quoted(&path)
                        );
                        stays(what, bytes, why)
                    }
                }
            }
            Stray::Folder(path) if inside(&path).is_empty() && path.is_dir() => {
                let what = format!("the empty folder {}", path.display());
                Leftover { what, bytes: 0, stays: None, kind: Kind::Paths(vec![path]) }
            }
            Stray::Folder(path) => {
                let (what, bytes) = (format!("{}, which the repository does not know", path.display()), size_of(&path));
                stays(what, bytes, by_hand(&path))
            }
            Stray::Branch(branch) => {
                let what = format!("the branch {branch}, which no task owns");
                match branch::task_of(&branch).filter(|task| is_gone(*task)) {
                    Some(task) if self.claim(task).is_some() => stays(what, 0, self.claim(task).unwrap_or_default()),
                    Some(task) => {
                        let kind = removal(task, worktrees.path_for(task, ""), branch);
                        Leftover { what, bytes: 0, stays: None, kind }
                    }
                    None => stays(what, 0, remembered()),
                }
            }
            Stray::Trash(path) => {
                let (what, bytes) = (format!("{}, which was being deleted", path.display()), size_of(&path));
                Leftover { what, bytes, stays: None, kind: Kind::Trash(path) }
            }
            Stray::Aside(path) => {
                let what = format!("{}, which holds what could not be archived", path.display());
                let bytes = size_of(&path);
                stays(what, bytes, by_hand(&path))
            }
        }
    }

    /// Returns why what is named after a task has to stay, unless it was a task of this project.
    fn claim(&self, task: TaskId) -> Option<String> {
        if self.folder.session(task).exists() { None } else { self.owners.claim(task) }
    }

    /// Frees one. Returns what else there is to say about it.
    pub async fn free(&self, leftover: &Leftover) -> Result<Option<String>, Fault> {
        match (&leftover.kind, &self.worktrees) {
            (Kind::Worktree(removal), Some(worktrees)) => {
                let removed = worktrees.remove(removal).await?;
                // It goes in the background; who asked for room wants it now.
                worktrees.empty_trash().await?;
                if let Some(aside) = removed.aside {
                    return Ok(Some(format!("not all of it could be archived: it is kept in {}", aside.display())));
                }
                Ok(removed.archive.map(|_| format!("its work is kept: `git log refs/mxd/archive/{}`", removal.task)))
            }
            (Kind::Snapshots(task), Some(worktrees)) => {
                worktrees.prune_snapshots(*task, 0).await?;
                Ok(None)
            }
            (Kind::Undos(names), Some(worktrees)) => {
                worktrees.forget_undos(names).await?;
                Ok(None)
            }
            (Kind::Trash(path), Some(worktrees)) => {
                let remains = worktrees.empty_trash().await?;
                if remains.contains(path) {
                    return Err(Fault::environment(format!("cannot delete {}", path.display())));
                }
                Ok(None)
            }
            (kind, _) => free_here(kind).await,
        }
    }
}

/// Lists what is left over in the data folder beside the projects, and of demos in the system's temporary folder.
pub fn find_in_home(home: &Home) -> Vec<Leftover> {
    let mut found: Vec<Leftover> =
        processes(&home.root().join("running").join("mcp-test"), "of `mxd mcp test`").into_iter().collect();
    found.extend(paths("old logs", old_logs(&home.root().join("logs"))));
    found.extend(paths("folders of demos that were killed", stages::abandoned(&std::env::temp_dir())));
    found
}

/// Frees one of [`find_in_home`].
pub async fn free_in_home(leftover: &Leftover) -> Result<(), Fault> {
    free_here(&leftover.kind).await.map(|_| ())
}

async fn free_here(kind: &Kind) -> Result<Option<String>, Fault> {
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
        Kind::Worktree(_) | Kind::Snapshots(_) | Kind::Undos(_) | Kind::Trash(_) | Kind::Stays => return Ok(None),
    };
    tokio::task::spawn_blocking(work).await.map_err(|error| Fault::internal(error.to_string()))??;
    Ok(None)
}

/// Returns drafts of solved conflicts that no task needs any more. What the person wrote in them is nowhere else.
fn drafted(drafts: Drafts) -> Leftover {
    let what = format!("drafts of conflicts in {}, whose task is closed or gone", drafts.path.display());
    let bytes = size_of(&drafts.path);
    match (drafts.task, drafts.edited.first()) {
        (Some(_), None) => Leftover { what, bytes, stays: None, kind: Kind::Paths(vec![drafts.path]) },
        (_, Some(first)) => {
            let others = drafts.edited.len() - 1;
            let more = if others == 0 { String::new() } else { format!(" and {others} more") };
            let why = format!("you have worked on {}{more}; {}", first.display(), by_hand(&drafts.path));
            Leftover { what, bytes, stays: Some(why), kind: Kind::Stays }
        }
        (None, None) => Leftover { what, bytes, stays: Some(by_hand(&drafts.path)), kind: Kind::Stays },
    }
}

/// Returns what the tasks of a tree own. A branch without a worktree is owned, too.
fn known(tree: &Tree, worktrees: &Worktrees) -> Vec<Known> {
    let owned = |node: &TaskNode| {
        let path = node.worktree.clone().unwrap_or_else(|| worktrees.path_for(node.id, &node.title));
        Some(Known { path, branch: node.branch.clone()? })
    };
    tree.all().filter_map(owned).collect()
}

/// Returns the task whose worktree a file marks as set up. Nothing: it is no such mark.
fn marked(path: &Path) -> Option<TaskId> {
    let worktree = path.with_extension("");
    let is_file = path.symlink_metadata().is_ok_and(|found| found.is_file());
    let is_mark = is_file && ready_mark(&worktree) == path && is_ready_mark(path);
    worktree.file_name().filter(|_| is_mark).and_then(|name| branch::task_of(name.to_str()?))
}

fn processes(records: &Path, whose: &str) -> Option<Leftover> {
    let left = process::left(records);
    let first = left.first()?;
    let count: usize = left.iter().map(|one| one.processes).sum();
    let command = text::headline(&first.command, 60);
    let example = if command.is_empty() { String::new() } else { format!(", such as `{command}`") };
    let what = format!("{} {whose}{example}", text::count(count, "process", "processes"));
    Some(Leftover { what, bytes: 0, stays: None, kind: Kind::Processes(records.to_owned()) })
}

fn paths(what: &str, paths: Vec<PathBuf>) -> Option<Leftover> {
    let bytes = paths.iter().map(|path| size_of(path)).sum();
    let what = format!("{what} ({})", text::count(paths.len(), "file", "files"));
    let is_any = !paths.is_empty();
    is_any.then_some(Leftover { what, bytes, stays: None, kind: Kind::Paths(paths) })
}

fn old_logs(folder: &Path) -> Vec<PathBuf> {
    let old = Duration::from_hours(LOG_DAYS * 24);
    let is_old = |path: &PathBuf| {
        let written = path.symlink_metadata().and_then(|found| found.modified());
        written.is_ok_and(|written| SystemTime::now().duration_since(written).is_ok_and(|age| age > old))
    };
    inside(folder).into_iter().filter(|path| path.extension() == Some("log".as_ref())).filter(is_old).collect()
}

fn unfinished(folder: &Path) -> Vec<PathBuf> {
    inside(folder).into_iter().filter(|path| path.file_name().is_some_and(replace::is_unfinished)).collect()
}

/// Returns the closed tasks beyond the `keep` that were closed last.
fn closed_beyond(tree: &Tree, keep: u32) -> Vec<TaskId> {
    let mut closed: Vec<&TaskNode> = tree.all().filter(|node| node.status == Status::Closed).collect();
    closed.sort_by_key(|node| std::cmp::Reverse((node.updated_at, node.id)));
    closed.iter().skip(usize::try_from(keep).unwrap_or(usize::MAX)).map(|node| node.id).collect()
}

fn by_hand(path: &Path) -> String {
    format!("only you can say whether it is needed; if not: `rm -rf {}`", quoted(path))
}

/// Returns a path as it can be pasted into a shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', "'\\''"))
}

#[cfg(test)]
#[path = "leftovers_tests.rs"]
mod tests;
