//! Repairs half-written files after a power loss: empty object files, our own refs to missing objects, task branches
//! whose last commit is gone, an unreadable index or HEAD of a worktree.
//!
//! Our own writes are flushed before they are referenced; but older versions did not do that, and an agent's git may be
//! configured not to. Left alone, these files make the user's `git gc` and `git fsck` fail. Only files written since
//! the last check are examined, so that a start stays cheap.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use git2::{ObjectType, Odb, Oid, Repository};

use super::entry::{self, Head};
use super::error::{Error, blocking};
use super::library;
use super::locks;
use super::program::Checkout;
use super::refs;
use super::tree_capture;
use super::worktree::{ARCHIVE, Worktrees};

/// A file in the git folder whose modification time is that of the last check.
const LAST_CHECK: &str = "mxd-checked";
/// Files are examined from this long before the last check: data that was only in memory then may have been lost.
const MARGIN: Duration = Duration::from_mins(10);
/// How far back objects are read on the first check.
const FIRST_CHECK: Duration = Duration::from_hours(24);
/// The folder for truncated objects, in the git folder.
const TORN_DIR: &str = "mxd-torn";
const OWN_REFS: &str = "refs/mxd";
const BRANCHES: &str = "refs/heads/mxd";

/// Result of a repair.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepairReport {
    /// Object files that were empty or truncated.
    pub objects: Vec<PathBuf>,
    /// Our own refs to missing objects.
    pub refs: Vec<String>,
    /// Branches that were moved back to their last existing commit.
    pub branches: Vec<String>,
    /// Archives with a lost file. They stay, because the rest is intact.
    pub damaged: Vec<String>,
}

impl RepairReport {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Worktrees {
    /// Removes or repairs half-written files. Call it at the start, before anything runs.
    pub async fn repair_torn_writes(&self) -> Result<RepairReport, Error> {
        let main = self.main().clone();
        blocking(move || {
            let mark = main.common.join(LAST_CHECK);
            let since = modified(&mark).and_then(|checked| checked.checked_sub(MARGIN));
            let mut report = RepairReport::default();
            remove_torn_objects(&main.common, since, &mut report)?;
            repair_refs(&main, since, &mut report)?;
            if !report.is_empty() {
                // The cached indexes may name objects that are gone.
                tree_capture::drop_cache(&main);
                for entry in entry::all(&main.common)? {
                    tree_capture::drop_cache(&entry.checkout(Path::new(""), &main.common));
                }
            }
            if let Err(error) = fs::write(&mark, b"") {
                tracing::debug!(%error, "cannot record the time of the check");
            }
            Ok(report)
        })
        .await
    }

