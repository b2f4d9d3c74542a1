//! Executes and undoes merges.

use std::fmt::Write as _;
use std::path::PathBuf;

use git2::{Oid, Repository, Signature};

use super::apply::{Computed, compute};
use super::recover;
use super::{CheckoutFate, MergeOutcome, MergeRequest, TargetMergeOutcome, tip};
use crate::base::{TaskId, text};
use crate::git::crash_points::crash_point;
use crate::git::entry::{self, Head, WorktreeEntry};
use crate::git::error::{Error, blocking};
use crate::git::program::{Checkout, MXD_IDENTITY};
use crate::git::refs;
use crate::git::status::{self, Dirty};
use crate::git::worktree::Worktrees;

pub(super) const PENDING: &str = "refs/mxd/pending/";
pub(super) const UNDO: &str = "refs/mxd/undo/";
const TARGET: &str = "Target: ";

/// The record of a merge: the target and its commits before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MergeNote {
    pub(super) commit: Oid,
    pub(super) target: String,
    pub(super) from: Oid,
    pub(super) to: Oid,
}

/// Returns the git command that reverts a merge with later commits on top.
fn revert_command(repository: &Repository, note: &MergeNote) -> String {
    let short = |id: Oid| text::prefix(&id.to_string(), 12).to_owned();
    let parents = repository.find_commit(note.to).map_or(1, |commit| commit.parent_count());
    if parents > 1 {
        format!("git revert --no-edit -m 1 {}", short(note.to))
    } else {
        format!("git revert --no-edit {}..{}", short(note.from), short(note.to))
    }
}

/// The checkouts that a merge involves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeSides {
    /// The checkout of the branch.
    pub own: Option<Side>,
    /// The checkout of the target. Untracked files do not count there.
    pub target: Option<Side>,
}

/// A checkout and its uncommitted changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    pub path: std::path::PathBuf,
    dirty: Dirty,
}

impl Side {
    /// Returns why this checkout blocks the merge, or `None` if it does not.
    pub fn refusal(&self) -> Option<String> {
        self.dirty.refusal(&self.path).map(|refusal| refusal.to_string())
    }

    pub fn files(&self) -> usize {
        self.dirty.count()
    }
}

impl Worktrees {
    /// Merges a branch into another. Refuses if the branch's own worktree has uncommitted changes, or the checkout of
    /// the target has changed files: they would be left out or overwritten.
    pub async fn merge(&self, request: &MergeRequest) -> Result<MergeOutcome, Error> {
        let _lock = self.lock_merges().await;
        self.refuse_uncommitted(&request.branch).await?;
        self.run_merge(request, None, UndoRecord::Write).await
    }

    /// Merges the target into a task's own branch, with the conflicts as the user resolved them. Refuses if a conflict
    /// is unresolved, or if the worktree has uncommitted changes.
    pub async fn merge_target(&self, task: TaskId, branch: &str, target: &str) -> Result<TargetMergeOutcome, Error> {
        let _lock = self.lock_merges().await;
        self.refuse_uncommitted(branch).await?;
        let files: Vec<PathBuf> =
            self.preview(branch, target).await?.conflicts.into_iter().map(|conflict| conflict.path).collect();
        let mut message = format!("Merge {target} into {branch}\n\nConflicts resolved by hand:\n");
        for file in &files {
            let _ = writeln!(message, "- {}", file.display().to_string().replace('\n', " "));
        }
        let request = MergeRequest {
            task,
            branch: target.to_owned(),
            target: branch.to_owned(),
            strategy: super::MergeStrategy::Merge,
            message,
            expected: None,
        };
        let folder = self.drafts_folder(task);
        match self.run_merge(&request, Some(folder), UndoRecord::Skip).await? {
            MergeOutcome::Done { .. } => {}
            MergeOutcome::Nothing => return Ok(TargetMergeOutcome::Nothing),
            MergeOutcome::Conflicts(_) => return Err(Error::Refused("not every conflict is resolved".to_owned())),
        }
        if let Err(error) = self.remove_drafts(task).await {
            tracing::warn!(%error, "cannot remove the drafts of resolved conflicts");
        }
        Ok(TargetMergeOutcome::Done { files })
    }

