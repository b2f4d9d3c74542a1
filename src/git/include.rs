//! `.worktreeinclude`: which ignored files of the main checkout (such as `.env`) a new worktree gets a copy of.
//!
//! The file has gitignore syntax and lies at the top of the main checkout. Only files that git ignores are copied: the
//! rest comes with the branch. Nothing is followed, nothing overwritten, everything bounded; a second run only adds what is
//! missing.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::error::{Error, blocking};
use super::program::Checkout;

/// The file that says what to copy.
pub const FILE: &str = ".worktreeinclude";
const MOST_FILES: usize = 50_000;
const MOST_BYTES: u64 = 8 << 30;
/// How many files are looked at. More is a disk, not a repository.
const MOST_LOOKED_AT: usize = 1_000_000;
/// How many skipped files are named.
const MOST_NAMED: usize = 100;

/// Why a file was not copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Skip {
    /// The worktree has something of that name.
    Exists,
    /// A link that leads out of the repository.
    LeadsOut,
    /// Neither a file nor a link.
    NotAFile,
    /// Enough was copied.
    TooMuch,
    Failed(String),
}

/// What was copied, and what was not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Included {
    pub files: usize,
    pub bytes: u64,
    /// The first hundred of the copied ones.
    pub copied: Vec<PathBuf>,
    /// The first hundred of the others.
    pub skipped: Vec<(PathBuf, Skip)>,
    pub skipped_count: usize,
    /// Lines of the file that mean nothing.
    pub problems: Vec<String>,
}

impl Included {
    fn skip(&mut self, path: &Path, why: Skip) {
        self.skipped_count += 1;
        if self.skipped.len() < MOST_NAMED {
            self.skipped.push((path.to_owned(), why));
        }
    }
}

/// Copies what `.worktreeinclude` of the main checkout names into a worktree. Without such a file nothing happens.
pub async fn copy(main: &Checkout, worktree: &Path) -> Result<Included, Error> {
    let top = main.path.clone();
    let found = blocking(move || candidates(&top)).await?;
    let Some((candidates, mut included)) = found else { return Ok(Included::default()) };
    if candidates.is_empty() {
        return Ok(included);
    }
    let input = candidates.iter().flat_map(|path| [path.as_os_str().as_bytes(), b"\0"]).flatten().copied().collect();
    // Code 1 says that none of them is ignored.
    let answer = main.git(["check-ignore", "-z", "--stdin"]).input(input).answer().await?;
    if !matches!(answer.code, Some(0 | 1)) {
        let call = "check-ignore".to_owned();
        return Err(Error::Failed { call, folder: main.path.clone(), code: answer.code, said: answer.said });
    }
    let ignored: BTreeSet<PathBuf> = answer
        .out
        .split(|byte| *byte == 0)
        .filter(|path| !path.is_empty())
        .map(|path| OsStr::from_bytes(path).into())
        .collect();
    let (top, worktree) = (main.path.clone(), worktree.to_owned());
    blocking(move || {
        for path in &ignored {
            if included.files == MOST_FILES || included.bytes > MOST_BYTES {
                included.skip(path, Skip::TooMuch);
                continue;
            }
            match copy_one(&top, &worktree, path) {
                Ok(Ok(bytes)) => {
                    included.files += 1;
                    included.bytes += bytes;
                    if included.copied.len() < MOST_NAMED {
                        included.copied.push(path.clone());
                    }
                }
                Ok(Err(why)) => included.skip(path, why),
                Err(error) => included.skip(path, Skip::Failed(error.to_string())),
            }
        }
        Ok(included)
    })
    .await
}

/// Returns the files that the patterns match, ignored or not.
fn candidates(top: &Path) -> Result<Option<(Vec<PathBuf>, Included)>, Error> {
    let file = top.join(FILE);
    let mut builder = GitignoreBuilder::new(top);
    match fs::symlink_metadata(&file) {
        Ok(found) if found.is_file() => {}
        _ => return Ok(None),
    }
    let mut included = Included::default();
    included.problems.extend(builder.add(&file).map(|error| error.to_string()));
    let patterns =
        builder.build().map_err(|error| Error::Refused(format!("{} cannot be used: {error}", file.display())))?;
    let mut found = Vec::new();
    let mut budget = MOST_LOOKED_AT;
    walk(top, Path::new(""), &patterns, false, &mut found, &mut budget);
    if budget == 0 {
        included.problems.push(format!("only the first {MOST_LOOKED_AT} files were looked at"));
    }
    Ok(Some((found, included)))
}

