//! The state of a checkout's files as a tree: tracked and untracked, ignored ones left out, byte for byte.
//!
//! Works on an index of its own that lies beside the checkout's and is kept, so that a second capture looks only at what
//! changed since. The checkout's index, HEAD, stash and reflogs are never touched. Callers make sure that no two
//! captures of one checkout run at once.
//!
//! Bytes are stored as they lie on the disk, without line ending conversion and filters, so that they can be put back
//! exactly. The one exception: a file that a filter driver (Git LFS) wrote and nobody changed is stored as git has it.

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

use super::dir::{Dir, is_file, is_in_the_way, split};
use super::error::{Error, blocking};
use super::index;
use super::program::{Call, Checkout};
use super::smudge::has_filter;
use super::step::step;
use super::union::has_other_attributes;
use super::worktree_files::remove_if_there;

/// Our index beside the checkout's own.
const INDEX: &str = "mxd-index";
/// The tree that our index stands for; not there while the index is being changed.
const TREE: &str = "mxd-tree";
/// How the index of somebody who only looks is called, before the number of their process.
const LOOK: &str = "mxd-look-";
/// How the mode of a file begins, where a link's or a submodule's does not.
const REGULAR: &[u8] = b"100";

/// Something of a checkout that a capture does not hold, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeftOut {
    /// Larger than was asked for.
    TooLarge {
        path: PathBuf,
        bytes: u64,
    },
    Unreadable(PathBuf),
    /// A repository of its own, with its own history.
    Repository(PathBuf),
}

impl LeftOut {
    pub fn path(&self) -> &Path {
        match self {
            Self::TooLarge { path, .. } | Self::Unreadable(path) | Self::Repository(path) => path,
        }
    }
}

/// What the files of a checkout were.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Captured {
    pub(super) tree: Oid,
    pub(super) left_out: Vec<LeftOut>,
}

impl Captured {
    /// Tells whether it holds for as long as nothing changes. What could not be read this time may be readable the next.
    pub(super) fn can_be_relied_on(&self) -> bool {
        !self.left_out.iter().any(|left| matches!(left, LeftOut::Unreadable(_)))
    }
}

/// What is remembered of a checkout: an index of ours, and the tree that it stands for.
struct Memory {
    index: PathBuf,
    tree: PathBuf,
}

impl Memory {
    fn of(checkout: &Checkout) -> Self {
        Self { index: checkout.git_dir.join(INDEX), tree: checkout.git_dir.join(TREE) }
    }

    fn lock(&self) -> PathBuf {
        let mut name = self.index.clone().into_os_string();
        name.push(".lock");
        name.into()
    }

    /// Throws it away. The next capture starts from the checkout's own index.
    fn forget(&self) {
        for path in [&self.index, &self.tree, &self.lock()] {
            let _ = fs::remove_file(path);
        }
    }
}

/// The memory of somebody who only looks. It goes with them.
struct Look(Memory);

impl Look {
    /// Makes one that knows what `kept` knows.
    fn like(kept: &Memory, git_dir: &Path) -> Result<Self, Error> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        sweep(git_dir);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{LOOK}{}-{number}", std::process::id());
        let (index, tree) = (git_dir.join(&name), git_dir.join(format!("{name}-tree")));
        let look = Self(Memory { index, tree });
        copy(&kept.index, &look.0.index)?;
        Ok(look)
    }
}

impl Drop for Look {
    fn drop(&mut self) {
        self.0.forget();
    }
}

