//! The state of a checkout's files as a tree: tracked and untracked, ignored ones left out, byte for byte.
//!
//! Works on an index of its own that lies beside the checkout's and is kept, so that a second capture looks only at what
//! changed since. The checkout's index, HEAD, stash and reflogs are never touched. Callers make sure that no two
//! captures of one checkout run at once.
//!
//! Bytes are stored as they lie on the disk, without line ending conversion and filters, so that they can be put back
//! exactly. The one exception: a file that a filter driver (Git LFS) wrote and nobody changed is stored as git has it.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use git2::{AttrCheckFlags, Oid, Repository};

use super::error::{Error, blocking};
use super::program::Checkout;

/// Our index beside the checkout's own.
const INDEX: &str = "mxd-index";
/// The tree that our index stands for; not there while the index is being changed.
const TREE: &str = "mxd-tree";
const REGULAR: u32 = 0o100_000;
/// The bits of an index entry that say which side of a conflict it is.
const STAGE: u16 = 0x3000;
const FORMAT: u32 = 0o170_000;

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

/// How hard a capture tries to outlive a loss of power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Safety {
    Os,
    Durable,
}

/// Captures a checkout. Files larger than `cap` are left out.
pub(super) async fn capture(checkout: &Checkout, cap: Option<u64>, safety: Safety) -> Result<Captured, Error> {
    let (index, tree) = (checkout.git_dir.join(INDEX), checkout.git_dir.join(TREE));
    // Callers take turns: a lock is a crash's leftover.
    let _ = fs::remove_file(checkout.git_dir.join(format!("{INDEX}.lock")));
    if !index.exists() {
        seed(checkout, &index).await?;
    }
    let git = |arguments: &[&str]| {
        let call = checkout.git(arguments).index(&index).raw().long(None);
        if safety == Safety::Durable { call.durable() } else { call }
    };
    let listed = match git(&["ls-files", "-z", "-m", "-o", "--exclude-standard"]).run().await {
        Ok(listed) => listed,
        Err(error) => {
            // An index that cannot be read is only a memory: the next capture starts afresh.
            forget(checkout);
            return Err(error);
        }
    };
    let (changed, left_out) = sift(checkout, listed, cap).await?;
    if changed.is_empty()
        && let Some(known) = fs::read_to_string(&tree).ok().and_then(|text| Oid::from_str(text.trim()).ok())
    {
        return Ok(Captured { tree: known, left_out });
    }
    super::worktree_files::remove_if_there(&tree)?;
    if !changed.is_empty() {
        let input = changed.iter().flat_map(|path| [path.as_bytes(), b"\0"]).flatten().copied().collect();
        git(&["update-index", "-z", "--add", "--remove", "--replace", "--stdin"]).input(input).run().await?;
    }
    let id = git(&["write-tree"]).line().await?;
    fs::write(&tree, &id).map_err(Error::disk("write", &tree))?;
    let id = Oid::from_str(&id).map_err(Error::read(&checkout.path))?;
    Ok(Captured { tree: id, left_out })
}

/// Throws away what is remembered of a checkout. The next capture starts from the checkout's own index.
pub(super) fn forget(checkout: &Checkout) {
    for name in [INDEX, TREE] {
        let _ = fs::remove_file(checkout.git_dir.join(name));
    }
}

/// Tells apart what can be stored and what is left out.
async fn sift(
    checkout: &Checkout,
    listed: Vec<u8>,
    cap: Option<u64>,
) -> Result<(BTreeSet<std::ffi::OsString>, Vec<LeftOut>), Error> {
    let folder = checkout.path.clone();
    blocking(move || {
        let mut changed = BTreeSet::new();
        let mut left_out = Vec::new();
        for name in listed.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
            if let Some(nested) = name.strip_suffix(b"/") {
                left_out.push(LeftOut::Repository(OsStr::from_bytes(nested).into()));
                continue;
            }
            let name = OsStr::from_bytes(name);
            let whole = folder.join(name);
            let path = PathBuf::from(name);
            match fs::symlink_metadata(&whole) {
                Ok(found) if found.is_file() && cap.is_some_and(|cap| found.len() > cap) => {
                    left_out.push(LeftOut::TooLarge { path, bytes: found.len() });
                }
                Ok(found)
                    if found.is_file()
                        && File::open(&whole).is_err_and(|error| error.kind() != io::ErrorKind::NotFound) =>
                {
                    left_out.push(LeftOut::Unreadable(path));
                }
                // What is gone is noted as gone.
                _ => {
                    changed.insert(name.to_owned());
                }
            }
        }
        left_out.sort_by(|a, b| a.path().cmp(b.path()));
        left_out.dedup();
        Ok((changed, left_out))
    })
    .await
}

