//! Creates and repairs a worktree: inspect, decide (see `worktree_diagnosis`), act, inspect again.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::Mode;

use super::{BranchStart, WorktreeSpec, WorktreeState, Worktrees};
use crate::base::TaskId;
use crate::git::anchor;
use crate::git::dir::Dir;
use crate::git::entry::{self, BEING_MADE, Head, WorktreeEntry};
use crate::git::error::{Error, blocking};
use crate::git::refs;
use crate::git::status;
use crate::git::worktree_diagnosis::{
    CheckoutOrigin, EntryState, Folder, RecreateReason, RepairStep, WorktreeDiagnosis,
};
use crate::git::worktree_files::remove_if_there;

/// The most repairs in a row before giving up.
const MAX_REPAIRS: usize = 5;

impl Worktrees {
    /// Creates a worktree on its branch, and the branch if there is none. Finishes an interrupted creation, repairs
    /// what is missing, and reports what was done. Does nothing if the worktree is in order. Reports a worktree on
    /// another branch and leaves it alone. Call it while nothing of the task runs.
    pub async fn create(&self, spec: &WorktreeSpec, start: &BranchStart) -> Result<WorktreeState, Error> {
        let _lock = self.lock_worktree(&spec.path).await;
        let start = self.resolve(start).await?;
        self.ensure(spec, Some(&start)).await
    }

    /// Resolves the start of a branch to a commit.
    pub async fn resolve(&self, start: &BranchStart) -> Result<String, Error> {
        let (main, start) = (self.main.clone(), start.clone());
        blocking(move || {
            let repository = main.open()?;
            let id = match &start {
                BranchStart::Branch(branch) => {
                    refs::branch_tip(&repository, branch)?.ok_or_else(|| Error::NoBranch(branch.clone()))?
                }
                BranchStart::Commit(commit) => {
                    let missing = |_| Error::NoCommit(commit.clone());
                    repository.revparse_single(commit).and_then(|found| found.peel_to_commit()).map_err(missing)?.id()
                }
            };
            Ok(id.to_string())
        })
        .await
    }

    pub(super) async fn ensure(&self, spec: &WorktreeSpec, start: Option<&str>) -> Result<WorktreeState, Error> {
        let mut done: Option<WorktreeState> = None;
        let mut record = |state: WorktreeState| {
            // The first reason explains the later ones.
            if done.is_none() {
                done = Some(state);
            }
        };
        for _ in 0..MAX_REPAIRS {
            let diagnosis = self.diagnose(spec).await?;
            let step = diagnosis.next_step(&spec.branch);
            tracing::debug!(task = %spec.task, ?diagnosis, ?step, "worktree");
            match step {
                RepairStep::Done => {
                    let checkout = self.checkout(&spec.path).await?;
                    self.repair_checkout(&checkout, &spec.branch).await?;
                    if self.recreate_branch(spec).await? {
                        record(recreated(RecreateReason::BranchLost, None));
                    }
                    return Ok(done.unwrap_or(WorktreeState::Present));
                }
                RepairStep::OtherHead(head) => return self.state_of_head(spec, head).await,
                RepairStep::Finish => {
                    self.fill(spec).await?;
                    record(WorktreeState::Created);
                }
                RepairStep::Add(reason) => {
                    record(reason.map_or(WorktreeState::Created, |reason| recreated(reason, None)));
                    self.add(spec, start).await?;
                    self.fill(spec).await?;
                }
                RepairStep::Renew(reason) => {
                    record(reason.map_or(WorktreeState::Created, |reason| recreated(reason, None)));
                    self.remove_entry(&spec.path).await?;
                }
                RepairStep::Refill(reason) => {
                    if !self.refill(spec).await? {
                        return Ok(done.unwrap_or(WorktreeState::Present));
                    }
                    record(recreated(reason, None));
                }
                RepairStep::Relink(reason) => {
                    self.relink(&spec.path).await?;
                    record(recreated(reason, None));
                }
                RepairStep::SetAside(reason) => {
                    let aside = self.set_aside(&spec.path).await?;
                    record(recreated(reason, Some(aside)));
                }
                RepairStep::MoveBack(from) => {
                    self.move_back(&from, &spec.path).await?;
                    record(recreated(RecreateReason::Moved(from), None));
                }
                RepairStep::Busy(path) => return Err(Error::BranchBusy { branch: spec.branch.clone(), path }),
                RepairStep::InTheWay => {
                    anchor::refuse_link(&spec.path)?;
                    return Err(Error::InTheWay(spec.path.clone()));
                }
            }
        }
        Err(Error::Refused(format!(
            "the worktree {} keeps changing; is another program modifying it?",
            spec.path.display()
        )))
    }

