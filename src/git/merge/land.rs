//! Carrying a landing out, and taking it back.

use std::fmt::Write as _;
use std::path::PathBuf;

use git2::{Oid, Repository, Signature};

use super::apply::{Computed, compute};
use super::recover;
use super::{CheckoutFate, Landed, Landing, TookIn, tip};
use crate::base::{TaskId, text};
use crate::git::entry::{self, Entry, Head};
use crate::git::error::{Error, blocking};
use crate::git::program::{Checkout, OURSELVES};
use crate::git::refs;
use crate::git::status::{self, Dirty};
use crate::git::step::step;
use crate::git::worktree::Worktrees;

pub(super) const PENDING: &str = "refs/mxd/pending/";
pub(super) const UNDO: &str = "refs/mxd/undo/";
const TARGET: &str = "Target: ";

/// A landing as it is noted: which branch goes from where to where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Note {
    pub(super) commit: Oid,
    pub(super) target: String,
    pub(super) from: Oid,
    pub(super) to: Oid,
}

/// Returns the command that takes a landing back where commits follow it.
fn revert(repository: &Repository, note: &Note) -> String {
    let short = |id: Oid| text::prefix(&id.to_string(), 12).to_owned();
    let parents = repository.find_commit(note.to).map_or(1, |commit| commit.parent_count());
    if parents > 1 {
        format!("git revert --no-edit -m 1 {}", short(note.to))
    } else {
        format!("git revert --no-edit {}..{}", short(note.from), short(note.to))
    }
}

/// The checkouts that a landing is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sides {
    /// The one that has the branch itself.
    pub own: Option<Side>,
    /// The one that has the target. Files that nobody tracks do not count there.
    pub target: Option<Side>,
}

/// A checkout, and what is not committed in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    pub path: std::path::PathBuf,
    dirty: Dirty,
}

impl Side {
    /// Returns why nothing can be landed from here or into it, if so.
    pub fn refusal(&self) -> Option<String> {
        self.dirty.refusal(&self.path).map(|refusal| refusal.to_string())
    }

    pub fn files(&self) -> usize {
        self.dirty.count()
    }
}

impl Worktrees {
    /// Brings a branch into another. Refused if the branch's own worktree has anything uncommitted, or the checkout that
    /// has the target has changes: what is not committed would be left behind or written over.
    pub async fn land(&self, landing: &Landing) -> Result<Landed, Error> {
        let _landings = self.landings().await;
        self.refuse_uncommitted(&landing.branch).await?;
        self.bring_in(landing, None, WayBack::Kept).await
    }

    /// Takes the target into a task's own branch, with the conflicts as the person solved them. Refused if something is not
    /// solved, or if the worktree has anything uncommitted.
    pub async fn take_in(&self, task: TaskId, branch: &str, target: &str) -> Result<TookIn, Error> {
        let _landings = self.landings().await;
        self.refuse_uncommitted(branch).await?;
        let files: Vec<PathBuf> =
            self.preview(branch, target).await?.conflicts.into_iter().map(|conflict| conflict.path).collect();
        let mut message = format!("Merge {target} into {branch}\n\nConflicts solved by hand:\n");
        for file in &files {
            let _ = writeln!(message, "- {}", file.display().to_string().replace('\n', " "));
        }
        let landing = Landing {
            task,
            branch: target.to_owned(),
            target: branch.to_owned(),
            how: super::How::Merge,
            message,
            seen: None,
        };
        let folder = self.solving(task);
        match self.bring_in(&landing, Some(folder), WayBack::None).await? {
            Landed::Done { .. } => {}
            Landed::Nothing => return Ok(TookIn::Nothing),
            Landed::Conflicts(_) => return Err(Error::Refused("not every conflict is solved".to_owned())),
        }
        if let Err(error) = self.forget_solving(task).await {
            tracing::warn!(%error, "drafts of solved conflicts could not be removed");
        }
        Ok(TookIn::Done { files })
    }