    async fn refuse_uncommitted(&self, branch: &str) -> Result<(), Error> {
        let Some(own) = self.checkout_of(branch).await? else { return Ok(()) };
        status::dirty(&own, 1).await?.refusal(&own.path).map_or(Ok(()), Err)
    }

    /// The common part of both merges. The caller holds the merge lock.
    async fn run_merge(
        &self,
        request: &MergeRequest,
        resolved: Option<PathBuf>,
        undo_record: UndoRecord,
    ) -> Result<MergeOutcome, Error> {
        let target = self.checkout_of(&request.target).await?;
        if let Some(target) = &target {
            refuse_changed(target).await?;
        }
        let (main, wanted) = (self.main().clone(), request.clone());
        let computed = blocking(move || {
            let repository = main.open()?;
            let (theirs, ours) = (tip(&repository, &wanted.branch)?, tip(&repository, &wanted.target)?);
            if wanted.expected.as_ref().is_some_and(|expected| *expected != theirs.to_string()) {
                return Err(Error::Moved { branch: wanted.branch });
            }
            Ok((compute(&repository, &wanted, ours, theirs, resolved.as_deref())?, ours))
        })
        .await?;
        let (from, to) = match computed {
            (Computed::Nothing, _) => return Ok(MergeOutcome::Nothing),
            (Computed::Conflicts(conflicts), _) => return Ok(MergeOutcome::Conflicts(conflicts)),
            (Computed::Tip(to), from) => (from, to),
        };
        crash_point("commits written");
        if let Some(target) = &target {
            // Untracked files may block new ones: check before anything moves.
            update_checkout(target, from, to, DryRun::Yes).await?;
        }
        let (main, wanted) = (self.main().clone(), request.clone());
        let undo = blocking(move || {
            let repository = main.open()?;
            let note = write_note(&repository, wanted.task, &wanted.target, from, to)?;
            let pending = format!("{PENDING}{}", wanted.task);
            refs::swap(&repository, &pending, refs::target(&repository, &pending)?, note, "mxd: landing")?;
            let undo = match undo_record {
                UndoRecord::Write => {
                    let undo = next_undo(&repository, wanted.task)?;
                    refs::swap(&repository, &undo, None, note, "mxd: landing")?;
                    undo
                }
                UndoRecord::Skip => String::new(),
            };
            let log = format!("mxd: {} brought in", wanted.branch);
            if let Err(error) =
                refs::swap(&repository, &format!("{}{}", refs::HEADS, wanted.target), Some(from), to, &log)
            {
                delete_refs(&repository, &[&pending, &undo]);
                return Err(error);
            }
            Ok(undo)
        })
        .await?;
        let checkout = match &target {
            Some(checkout) => {
                if let Err(error) = update_checkout(checkout, from, to, DryRun::No).await
                    && !retry_update(checkout, &request.target, (from, to), &error).await?
                {
                    self.return_target(request.task, &request.target, (from, to), Some(undo)).await?;
                    return Err(error);
                }
                CheckoutFate::Updated(checkout.path.clone())
            }
            None => CheckoutFate::OnlyRef,
        };
        self.clear_pending(request.task).await?;
        Ok(MergeOutcome::Done { from: from.to_string(), to: to.to_string(), checkout, undo })
    }

    /// Moves the target back if its checkout could not be updated.
    async fn return_target(
        &self,
        task: TaskId,
        target: &str,
        (from, to): (Oid, Oid),
        undo: Option<String>,
    ) -> Result<(), Error> {
        let (main, name) = (self.main().clone(), format!("{}{target}", refs::HEADS));
        blocking(move || {
            let repository = main.open()?;
            refs::swap(&repository, &name, Some(to), from, "mxd: its checkout could not be updated")?;
            delete_refs(&repository, &[&format!("{PENDING}{task}"), undo.as_deref().unwrap_or_default()]);
            Ok(())
        })
        .await
    }

    /// Returns the checkouts of a branch and its target, with their uncommitted changes.
    pub async fn sides(&self, branch: &str, target: &str) -> Result<MergeSides, Error> {
        let side = async |branch: &str, untracked: bool| -> Result<Option<Side>, Error> {
            let Some(checkout) = self.checkout_of(branch).await? else { return Ok(None) };
            let mut dirty = status::dirty(&checkout, usize::MAX).await?;
            if !untracked {
                without_untracked(&mut dirty);
            }
            Ok(Some(Side { path: checkout.path, dirty }))
        };
        Ok(MergeSides { own: side(branch, true).await?, target: side(target, false).await? })
    }