    /// Repairs an unreadable HEAD and index of a worktree: HEAD names the branch, the index is rebuilt from it. Files
    /// are not changed. Returns true if a repair was needed.
    pub(super) async fn repair_checkout(&self, checkout: &Checkout, branch: &str) -> Result<bool, Error> {
        let (here, branch) = (checkout.clone(), branch.to_owned());
        let had_head = blocking(move || {
            let head = here.git_dir.join("HEAD");
            if entry::head(&here.git_dir) != Head::Unreadable {
                return Ok(true);
            }
            fs::write(&head, format!("ref: {}{branch}\n", refs::HEADS)).map_err(Error::disk("write", head))?;
            Ok(false)
        })
        .await?;
        let index = checkout.git_dir.join("index");
        let file = index.clone();
        if !blocking(move || Ok(file.exists() && is_torn(&file))).await? {
            return Ok(!had_head);
        }
        tracing::warn!(index = %index.display(), "rebuilding an unreadable index");
        locks::unlock_index(checkout).await?;
        fs::rename(&index, checkout.git_dir.join("index.torn")).map_err(Error::disk("replace", &index))?;
        checkout.git(["read-tree", "HEAD"]).run_with_retries().await?;
        Ok(true)
    }
}

/// Returns true if an index is truncated. Git itself does not check the hash at its end.
fn is_torn(index: &Path) -> bool {
    library::prepare();
    // Some index extensions are supported by git and not by libgit2.
    git2::Index::open(index).is_err_and(|error| !error.message().contains("extension"))
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::symlink_metadata(path).and_then(|found| found.modified()).ok()
}

fn is_since(path: &Path, since: Option<SystemTime>) -> bool {
    since.is_none_or(|since| modified(path).is_none_or(|modified| modified >= since))
}

fn is_hex(name: &OsStr, length: usize) -> bool {
    name.len() == length && name.to_str().is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Removes object files that are empty or truncated. Git never writes one: an object gets its name when it is complete.
/// While such a file exists, git takes the object for present and does not write it again, and libgit2 hangs on it.
/// Files with content are moved aside.
fn remove_torn_objects(common: &Path, since: Option<SystemTime>, report: &mut RepairReport) -> Result<(), Error> {
    let (objects, aside) = (common.join("objects"), common.join(TORN_DIR));
    let recent = since.or_else(|| SystemTime::now().checked_sub(FIRST_CHECK));
    for folder in fs::read_dir(&objects).map_err(Error::disk("list", &objects))?.flatten() {
        if !is_hex(&folder.file_name(), 2) || !is_since(&folder.path(), since) {
            continue;
        }
        for file in fs::read_dir(folder.path()).into_iter().flatten().flatten() {
            let Ok(found) = file.metadata() else { continue };
            if !found.is_file() || !is_hex(&file.file_name(), 38) {
                continue;
            }
            if found.len() == 0 {
                fs::remove_file(file.path()).map_err(Error::disk("remove the empty object", file.path()))?;
            } else if is_since(&file.path(), recent) && is_truncated(&file.path()) {
                let mut name = folder.file_name();
                name.push(file.file_name());
                fs::create_dir_all(&aside).map_err(Error::disk("make the folder", &aside))?;
                fs::rename(file.path(), aside.join(name)).map_err(Error::disk("move aside", file.path()))?;
            } else {
                continue;
            }
            report.objects.push(file.path());
        }
    }
    Ok(())
}

/// Returns true if the compressed content of an object file is truncated.
fn is_truncated(file: &Path) -> bool {
    let Ok(file) = File::open(file) else { return false };
    let read = io::copy(&mut flate2::read::ZlibDecoder::new(BufReader::new(file)), &mut io::sink());
    read.is_err_and(|error| matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidInput))
}

fn repair_refs(main: &Checkout, since: Option<SystemTime>, report: &mut RepairReport) -> Result<(), Error> {
    let mut found = Vec::new();
    for folder in [OWN_REFS, BRANCHES] {
        files_below(&main.common.join(folder), &mut found);
    }
    found.retain(|path| is_since(path, since) && path.extension().is_none_or(|ending| ending != "lock"));
    if found.is_empty() {
        return Ok(());
    }
    let repository = main.open()?;
    let odb = repository.odb().map_err(Error::read(&main.path))?;
    let mut whole = HashSet::new();
    for path in found {
        let Some(name) = path.strip_prefix(&main.common).ok().and_then(Path::to_str) else { continue };
        let text = fs::read_to_string(&path).unwrap_or_default();
        let Ok(commit) = Oid::from_str(text.trim()) else {
            if text.starts_with("ref:") {
                continue;
            }
            // It is unreadable, and makes git fail.
            fs::remove_file(&path).map_err(Error::disk("remove the unreadable ref", &path))?;
            report.refs.push(name.to_owned());
            continue;
        };
        if name.starts_with(BRANCHES) {
            if repository.find_commit(commit).is_err() {
                move_back(&repository, main, name, report)?;
            }
            continue;
        }
        let mut broken = UnreadableObjects::default();
        broken.check_commit(&repository, &odb, commit, &mut whole);
        if broken.objects.is_empty() {
            continue;
        }
        if name.starts_with(ARCHIVE) && !broken.is_lost {
            report.damaged.push(name.to_owned());
            continue;
        }
        refs::delete(&repository, name)?;
        report.refs.push(name.to_owned());
    }
    Ok(())
}

/// Moves a task's branch back to its last existing commit, or deletes it if there is none.
fn move_back(repository: &Repository, main: &Checkout, name: &str, report: &mut RepairReport) -> Result<(), Error> {
    let failed = Error::read(&main.path);
    match refs::last_of_reflog(&main.common.join("logs").join(name), repository) {
        Some(last) => {
            let log = "mxd: its last commit was lost";
            repository.reference(name, last, true, log).map_err(&failed)?;
        }
        None => refs::delete(repository, name)?,
    }
    report.branches.push(name.to_owned());
    Ok(())
}

fn files_below(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => files_below(&entry.path(), files),
            Ok(kind) if kind.is_file() => files.push(entry.path()),
            Ok(_) | Err(_) => {}
        }
    }
}

/// The unreadable objects of one of our commits. Objects shared with its parent commit are not examined.
#[derive(Default)]
struct UnreadableObjects {
    objects: Vec<Oid>,
    /// The commit or its root tree is unreadable.
    is_lost: bool,
}

impl UnreadableObjects {
    fn check_commit(&mut self, repository: &Repository, odb: &Odb<'_>, id: Oid, whole: &mut HashSet<Oid>) {
        let Ok(commit) = repository.find_commit(id) else {
            self.objects.push(id);
            self.is_lost = true;
            return;
        };
        for parent in commit.parent_ids() {
            if repository.find_commit(parent).is_err() {
                self.objects.push(parent);
            }
        }
        let below = commit.parent(0).ok().map(|parent| parent.tree_id());
        if repository.find_tree(commit.tree_id()).is_err() {
            self.is_lost = true;
        }
        self.check_tree((repository, odb), commit.tree_id(), below, whole);
    }

    /// `whole` caches objects found intact, for commits that share them.
    fn check_tree(
        &mut self,
        (repository, odb): (&Repository, &Odb<'_>),
        id: Oid,
        known: Option<Oid>,
        whole: &mut HashSet<Oid>,
    ) {
        if known == Some(id) || whole.contains(&id) {
            return;
        }
        let broken = self.objects.len();
        let Ok(tree) = repository.find_tree(id) else { return self.objects.push(id) };
        let known = known.and_then(|known| repository.find_tree(known).ok());
        for entry in &tree {
            let old = known.as_ref().and_then(|known| known.get_name_bytes(entry.name_bytes()));
            let old = old.map(|old| (old.id(), old.kind()));
            match entry.kind() {
                _ if old == Some((entry.id(), entry.kind())) => {}
                Some(ObjectType::Tree) => {
                    let old = old.filter(|(_, kind)| *kind == Some(ObjectType::Tree)).map(|(old, _)| old);
                    self.check_tree((repository, odb), entry.id(), old, whole);
                }
                Some(ObjectType::Blob) if !whole.contains(&entry.id()) => match odb.read(entry.id()) {
                    Ok(_) => {
                        whole.insert(entry.id());
                    }
                    Err(_) => self.objects.push(entry.id()),
                },
                _ => {}
            }
        }
        if self.objects.len() == broken {
            whole.insert(id);
        }
    }
}