    async fn refuse_uncommitted(&self, branch: &str) -> Result<(), Error> {
        let Some(own) = self.checkout_of(branch).await? else { return Ok(()) };
        status::dirty(&own, 1).await?.refusal(&own.path).map_or(Ok(()), Err)
    }

    /// Does what both ways have in common, while nobody else moves a target.
    async fn bring_in(&self, landing: &Landing, solved: Option<PathBuf>, back: WayBack) -> Result<Landed, Error> {
        let target = self.checkout_of(&landing.target).await?;
        if let Some(target) = &target {
            refuse_changed(target).await?;
        }
        let (main, wanted) = (self.main().clone(), landing.clone());
        let computed = blocking(move || {
            let repository = main.open()?;
            let (theirs, ours) = (tip(&repository, &wanted.branch)?, tip(&repository, &wanted.target)?);
            if wanted.seen.as_ref().is_some_and(|seen| *seen != theirs.to_string()) {
                return Err(Error::Moved { branch: wanted.branch });
            }
            Ok((compute(&repository, &wanted, ours, theirs, solved.as_deref())?, ours))
        })
        .await?;
        let (from, to) = match computed {
            (Computed::Nothing, _) => return Ok(Landed::Nothing),
            (Computed::Conflicts(conflicts), _) => return Ok(Landed::Conflicts(conflicts)),
            (Computed::Tip(to), from) => (from, to),
        };
        step("commits written");
        if let Some(target) = &target {
            // Files that nobody tracks may be in the way of new ones: found out before anything moves.
            follow(target, from, to, Rehearsal::Yes).await?;
        }
        let (main, wanted) = (self.main().clone(), landing.clone());
        let undo = blocking(move || {
            let repository = main.open()?;
            let note = write_note(&repository, wanted.task, &wanted.target, from, to)?;
            let pending = format!("{PENDING}{}", wanted.task);
            refs::swap(&repository, &pending, refs::target(&repository, &pending)?, note, "mxd: landing")?;
            let undo = match back {
                WayBack::Kept => {
                    let undo = next_undo(&repository, wanted.task)?;
                    refs::swap(&repository, &undo, None, note, "mxd: landing")?;
                    undo
                }
                WayBack::None => String::new(),
            };
            let log = format!("mxd: {} brought in", wanted.branch);
            if let Err(error) =
                refs::swap(&repository, &format!("{}{}", refs::HEADS, wanted.target), Some(from), to, &log)
            {
                forget(&repository, &[&pending, &undo]);
                return Err(error);
            }
            Ok(undo)
        })
        .await?;
        let checkout = match &target {
            Some(checkout) => {
                if let Err(error) = follow(checkout, from, to, Rehearsal::No).await
                    && !catches_up(checkout, &landing.target, (from, to), &error).await?
                {
                    self.return_target(landing.task, &landing.target, (from, to), Some(undo)).await?;
                    return Err(error);
                }
                CheckoutFate::Updated(checkout.path.clone())
            }
            None => CheckoutFate::OnlyRef,
        };
        self.landed(landing.task).await?;
        Ok(Landed::Done { from: from.to_string(), to: to.to_string(), checkout, undo })
    }

