//! Captures a checkout from its last captured tree and the paths that changed since: the same tree that `tree_capture`
//! finds by examining every file, at the cost of those paths. Returns `None` where that is uncertain (ignore rules
//! changed, a file replaced a folder, too many changes); callers then use `tree_capture`.

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use git2::build::TreeUpdateBuilder;
use git2::{FileMode, ObjectType, Oid, Repository, Tree};
use rustix::fs::{FileType, Stat};

use super::crash_points::crash_point;
use super::dir::{Dir, is_file, is_folder, split};
use super::error::{Error, blocking};
use super::program::Checkout;
use super::tree_capture::{CapturedTree, LeftOut, stat_below};
use super::watch::Watches;

/// The most files stored this way. Each is flushed separately, while git flushes many at once.
const MAX_STORED: usize = 50;

/// The new state of a path.
enum PathState {
    Gone,
    Stored(Oid, FileMode),
    TooLarge(u64),
}

/// The changed paths, by kind.
#[derive(Default)]
struct ChangedPaths {
    /// Paths in the last tree.
    known: BTreeSet<PathBuf>,
    /// Files not in it; they count unless git ignores them.
    new_files: BTreeSet<PathBuf>,
    new_folders: BTreeSet<PathBuf>,
}

/// Returns the state of a checkout whose last one was `last`. `None` if only a full capture can tell.
pub(super) async fn capture_changes(
    checkout: &Checkout,
    watches: &Watches,
    last: CapturedTree,
    changes: BTreeSet<PathBuf>,
    cap: u64,
) -> Result<Option<CapturedTree>, Error> {
    let (here, tree, with) = (checkout.clone(), last.tree, watches.clone());
    let Some(found) = blocking(move || find(&here, &with, tree, changes)).await? else { return Ok(None) };
    let Some(ignored) = ignored(checkout, &found).await? else { return Ok(None) };
    let folders: HashSet<&Path> =
        found.new_folders.iter().map(PathBuf::as_path).filter(|folder| is_ignored(folder, &ignored)).collect();
    watches.remove_folders(&checkout.path, &folders);
    let new_files = found.new_files.into_iter().filter(|path| !is_ignored(path, &ignored));
    let paths: BTreeSet<PathBuf> = found.known.into_iter().chain(new_files).collect();
    if paths.is_empty() {
        return Ok(Some(last));
    }
    if paths.len() > MAX_STORED {
        return Ok(None);
    }
    let here = checkout.clone();
    blocking(move || store(&here, last, paths, cap)).await
}

fn is_ignored(path: &Path, ignored: &HashSet<PathBuf>) -> bool {
    path.ancestors().any(|above| ignored.contains(above))
}

fn find(
    checkout: &Checkout,
    watches: &Watches,
    tree: Oid,
    changes: BTreeSet<PathBuf>,
) -> Result<Option<ChangedPaths>, Error> {
    let repository = checkout.open()?;
    let (top, tree) = (checkout.anchor()?, find_tree(&repository, tree)?);
    let mut found = ChangedPaths::default();
    for path in changes {
        if path.file_name().is_some_and(|name| name == ".gitignore") {
            return Ok(None);
        }
        let known = kind_in(&tree, &path);
        let Ok(stat) = stat_below(&top, &path) else { return Ok(None) };
        match (known, stat) {
            // A submodule, or a path below one.
            (TreeKind::Other, _) => return Ok(None),
            (TreeKind::File, stat) if !stat.as_ref().is_some_and(is_folder) => drop(found.known.insert(path)),
            // The files of a deleted folder were reported one by one.
            (TreeKind::Folder, None) => drop(found.known.insert(path)),
            (TreeKind::Folder | TreeKind::File, _) => return Ok(None),
            (TreeKind::Absent, None) => {}
            (TreeKind::Absent, Some(stat)) if is_folder(&stat) => {
                let Some((files, folders)) = watches.add_folder(&checkout.path, &path) else { return Ok(None) };
                found.new_files.extend(files);
                found.new_folders.extend(folders);
            }
            (TreeKind::Absent, Some(_)) => drop(found.new_files.insert(path)),
        }
    }
    let has_rules = |path: &PathBuf| path.file_name().is_some_and(|name| name == ".gitignore");
    Ok((!found.new_files.iter().any(has_rules)).then_some(found))
}

/// The kind of a path in a tree.
enum TreeKind {
    Absent,
    File,
    Folder,
    Other,
}

fn kind_in(tree: &Tree<'_>, path: &Path) -> TreeKind {
    for above in path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()) {
        match tree.get_path(above).ok().and_then(|entry| entry.kind()) {
            Some(ObjectType::Tree) => break,
            None => {}
            Some(_) => return TreeKind::Other,
        }
    }
    match tree.get_path(path).ok().map(|entry| entry.kind()) {
        None => TreeKind::Absent,
        Some(Some(ObjectType::Blob)) => TreeKind::File,
        Some(Some(ObjectType::Tree)) => TreeKind::Folder,
        Some(_) => TreeKind::Other,
    }
}

