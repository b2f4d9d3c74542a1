//! Making a worktree, and making sure that one stands: look, decide (see `situation`), act, look again.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::Mode;

use super::{Standing, Start, Wanted, Worktrees};
use crate::base::TaskId;
use crate::git::anchor;
use crate::git::dir::Dir;
use crate::git::entry::{self, BEING_MADE, Entry, Head};
use crate::git::error::{Error, blocking};
use crate::git::refs;
use crate::git::situation::{Folder, Noted, Origin, Plan, Situation, Why};
use crate::git::status;
use crate::git::worktree_files::remove_if_there;

/// How many repairs may follow one another before it is clear that they do not help.
const REPAIRS: usize = 5;

impl Worktrees {
    /// Makes a worktree on its branch, and the branch if there is none. Finishes what an earlier call left half made,
    /// makes whole what was taken away meanwhile, and says what had to be done; does nothing if it stands. A worktree on
    /// another branch is reported and left alone. To be called while nothing of the task runs.
    pub async fn create(&self, wanted: &Wanted, start: &Start) -> Result<Standing, Error> {
        let _place = self.place(&wanted.path).await;
        let start = self.resolve(start).await?;
        self.settle(wanted, Some(&start)).await
    }

    /// Returns the commit that a start names.
    pub async fn resolve(&self, start: &Start) -> Result<String, Error> {
        let (main, start) = (self.main.clone(), start.clone());
        blocking(move || {
            let repository = main.open()?;
            let id = match &start {
                Start::Branch(branch) => {
                    refs::branch_tip(&repository, branch)?.ok_or_else(|| Error::NoBranch(branch.clone()))?
                }
                Start::Commit(commit) => {
                    let missing = |_| Error::NoCommit(commit.clone());
                    repository.revparse_single(commit).and_then(|found| found.peel_to_commit()).map_err(missing)?.id()
                }
            };
            Ok(id.to_string())
        })
        .await
    }

    pub(super) async fn settle(&self, wanted: &Wanted, start: Option<&str>) -> Result<Standing, Error> {
        let mut done: Option<Standing> = None;
        let mut note = |standing: Standing| {
            // The first reason is the one that explains the others.
            if done.is_none() {
                done = Some(standing);
            }
        };
        for _ in 0..REPAIRS {
            let situation = self.look(wanted).await?;
            let plan = situation.plan(&wanted.branch);
            tracing::debug!(task = %wanted.task, ?situation, ?plan, "worktree");
            match plan {
                Plan::Stands => {
                    let checkout = self.checkout(&wanted.path).await?;
                    self.mend_checkout(&checkout, &wanted.branch).await?;
                    if self.revive_branch(wanted).await? {
                        note(again(Why::BranchLost, None));
                    }
                    return Ok(done.unwrap_or(Standing::Present));
                }
                Plan::StandsElsewhere(head) => return self.elsewhere(wanted, head).await,
                Plan::Finish => {
                    self.fill(wanted).await?;
                    note(Standing::Created);
                }
                Plan::Add(why) => {
                    note(why.map_or(Standing::Created, |why| again(why, None)));
                    self.add(wanted, start).await?;
                    self.fill(wanted).await?;
                }
                Plan::Renew(why) => {
                    note(why.map_or(Standing::Created, |why| again(why, None)));
                    self.forget(&wanted.path).await?;
                }
                Plan::Refill(why) => {
                    if !self.refill(wanted).await? {
                        return Ok(done.unwrap_or(Standing::Present));
                    }
                    note(again(why, None));
                }
                Plan::Relink(why) => {
                    self.relink(&wanted.path).await?;
                    note(again(why, None));
                }
                Plan::SetAside(why) => {
                    let aside = self.set_aside(&wanted.path).await?;
                    note(again(why, Some(aside)));
                }
                Plan::MoveBack(from) => {
                    self.move_back(&from, &wanted.path).await?;
                    note(again(Why::Moved(from), None));
                }
                Plan::Busy(path) => return Err(Error::BranchBusy { branch: wanted.branch.clone(), path }),
                Plan::InTheWay => {
                    anchor::refuse_link(&wanted.path)?;
                    return Err(Error::InTheWay(wanted.path.clone()));
                }
            }
        }
        Err(Error::Refused(format!(
            "the worktree {} does not hold still; is somebody else changing it?",
            wanted.path.display()
        )))
    }

    async fn look(&self, wanted: &Wanted) -> Result<Situation, Error> {
        let (main, wanted) = (self.main.clone(), wanted.clone());
        blocking(move || {
            let path = entry::plain(&wanted.path);
            let mut entries = entry::all(&main.common)?;
            // Killed before it noted where the worktree is: nobody but the making of this one uses its name.
            for half in entries.extract_if(.., |entry| entry.path.is_none() && entry.is_named_after(&path)) {
                fs::remove_dir_all(&half.git_dir).map_err(Error::disk("remove the half-made entry", &half.git_dir))?;
            }
            let entry = entries.iter().find(|entry| entry.path.as_ref() == Some(&path));
            let elsewhere = elsewhere(&entries, &path, &wanted.branch).or_else(|| {
                has_branch(&entry::head(&main.git_dir), &wanted.branch).then_some((main.path, Origin::Theirs))
            });
            let folder = folder(&path, entry, &main.common)?;
            let entry = entry.map(|entry| Noted { head: entry.head.clone(), being_made: entry.is_being_made() });
            Ok(Situation { folder, entry, elsewhere })
        })
        .await
    }