    /// Moves a target back whose checkout could not follow: nothing happened.
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
            refs::swap(&repository, &name, Some(to), from, "mxd: its checkout could not follow")?;
            forget(&repository, &[&format!("{PENDING}{task}"), undo.as_deref().unwrap_or_default()]);
            Ok(())
        })
        .await
    }

    /// Returns the checkouts that have a branch and its target, with what is not committed in them.
    pub async fn sides(&self, branch: &str, target: &str) -> Result<Sides, Error> {
        let look = async |branch: &str, untracked: bool| -> Result<Option<Side>, Error> {
            let Some(checkout) = self.checkout_of(branch).await? else { return Ok(None) };
            let mut dirty = status::dirty(&checkout, usize::MAX).await?;
            if !untracked {
                without_untracked(&mut dirty);
            }
            Ok(Some(Side { path: checkout.path, dirty }))
        };
        Ok(Sides { own: look(branch, true).await?, target: look(target, false).await? })
    }

    /// Takes a landing back: the target goes where it was, if nothing came after it. `undo` is what [`Landed::Done`] named.
    pub async fn undo_landing(&self, task: TaskId, undo: &str) -> Result<CheckoutFate, Error> {
        let _landings = self.landings().await;
        let (main, name) = (self.main().clone(), undo.to_owned());
        let note = blocking(move || {
            let repository = main.open()?;
            let found = refs::target(&repository, &name)?.ok_or_else(|| Error::NoCommit(name.clone()))?;
            let note = read_note(&repository, found)?;
            if tip(&repository, &note.target)? != note.to {
                return Err(Error::Refused(format!(
                    "\"{}\" has moved on since; take back what came with it: `{}`",
                    note.target,
                    revert(&repository, &note)
                )));
            }
            Ok(note)
        })
        .await?;
        let checkout = self.checkout_of(&note.target).await?;
        if let Some(checkout) = &checkout {
            refuse_changed(checkout).await?;
            follow(checkout, note.to, note.from, Rehearsal::Yes).await?;
        }
        let (main, back) = (self.main().clone(), note.clone());
        blocking(move || {
            let repository = main.open()?;
            let target = format!("{}{}", refs::HEADS, back.target);
            // The same note with the ends exchanged: a crash from here on is finished like any landing.
            let pending = format!("{PENDING}{task}");
            let reverse = write_note(&repository, task, &back.target, back.to, back.from)?;
            refs::swap(&repository, &pending, refs::target(&repository, &pending)?, reverse, "mxd: undo")?;
            if let Err(error) = refs::swap(&repository, &target, Some(back.to), back.from, "mxd: landing taken back") {
                forget(&repository, &[&pending]);
                return Err(error);
            }
            Ok(())
        })
        .await?;
        let fate = match &checkout {
            Some(checkout) => {
                if let Err(error) = follow(checkout, note.to, note.from, Rehearsal::No).await
                    && !catches_up(checkout, &note.target, (note.to, note.from), &error).await?
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
            // The way back first: a crash in between is finished by what was announced.
            forget(&main.open()?, &[&name, &format!("{PENDING}{task}")]);
            Ok(())
        })
        .await?;
        Ok(fate)
    }

    /// Removes the note of a landing that is through.
    pub(super) async fn landed(&self, task: TaskId) -> Result<(), Error> {
        let main = self.main().clone();
        blocking(move || {
            forget(&main.open()?, &[&format!("{PENDING}{task}")]);
            Ok(())
        })
        .await
    }

    /// Returns the checkout that has a branch.
    pub(super) async fn checkout_of(&self, branch: &str) -> Result<Option<Checkout>, Error> {
        let (main, branch) = (self.main().clone(), Head::Branch(branch.to_owned()));
        blocking(move || {
            if entry::head(&main.git_dir) == branch {
                return Ok(Some(main));
            }
            let has_it = |entry: &Entry| {
                let path = entry.path.clone().filter(|path| entry.head == branch && path.is_dir())?;
                Some(entry.checkout(&path, &main.common))
            };
            Ok(entry::all(&main.common)?.iter().find_map(has_it))
        })
        .await
    }
}

/// Refuses a checkout in which something tracked was changed. Files that nobody tracks are no reason: they stay.
async fn refuse_changed(checkout: &Checkout) -> Result<(), Error> {
    let mut dirty = status::dirty(checkout, usize::MAX).await?;
    without_untracked(&mut dirty);
    dirty.refusal(&checkout.path).map_or(Ok(()), Err)
}

fn without_untracked(dirty: &mut Dirty) {
    dirty.changes.retain(|change| change.kind != status::ChangeKind::Untracked);
    dirty.untracked = 0;
}