    async fn diagnose(&self, spec: &WorktreeSpec) -> Result<WorktreeDiagnosis, Error> {
        let (main, spec) = (self.main.clone(), spec.clone());
        blocking(move || {
            let path = entry::plain(&spec.path);
            let mut entries = entry::all(&main.common)?;
            // Left by a kill before the path was recorded. Only the creation of this worktree uses the name.
            for half in entries.extract_if(.., |entry| entry.path.is_none() && entry.is_named_after(&path)) {
                fs::remove_dir_all(&half.git_dir).map_err(Error::disk("remove the half-made entry", &half.git_dir))?;
            }
            let entry = entries.iter().find(|entry| entry.path.as_ref() == Some(&path));
            let elsewhere = elsewhere(&entries, &path, &spec.branch).or_else(|| {
                has_branch(&entry::head(&main.git_dir), &spec.branch).then_some((main.path, CheckoutOrigin::Theirs))
            });
            let folder = folder(&path, entry, &main.common)?;
            let entry = entry.map(|entry| EntryState { head: entry.head.clone(), being_made: entry.is_being_made() });
            Ok(WorktreeDiagnosis { folder, entry, elsewhere })
        })
        .await
    }

    /// Adds the worktree's entry and its branch. Writes no file but its `.git`.
    async fn add(&self, spec: &WorktreeSpec, start: Option<&str>) -> Result<(), Error> {
        let _entries = self.entries.lock().await;
        let (main, branch, start) = (self.main.clone(), spec.branch.clone(), start.map(str::to_owned));
        blocking(move || {
            let repository = main.open()?;
            if refs::branch_tip(&repository, &branch)?.is_some() {
                return Ok(());
            }
            let start = start.ok_or_else(|| Error::NoBranch(branch.clone()))?;
            refs::make_branch(&repository, &branch, &start)
        })
        .await?;
        let arguments = ["worktree", "add", "--quiet", "--no-checkout", "--lock", "--reason", BEING_MADE, "--"];
        let call = self.main.git(arguments).argument(&spec.path).argument(&spec.branch);
        call.run_with_retries().await.map(drop)
    }

    /// Writes the worktree's files and marks it as complete. Without the mark, the next call does it again.
    async fn fill(&self, spec: &WorktreeSpec) -> Result<(), Error> {
        let found = self.entry_of(&spec.path).await?.ok_or_else(|| Error::InTheWay(spec.path.clone()))?;
        let checkout = found.checkout(&spec.path, &self.main.common);
        // No work happened here yet, so a lock is left from an interrupted fill.
        remove_if_there(&found.git_dir.join("index.lock"))?;
        let reset = checkout.git(["reset", "--hard", "--quiet", "--no-recurse-submodules"]);
        reset.long(self.records.as_deref()).fetching().run().await?;
        mark_complete(&found.git_dir, spec.task)
    }

    /// Writes the files of the index. Returns true if there are any.
    async fn refill(&self, spec: &WorktreeSpec) -> Result<bool, Error> {
        let checkout = self.checkout(&spec.path).await?;
        let call = if checkout.git_dir.join("index").exists() {
            checkout.git(["checkout-index", "--all", "--quiet"])
        } else {
            checkout.git(["reset", "--hard", "--quiet", "--no-recurse-submodules"])
        };
        call.long(self.records.as_deref()).fetching().run().await?;
        Ok(fs::read_dir(&spec.path).map_err(Error::disk("list", &spec.path))?.count() > 1)
    }

    /// Removes a worktree's entry, whose folder is gone or contains only its `.git` file.
    pub(super) async fn remove_entry(&self, path: &Path) -> Result<(), Error> {
        let _entries = self.entries.lock().await;
        let (path, found) = (path.to_owned(), self.entry_of(path).await?);
        blocking(move || {
            match Dir::open(&path) {
                Ok(folder) => {
                    folder.remove_file(OsStr::new(".git")).map_err(Error::disk("remove", path.join(".git")))?;
                    fs::remove_dir(&path).map_err(Error::disk("remove", &path))?;
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    anchor::refuse_link(&path)?;
                    return Err(Error::disk("remove", &path)(error));
                }
            }
            // What `git worktree remove` does, which would also delete whatever is at the path by now.
            if let Some(entry) = found {
                fs::remove_dir_all(&entry.git_dir).map_err(Error::disk("remove", &entry.git_dir))?;
                let _ = entry.git_dir.parent().map(fs::remove_dir);
            }
            Ok(())
        })
        .await
    }

