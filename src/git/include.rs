//! `.worktreeinclude`: ignored files of the main checkout (such as `.env`) that are copied into new worktrees.
//!
//! The file has gitignore syntax and is at the top of the main checkout. Only ignored files are copied: the rest comes
//! with the branch. Links are not followed, nothing is overwritten, everything is bounded; a second run only adds
//! missing files.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{FileType, Mode};

use super::dir::{Dir, is_file, is_in_the_way, split};
use super::error::{Error, blocking};
use super::program::Checkout;
use super::repo_file;

/// The file with the patterns.
pub const FILE: &str = ".worktreeinclude";
const MAX_FILES: usize = 50_000;
const MAX_BYTES: u64 = 8 << 30;
/// The most files examined.
const MAX_EXAMINED: usize = 1_000_000;
/// The most skipped files listed by name.
const MAX_LISTED: usize = 100;

/// Why a file was not copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Skip {
    /// The name exists in the worktree.
    Exists,
    /// A link that points out of the repository.
    LeadsOut,
    /// Neither a file nor a link.
    NotAFile,
    /// The copy limit was reached.
    TooMuch,
    Failed(String),
}

/// Result of the copy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IncludeReport {
    pub files: usize,
    pub bytes: u64,
    /// The first hundred copied files.
    pub copied: Vec<PathBuf>,
    /// The first hundred skipped files.
    pub skipped: Vec<(PathBuf, Skip)>,
    pub skipped_count: usize,
    /// Invalid lines of the file.
    pub problems: Vec<String>,
}

impl IncludeReport {
    fn skip(&mut self, path: &Path, why: Skip) {
        self.skipped_count += 1;
        if self.skipped.len() < MAX_LISTED {
            self.skipped.push((path.to_owned(), why));
        }
    }
}

/// Copies the files that `.worktreeinclude` of the main checkout matches into a worktree. Does nothing without that
/// file.
pub async fn copy(main: &Checkout, worktree: &Checkout) -> Result<IncludeReport, Error> {
    let top = main.path.clone();
    let found = blocking(move || candidates(&top)).await?;
    let Some((candidates, mut report)) = found else { return Ok(IncludeReport::default()) };
    if candidates.is_empty() {
        return Ok(report);
    }
    let input = candidates.iter().flat_map(|path| [path.as_os_str().as_bytes(), b"\0"]).flatten().copied().collect();
    // Exit code 1 means that none of them is ignored.
    let output = main.git(["check-ignore", "-z", "--stdin"]).input(input).output().await?;
    if !matches!(output.code, Some(0 | 1)) {
        let call = "check-ignore".to_owned();
        return Err(Error::Failed { call, folder: main.path.clone(), code: output.code, message: output.message });
    }
    let ignored: BTreeSet<PathBuf> = output
        .out
        .split(|byte| *byte == 0)
        .filter(|path| !path.is_empty())
        .map(|path| OsStr::from_bytes(path).into())
        .collect();
    let (main, worktree) = (main.clone(), worktree.clone());
    blocking(move || {
        let (from, to) = (main.anchor()?, worktree.anchor()?);
        for path in &ignored {
            if report.files == MAX_FILES || report.bytes > MAX_BYTES {
                report.skip(path, Skip::TooMuch);
                continue;
            }
            match copy_one(&from, &to, path) {
                Ok(Ok(bytes)) => {
                    report.files += 1;
                    report.bytes += bytes;
                    if report.copied.len() < MAX_LISTED {
                        report.copied.push(path.clone());
                    }
                }
                Ok(Err(why)) => report.skip(path, why),
                Err(error) => report.skip(path, Skip::Failed(error.to_string())),
            }
        }
        Ok(report)
    })
    .await
}