    /// Undoes a merge: moves the target back, if it has no later commits. `undo` comes from [`MergeOutcome::Done`].
    pub async fn undo_merge(&self, task: TaskId, undo: &str) -> Result<CheckoutFate, Error> {
        let _lock = self.lock_merges().await;
        let (main, name) = (self.main().clone(), undo.to_owned());
        let note = blocking(move || {
            let repository = main.open()?;
            let found = refs::target(&repository, &name)?.ok_or_else(|| Error::NoCommit(name.clone()))?;
            let note = read_note(&repository, found)?;
            if tip(&repository, &note.target)? != note.to {
                return Err(Error::Refused(format!(
                    "\"{}\" has later commits; revert the merge with `{}`",
                    note.target,
                    revert_command(&repository, &note)
                )));
            }
            Ok(note)
        })
        .await?;
        let checkout = self.checkout_of(&note.target).await?;
        if let Some(checkout) = &checkout {
            refuse_changed(checkout).await?;
            update_checkout(checkout, note.to, note.from, DryRun::Yes).await?;
        }
        let (main, back) = (self.main().clone(), note.clone());
        blocking(move || {
            let repository = main.open()?;
            let target = format!("{}{}", refs::HEADS, back.target);
            // The same record with both commits swapped: after a crash it is finished like any merge.
            let pending = format!("{PENDING}{task}");
            let reverse = write_note(&repository, task, &back.target, back.to, back.from)?;
            refs::swap(&repository, &pending, refs::target(&repository, &pending)?, reverse, "mxd: undo")?;
            if let Err(error) = refs::swap(&repository, &target, Some(back.to), back.from, "mxd: landing taken back") {
                delete_refs(&repository, &[&pending]);
                return Err(error);
            }
            Ok(())
        })
        .await?;
        let fate = match &checkout {
            Some(checkout) => {
                if let Err(error) = update_checkout(checkout, note.to, note.from, DryRun::No).await
                    && !retry_update(checkout, &note.target, (note.to, note.from), &error).await?
                {
                    self.return_target(task, &note.target, (note.to, note.from), None).await?;
                    return Err(error);
                }
                CheckoutFate::Updated(checkout.path.clone())
            }
            None => CheckoutFate::OnlyRef,
        };
        let (main, name) = (self.main().clone(), undo.to_owned());
        blocking(move || {
            // The undo record first: after a crash in between, the pending record completes it.
            delete_refs(&main.open()?, &[&name, &format!("{PENDING}{task}")]);
            Ok(())
        })
        .await?;
        Ok(fate)
    }

    /// Removes the pending record of a completed merge.
    pub(super) async fn clear_pending(&self, task: TaskId) -> Result<(), Error> {
        let main = self.main().clone();
        blocking(move || {
            delete_refs(&main.open()?, &[&format!("{PENDING}{task}")]);
            Ok(())
        })
        .await
    }

    /// Returns the checkout of a branch, if it is checked out.
    pub(super) async fn checkout_of(&self, branch: &str) -> Result<Option<Checkout>, Error> {
        let (main, branch) = (self.main().clone(), Head::Branch(branch.to_owned()));
        blocking(move || {
            if entry::head(&main.git_dir) == branch {
                return Ok(Some(main));
            }
            let has_it = |entry: &WorktreeEntry| {
                let path = entry.path.clone().filter(|path| entry.head == branch && path.is_dir())?;
                Some(entry.checkout(&path, &main.common))
            };
            Ok(entry::all(&main.common)?.iter().find_map(has_it))
        })
        .await
    }
}

/// Refuses a checkout with changed tracked files. Untracked files are allowed and stay.
async fn refuse_changed(checkout: &Checkout) -> Result<(), Error> {
    let mut dirty = status::dirty(checkout, usize::MAX).await?;
    without_untracked(&mut dirty);
    dirty.refusal(&checkout.path).map_or(Ok(()), Err)
}

fn without_untracked(dirty: &mut Dirty) {
    dirty.changes.retain(|change| change.kind != status::ChangeKind::Untracked);
    dirty.untracked = 0;
}

/// Whether an undo record is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum UndoRecord {
    Write,
    Skip,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum DryRun {
    /// Only check whether it would work.
    Yes,
    No,
}

