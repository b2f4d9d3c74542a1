//! Finds live branches that would conflict with each other, while they are still being worked on.
//!
//! Every pair of commits is merged in memory once, and the result is cached. Pairs that changed no common file need no
//! merge. The last snapshot of a running task counts as if it were committed.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use git2::{Commit, Oid, Repository, Signature, Time, build::TreeUpdateBuilder};

use super::conflict;
use super::error::{Error, blocking};
use super::program::{Checkout, MXD_IDENTITY};
use super::refs;
use super::snapshot::SNAPSHOTS;
use super::worktree_files;
use crate::base::TaskId;

/// Two branches that would conflict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConflictPair {
    pub one: String,
    pub other: String,
    pub files: Vec<PathBuf>,
}

/// The cached results for pairs of commits. Cheap to clone; clones share the cache.
#[derive(Clone, Debug, Default)]
pub struct ConflictScanner {
    cache: Arc<Mutex<Cache>>,
}

/// The conflicting files of each pair of commits.
type Cache = HashMap<(Oid, Oid), Arc<[PathBuf]>>;

impl ConflictScanner {
    /// Returns the pairs of these branches that would conflict. Branches that do not exist are skipped. `running` maps
    /// branches to the tasks whose uncommitted files count. Concurrent calls are harmless but wasteful.
    pub async fn conflicts_between(
        &self,
        checkout: &Checkout,
        branches: &[String],
        running: &BTreeMap<String, TaskId>,
    ) -> Result<Vec<ConflictPair>, Error> {
        let (scanner, checkout, branches) = (self.clone(), checkout.clone(), branches.to_vec());
        let running = running.clone();
        blocking(move || scanner.scan(&checkout.open()?, &branches, &running)).await
    }

    fn scan(
        &self,
        repository: &Repository,
        branches: &[String],
        running: &BTreeMap<String, TaskId>,
    ) -> Result<Vec<ConflictPair>, Error> {
        let odb = repository.odb().map_err(Error::read(repository.path()))?;
        // Uncommitted files become a commit in memory; the repository stores nothing.
        let _memory = odb.add_new_mempack_backend(MEMORY_PRIORITY).map_err(Error::read(repository.path()))?;
        let mut tips = Vec::new();
        for branch in branches {
            if let Some(tip) = refs::branch_tip(repository, branch)? {
                let unsaved = running.get(branch).map(|task| uncommitted(repository, *task, tip)).transpose()?;
                tips.push((branch, unsaved.flatten().unwrap_or(tip)));
            }
        }
        let mut changes = Changes { repository, cache: HashMap::new() };
        let mut live = BTreeSet::new();
        let mut pairs = Vec::new();
        for (at, (one, first)) in tips.iter().enumerate() {
            for (other, second) in &tips[at + 1..] {
                let pair = (*first.min(second), *first.max(second));
                live.insert(pair);
                let files = match self.cached(pair) {
                    Some(files) => files,
                    None => self.insert(pair, changes.conflicts(pair)?),
                };
                if !files.is_empty() {
                    pairs.push(ConflictPair { one: (*one).clone(), other: (*other).clone(), files: files.to_vec() });
                }
            }
        }
        // Drop commits that no live branch is at.
        self.cache.lock().unwrap_or_else(PoisonError::into_inner).retain(|pair, _| live.contains(pair));
        Ok(pairs)
    }

    fn cached(&self, pair: (Oid, Oid)) -> Option<Arc<[PathBuf]>> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner).get(&pair).cloned()
    }

    fn insert(&self, pair: (Oid, Oid), files: Vec<PathBuf>) -> Arc<[PathBuf]> {
        let files: Arc<[PathBuf]> = files.into();
        self.cache.lock().unwrap_or_else(PoisonError::into_inner).insert(pair, Arc::clone(&files));
        files
    }
}

/// The priority of in-memory objects in libgit2: before the disk.
const MEMORY_PRIORITY: i32 = 1_000;
/// Tasks with more uncommitted files than this are not scanned.
const MAX_CHANGES: usize = 2_000;