    pub(super) async fn relink(&self, path: &Path) -> Result<(), Error> {
        let found = self.entry_of(path).await?.ok_or_else(|| Error::InTheWay(path.to_owned()))?;
        anchor::refuse_link(path)?;
        let mut text = b"gitdir: ".to_vec();
        text.extend_from_slice(found.git_dir.as_os_str().as_bytes());
        text.push(b'\n');
        let (name, path) = (OsStr::new(".git"), path.to_owned());
        blocking(move || {
            let failed = || Error::disk("write", path.join(name));
            let folder = Dir::open(&path).map_err(failed())?;
            folder.remove_file(name).map_err(failed())?;
            let mut link = folder.create(name, Mode::from_raw_mode(0o666)).map_err(failed())?;
            link.write_all(&text).map_err(failed())
        })
        .await
    }

    async fn move_back(&self, from: &Path, path: &Path) -> Result<(), Error> {
        let _entries = self.entries.lock().await;
        // Git would move it into an existing folder.
        let _ = fs::remove_dir(path);
        let call = self.main.git(["worktree", "move", "--force", "--force", "--"]).argument(from).argument(path);
        call.run_with_retries().await.map(drop)
    }

    async fn state_of_head(&self, spec: &WorktreeSpec, head: Head) -> Result<WorktreeState, Error> {
        let checkout = self.checkout(&spec.path).await?;
        Ok(match head {
            Head::Branch(branch) => WorktreeState::OtherBranch(branch),
            Head::Detached(_) | Head::Unreadable => {
                WorktreeState::Detached { operation: status::operation(&checkout.git_dir) }
            }
        })
    }

    /// Recreates the missing branch of an existing worktree, at the worktree's last commit. Returns true if it did.
    async fn recreate_branch(&self, spec: &WorktreeSpec) -> Result<bool, Error> {
        let checkout = self.checkout(&spec.path).await?;
        let (branch, task) = (spec.branch.clone(), spec.task);
        blocking(move || {
            let repository = checkout.open()?;
            if refs::branch_tip(&repository, &branch)?.is_some() {
                return Ok(false);
            }
            let last = refs::last_of_reflog(&checkout.git_dir.join("logs/HEAD"), &repository);
            let last = last
                .or_else(|| refs::archived_head(&repository, task))
                .ok_or_else(|| Error::NoBranch(branch.clone()))?;
            refs::make_branch(&repository, &branch, &last.to_string())?;
            Ok(true)
        })
        .await
    }
}

fn recreated(reason: RecreateReason, aside: Option<PathBuf>) -> WorktreeState {
    WorktreeState::Recreated { why: reason, aside }
}

fn has_branch(head: &Head, branch: &str) -> bool {
    matches!(head, Head::Branch(name) if name == branch)
}

/// Finds another checkout with the branch.
fn elsewhere(entries: &[WorktreeEntry], path: &Path, branch: &str) -> Option<(PathBuf, CheckoutOrigin)> {
    entries.iter().filter(|entry| has_branch(&entry.head, branch)).find_map(|entry| {
        let other = entry.path.as_ref().filter(|other| *other != path)?;
        let ours = entry.is_named_after(path) && other.is_dir();
        Some((other.clone(), if ours { CheckoutOrigin::Ours } else { CheckoutOrigin::Theirs }))
    })
}

fn folder(path: &Path, entry: Option<&WorktreeEntry>, common: &Path) -> Result<Folder, Error> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Folder::Missing),
        Err(error) => return Err(Error::disk("look at", path)(error)),
        Ok(found) if !found.is_dir() => return Ok(Folder::Foreign),
        Ok(_) => {}
    }
    let mut names =
        fs::read_dir(path).map_err(Error::disk("list", path))?.take(2).flatten().map(|entry| entry.file_name());
    let (first, second) = (names.next(), names.next());
    let Some(first) = first else { return Ok(Folder::Empty) };
    if path.join(".git").is_dir() {
        return Ok(Folder::Foreign);
    }
    let link = entry::link_of(path);
    let linked = entry.is_some_and(|entry| link.as_ref() == Some(&entry.git_dir));
    let only_link = first == ".git" && second.is_none();
    Ok(match link {
        _ if linked && only_link => Folder::Bare,
        _ if linked => Folder::Linked,
        Some(link) if link.starts_with(common.join("worktrees")) && !link.exists() => Folder::Dangling,
        Some(_) | None => Folder::Unlinked,
    })
}

/// Replaces the lock of an incomplete worktree by one that protects it from pruning.
fn mark_complete(git_dir: &Path, task: TaskId) -> Result<(), Error> {
    let (draft, lock) = (git_dir.join("locked.mxd"), git_dir.join("locked"));
    fs::write(&draft, format!("mxd: the worktree of task {task}\n")).map_err(Error::disk("write", &draft))?;
    fs::rename(&draft, &lock).map_err(Error::disk("write", lock))
}
