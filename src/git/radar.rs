//! Which live branches would conflict with each other, found while they are still being worked on.
//!
//! Every pair is merged in memory once per pair of commits; what is known is kept. Pairs that changed no file in common
//! need no merge at all.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use git2::{Oid, Repository};

use super::conflict;
use super::error::{Error, blocking};
use super::program::Checkout;
use super::refs;

/// Two branches that would conflict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clash {
    pub one: String,
    pub other: String,
    pub files: Vec<PathBuf>,
}

/// What is known about pairs of commits. Cheap to clone; clones share it.
#[derive(Clone, Debug, Default)]
pub struct Radar {
    known: Arc<Mutex<Known>>,
}

/// The files that a pair of commits conflicts about.
type Known = HashMap<(Oid, Oid), Arc<[PathBuf]>>;

impl Radar {
    /// Returns the pairs of these branches that would conflict. Branches that do not exist are passed over. Two calls at
    /// once are harmless and wasteful.
    pub async fn clashes(&self, checkout: &Checkout, branches: &[String]) -> Result<Vec<Clash>, Error> {
        let (radar, checkout, branches) = (self.clone(), checkout.clone(), branches.to_vec());
        blocking(move || radar.look(&checkout.open()?, &branches)).await
    }

    fn look(&self, repository: &Repository, branches: &[String]) -> Result<Vec<Clash>, Error> {
        let mut tips = Vec::new();
        for branch in branches {
            if let Some(tip) = refs::branch_tip(repository, branch)? {
                tips.push((branch, tip));
            }
        }
        let mut changes = Changes { repository, known: HashMap::new() };
        let mut live = BTreeSet::new();
        let mut clashes = Vec::new();
        for (at, (one, first)) in tips.iter().enumerate() {
            for (other, second) in &tips[at + 1..] {
                let pair = (*first.min(second), *first.max(second));
                live.insert(pair);
                let files = match self.recall(pair) {
                    Some(files) => files,
                    None => self.learn(pair, changes.conflicts(pair)?),
                };
                if !files.is_empty() {
                    clashes.push(Clash { one: (*one).clone(), other: (*other).clone(), files: files.to_vec() });
                }
            }
        }
        // Commits that no live branch is at any more will not come back.
        self.known.lock().unwrap_or_else(PoisonError::into_inner).retain(|pair, _| live.contains(pair));
        Ok(clashes)
    }

    fn recall(&self, pair: (Oid, Oid)) -> Option<Arc<[PathBuf]>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&pair).cloned()
    }

    fn learn(&self, pair: (Oid, Oid), files: Vec<PathBuf>) -> Arc<[PathBuf]> {
        let files: Arc<[PathBuf]> = files.into();
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(pair, Arc::clone(&files));
        files
    }
}

/// What commits changed, remembered for the time of one look.
struct Changes<'r> {
    repository: &'r Repository,
    known: HashMap<(Oid, Oid), Arc<BTreeSet<PathBuf>>>,
}

impl Changes<'_> {
    fn conflicts(&mut self, (one, other): (Oid, Oid)) -> Result<Vec<PathBuf>, Error> {
        // Without a common history there is nothing to tell apart; with several, only the merge itself knows.
        let bases = self.repository.merge_bases(one, other);
        if let Ok(bases) = bases
            && let [base] = &*bases.iter().copied().collect::<Vec<_>>()
            && !overlap(&*self.since(*base, one)?, &*self.since(*base, other)?)
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

    fn since(&mut self, base: Oid, tip: Oid) -> Result<Arc<BTreeSet<PathBuf>>, Error> {
        if let Some(known) = self.known.get(&(base, tip)) {
            return Ok(Arc::clone(known));
        }
        let failed = Error::read(self.repository.path());
        let tree = |id| self.repository.find_commit(id).and_then(|commit| commit.tree()).map_err(&failed);
        let diff = self.repository.diff_tree_to_tree(Some(&tree(base)?), Some(&tree(tip)?), None).map_err(&failed)?;
        let path = |file: git2::DiffFile<'_>| file.path_bytes().map(|bytes| PathBuf::from(OsStr::from_bytes(bytes)));
        let paths = diff.deltas().flat_map(|delta| [path(delta.old_file()), path(delta.new_file())]).flatten();
        let paths = Arc::new(paths.collect::<BTreeSet<_>>());
        self.known.insert((base, tip), Arc::clone(&paths));
        Ok(paths)
    }
}

/// Tells whether two sets of files have one in common, or one has a file where the other has a folder.
fn overlap(one: &BTreeSet<PathBuf>, other: &BTreeSet<PathBuf>) -> bool {
    let touches = |these: &BTreeSet<PathBuf>, those: &BTreeSet<PathBuf>| {
        these.iter().any(|path| path.ancestors().any(|above| those.contains(above)))
    };
    touches(one, other) || touches(other, one)
}
