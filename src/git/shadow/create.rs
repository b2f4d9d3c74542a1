//! Builds the folder of a shadow from the real repository: a few small files, and no object.
//!
//! Built beside its place and moved there when it is complete, so a crash leaves either no shadow or a whole one.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use git2::Oid;

use super::checkout_state::{self, STATE_DIRS, STATE_FILES};
use super::config_copy;
use super::ref_table::{self, RefTable};
use crate::git::crash_points::crash_point;
use crate::git::dir::Dir;
use crate::git::error::Error;
use crate::git::library;
use crate::git::program::{Checkout, MXD_IDENTITY};
use crate::git::repo_file;

/// The folder inside a shadow where the real objects are mounted. As deep as `objects`, so that relative paths in the
/// real list of alternates stay right.
pub(super) const REAL_OBJECTS: &str = "real";
/// Small files of the common folder that are copied as they are.
const SHARED_FILES: [&str; 4] = ["info/exclude", "info/attributes", "info/grafts", "shallow"];
/// The files that connect a linked checkout with its repository.
const LINKS: [&str; 2] = ["commondir", "gitdir"];
/// The largest file that is copied.
const MAX_COPY: u64 = 512 << 20;

/// What a new shadow has that the real repository does not: refs that the task's agent made earlier.
#[derive(Clone, Debug, Default)]
pub(super) struct Restored {
    /// By their full names inside.
    pub(super) refs: RefTable,
    pub(super) stash: Vec<StashEntry>,
}

/// An entry of the stash. The oldest is the first.
#[derive(Clone, Debug)]
pub(super) struct StashEntry {
    pub(super) id: Oid,
    pub(super) summary: String,
    /// Seconds since 1970.
    pub(super) time: i64,
}

/// What a shadow was made from.
#[derive(Clone, Debug)]
pub(super) struct Created {
    pub(super) refs: RefTable,
    /// The hash of the settings.
    pub(super) config: String,
}

/// Builds the shadow of a checkout at `place`.
pub(super) fn create(checkout: &Checkout, branch: &str, place: &Path, restored: &Restored) -> Result<Created, Error> {
    let draft = place.with_extension("new");
    remove(&draft)?;
    let real = Dir::open_linked(&checkout.common).map_err(Error::disk("open", &checkout.common))?;
    let found = ref_table::read(&real).map_err(Error::disk("read the refs of", &checkout.common))?;
    for folder in [
        "objects/info",
        "objects/pack",
        "refs/heads",
        "refs/tags",
        "logs/refs/heads",
        "info",
        "hooks",
        "lfs",
        REAL_OBJECTS,
    ] {
        make(&draft.join(folder))?;
    }
    let write = |name: &str, content: &[u8]| write_file(&draft.join(name), content);
    write("objects/info/alternates", alternates().as_bytes())?;
    let repository = library::open(&checkout.git_dir).map_err(Error::read(&checkout.path))?;
    let config = config_copy::copy(&repository)?;
    write("config", config.shared.as_bytes())?;
    for name in SHARED_FILES {
        copy_file(&checkout.common.join(name), &draft.join(name))?;
    }
    let mut packed = String::from("# pack-refs with: sorted \n");
    let mut all = found.refs.clone();
    all.extend(restored.refs.iter().map(|(name, id)| (name.clone(), *id)));
    packed.extend(all.iter().map(|(name, id)| format!("{id} {name}\n")));
    write("packed-refs", packed.as_bytes())?;
    for (name, target) in &found.symbolic {
        write(name, format!("ref: {target}\n").as_bytes())?;
    }
    copy_file(&checkout.common.join("logs").join(branch), &draft.join("logs").join(branch))?;
    write_stash(&draft, &restored.stash)?;
    crash_point("a shadow is half built");

    copy_file(&checkout.common.join("HEAD"), &draft.join("HEAD"))?;
    let admin = admin_dir(checkout);
    let (from, to) = (checkout.git_dir.clone(), draft.join(&admin));
    make(&to.join("modules"))?;
    if !admin.as_os_str().is_empty() {
        for name in LINKS {
            copy_file(&from.join(name), &to.join(name))?;
        }
    }
    if !config.worktree.is_empty() {
        write_file(&to.join("config.worktree"), config.worktree.as_bytes())?;
    }
    for name in STATE_FILES.into_iter().chain(["HEAD", "index", "logs/HEAD", "info/sparse-checkout"]) {
        copy_file(&from.join(name), &to.join(name))?;
    }
    copy_shared_indexes(&from, &to)?;
    for name in STATE_DIRS {
        copy_dir(&from.join(name), &to.join(name), 0)?;
    }
    crash_point("a shadow is built");
    fs::rename(&draft, place).map_err(Error::disk("move into place", place))?;
    Ok(Created { refs: found.refs, config: hash(&config.shared) })
}

