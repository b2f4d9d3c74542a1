//! The state of a checkout's files as a tree, from the last one and the paths that changed since: the same tree that
//! `capture` finds by looking at every file, for the price of those paths. Where that is not certain (rules about what is
//! ignored changed, a file took the place of a folder, too much changed) the answer is `None`, and `capture` is asked.

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use git2::build::TreeUpdateBuilder;
use git2::{FileMode, ObjectType, Oid, Repository, Tree};
use rustix::fs::{FileType, Stat};

use super::capture::{Captured, LeftOut, look};
use super::dir::{Dir, is_file, is_folder, split};
use super::error::{Error, blocking};
use super::program::Checkout;
use super::step::step;
use super::watch::Watches;

/// How many files are stored this way. Each is saved on its own, where git saves many at once.
const MOST_STORED: usize = 50;

/// What became of one path.
enum Now {
    Gone,
    Stored(Oid, FileMode),
    TooLarge(u64),
}

/// What lies at the changed paths.
#[derive(Default)]
struct Found {
    /// Paths that the last tree has.
    known: BTreeSet<PathBuf>,
    /// Files that it does not have; they count unless git ignores them.
    new_files: BTreeSet<PathBuf>,
    new_folders: BTreeSet<PathBuf>,
}

/// Returns the state of a checkout whose last one was `last`. `None` if only a look at every file can tell.
pub(super) async fn capture_changes(
    checkout: &Checkout,
    watches: &Watches,
    last: Captured,
    changes: BTreeSet<PathBuf>,
    cap: u64,
) -> Result<Option<Captured>, Error> {
    let (here, tree, with) = (checkout.clone(), last.tree, watches.clone());
    let Some(found) = blocking(move || find(&here, &with, tree, changes)).await? else { return Ok(None) };
    let Some(ignored) = ignored(checkout, &found).await? else { return Ok(None) };
    let folders: HashSet<&Path> =
        found.new_folders.iter().map(PathBuf::as_path).filter(|folder| is_ignored(folder, &ignored)).collect();
    watches.leave(&checkout.path, &folders);
    let new_files = found.new_files.into_iter().filter(|path| !is_ignored(path, &ignored));
    let paths: BTreeSet<PathBuf> = found.known.into_iter().chain(new_files).collect();
    if paths.is_empty() {
        return Ok(Some(last));
    }
    if paths.len() > MOST_STORED {
        return Ok(None);
    }
    let here = checkout.clone();
    blocking(move || store(&here, last, paths, cap)).await
}

fn is_ignored(path: &Path, ignored: &HashSet<PathBuf>) -> bool {
    path.ancestors().any(|above| ignored.contains(above))
}

fn find(checkout: &Checkout, watches: &Watches, tree: Oid, changes: BTreeSet<PathBuf>) -> Result<Option<Found>, Error> {
    let repository = checkout.open()?;
    let (top, tree) = (checkout.anchor()?, find_tree(&repository, tree)?);
    let mut found = Found::default();
    for path in changes {
        if path.file_name().is_some_and(|name| name == ".gitignore") {
            return Ok(None);
        }
        let known = kind_in(&tree, &path);
        let Ok(there) = look(&top, &path) else { return Ok(None) };
        match (known, there) {
            // A submodule, or something below one.
            (Known::Other, _) => return Ok(None),
            (Known::File, there) if !there.as_ref().is_some_and(is_folder) => drop(found.known.insert(path)),
            // What was in a folder that is gone was told file by file.
            (Known::Folder, None) => drop(found.known.insert(path)),
            (Known::Folder | Known::File, _) => return Ok(None),
            (Known::Nothing, None) => {}
            (Known::Nothing, Some(there)) if is_folder(&there) => {
                let Some((files, folders)) = watches.adopt(&checkout.path, &path) else { return Ok(None) };
                found.new_files.extend(files);
                found.new_folders.extend(folders);
            }
            (Known::Nothing, Some(_)) => drop(found.new_files.insert(path)),
        }
    }
    let has_rules = |path: &PathBuf| path.file_name().is_some_and(|name| name == ".gitignore");
    Ok((!found.new_files.iter().any(has_rules)).then_some(found))
}

/// What a tree has at a path.
enum Known {
    Nothing,
    File,
    Folder,
    Other,
}

fn kind_in(tree: &Tree<'_>, path: &Path) -> Known {
    for above in path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()) {
        match tree.get_path(above).ok().and_then(|entry| entry.kind()) {
            Some(ObjectType::Tree) => break,
            None => {}
            Some(_) => return Known::Other,
        }
    }
    match tree.get_path(path).ok().map(|entry| entry.kind()) {
        None => Known::Nothing,
        Some(Some(ObjectType::Blob)) => Known::File,
        Some(Some(ObjectType::Tree)) => Known::Folder,
        Some(_) => Known::Other,
    }
}