/// Starts our index as a copy of the checkout's, which knows which files are unchanged. Entries whose stored form is not
/// what lies on the disk lose that knowledge.
async fn seed(checkout: &Checkout, index: &Path) -> Result<(), Error> {
    let (theirs, ours) = (checkout.git_dir.join("index"), index.to_owned());
    let here = checkout.clone();
    let converted = blocking(move || {
        let Ok(modified) = fs::metadata(&theirs).and_then(|found| found.modified()) else {
            return Ok(Vec::new());
        };
        let draft = ours.with_extension("draft");
        fs::copy(&theirs, &draft).map_err(Error::disk("copy", &theirs))?;
        // Git compares files with the time of the index to find those that changed in the moment it was written.
        let copy = File::options().write(true).open(&draft).map_err(Error::disk("open", &draft))?;
        copy.set_modified(modified).map_err(Error::disk("date", &draft))?;
        let list = converted_entries(&here, &draft);
        let Ok(list) = list else {
            // Not an index that can be looked through from here; git will look at every file instead.
            let _ = fs::remove_file(&draft);
            return Ok(Vec::new());
        };
        fs::rename(&draft, &ours).map_err(Error::disk("write", &ours))?;
        Ok(list)
    })
    .await?;
    if converted.is_empty() {
        return Ok(());
    }
    checkout.git(["update-index", "-z", "--index-info"]).index(index).input(converted).run().await.map(drop)
}

/// Returns the entries whose file has another size than what is stored, in the form that makes git forget what it knows
/// about the file.
fn converted_entries(checkout: &Checkout, index: &Path) -> Result<Vec<u8>, git2::Error> {
    let repository = checkout.open().map_err(|error| git2::Error::from_str(&error.to_string()))?;
    let index = git2::Index::open(index)?;
    let mut list = Vec::new();
    if !converts(&repository, &index) {
        return Ok(list);
    }
    let objects = repository.odb()?;
    for entry in index.iter().filter(|entry| entry.mode & FORMAT == REGULAR && entry.flags & STAGE == 0) {
        let Ok((size, _)) = objects.read_header(entry.id) else { continue };
        // The size in an index has 32 bits.
        let same = u32::try_from(size & 0xFFFF_FFFF).is_ok_and(|size| size == entry.file_size);
        if same || entry.file_size == 0 || has_filter(&repository, &entry.path) {
            continue;
        }
        list.extend_from_slice(format!("{:o} {}\t", entry.mode, entry.id).as_bytes());
        list.extend_from_slice(&entry.path);
        list.push(0);
    }
    Ok(list)
}

/// Tells whether anything in this repository could make a file differ from what is stored.
fn converts(repository: &Repository, index: &git2::Index) -> bool {
    let setting = |name: &str| repository.config().and_then(|config| config.get_string(name)).ok();
    let everywhere = std::env::var_os("XDG_CONFIG_HOME")
        .filter(|folder| !folder.is_empty())
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".config")))
        .is_some_and(|folder| folder.join("git/attributes").exists());
    everywhere
        || setting("core.autocrlf").is_some_and(|value| value != "false")
        || setting("core.attributesFile").is_some()
        || repository.commondir().join("info/attributes").exists()
        || index.iter().any(|entry| entry.path.ends_with(b".gitattributes"))
}

fn has_filter(repository: &Repository, path: &[u8]) -> bool {
    let path = PathBuf::from(std::ffi::OsString::from_vec(path.to_owned()));
    matches!(repository.get_attr(&path, "filter", AttrCheckFlags::FILE_THEN_INDEX), Ok(Some(_)))
}