    /// Notes the worktree and its branch in the repository. Writes no file but its `.git`.
    async fn add(&self, wanted: &Wanted, start: Option<&str>) -> Result<(), Error> {
        let _entries = self.entries.lock().await;
        let (main, branch, start) = (self.main.clone(), wanted.branch.clone(), start.map(str::to_owned));
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
        let call = self.main.git(arguments).argument(&wanted.path).argument(&wanted.branch);
        call.run_patiently().await.map(drop)
    }

    /// Writes the worktree's files and marks it as made. Until the mark is there, the next call does it again.
    async fn fill(&self, wanted: &Wanted) -> Result<(), Error> {
        let found = self.entry_of(&wanted.path).await?.ok_or_else(|| Error::InTheWay(wanted.path.clone()))?;
        let checkout = found.checkout(&wanted.path, &self.main.common);
        // Nobody has worked here yet: a lock is the leftover of an interrupted filling.
        remove_if_there(&found.git_dir.join("index.lock"))?;
        let reset = checkout.git(["reset", "--hard", "--quiet", "--no-recurse-submodules"]);
        reset.long(self.records.as_deref()).fetching().run().await?;
        mark_as_made(&found.git_dir, wanted.task)
    }

    /// Writes the files of the index. Tells whether there were any.
    async fn refill(&self, wanted: &Wanted) -> Result<bool, Error> {
        let checkout = self.checkout(&wanted.path).await?;
        let call = if checkout.git_dir.join("index").exists() {
            checkout.git(["checkout-index", "--all", "--quiet"])
        } else {
            checkout.git(["reset", "--hard", "--quiet", "--no-recurse-submodules"])
        };
        call.long(self.records.as_deref()).fetching().run().await?;
        Ok(fs::read_dir(&wanted.path).map_err(Error::disk("list", &wanted.path))?.count() > 1)
    }

    /// Removes a worktree's entry, whose folder is gone or holds nothing but its link.
    pub(super) async fn forget(&self, path: &Path) -> Result<(), Error> {
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
            // As `git worktree remove` does it; that would also delete whatever stands at the path by now.
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
        // Into a folder that exists, git would move it one level deeper.
        let _ = fs::remove_dir(path);
        let call = self.main.git(["worktree", "move", "--force", "--force", "--"]).argument(from).argument(path);
        call.run_patiently().await.map(drop)
    }

    async fn elsewhere(&self, wanted: &Wanted, head: Head) -> Result<Standing, Error> {
        let checkout = self.checkout(&wanted.path).await?;
        Ok(match head {
            Head::Branch(branch) => Standing::OtherBranch(branch),
            Head::Detached(_) | Head::Unreadable => {
                Standing::Detached { operation: status::operation(&checkout.git_dir) }
            }
        })
    }

    /// Makes the branch again that a standing worktree is on, where the worktree last stood. Tells whether it had to.
    async fn revive_branch(&self, wanted: &Wanted) -> Result<bool, Error> {
        let checkout = self.checkout(&wanted.path).await?;
        let (branch, task) = (wanted.branch.clone(), wanted.task);
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

fn again(why: Why, aside: Option<PathBuf>) -> Standing {
    Standing::Recreated { why, aside }
}

fn has_branch(head: &Head, branch: &str) -> bool {
    matches!(head, Head::Branch(name) if name == branch)
}

/// Finds another checkout that has the branch.
fn elsewhere(entries: &[Entry], path: &Path, branch: &str) -> Option<(PathBuf, Origin)> {
    entries.iter().filter(|entry| has_branch(&entry.head, branch)).find_map(|entry| {
        let other = entry.path.as_ref().filter(|other| *other != path)?;
        let ours = entry.is_named_after(path) && other.is_dir();
        Some((other.clone(), if ours { Origin::Ours } else { Origin::Theirs }))
    })
}

fn folder(path: &Path, entry: Option<&Entry>, common: &Path) -> Result<Folder, Error> {
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

/// Replaces the lock of a worktree that is being made by one that keeps it from being pruned.
fn mark_as_made(git_dir: &Path, task: TaskId) -> Result<(), Error> {
    let (draft, lock) = (git_dir.join("locked.mxd"), git_dir.join("locked"));
    fs::write(&draft, format!("mxd: the worktree of task {task}\n")).map_err(Error::disk("write", &draft))?;
    fs::rename(&draft, &lock).map_err(Error::disk("write", lock))
}