/// Removes what those who looked left when they were killed.
fn sweep(git_dir: &Path) {
    for entry in fs::read_dir(git_dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(LOOK)?.split(['-', '.']).next()?.parse().ok());
        let is_gone = |owner: i32| {
            Pid::from_raw(owner).is_none_or(|owner| test_kill_process(owner).is_err_and(|error| error == Errno::SRCH))
        };
        if owner.is_some_and(is_gone) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Captures a checkout. Files larger than `cap` are left out.
pub(super) async fn capture(checkout: &Checkout, cap: Option<u64>) -> Result<Captured, Error> {
    capture_with(checkout, &Memory::of(checkout), cap).await
}

/// Makes our index of a checkout stand for `base`, the state that was last found. Changes that were captured without it
/// (`capture_changes`) are in it then, and what was captured once stays in a snapshot when it is ignored later.
pub(super) async fn bring_up_to(checkout: &Checkout, base: Oid) -> Result<(), Error> {
    let memory = Memory::of(checkout);
    if known_tree(&memory.tree, &memory.index) == Some(base) {
        return Ok(());
    }
    let _ = fs::remove_file(memory.lock());
    if !memory.index.exists() {
        seed(checkout, &memory.index).await?;
    }
    remove_if_there(&memory.tree)?;
    let read = checkout.git(["read-tree", "-i", "-m"]).argument(base.to_string()).index(&memory.index).raw().long(None);
    match read.run().await {
        Ok(_) => Ok(()),
        // Our index is only a memory; one that cannot be read is made anew.
        Err(Error::Failed { .. }) => {
            memory.forget();
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// Returns the folders of a checkout that hold files which git tracks, by our index or else by its own. `None` if that
/// cannot be told in this process.
pub(super) fn tracked_folders(checkout: &Checkout) -> Option<HashSet<PathBuf>> {
    let ours = Memory::of(checkout).index;
    index::tracked_folders(checkout, &if ours.exists() { ours } else { checkout.git_dir.join("index") })
}

/// Forgets what is remembered of a checkout. The next capture looks at every file.
pub(super) fn forget(checkout: &Checkout) {
    Memory::of(checkout).forget();
}

/// As [`capture`], while another process may be capturing the same checkout: what is remembered is used and left as it is.
pub(super) async fn capture_aside(checkout: &Checkout, cap: Option<u64>) -> Result<Captured, Error> {
    let here = checkout.clone();
    let look = blocking(move || Look::like(&Memory::of(&here), &here.git_dir)).await?;
    capture_with(checkout, &look.0, cap).await
}

async fn capture_with(checkout: &Checkout, memory: &Memory, cap: Option<u64>) -> Result<Captured, Error> {
    let Memory { index, tree } = memory;
    let git = |arguments: &[&str]| {
        // An object that is named before it is on disk is an empty file after a loss of power, and stops the user's git gc.
        checkout.git(arguments).index(index).raw().long(None).durable()
    };
    // Callers take turns: a lock is a crash's leftover.
    let _ = fs::remove_file(memory.lock());
    let look = || git(&["ls-files", "-z", "-m", "-o", "--exclude-standard"]).run();
    let known = index.exists();
    if !known {
        if let Some(tree) = untouched(checkout).await? {
            return Ok(Captured { tree, left_out: Vec::new() });
        }
        seed(checkout, index).await?;
    }
    let listed = match look().await {
        // Our index is only a memory; one that cannot be read is made anew.
        Err(Error::Failed { .. }) if known => {
            memory.forget();
            seed(checkout, index).await?;
            look().await?
        }
        listed => listed?,
    };
    let Sifted { changed, unreachable, left_out } = sift(checkout, listed, cap).await?;
    if changed.is_empty()
        && unreachable.is_empty()
        && let Some(known) = known_tree(tree, index)
    {
        return Ok(Captured { tree: known, left_out });
    }
    if !unreachable.is_empty() {
        remove_if_there(tree)?;
        let input = lines(&unreachable);
        git(&["update-index", "-z", "--force-remove", "--stdin"]).input(input).run().await?;
    }
    let id = store(checkout, (index, tree), &changed, git).await?;
    Ok(Captured { tree: id, left_out })
}

/// Returns the tree of HEAD if nothing in a checkout differs from it, which spares a fresh worktree four calls of git.
async fn untouched(checkout: &Checkout) -> Result<Option<Oid>, Error> {
    let here = checkout.clone();
    blocking(move || Ok(if settings_convert(&here)? { None } else { index::untouched_tree(&here) })).await
}

/// Adds files to what was captured, whether git ignores them or not. Returns the tree with them.
pub(super) async fn include_also(checkout: &Checkout, paths: &[PathBuf]) -> Result<Oid, Error> {
    let Memory { index, tree } = Memory::of(checkout);
    let paths = paths.iter().map(|path| path.as_os_str().to_owned()).collect();
    store(checkout, (&index, &tree), &paths, |arguments: &[&str]| {
        checkout.git(arguments).index(&index).raw().long(None).durable()
    })
    .await
}

/// Brings our index up to date with these files and returns its tree.
async fn store(
    checkout: &Checkout,
    (index, tree): (&Path, &Path),
    changed: &BTreeSet<OsString>,
    git: impl Fn(&[&str]) -> Call,
) -> Result<Oid, Error> {
    remove_if_there(tree)?;
    step("the tree of our index is forgotten");
    if !changed.is_empty() {
        let input = lines(changed);
        git(&["update-index", "-z", "--add", "--remove", "--replace", "--stdin"]).input(input).run().await?;
        step("our index is brought up to date");
    }
    let id = git(&["write-tree"]).line().await?;
    step("a tree is written");
    fs::write(tree, format!("{id} {}\n", stamp(index))).map_err(Error::disk("write", tree))?;
    Oid::from_str(&id).map_err(Error::read(&checkout.path))
}

/// Returns the tree that our index stands for, if it was noted for this very index: after a loss of power the note may be
/// older than the index.
fn known_tree(tree: &Path, index: &Path) -> Option<Oid> {
    let text = fs::read_to_string(tree).ok()?;
    let (id, of) = text.trim().split_once(' ')?;
    (of == stamp(index)).then(|| Oid::from_str(id).ok())?
}

/// Returns what tells one state of an index from another: its length, its time, and the hash that it ends with.
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

/// What may have changed, told apart.
#[derive(Default)]
struct Sifted {
    changed: BTreeSet<OsString>,
    /// Gone, because what was a folder above them is a link or a file now. Git would not look there.
    unreachable: BTreeSet<OsString>,
    left_out: Vec<LeftOut>,
}

fn lines(paths: &BTreeSet<OsString>) -> Vec<u8> {
    paths.iter().flat_map(|path| [path.as_bytes(), b"\0"]).flatten().copied().collect()
}

/// Tells apart what can be stored and what is left out.
async fn sift(checkout: &Checkout, listed: Vec<u8>, cap: Option<u64>) -> Result<Sifted, Error> {
    let checkout = checkout.clone();
    blocking(move || {
        let top = checkout.anchor()?;
        let mut sifted = Sifted::default();
        for name in listed.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
            if let Some(nested) = name.strip_suffix(b"/") {
                sifted.left_out.push(LeftOut::Repository(OsStr::from_bytes(nested).into()));
                continue;
            }
            let name = OsStr::from_bytes(name);
            let path = PathBuf::from(name);
            let found = match look(&top, &path) {
                Ok(found) => found,
                Err(error) if is_in_the_way(&error) => {
                    sifted.unreachable.insert(name.to_owned());
                    continue;
                }
                Err(_) => {
                    sifted.left_out.push(LeftOut::Unreadable(path));
                    continue;
                }
            };
            match found.filter(is_file).map(|found| u64::try_from(found.st_size).unwrap_or(0)) {
                Some(bytes) if cap.is_some_and(|cap| bytes > cap) => {
                    sifted.left_out.push(LeftOut::TooLarge { path, bytes });
                }
                Some(_) if is_unreadable(&top, &path) => sifted.left_out.push(LeftOut::Unreadable(path)),
                // What is gone is noted as gone.
                Some(_) | None => {
                    sifted.changed.insert(name.to_owned());
                }
            }
        }
        sifted.left_out.sort_by(|a, b| a.path().cmp(b.path()));
        sifted.left_out.dedup();
        Ok(sifted)
    })
    .await
}

/// Returns what is at a path; `None` if nothing is. Fails if something above it is no folder, such as a link to one.
pub(super) fn look(top: &Dir, path: &Path) -> io::Result<Option<Stat>> {
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

/// Starts our index as a copy of the checkout's, which knows which files are unchanged. Entries whose stored form is not
/// what lies on the disk lose that knowledge.
async fn seed(checkout: &Checkout, index: &Path) -> Result<(), Error> {
    let (theirs, ours) = (checkout.git_dir.join("index"), index.to_owned());
    if !blocking(move || copy(&theirs, &ours)).await? {
        return Ok(());
    }
    if converts(checkout, index).await? {
        forget_converted(checkout, index).await?;
    }
    // A fresh worktree's files are as old as its index, and git would read every one of them each time it looks. What it
    // finds now it remembers. That some differ is no failure.
    checkout.git(["update-index", "-q", "--refresh"]).index(index).raw().long(None).answer().await.map(drop)
}

/// Copies an index. Tells whether there was one.
fn copy(from: &Path, to: &Path) -> Result<bool, Error> {
    let Ok(modified) = fs::metadata(from).and_then(|found| found.modified()) else { return Ok(false) };
    let draft = to.with_extension("draft");
    fs::copy(from, &draft).map_err(Error::disk("copy", from))?;
    // Git compares files with the time of the index to find those that changed in the moment it was written.
    let copy = File::options().write(true).open(&draft).map_err(Error::disk("open", &draft))?;
    copy.set_modified(modified).map_err(Error::disk("date", &draft))?;
    fs::rename(&draft, to).map_err(Error::disk("write", to))?;
    Ok(true)
}

/// Makes our index forget what it knows of files whose stored form is not what lies on the disk.
async fn forget_converted(checkout: &Checkout, index: &Path) -> Result<(), Error> {
    let format = "--format=%(objectmode) %(objectname) %(objectsize)%x09%(path)";
    let listed = checkout.git(["ls-files", "-z", format]).index(index).long(None).run().await?;
    let here = checkout.clone();
    let converted = blocking(move || converted(&here, &listed)).await?;
    if converted.is_empty() {
        return Ok(());
    }
    checkout.git(["update-index", "-z", "--index-info"]).index(index).input(converted).run().await.map(drop)
}

/// Returns the entries whose file has another size than what is stored, in the form that makes git forget what it knows
/// about the file.
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

/// Tells whether anything in this repository could make a file differ from what is stored.
async fn converts(checkout: &Checkout, index: &Path) -> Result<bool, Error> {
    let here = checkout.clone();
    let set_up = blocking(move || settings_convert(&here)).await?;
    if set_up {
        return Ok(true);
    }
    let listed = checkout.git(["ls-files", "-z", "--", ":(glob)**/.gitattributes"]).index(index).run().await?;
    Ok(!listed.is_empty())
}

/// Tells whether settings could make a file differ from what is stored.
fn settings_convert(checkout: &Checkout) -> Result<bool, Error> {
    let settings = checkout.open()?.config().map_err(Error::read(&checkout.path))?;
    let setting = |name: &str| settings.get_string(name).ok();
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".config"));
    let everywhere =
        std::env::var_os("XDG_CONFIG_HOME").filter(|folder| !folder.is_empty()).map(PathBuf::from).or(home);
    Ok(everywhere.is_some_and(|folder| folder.join("git/attributes").exists())
        || setting("core.autocrlf").is_some_and(|value| value != "false")
        || setting("core.attributesFile").is_some()
        || has_other_attributes(&checkout.common.join("info/attributes")))
}
