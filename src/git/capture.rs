//! The state of a checkout's files as a tree: tracked and untracked, ignored ones left out, byte for byte.
//!
//! Works on an index of its own that lies beside the checkout's and is kept, so that a second capture looks only at what
//! changed since. The checkout's index, HEAD, stash and reflogs are never touched. Callers make sure that no two
//! captures of one checkout run at once.
//!
//! Bytes are stored as they lie on the disk, without line ending conversion and filters, so that they can be put back
//! exactly. The one exception: a file that a filter driver (Git LFS) wrote and nobody changed is stored as git has it.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use git2::Oid;
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use super::error::{Error, blocking};
use super::program::{Call, Checkout};
use super::smudge::has_filter;
use super::step::step;
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

/// How hard a capture tries to outlive a loss of power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Safety {
    Os,
    Durable,
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
pub(super) async fn capture(checkout: &Checkout, cap: Option<u64>, safety: Safety) -> Result<Captured, Error> {
    capture_with(checkout, &Memory::of(checkout), cap, safety).await
}

/// As [`capture`], while another process may be capturing the same checkout: what is remembered is used and left as it is.
pub(super) async fn capture_aside(checkout: &Checkout, cap: Option<u64>) -> Result<Captured, Error> {
    let here = checkout.clone();
    let look = blocking(move || Look::like(&Memory::of(&here), &here.git_dir)).await?;
    capture_with(checkout, &look.0, cap, Safety::Os).await
}

async fn capture_with(
    checkout: &Checkout,
    memory: &Memory,
    cap: Option<u64>,
    safety: Safety,
) -> Result<Captured, Error> {
    let Memory { index, tree } = memory;
    let git = |arguments: &[&str]| {
        let call = checkout.git(arguments).index(index).raw().long(None);
        if safety == Safety::Durable { call.durable() } else { call }
    };
    // Callers take turns: a lock is a crash's leftover.
    let _ = fs::remove_file(memory.lock());
    let look = || git(&["ls-files", "-z", "-m", "-o", "--exclude-standard"]).run();
    let known = index.exists();
    if !known {
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
        && let Some(known) = fs::read_to_string(tree).ok().and_then(|text| Oid::from_str(text.trim()).ok())
    {
        return Ok(Captured { tree: known, left_out });
    }
    if !unreachable.is_empty() {
        remove_if_there(tree)?;
        let input = lines(&unreachable);
        git(&["update-index", "-z", "--force-remove", "--stdin"]).input(input).run().await?;
    }
    let id = store(checkout, tree, &changed, git).await?;
    Ok(Captured { tree: id, left_out })
}

/// Adds files to what was captured, whether git ignores them or not. Returns the tree with them.
pub(super) async fn include_also(checkout: &Checkout, paths: &[PathBuf]) -> Result<Oid, Error> {
    let Memory { index, tree } = Memory::of(checkout);
    let paths = paths.iter().map(|path| path.as_os_str().to_owned()).collect();
    store(checkout, &tree, &paths, |arguments: &[&str]| checkout.git(arguments).index(&index).raw().long(None)).await
}

/// Brings our index up to date with these files and returns its tree.
async fn store(
    checkout: &Checkout,
    tree: &Path,
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
    fs::write(tree, &id).map_err(Error::disk("write", tree))?;
    Oid::from_str(&id).map_err(Error::read(&checkout.path))
}

/// What may have changed, told apart.
#[derive(Default)]
struct Sifted {
    changed: BTreeSet<OsString>,
    /// Gone, because what was a folder above them is a link now. Git would not look there.
    unreachable: BTreeSet<OsString>,
    left_out: Vec<LeftOut>,
}

fn lines(paths: &BTreeSet<OsString>) -> Vec<u8> {
    paths.iter().flat_map(|path| [path.as_bytes(), b"\0"]).flatten().copied().collect()
}

/// Tells apart what can be stored and what is left out.
async fn sift(checkout: &Checkout, listed: Vec<u8>, cap: Option<u64>) -> Result<Sifted, Error> {
    let folder = checkout.path.clone();
    blocking(move || {
        let mut sifted = Sifted::default();
        for name in listed.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
            if let Some(nested) = name.strip_suffix(b"/") {
                sifted.left_out.push(LeftOut::Repository(OsStr::from_bytes(nested).into()));
                continue;
            }
            let name = OsStr::from_bytes(name);
            let (path, whole) = (PathBuf::from(name), folder.join(name));
            let found = fs::symlink_metadata(&whole).ok().filter(fs::Metadata::is_file);
            match found {
                _ if is_beyond_link(&folder, &path) => {
                    sifted.unreachable.insert(name.to_owned());
                }
                Some(found) if cap.is_some_and(|cap| found.len() > cap) => {
                    sifted.left_out.push(LeftOut::TooLarge { path, bytes: found.len() });
                }
                Some(_) if File::open(&whole).is_err_and(|error| error.kind() != io::ErrorKind::NotFound) => {
                    sifted.left_out.push(LeftOut::Unreadable(path));
                }
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

/// Tells whether something above a file is a link.
pub(super) fn is_beyond_link(top: &Path, path: &Path) -> bool {
    let mut folder = top.to_owned();
    path.parent().into_iter().flat_map(Path::components).any(|part| {
        folder.push(part);
        fs::symlink_metadata(&folder).is_ok_and(|found| found.is_symlink())
    })
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
    let set_up = blocking(move || {
        let settings = here.open()?.config().map_err(Error::read(&here.path))?;
        let setting = |name: &str| settings.get_string(name).ok();
        let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".config"));
        let everywhere =
            std::env::var_os("XDG_CONFIG_HOME").filter(|folder| !folder.is_empty()).map(PathBuf::from).or(home);
        Ok(everywhere.is_some_and(|folder| folder.join("git/attributes").exists())
            || setting("core.autocrlf").is_some_and(|value| value != "false")
            || setting("core.attributesFile").is_some()
            || here.common.join("info/attributes").exists())
    })
    .await?;
    if set_up {
        return Ok(true);
    }
    let listed = checkout.git(["ls-files", "-z", "--", ":(glob)**/.gitattributes"]).index(index).run().await?;
    Ok(!listed.is_empty())
}