/// Updates a checkout from `from` to `to`. Refuses to overwrite anything that differs from `from`.
pub(super) async fn update_checkout(checkout: &Checkout, from: Oid, to: Oid, dry_run: DryRun) -> Result<(), Error> {
    let mut call = checkout.git(["read-tree", "-m", "-u"]).long(None).fetching();
    if dry_run == DryRun::Yes {
        call = call.argument("--dry-run");
    }
    // File times may have changed without their content; git must refresh the index to notice.
    checkout.git(["update-index", "-q", "--refresh"]).long(None).output().await?;
    let name = if dry_run == DryRun::Yes { "a checkout would follow" } else { "a checkout is about to follow" };
    crash_point(name);
    match call.argument(from.to_string()).argument(to.to_string()).run_with_retries().await {
        Err(Error::Failed { message, .. })
            if message.contains("would be overwritten") || message.contains("not uptodate") =>
        {
            let message = message.trim_start_matches("error: ").trim();
            return Err(Error::Refused(format!("cannot update {}: {message}", checkout.path.display())));
        }
        done => done?,
    };
    crash_point("a checkout could follow");
    Ok(())
}

/// Retries the update of a checkout after `error`, now that the target has moved. Returns true if it is up to date;
/// false if it is unchanged, so that the target can move back. An error means that it is in between, and the next start
/// finishes it.
async fn retry_update(checkout: &Checkout, target: &str, (from, to): (Oid, Oid), error: &Error) -> Result<bool, Error> {
    if error.is_contention() {
        return Ok(false);
    }
    match recover::catch_up(checkout, from, to).await {
        Ok(files) => Ok(files.is_empty()),
        Err(again) => Err(Error::Refused(format!(
            "\"{target}\" has moved, but the files in {} could not be updated: {again}. The next start of mxd finishes it",
            checkout.path.display()
        ))),
    }
}

fn next_undo(repository: &Repository, task: TaskId) -> Result<String, Error> {
    let mut highest = 0;
    for found in
        repository.references_glob(&format!("{UNDO}{task}/*")).map_err(Error::read(repository.path()))?.flatten()
    {
        let name = String::from_utf8_lossy(found.name_bytes()).into_owned();
        highest = highest.max(name.rsplit('/').next().and_then(|last| last.parse::<u64>().ok()).unwrap_or(0));
    }
    Ok(format!("{UNDO}{task}/{}", highest + 1))
}

/// Writes a merge record as a commit, which also protects both tips from garbage collection.
fn write_note(repository: &Repository, task: TaskId, target: &str, from: Oid, to: Oid) -> Result<Oid, Error> {
    let failed = Error::read(repository.path());
    let (from, to) = (repository.find_commit(from).map_err(&failed)?, repository.find_commit(to).map_err(&failed)?);
    let author = Signature::now(MXD_IDENTITY.0, MXD_IDENTITY.1).map_err(&failed)?;
    let message = format!("mxd: landing of task {task}\n\n{TARGET}{target}\n");
    let tree = from.tree().map_err(&failed)?;
    repository.commit(None, &author, &author, &message, &tree, &[&from, &to]).map_err(&failed)
}

pub(super) fn read_note(repository: &Repository, id: Oid) -> Result<MergeNote, Error> {
    let failed = Error::read(repository.path());
    let commit = repository.find_commit(id).map_err(&failed)?;
    let message = String::from_utf8_lossy(commit.message_raw_bytes()).into_owned();
    let target = message.lines().find_map(|line| line.strip_prefix(TARGET)).map(str::to_owned);
    let target = target.ok_or_else(|| Error::Refused(format!("{id} is not a merge record")))?;
    let (from, to) = (commit.parent_id(0).map_err(&failed)?, commit.parent_id(1).map_err(&failed)?);
    Ok(MergeNote { commit: id, target, from, to })
}

/// Deletes our own refs. The next start finds those that remain.
pub(super) fn delete_refs(repository: &Repository, names: &[&str]) {
    for name in names.iter().filter(|name| !name.is_empty()) {
        crash_point("a note is about to go");
        if let Ok(mut found) = repository.find_reference(name)
            && let Err(error) = found.delete()
        {
            tracing::warn!(%error, name, "cannot remove a merge record");
        }
    }
}