/// Returns the files that match the patterns, ignored or not.
fn candidates(top: &Path) -> Result<Option<(Vec<PathBuf>, IncludeReport)>, Error> {
    let file = top.join(FILE);
    let text = match repo_file::read(top, &file, repo_file::SMALL) {
        Ok(Some(bytes)) => String::from_utf8_lossy(&bytes).into_owned(),
        Ok(None) => return Ok(None),
        Err(error) => {
            let problems = vec![error.to_string()];
            return Ok(Some((Vec::new(), IncludeReport { problems, ..IncludeReport::default() })));
        }
    };
    let mut builder = GitignoreBuilder::new(top);
    let mut report = IncludeReport::default();
    for line in text.lines() {
        let added = builder.add_line(Some(file.clone()), line);
        report.problems.extend(added.err().map(|error| error.to_string()));
    }
    let patterns =
        builder.build().map_err(|error| Error::Refused(format!("cannot use {}: {error}", file.display())))?;
    let mut found = Vec::new();
    let mut budget = MAX_EXAMINED;
    walk(top, Path::new(""), &patterns, false, &mut found, &mut budget);
    if budget == 0 {
        report.problems.push(format!("only the first {MAX_EXAMINED} files were examined"));
    }
    Ok(Some((found, report)))
}

/// Walks a folder without following links or entering other repositories. `inside`: a pattern matched the folder and so
/// everything in it.
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

/// Copies one file, or returns why not. Nothing is read or written through a link.
fn copy_one(main: &Dir, worktree: &Dir, path: &Path) -> io::Result<Result<u64, Skip>> {
    let (above, name) = split(path)?;
    let from = main.below(above)?;
    let Some(found) = from.stat(name)? else { return Err(io::ErrorKind::NotFound.into()) };
    if is_there(worktree, above, name)? {
        return Ok(Err(Skip::Exists));
    }
    if FileType::from_raw_mode(found.st_mode) == FileType::Symlink {
        let target = from.read_link(name)?;
        if leads_out(path, Path::new(&target)) {
            return Ok(Err(Skip::LeadsOut));
        }
        worktree.make(above)?.symlink(&target, name)?;
        return Ok(Ok(0));
    }
    if !is_file(&found) {
        return Ok(Err(Skip::NotAFile));
    }
    let to = worktree.make(above)?;
    let mut draft = OsString::from(".mxd-draft-");
    draft.push(blake3::hash(path.as_os_str().as_bytes()).to_hex().as_str());
    to.remove_file(&draft)?;
    let copied = clone_or_copy(&from, name, &to, &draft).and_then(|bytes| {
        // A hard link instead of a rename: it fails if the name exists by now.
        to.hard_link(&draft, name)?;
        Ok(bytes)
    });
    let _ = to.remove_file(&draft);
    match copied {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(Err(Skip::Exists)),
        copied => copied.map(Ok),
    }
}

fn is_there(worktree: &Dir, above: &Path, name: &OsStr) -> io::Result<bool> {
    match worktree.below(above) {
        Ok(folder) => Ok(folder.stat(name)?.is_some()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) if is_in_the_way(&error) => {
            Err(io::Error::other(format!("{} is not a folder", worktree.path().join(above).display())))
        }
        Err(error) => Err(error),
    }
}

/// Returns true if a link at `path` points out of the folder that `path` is relative to.
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

/// Copies a file with its permissions and time, sharing its blocks if the file system can.
fn clone_or_copy(from: &Dir, name: &OsStr, to: &Dir, draft: &OsStr) -> io::Result<u64> {
    let mut source = from.open_file(name)?;
    let found = source.metadata()?;
    let mut target = to.create(draft, Mode::from_raw_mode(0o600))?;
    if !share_blocks(&source, &target) {
        io::copy(&mut source, &mut target)?;
    }
    if let Ok(time) = found.modified() {
        // Keeps incremental builds valid.
        let _ = target.set_modified(time);
    }
    target.set_permissions(fs::Permissions::from_mode(found.permissions().mode() & 0o777))?;
    Ok(found.len())
}

#[cfg(target_os = "linux")]
fn share_blocks(from: &File, to: &File) -> bool {
    rustix::fs::ioctl_ficlone(to, from).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn share_blocks(_from: &File, _to: &File) -> bool {
    false
}