/// Writes again what an existing shadow must have in common with the repository: where it finds objects and its checkout,
/// and the settings if those of the repository changed. What an agent set is lost then. Returns the hash of the current
/// settings.
pub(super) fn renew(checkout: &Checkout, place: &Path, known: &str) -> Result<String, Error> {
    let failed = || Error::disk("open", place);
    let folder = Dir::open(place).map_err(failed())?;
    let info = folder.make(Path::new("objects/info")).map_err(failed())?;
    checkout_state::replace(&info, "alternates", alternates().as_bytes())?;
    let admin = admin_dir(checkout);
    if !admin.as_os_str().is_empty() {
        let own = folder.below(&admin).map_err(failed())?;
        for name in LINKS {
            if let Some(content) = repo_file::read_plain(&checkout.git_dir.join(name), MAX_COPY) {
                checkout_state::replace(&own, name, &content)?;
            }
        }
    }
    let repository = library::open(&checkout.git_dir).map_err(Error::read(&checkout.path))?;
    let config = config_copy::copy(&repository)?;
    let current = hash(&config.shared);
    if current != known {
        checkout_state::replace(&folder, "config", config.shared.as_bytes())?;
    }
    Ok(current)
}

fn alternates() -> String {
    format!("../{REAL_OBJECTS}\n")
}

fn hash(config: &str) -> String {
    blake3::hash(config.as_bytes()).to_hex().to_string()
}

/// Returns the path of a checkout's own git folder below the common one: empty for the main checkout.
pub(super) fn admin_dir(checkout: &Checkout) -> PathBuf {
    checkout.git_dir.strip_prefix(&checkout.common).map(Path::to_owned).unwrap_or_default()
}

/// Removes a folder that an agent may have filled.
pub(super) fn remove(folder: &Path) -> Result<(), Error> {
    let (Some(parent), Some(name)) = (folder.parent(), folder.file_name()) else { return Ok(()) };
    make(parent)?;
    let parent = Dir::open(parent).map_err(Error::disk("open", parent))?;
    parent.remove_tree(name).map_err(Error::disk("remove", folder))
}

pub(super) fn make(folder: &Path) -> Result<(), Error> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(folder).map_err(Error::disk("make the folder", folder))
}

fn write_file(path: &Path, content: &[u8]) -> Result<(), Error> {
    if let Some(parent) = path.parent() {
        make(parent)?;
    }
    File::create(path).and_then(|mut file| file.write_all(content)).map_err(Error::disk("write", path))
}

/// Copies a regular file, if there is one.
fn copy_file(from: &Path, to: &Path) -> Result<(), Error> {
    match repo_file::read_plain(from, MAX_COPY) {
        Some(content) => write_file(to, &content),
        None => Ok(()),
    }
}

/// Copies a small folder of plain files, such as `rebase-merge`.
fn copy_dir(from: &Path, to: &Path, depth: usize) -> Result<(), Error> {
    for entry in fs::read_dir(from).into_iter().flatten().flatten().take(10_000) {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth < 4 => copy_dir(&from, &to, depth + 1)?,
            Ok(kind) if kind.is_file() => copy_file(&from, &to)?,
            Ok(_) | Err(_) => {}
        }
    }
    Ok(())
}

/// Copies the files that a split index refers to.
fn copy_shared_indexes(from: &Path, to: &Path) -> Result<(), Error> {
    for entry in fs::read_dir(from).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with("sharedindex.") {
            copy_file(&entry.path(), &to.join(entry.file_name()))?;
        }
    }
    Ok(())
}

/// Writes the stash: git lists it from the log.
fn write_stash(draft: &Path, entries: &[StashEntry]) -> Result<(), Error> {
    let Some(last) = entries.last() else { return Ok(()) };
    let (name, email) = MXD_IDENTITY;
    let mut log = String::new();
    let mut before = Oid::ZERO_SHA1;
    for StashEntry { id, summary, time } in entries {
        let _ = writeln!(log, "{before} {id} {name} <{email}> {time} +0000\t{summary}");
        before = *id;
    }
    write_file(&draft.join("logs/refs/stash"), log.as_bytes())?;
    write_file(&draft.join(ref_table::STASH), format!("{}\n", last.id).as_bytes())
}
