//! Captures a checkout's files as a tree: tracked and untracked, without ignored ones, byte for byte.
//!
//! Uses its own index beside the checkout's, which is kept, so that a second capture examines only what changed since.
//! Never touches the checkout's index, HEAD, stash or reflogs. Callers make sure that captures of one checkout do not
//! overlap.
//!
//! Bytes are stored as they are on disk, without line end conversion and filters, so that they can be restored exactly.
//! Exception: an unchanged file that a filter driver (Git LFS) wrote is stored as git has it.

use std::collections::{BTreeSet, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use git2::Oid;
use rustix::fs::Stat;
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use super::crash_points::crash_point;
use super::dir::{Dir, is_file, is_in_the_way, split};
use super::error::{Error, blocking};
use super::filters::has_filter;
use super::index;
use super::program::{Call, Checkout};
use super::union::has_other_attributes;
use super::worktree_files::remove_if_there;

/// Our own index beside the checkout's.
const INDEX: &str = "mxd-index";
/// The tree of our index; missing while the index is being changed.
const TREE: &str = "mxd-tree";
/// The prefix of temporary indexes of read-only captures; the process id follows.
const TEMP_PREFIX: &str = "mxd-look-";
/// The mode prefix of regular files, as opposed to links and submodules.
const REGULAR: &[u8] = b"100";

/// A path that a capture leaves out, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeftOut {
    /// Larger than the limit.
    TooLarge {
        path: PathBuf,
        bytes: u64,
    },
    Unreadable(PathBuf),
    /// A nested repository with its own history.
    Repository(PathBuf),
}

impl LeftOut {
    pub fn path(&self) -> &Path {
        match self {
            Self::TooLarge { path, .. } | Self::Unreadable(path) | Self::Repository(path) => path,
        }
    }
}

/// A captured state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CapturedTree {
    pub(super) tree: Oid,
    pub(super) left_out: Vec<LeftOut>,
}

impl CapturedTree {
    /// Returns true if it stays valid as long as no file changes. A file that was unreadable may become readable.
    pub(super) fn is_reliable(&self) -> bool {
        !self.left_out.iter().any(|left| matches!(left, LeftOut::Unreadable(_)))
    }
}

/// The cache of a checkout: our own index and its tree.
struct IndexCache {
    index: PathBuf,
    tree: PathBuf,
}

impl IndexCache {
    fn of(checkout: &Checkout) -> Self {
        Self { index: checkout.git_dir.join(INDEX), tree: checkout.git_dir.join(TREE) }
    }

    fn lock(&self) -> PathBuf {
        let mut name = self.index.clone().into_os_string();
        name.push(".lock");
        name.into()
    }

    /// Deletes the cache. The next capture starts from the checkout's own index.
    fn delete(&self) {
        for path in [&self.index, &self.tree, &self.lock()] {
            let _ = fs::remove_file(path);
        }
    }
}

/// The temporary cache of a read-only capture.
struct TempCache(IndexCache);

impl TempCache {
    /// Creates one as a copy of `cache`.
    fn copy_of(cache: &IndexCache, git_dir: &Path) -> Result<Self, Error> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        remove_stale(git_dir);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{TEMP_PREFIX}{}-{number}", std::process::id());
        let (index, tree) = (git_dir.join(&name), git_dir.join(format!("{name}-tree")));
        let temp = Self(IndexCache { index, tree });
        copy(&cache.index, &temp.0.index)?;
        Ok(temp)
    }
}

impl Drop for TempCache {
    fn drop(&mut self) {
        self.0.delete();
    }
}