/// Whether what takes a landing back is kept.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WayBack {
    Kept,
    None,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Rehearsal {
    /// Only find out whether it would work.
    Yes,
    No,
}

/// Brings a checkout whose files are as in `from` to `to`. Refuses to write over anything that is not as in `from`.
pub(super) async fn follow(checkout: &Checkout, from: Oid, to: Oid, rehearsal: Rehearsal) -> Result<(), Error> {
    let mut call = checkout.git(["read-tree", "-m", "-u"]).long(None).fetching();
    if rehearsal == Rehearsal::Yes {
        call = call.argument("--dry-run");
    }
    // Times of files may have changed without their content; git must have looked before it can tell.
    checkout.git(["update-index", "-q", "--refresh"]).long(None).answer().await?;
    let name = if rehearsal == Rehearsal::Yes { "a checkout would follow" } else { "a checkout is about to follow" };
    step(name);
    match call.argument(from.to_string()).argument(to.to_string()).run_patiently().await {
        Err(Error::Failed { said, .. }) if said.contains("would be overwritten") || said.contains("not uptodate") => {
            let said = said.trim_start_matches("error: ").trim();
            return Err(Error::Refused(format!("{} cannot follow: {said}", checkout.path.display())));
        }
        done => done?,
    };
    step("a checkout could follow");
    Ok(())
}

/// Tries again to bring a checkout to a target that has moved, after `error` stopped it. Tells whether it is there now; if
/// not, nothing in it is in between, and the target can go back. An error: neither is so, and the next start finishes it.
async fn catches_up(checkout: &Checkout, target: &str, (from, to): (Oid, Oid), error: &Error) -> Result<bool, Error> {
    if error.is_contention() {
        return Ok(false);
    }
    match recover::catch_up(checkout, from, to).await {
        Ok(files) => Ok(files.is_empty()),
        Err(again) => Err(Error::Refused(format!(
            "\"{target}\" has moved, but the files in {} could not follow: {again}. The next start of mxd finishes it",
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

/// Writes down a landing as a commit, which also keeps both ends from being cleaned up.
fn write_note(repository: &Repository, task: TaskId, target: &str, from: Oid, to: Oid) -> Result<Oid, Error> {
    let failed = Error::read(repository.path());
    let (from, to) = (repository.find_commit(from).map_err(&failed)?, repository.find_commit(to).map_err(&failed)?);
    let author = Signature::now(OURSELVES.0, OURSELVES.1).map_err(&failed)?;
    let message = format!("mxd: landing of task {task}\n\n{TARGET}{target}\n");
    let tree = from.tree().map_err(&failed)?;
    repository.commit(None, &author, &author, &message, &tree, &[&from, &to]).map_err(&failed)
}

pub(super) fn read_note(repository: &Repository, id: Oid) -> Result<Note, Error> {
    let failed = Error::read(repository.path());
    let commit = repository.find_commit(id).map_err(&failed)?;
    let message = String::from_utf8_lossy(commit.message_raw_bytes()).into_owned();
    let target = message.lines().find_map(|line| line.strip_prefix(TARGET)).map(str::to_owned);
    let target = target.ok_or_else(|| Error::Refused(format!("{id} is not the note of a landing")))?;
    let (from, to) = (commit.parent_id(0).map_err(&failed)?, commit.parent_id(1).map_err(&failed)?);
    Ok(Note { commit: id, target, from, to })
}

/// Deletes refs of ours. What stays is found by the next start.
pub(super) fn forget(repository: &Repository, names: &[&str]) {
    for name in names.iter().filter(|name| !name.is_empty()) {
        step("a note is about to go");
        if let Ok(mut found) = repository.find_reference(name)
            && let Err(error) = found.delete()
        {
            tracing::warn!(%error, name, "a note of ours could not be removed");
        }
    }
}