/// Returns which of the new files and folders git ignores. `None` if git fails.
async fn ignored(checkout: &Checkout, found: &ChangedPaths) -> Result<Option<HashSet<PathBuf>>, Error> {
    check_ignored(checkout, found.new_files.iter().chain(&found.new_folders)).await
}

/// Returns which of the paths git ignores; none of them is tracked. `None` if git fails.
pub(super) async fn check_ignored(
    checkout: &Checkout,
    paths: impl Iterator<Item = &PathBuf>,
) -> Result<Option<HashSet<PathBuf>>, Error> {
    let input: Vec<u8> = paths.flat_map(|path| [path.as_os_str().as_bytes(), b"\0"]).flatten().copied().collect();
    if input.is_empty() {
        return Ok(Some(HashSet::new()));
    }
    let output = checkout.git(["check-ignore", "-z", "--no-index", "--stdin"]).input(input).output().await?;
    // Exit code 1 means that none of them is ignored.
    if !matches!(output.code, Some(0 | 1)) {
        return Ok(None);
    }
    let paths = output.out.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    Ok(Some(paths.map(|path| OsStr::from_bytes(path).into()).collect()))
}

fn store(
    checkout: &Checkout,
    last: CapturedTree,
    paths: BTreeSet<PathBuf>,
    cap: u64,
) -> Result<Option<CapturedTree>, Error> {
    let (repository, top) = (checkout.open()?, checkout.anchor()?);
    let tree = find_tree(&repository, last.tree)?;
    let (mut update, mut changed, mut gone_folders) = (TreeUpdateBuilder::new(), false, Vec::new());
    let mut left_out: Vec<LeftOut> = last.left_out.into_iter().filter(|left| !paths.contains(left.path())).collect();
    for path in paths {
        let Ok(stat) = stat_below(&top, &path) else { return Ok(None) };
        let Some(now) = store_path(&repository, &top, &path, stat, cap)? else { return Ok(None) };
        let known = tree.get_path(&path).ok();
        match (now, known) {
            (PathState::Gone, Some(entry)) if entry.kind() == Some(ObjectType::Tree) => gone_folders.push(path),
            (PathState::Gone, Some(_)) => {
                update.remove(path.as_path());
                changed = true;
            }
            (PathState::Gone, None) => {}
            (PathState::Stored(id, mode), Some(entry)) if (entry.id(), entry.filemode()) == (id, i32::from(mode)) => {}
            (PathState::Stored(id, mode), _) => {
                update.upsert(path.as_path(), id, mode);
                changed = true;
            }
            (PathState::TooLarge(bytes), _) => left_out.push(LeftOut::TooLarge { path, bytes }),
        }
    }
    left_out.sort_by(|a, b| a.path().cmp(b.path()));
    let id = if changed {
        crash_point("changed files are stored");
        let Ok(id) = update.create_updated(&repository, &tree) else { return Ok(None) };
        crash_point("a tree is written");
        id
    } else {
        last.tree
    };
    let now = find_tree(&repository, id)?;
    if gone_folders.iter().any(|folder| now.get_path(folder).is_ok()) {
        return Ok(None);
    }
    Ok(Some(CapturedTree { tree: id, left_out }))
}

/// Stores the file at a path. `None` if it is neither a file nor a link, cannot be read, or may change unnoticed.
fn store_path(
    repository: &Repository,
    top: &Dir,
    path: &Path,
    stat: Option<Stat>,
    cap: u64,
) -> Result<Option<PathState>, Error> {
    let Some(stat) = stat else { return Ok(Some(PathState::Gone)) };
    let failed = Error::read(repository.path());
    let Ok((above, name)) = split(path) else { return Ok(None) };
    let Ok(folder) = top.below(above) else { return Ok(None) };
    if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
        let Ok(target) = folder.read_link(name) else { return Ok(None) };
        let id = repository.blob(target.as_bytes()).map_err(failed)?;
        return Ok(Some(PathState::Stored(id, FileMode::Link)));
    }
    // A file with several hard links may change through another name without an event.
    if !is_file(&stat) || stat.st_nlink > 1 {
        return Ok(None);
    }
    let bytes = u64::try_from(stat.st_size).unwrap_or(0);
    if bytes > cap {
        return Ok(Some(PathState::TooLarge(bytes)));
    }
    let Ok(content) = folder.read(name, cap.saturating_add(1)) else { return Ok(None) };
    if content.len() as u64 > cap {
        return Ok(None);
    }
    let mode = if stat.st_mode & 0o100 == 0 { FileMode::Blob } else { FileMode::BlobExecutable };
    Ok(Some(PathState::Stored(repository.blob(&content).map_err(failed)?, mode)))
}

fn find_tree(repository: &Repository, id: Oid) -> Result<Tree<'_>, Error> {
    repository.find_tree(id).map_err(Error::read(repository.path()))
}