/// Returns the last snapshot of a task as a commit on top of its branch, as git would store it. `None` if the branch
/// has moved on since, or has all of it.
fn uncommitted(repository: &Repository, task: TaskId, tip: Oid) -> Result<Option<Oid>, Error> {
    let failed = Error::read(repository.path());
    let mut last: Option<(Vec<u8>, Commit<'_>)> = None;
    for found in repository.references_glob(&format!("{SNAPSHOTS}{task}/*")).map_err(&failed)?.flatten() {
        let name = found.name_bytes().to_vec();
        // Snapshot names sort by time.
        if last.as_ref().is_none_or(|(latest, _)| *latest < name) {
            last = Some((name, found.peel_to_commit().map_err(&failed)?));
        }
    }
    let Some((_, snapshot)) = last.filter(|(_, snapshot)| snapshot.parent_id(0).ok() == Some(tip)) else {
        return Ok(None);
    };
    let base = repository.find_commit(tip).map_err(&failed)?;
    let (before, now) = (base.tree().map_err(&failed)?, snapshot.tree().map_err(&failed)?);
    let changes = worktree_files::changes(repository, &before, &now)?;
    if changes.is_empty() || changes.len() > MAX_CHANGES {
        return Ok(None);
    }
    let mut update = TreeUpdateBuilder::new();
    for change in &changes {
        match change.wanted {
            Some((id, mode)) => {
                let old = before.get_path(&change.path).ok().map(|entry| entry.id());
                update.upsert(&change.path, committed_form(repository, old, id)?, mode);
            }
            None => {
                update.remove(&change.path);
            }
        }
    }
    let tree = update.create_updated(repository, &before).map_err(&failed)?;
    if tree == before.id() {
        return Ok(None);
    }
    // A fixed time gives the same commit id for the same files, so that the cache works.
    let author = Signature::new(MXD_IDENTITY.0, MXD_IDENTITY.1, &Time::new(0, 0)).map_err(&failed)?;
    let tree = repository.find_tree(tree).map_err(&failed)?;
    let made = repository.commit(None, &author, &author, "mxd: not committed yet", &tree, &[&base]).map_err(&failed)?;
    Ok(Some(made))
}

/// Returns a file as git would store it. Snapshots have the bytes on disk, which may have CRLF line ends although the
/// repository's do not.
fn committed_form(repository: &Repository, old: Option<Oid>, new: Oid) -> Result<Oid, Error> {
    let has_returns = |content: &[u8]| content.windows(2).any(|pair| pair == b"\r\n");
    let Some(old) = old.and_then(|old| repository.find_blob(old).ok()) else { return Ok(new) };
    let Ok(blob) = repository.find_blob(new) else { return Ok(new) };
    if blob.is_binary() || has_returns(old.content()) || !has_returns(blob.content()) {
        return Ok(new);
    }
    let mut plain = Vec::with_capacity(blob.size());
    for line in blob.content().split_inclusive(|byte| *byte == b'\n') {
        match line.strip_suffix(b"\r\n") {
            Some(text) => {
                plain.extend_from_slice(text);
                plain.push(b'\n');
            }
            None => plain.extend_from_slice(line),
        }
    }
    repository.blob(&plain).map_err(Error::read(repository.path()))
}

/// The files changed by commits, cached for one scan.
struct Changes<'r> {
    repository: &'r Repository,
    cache: HashMap<(Oid, Oid), Arc<BTreeSet<PathBuf>>>,
}

impl Changes<'_> {
    fn conflicts(&mut self, (one, other): (Oid, Oid)) -> Result<Vec<PathBuf>, Error> {
        // With no merge base or with several, only the merge itself can tell.
        let bases = self.repository.merge_bases(one, other);
        if let Ok(bases) = bases
            && let [base] = &*bases.iter().copied().collect::<Vec<_>>()
            && !overlap(&*self.changed_files(*base, one)?, &*self.changed_files(*base, other)?)
        {
            return Ok(Vec::new());
        }
        let index = conflict::merge(self.repository, one, other)?;
        let failed = Error::read(self.repository.path());
        let mut files = BTreeSet::new();
        if index.has_conflicts() {
            for found in index.conflicts().map_err(&failed)? {
                let found = found.map_err(&failed)?;
                let sides = [found.our, found.their, found.ancestor];
                files.extend(
                    sides.into_iter().flatten().next().map(|entry| PathBuf::from(OsStr::from_bytes(&entry.path))),
                );
            }
        }
        Ok(files.into_iter().collect())
    }

    fn changed_files(&mut self, base: Oid, tip: Oid) -> Result<Arc<BTreeSet<PathBuf>>, Error> {
        if let Some(known) = self.cache.get(&(base, tip)) {
            return Ok(Arc::clone(known));
        }
        let failed = Error::read(self.repository.path());
        let tree = |id| self.repository.find_commit(id).and_then(|commit| commit.tree()).map_err(&failed);
        let diff = self.repository.diff_tree_to_tree(Some(&tree(base)?), Some(&tree(tip)?), None).map_err(&failed)?;
        let path = |file: git2::DiffFile<'_>| file.path_bytes().map(|bytes| PathBuf::from(OsStr::from_bytes(bytes)));
        let paths = diff.deltas().flat_map(|delta| [path(delta.old_file()), path(delta.new_file())]).flatten();
        let paths = Arc::new(paths.collect::<BTreeSet<_>>());
        self.cache.insert((base, tip), Arc::clone(&paths));
        Ok(paths)
    }
}

/// Returns true if two sets of files have one in common, or one has a file where the other has a folder.
fn overlap(one: &BTreeSet<PathBuf>, other: &BTreeSet<PathBuf>) -> bool {
    let touches = |these: &BTreeSet<PathBuf>, those: &BTreeSet<PathBuf>| {
        these.iter().any(|path| path.ancestors().any(|above| those.contains(above)))
    };
    touches(one, other) || touches(other, one)
}