/// Removes temporary caches of killed processes.
fn remove_stale(git_dir: &Path) {
    for entry in fs::read_dir(git_dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner =
            name.to_str().and_then(|name| name.strip_prefix(TEMP_PREFIX)?.split(['-', '.']).next()?.parse().ok());
        let is_gone = |owner: i32| {
            Pid::from_raw(owner).is_none_or(|owner| test_kill_process(owner).is_err_and(|error| error == Errno::SRCH))
        };
        if owner.is_some_and(is_gone) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Captures a checkout. Leaves out files larger than `cap`.
pub(super) async fn capture(checkout: &Checkout, cap: Option<u64>) -> Result<CapturedTree, Error> {
    capture_with(checkout, &IndexCache::of(checkout), cap).await
}

/// Makes our index match `base`, the last captured tree. It then includes changes that were captured without it
/// (`capture_changes`), and a file captured once stays in snapshots when it is ignored later.
pub(super) async fn sync_index(checkout: &Checkout, base: Oid) -> Result<(), Error> {
    let cache = IndexCache::of(checkout);
    if known_tree(&cache.tree, &cache.index) == Some(base) {
        return Ok(());
    }
    let _ = fs::remove_file(cache.lock());
    if !cache.index.exists() {
        seed(checkout, &cache.index).await?;
    }
    remove_if_there(&cache.tree)?;
    let read = checkout.git(["read-tree", "-i", "-m"]).argument(base.to_string()).index(&cache.index).raw().long(None);
    match read.run().await {
        Ok(_) => Ok(()),
        // Our index is only a cache; rebuild an unreadable one.
        Err(Error::Failed { .. }) => {
            cache.delete();
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// Returns the folders with tracked files, by our index or else by the checkout's own. `None` if that needs git.
pub(super) fn tracked_folders(checkout: &Checkout) -> Option<HashSet<PathBuf>> {
    let ours = IndexCache::of(checkout).index;
    index::tracked_folders(checkout, &if ours.exists() { ours } else { checkout.git_dir.join("index") })
}

/// Deletes the cache of a checkout. The next capture examines every file.
pub(super) fn drop_cache(checkout: &Checkout) {
    IndexCache::of(checkout).delete();
}

/// Like [`capture`], but safe while another process captures the same checkout: the cache is read and not changed.
pub(super) async fn capture_read_only(checkout: &Checkout, cap: Option<u64>) -> Result<CapturedTree, Error> {
    let here = checkout.clone();
    let temp = blocking(move || TempCache::copy_of(&IndexCache::of(&here), &here.git_dir)).await?;
    capture_with(checkout, &temp.0, cap).await
}

async fn capture_with(checkout: &Checkout, cache: &IndexCache, cap: Option<u64>) -> Result<CapturedTree, Error> {
    let IndexCache { index, tree } = cache;
    let git = |arguments: &[&str]| {
        // An object that is referenced before it is on disk is an empty file after a power loss, and breaks the user's
        // git gc.
        checkout.git(arguments).index(index).raw().long(None).durable()
    };
    // Captures do not overlap, so a lock is left from a crash.
    let _ = fs::remove_file(cache.lock());
    let list_changes = || git(&["ls-files", "-z", "-m", "-o", "--exclude-standard"]).run();
    let known = index.exists();
    if !known {
        if let Some(tree) = untouched(checkout).await? {
            return Ok(CapturedTree { tree, left_out: Vec::new() });
        }
        seed(checkout, index).await?;
    }
    let listed = match list_changes().await {
        // Our index is only a cache; rebuild an unreadable one.
        Err(Error::Failed { .. }) if known => {
            cache.delete();
            seed(checkout, index).await?;
            list_changes().await?
        }
        listed => listed?,
    };
    let FilteredPaths { changed, unreachable, left_out } = filter_paths(checkout, listed, cap).await?;
    if changed.is_empty()
        && unreachable.is_empty()
        && let Some(known) = known_tree(tree, index)
    {
        return Ok(CapturedTree { tree: known, left_out });
    }
    if !unreachable.is_empty() {
        remove_if_there(tree)?;
        let input = lines(&unreachable);
        git(&["update-index", "-z", "--force-remove", "--stdin"]).input(input).run().await?;
    }
    let id = store(checkout, (index, tree), &changed, git).await?;
    Ok(CapturedTree { tree: id, left_out })
}

/// Returns the tree of HEAD if a checkout is unchanged, which saves four git calls in a new worktree.
async fn untouched(checkout: &Checkout) -> Result<Option<Oid>, Error> {
    let here = checkout.clone();
    blocking(move || Ok(if settings_convert(&here)? { None } else { index::untouched_tree(&here) })).await
}

/// Adds files to the captured tree, ignored or not. Returns the new tree.
pub(super) async fn add_files(checkout: &Checkout, paths: &[PathBuf]) -> Result<Oid, Error> {
    let IndexCache { index, tree } = IndexCache::of(checkout);
    let paths = paths.iter().map(|path| path.as_os_str().to_owned()).collect();
    store(checkout, (&index, &tree), &paths, |arguments: &[&str]| {
        checkout.git(arguments).index(&index).raw().long(None).durable()
    })
    .await
}

/// Updates our index with these files and returns its tree.
async fn store(
    checkout: &Checkout,
    (index, tree): (&Path, &Path),
    changed: &BTreeSet<OsString>,
    git: impl Fn(&[&str]) -> Call,
) -> Result<Oid, Error> {
    remove_if_there(tree)?;
    crash_point("the tree of our index is forgotten");
    if !changed.is_empty() {
        let input = lines(changed);
        git(&["update-index", "-z", "--add", "--remove", "--replace", "--stdin"]).input(input).run().await?;
        crash_point("our index is brought up to date");
    }
    let id = git(&["write-tree"]).line().await?;
    crash_point("a tree is written");
    fs::write(tree, format!("{id} {}\n", stamp(index))).map_err(Error::disk("write", tree))?;
    Oid::from_str(&id).map_err(Error::read(&checkout.path))
}

/// Returns the tree of our index, if it was recorded for this very index: after a power loss the record may be older.
fn known_tree(tree: &Path, index: &Path) -> Option<Oid> {
    let text = fs::read_to_string(tree).ok()?;
    let (id, of) = text.trim().split_once(' ')?;
    (of == stamp(index)).then(|| Oid::from_str(id).ok())?
}

/// Identifies the state of an index by its length, its time and the hash at its end.
fn stamp(index: &Path) -> String {
    let read = || -> io::Result<String> {
        let mut file = File::open(index)?;
        let found = file.metadata()?;
        let mut hash = [0; 20];
        file.seek(io::SeekFrom::Start(found.len().saturating_sub(20)))?;
        file.read_exact(&mut hash)?;
        Ok(format!("{}-{}.{}-{hash:02x?}", found.len(), found.mtime(), found.mtime_nsec()))
    };
    read().unwrap_or_default()
}

/// Changed paths, by what to do with them.
#[derive(Default)]
struct FilteredPaths {
    changed: BTreeSet<OsString>,
    /// Gone, because a folder above them is now a link or a file. Git would not look there.
    unreachable: BTreeSet<OsString>,
    left_out: Vec<LeftOut>,
}

fn lines(paths: &BTreeSet<OsString>) -> Vec<u8> {
    paths.iter().flat_map(|path| [path.as_bytes(), b"\0"]).flatten().copied().collect()
}

/// Separates paths that can be stored from those left out.
async fn filter_paths(checkout: &Checkout, listed: Vec<u8>, cap: Option<u64>) -> Result<FilteredPaths, Error> {
    let checkout = checkout.clone();
    blocking(move || {
        let top = checkout.anchor()?;
        let mut filtered = FilteredPaths::default();
        for name in listed.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
            if let Some(nested) = name.strip_suffix(b"/") {
                filtered.left_out.push(LeftOut::Repository(OsStr::from_bytes(nested).into()));
                continue;
            }
            let name = OsStr::from_bytes(name);
            let path = PathBuf::from(name);
            let found = match stat_below(&top, &path) {
                Ok(found) => found,
                Err(error) if is_in_the_way(&error) => {
                    filtered.unreachable.insert(name.to_owned());
                    continue;
                }
                Err(_) => {
                    filtered.left_out.push(LeftOut::Unreadable(path));
                    continue;
                }
            };
            match found.filter(is_file).map(|found| u64::try_from(found.st_size).unwrap_or(0)) {
                Some(bytes) if cap.is_some_and(|cap| bytes > cap) => {
                    filtered.left_out.push(LeftOut::TooLarge { path, bytes });
                }
                Some(_) if is_unreadable(&top, &path) => filtered.left_out.push(LeftOut::Unreadable(path)),
                // A deleted file is recorded as deleted.
                Some(_) | None => {
                    filtered.changed.insert(name.to_owned());
                }
            }
        }
        filtered.left_out.sort_by(|a, b| a.path().cmp(b.path()));
        filtered.left_out.dedup();
        Ok(filtered)
    })
    .await
}

/// Returns the metadata of a path, or `None` if it does not exist. Fails if something above it is not a folder, such as
/// a link to one.
pub(super) fn stat_below(top: &Dir, path: &Path) -> io::Result<Option<Stat>> {
    let (above, name) = split(path)?;
    match top.below(above) {
        Ok(folder) => folder.stat(name),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_unreadable(top: &Dir, path: &Path) -> bool {
    let opened = split(path).and_then(|(above, name)| top.below(above)?.open_file(name));
    opened.is_err_and(|error| error.kind() != io::ErrorKind::NotFound)
}

/// Creates our index as a copy of the checkout's, with its knowledge of which files are unchanged. Entries whose stored
/// form differs from the file on disk lose that knowledge.
async fn seed(checkout: &Checkout, index: &Path) -> Result<(), Error> {
    let (source, target) = (checkout.git_dir.join("index"), index.to_owned());
    if !blocking(move || copy(&source, &target)).await? {
        return Ok(());
    }
    if converts(checkout, index).await? {
        drop_converted_stats(checkout, index).await?;
    }
    // The files of a new worktree are as old as its index, and git would read all of them each time. The refresh
    // records what it finds; differing files are not an error.
    checkout.git(["update-index", "-q", "--refresh"]).index(index).raw().long(None).output().await.map(drop)
}

/// Copies an index. Returns false if there is none.
fn copy(from: &Path, to: &Path) -> Result<bool, Error> {
    let Ok(modified) = fs::metadata(from).and_then(|found| found.modified()) else { return Ok(false) };
    let draft = to.with_extension("draft");
    fs::copy(from, &draft).map_err(Error::disk("copy", from))?;
    // Git compares file times with that of the index to find files that changed while it was written.
    let copy = File::options().write(true).open(&draft).map_err(Error::disk("open", &draft))?;
    copy.set_modified(modified).map_err(Error::disk("date", &draft))?;
    fs::rename(&draft, to).map_err(Error::disk("write", to))?;
    Ok(true)
}

/// Drops the cached stat data of files whose stored form differs from the file on disk.
async fn drop_converted_stats(checkout: &Checkout, index: &Path) -> Result<(), Error> {
    let format = "--format=%(objectmode) %(objectname) %(objectsize)%x09%(path)";
    let listed = checkout.git(["ls-files", "-z", format]).index(index).long(None).run().await?;
    let here = checkout.clone();
    let converted = blocking(move || converted(&here, &listed)).await?;
    if converted.is_empty() {
        return Ok(());
    }
    checkout.git(["update-index", "-z", "--index-info"]).index(index).input(converted).run().await.map(drop)
}

/// Returns the entries whose file size differs from the stored one, as input that makes git drop their stat data.
fn converted(checkout: &Checkout, listed: &[u8]) -> Result<Vec<u8>, Error> {
    let repository = checkout.open()?;
    let mut entries = Vec::new();
    for entry in listed.split(|byte| *byte == 0).filter(|entry| entry.starts_with(REGULAR)) {
        let Some(tab) = entry.iter().position(|byte| *byte == b'\t') else { continue };
        let (facts, path) = (String::from_utf8_lossy(&entry[..tab]), Path::new(OsStr::from_bytes(&entry[tab + 1..])));
        let Some((facts, size)) = facts.rsplit_once(' ') else { continue };
        let found = fs::symlink_metadata(checkout.path.join(path)).map(|found| found.len());
        let differs = found.is_ok_and(|found| size.trim().parse() != Ok(found));
        if differs && !has_filter(&repository, path) {
            entries.extend_from_slice(facts.as_bytes());
            entries.extend_from_slice(&entry[tab..]);
            entries.push(0);
        }
    }
    Ok(entries)
}

/// Returns true if settings or attributes may make a file differ from its stored form.
async fn converts(checkout: &Checkout, index: &Path) -> Result<bool, Error> {
    let here = checkout.clone();
    let set_up = blocking(move || settings_convert(&here)).await?;
    if set_up {
        return Ok(true);
    }
    let listed = checkout.git(["ls-files", "-z", "--", ":(glob)**/.gitattributes"]).index(index).run().await?;
    Ok(!listed.is_empty())
}

/// Returns true if settings may make a file differ from its stored form.
fn settings_convert(checkout: &Checkout) -> Result<bool, Error> {
    let settings = checkout.open()?.config().map_err(Error::read(&checkout.path))?;
    let setting = |name: &str| settings.get_string(name).ok();
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".config"));
    let global = std::env::var_os("XDG_CONFIG_HOME").filter(|folder| !folder.is_empty()).map(PathBuf::from).or(home);
    Ok(global.is_some_and(|folder| folder.join("git/attributes").exists())
        || setting("core.autocrlf").is_some_and(|value| value != "false")
        || setting("core.attributesFile").is_some()
        || has_other_attributes(&checkout.common.join("info/attributes")))
}