/// Walks a folder without following links and without entering other repositories. `inside`: a pattern matched the
/// folder, and with it all that is in it.
fn walk(top: &Path, folder: &Path, patterns: &Gitignore, inside: bool, found: &mut Vec<PathBuf>, budget: &mut usize) {
    let mut entries: Vec<_> = fs::read_dir(top.join(folder)).into_iter().flatten().flatten().collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        if *budget == 0 {
            return;
        }
        *budget -= 1;
        let path = folder.join(entry.file_name());
        let Ok(kind) = entry.file_type() else { continue };
        if entry.file_name() == ".git" {
            continue;
        }
        let matched = patterns.matched(&path, kind.is_dir());
        let wanted = if matched.is_whitelist() { false } else { inside || matched.is_ignore() };
        if !kind.is_dir() {
            if wanted {
                found.push(path);
            }
        } else if !top.join(&path).join(".git").exists() {
            walk(top, &path, patterns, wanted, found, budget);
        }
    }
}

/// Copies one file; the other result says why not.
fn copy_one(top: &Path, worktree: &Path, path: &Path) -> io::Result<Result<u64, Skip>> {
    let (source, target) = (top.join(path), worktree.join(path));
    let found = fs::symlink_metadata(&source)?;
    if target.symlink_metadata().is_ok() {
        return Ok(Err(Skip::Exists));
    }
    if found.is_symlink() {
        let leads_to = fs::read_link(&source)?;
        if leads_out(path, &leads_to) {
            return Ok(Err(Skip::LeadsOut));
        }
        make_folders(worktree, path)?;
        std::os::unix::fs::symlink(leads_to, &target)?;
        return Ok(Ok(0));
    }
    if !found.is_file() {
        return Ok(Err(Skip::NotAFile));
    }
    make_folders(worktree, path)?;
    let mut name = OsString::from(".mxd-draft-");
    name.push(blake3::hash(path.as_os_str().as_bytes()).to_hex().as_str());
    let draft = target.with_file_name(name);
    let _ = fs::remove_file(&draft);
    let done = clone_or_copy(&source, &draft).and_then(|()| {
        fs::set_permissions(&draft, fs::Permissions::from_mode(found.permissions().mode() & 0o777))?;
        // A second name for it, instead of a new name: this fails where something has that name by now.
        fs::hard_link(&draft, &target)
    });
    let _ = fs::remove_file(&draft);
    match done {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(Err(Skip::Exists)),
        done => done.map(|()| Ok(found.len())),
    }
}

/// Makes the folders above a file in the worktree; a link among them ends it.
fn make_folders(worktree: &Path, path: &Path) -> io::Result<()> {
    let mut folder = worktree.to_owned();
    for part in path.parent().into_iter().flat_map(Path::components) {
        folder.push(part);
        match fs::symlink_metadata(&folder) {
            Ok(found) if found.is_dir() => {}
            Ok(_) => return Err(io::Error::other(format!("{} is not a folder", folder.display()))),
            Err(_) => fs::create_dir(&folder)?,
        }
    }
    Ok(())
}

/// Tells whether a link at `path` leads out of the folder that `path` is relative to.
fn leads_out(path: &Path, target: &Path) -> bool {
    let mut depth = path.components().count().saturating_sub(1);
    for part in target.components() {
        match part {
            Component::Prefix(_) | Component::RootDir => return true,
            Component::CurDir => {}
            Component::ParentDir if depth == 0 => return true,
            Component::ParentDir => depth -= 1,
            Component::Normal(_) => depth += 1,
        }
    }
    false
}

/// Copies a file, by sharing its blocks where the file system can.
fn clone_or_copy(source: &Path, target: &Path) -> io::Result<()> {
    let mut from = File::open(source)?;
    let mut to = File::options().write(true).create_new(true).open(target)?;
    if !share_blocks(&from, &to) {
        io::copy(&mut from, &mut to)?;
    }
    if let Ok(time) = from.metadata().and_then(|found| found.modified()) {
        // A build that looks at times need not start from nothing.
        let _ = to.set_modified(time);
    }
    Ok(())
}

#[cfg(target_os = "linux")]
fn share_blocks(from: &File, to: &File) -> bool {
    rustix::fs::ioctl_ficlone(to, from).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn share_blocks(_from: &File, _to: &File) -> bool {
    false
}
