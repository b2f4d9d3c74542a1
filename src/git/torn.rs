//! What a loss of power left half written, found at the start and taken away: empty object files, refs of ours that lead
//! to objects which are not there, branches of tasks whose last commit is gone, an unreadable index or HEAD of a worktree.
//!
//! What we write ourselves is saved before anything names it; but older versions did not do that, and the git of an agent
//! may be set not to. Left alone, these files make the user's own `git gc` and `git fsck` fail. Only what was written since
//! the last look is looked at, so that a start stays cheap.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use git2::{ObjectType, Odb, Oid, Repository};

use super::capture;
use super::entry::{self, Head};
use super::error::{Error, blocking};
use super::library;
use super::locks;
use super::program::Checkout;
use super::refs;
use super::worktree::{ARCHIVE, Worktrees};

/// When it was last looked, by the time of this file in the git folder.
const LOOKED: &str = "mxd-checked";
/// How much further back than the last look it is looked: what was only in memory then may have been lost since.
const MARGIN: Duration = Duration::from_mins(10);
/// How far back objects are read to their end when it was never looked before.
const FIRST_LOOK: Duration = Duration::from_hours(24);
/// Where objects are moved that end too early, in the git folder.
const ASIDE: &str = "mxd-torn";
const OURS: &str = "refs/mxd";
const BRANCHES: &str = "refs/heads/mxd";

/// What was taken away.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mended {
    /// Files of objects that were empty or unreadable.
    pub objects: Vec<PathBuf>,
    /// Refs of ours that led nowhere.
    pub refs: Vec<String>,
    /// Branches that were moved back to their last commit that is there.
    pub branches: Vec<String>,
    /// Archives of which some file is lost. They stay, because the rest is in them.
    pub damaged: Vec<String>,
}

impl Mended {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Worktrees {
    /// Takes away what a loss of power left half written. To be called at the start, before anything runs.
    pub async fn mend_torn(&self) -> Result<Mended, Error> {
        let main = self.main().clone();
        blocking(move || {
            let mark = main.common.join(LOOKED);
            let since = modified(&mark).and_then(|looked| looked.checked_sub(MARGIN));
            let mut mended = Mended::default();
            take_torn_objects(&main.common, since, &mut mended)?;
            mend_refs(&main, since, &mut mended)?;
            if !mended.is_empty() {
                // What is remembered of checkouts names objects that are gone.
                capture::forget(&main);
                for entry in entry::all(&main.common)? {
                    capture::forget(&entry.checkout(Path::new(""), &main.common));
                }
            }
            if let Err(error) = fs::write(&mark, b"") {
                tracing::debug!(%error, "when objects were last looked at could not be noted");
            }
            Ok(mended)
        })
        .await
    }

    /// Makes the HEAD and the index of a worktree readable again if they are not: HEAD names the branch, the index is made
    /// again from it. The files stay as they are. Tells whether it had to.
    pub(super) async fn mend_checkout(&self, checkout: &Checkout, branch: &str) -> Result<bool, Error> {
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
        tracing::warn!(index = %index.display(), "an unreadable index is made again");
        locks::unlock_index(checkout).await?;
        fs::rename(&index, checkout.git_dir.join("index.torn")).map_err(Error::disk("replace", &index))?;
        checkout.git(["read-tree", "HEAD"]).run_patiently().await?;
        Ok(true)
    }
}

/// Tells whether an index does not end as it should. Git itself does not look at the hash at its end.
fn is_torn(index: &Path) -> bool {
    library::prepare();
    // There are indexes that git reads and libgit2 does not, by their extensions.
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

/// Takes away object files that are empty or end too early, whoever wrote them. Git never makes one: an object gets its name
/// when it is whole. As long as such a file is there, git takes the object for present and does not write it again, and
/// libgit2 reads it for ever. What has some content is moved aside.
fn take_torn_objects(common: &Path, since: Option<SystemTime>, mended: &mut Mended) -> Result<(), Error> {
    let (objects, aside) = (common.join("objects"), common.join(ASIDE));
    let recent = since.or_else(|| SystemTime::now().checked_sub(FIRST_LOOK));
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
            } else if is_since(&file.path(), recent) && is_cut_short(&file.path()) {
                let mut name = folder.file_name();
                name.push(file.file_name());
                fs::create_dir_all(&aside).map_err(Error::disk("make the folder", &aside))?;
                fs::rename(file.path(), aside.join(name)).map_err(Error::disk("move aside", file.path()))?;
            } else {
                continue;
            }
            mended.objects.push(file.path());
        }
    }
    Ok(())
}

/// Tells whether the compressed content of an object file does not reach its end.
fn is_cut_short(file: &Path) -> bool {
    let Ok(file) = File::open(file) else { return false };
    let read = io::copy(&mut flate2::read::ZlibDecoder::new(BufReader::new(file)), &mut io::sink());
    read.is_err_and(|error| matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidInput))
}

fn mend_refs(main: &Checkout, since: Option<SystemTime>, mended: &mut Mended) -> Result<(), Error> {
    let mut found = Vec::new();
    for folder in [OURS, BRANCHES] {
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
            // Nothing can be read from it, and git stumbles over it.
            fs::remove_file(&path).map_err(Error::disk("remove the unreadable ref", &path))?;
            mended.refs.push(name.to_owned());
            continue;
        };
        if name.starts_with(BRANCHES) {
            if repository.find_commit(commit).is_err() {
                move_back(&repository, main, name, mended)?;
            }
            continue;
        }
        let mut broken = Broken::default();
        broken.look_at(&repository, &odb, commit, &mut whole);
        if broken.objects.is_empty() {
            continue;
        }
        if name.starts_with(ARCHIVE) && !broken.is_hopeless {
            mended.damaged.push(name.to_owned());
            continue;
        }
        refs::delete(&repository, name)?;
        mended.refs.push(name.to_owned());
    }
    Ok(())
}

/// Moves a task's branch back to its last commit that is there, or deletes it if there is none.
fn move_back(repository: &Repository, main: &Checkout, name: &str, mended: &mut Mended) -> Result<(), Error> {
    let failed = Error::read(&main.path);
    match refs::last_of_reflog(&main.common.join("logs").join(name), repository) {
        Some(last) => {
            let log = "mxd: its last commit was lost";
            repository.reference(name, last, true, log).map_err(&failed)?;
        }
        None => refs::delete(repository, name)?,
    }
    mended.branches.push(name.to_owned());
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

/// What of a commit of ours cannot be read. What it has in common with the commit that it stands on is not ours, and is not
/// looked at.
#[derive(Default)]
struct Broken {
    objects: Vec<Oid>,
    /// Nothing of it can be read.
    is_hopeless: bool,
}

impl Broken {
    fn look_at(&mut self, repository: &Repository, odb: &Odb<'_>, id: Oid, whole: &mut HashSet<Oid>) {
        let Ok(commit) = repository.find_commit(id) else {
            self.objects.push(id);
            self.is_hopeless = true;
            return;
        };
        for parent in commit.parent_ids() {
            if repository.find_commit(parent).is_err() {
                self.objects.push(parent);
            }
        }
        let below = commit.parent(0).ok().map(|parent| parent.tree_id());
        if repository.find_tree(commit.tree_id()).is_err() {
            self.is_hopeless = true;
        }
        self.look_at_tree((repository, odb), commit.tree_id(), below, whole);
    }

    /// `whole`: what was found to be whole, for states that have it in common.
    fn look_at_tree(
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
                    self.look_at_tree((repository, odb), entry.id(), old, whole);
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