/// Returns which of the new files and folders git ignores. `None` if it does not tell.
async fn ignored(checkout: &Checkout, found: &Found) -> Result<Option<HashSet<PathBuf>>, Error> {
    check_ignored(checkout, found.new_files.iter().chain(&found.new_folders)).await
}

/// Returns which of the paths git ignores, none of which it tracks. `None` if it does not tell.
pub(super) async fn check_ignored(
    checkout: &Checkout,
    paths: impl Iterator<Item = &PathBuf>,
) -> Result<Option<HashSet<PathBuf>>, Error> {
    let input: Vec<u8> = paths.flat_map(|path| [path.as_os_str().as_bytes(), b"\0"]).flatten().copied().collect();
    if input.is_empty() {
        return Ok(Some(HashSet::new()));
    }
    let answer = checkout.git(["check-ignore", "-z", "--no-index", "--stdin"]).input(input).answer().await?;
    // Code 1 says that none of them is ignored.
    if !matches!(answer.code, Some(0 | 1)) {
        return Ok(None);
    }
    let paths = answer.out.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    Ok(Some(paths.map(|path| OsStr::from_bytes(path).into()).collect()))
}

fn store(checkout: &Checkout, last: Captured, paths: BTreeSet<PathBuf>, cap: u64) -> Result<Option<Captured>, Error> {
    let (repository, top) = (checkout.open()?, checkout.anchor()?);
    let tree = find_tree(&repository, last.tree)?;
    let (mut update, mut changed, mut gone_folders) = (TreeUpdateBuilder::new(), false, Vec::new());
    let mut left_out: Vec<LeftOut> = last.left_out.into_iter().filter(|left| !paths.contains(left.path())).collect();
    for path in paths {
        let Ok(there) = look(&top, &path) else { return Ok(None) };
        let Some(now) = now_at(&repository, &top, &path, there, cap)? else { return Ok(None) };
        let known = tree.get_path(&path).ok();
        match (now, known) {
            (Now::Gone, Some(entry)) if entry.kind() == Some(ObjectType::Tree) => gone_folders.push(path),
            (Now::Gone, Some(_)) => {
                update.remove(path.as_path());
                changed = true;
            }
            (Now::Gone, None) => {}
            (Now::Stored(id, mode), Some(entry)) if (entry.id(), entry.filemode()) == (id, i32::from(mode)) => {}
            (Now::Stored(id, mode), _) => {
                update.upsert(path.as_path(), id, mode);
                changed = true;
            }
            (Now::TooLarge(bytes), _) => left_out.push(LeftOut::TooLarge { path, bytes }),
        }
    }
    left_out.sort_by(|a, b| a.path().cmp(b.path()));
    let id = if changed {
        step("changed files are stored");
        let Ok(id) = update.create_updated(&repository, &tree) else { return Ok(None) };
        step("a tree is written");
        id
    } else {
        last.tree
    };
    let now = find_tree(&repository, id)?;
    if gone_folders.iter().any(|folder| now.get_path(folder).is_ok()) {
        return Ok(None);
    }
    Ok(Some(Captured { tree: id, left_out }))
}

/// Stores what lies at a path. `None` if it is neither a file nor a link, cannot be read, or may change unnoticed.
fn now_at(
    repository: &Repository,
    top: &Dir,
    path: &Path,
    there: Option<Stat>,
    cap: u64,
) -> Result<Option<Now>, Error> {
    let Some(there) = there else { return Ok(Some(Now::Gone)) };
    let failed = Error::read(repository.path());
    let Ok((above, name)) = split(path) else { return Ok(None) };
    let Ok(folder) = top.below(above) else { return Ok(None) };
    if FileType::from_raw_mode(there.st_mode) == FileType::Symlink {
        let Ok(target) = folder.read_link(name) else { return Ok(None) };
        let id = repository.blob(target.as_bytes()).map_err(failed)?;
        return Ok(Some(Now::Stored(id, FileMode::Link)));
    }
    // A file with a second name may be changed by it, of which nobody tells.
    if !is_file(&there) || there.st_nlink > 1 {
        return Ok(None);
    }
    let bytes = u64::try_from(there.st_size).unwrap_or(0);
    if bytes > cap {
        return Ok(Some(Now::TooLarge(bytes)));
    }
    let Ok(content) = folder.read(name, cap.saturating_add(1)) else { return Ok(None) };
    if content.len() as u64 > cap {
        return Ok(None);
    }
    let mode = if there.st_mode & 0o100 == 0 { FileMode::Blob } else { FileMode::BlobExecutable };
    Ok(Some(Now::Stored(repository.blob(&content).map_err(failed)?, mode)))
}

fn find_tree(repository: &Repository, id: Oid) -> Result<Tree<'_>, Error> {
    repository.find_tree(id).map_err(Error::read(repository.path()))
}
