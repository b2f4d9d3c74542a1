//! The user's skills that come from a git repository: what a repository offers, adding, updating and removing.
//!
//! A skill is copied file by file into the data folder, with a note of its origin. Links and anything that is not a
//! file are refused: the user has seen every file that is copied.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{FILE, Skill, parse};
use crate::base::Fault;
use crate::config::profile::Source;

/// The file in a skill's folder that says where it came from.
const ORIGIN: &str = ".source";
const MAX_FILES: usize = 200;
const MAX_BYTES: u64 = 4 << 20;
const MAX_DEPTH: usize = 8;

/// Where a skill came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    pub url: String,
    /// The folder in the repository.
    pub path: PathBuf,
    pub commit: String,
}

/// A skill in a folder, with all its files.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub skill: Skill,
    /// The folder, relative to the repository.
    pub path: PathBuf,
    pub files: BTreeMap<PathBuf, File>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    pub bytes: Vec<u8>,
    pub is_executable: bool,
}

/// Returns the skills below `path` in a cloned repository.
pub fn offered(top: &Path, path: &Path) -> Result<Vec<Candidate>, Fault> {
    if path.components().any(|part| !matches!(part, Component::Normal(_) | Component::CurDir)) {
        return Err(Fault::user(format!("{} leads out of the repository", path.display())));
    }
    let mut found = Vec::new();
    collect(top, path, 0, &mut found)?;
    if found.is_empty() {
        let place = if path.as_os_str().is_empty() { Path::new("the repository") } else { path };
        return Err(Fault::user(format!("{} has no folder with a {FILE}", place.display()))
            .hint("name the folder of the skill: URL#PATH"));
    }
    Ok(found)
}

fn collect(top: &Path, path: &Path, depth: usize, found: &mut Vec<Candidate>) -> Result<(), Fault> {
    let folder = top.join(path);
    let is_folder = std::fs::symlink_metadata(&folder).is_ok_and(|found| found.is_dir());
    if !is_folder || depth > MAX_DEPTH {
        return Ok(());
    }
    if std::fs::symlink_metadata(folder.join(FILE)).is_ok_and(|found| found.is_file()) {
        found.push(candidate(top, path)?);
        return Ok(());
    }
    let mut inner: Vec<_> =
        std::fs::read_dir(&folder).into_iter().flatten().flatten().map(|it| it.file_name()).collect();
    inner.sort();
    inner
        .into_iter()
        .filter(|name| name != ".git")
        .try_for_each(|name| collect(top, &path.join(name), depth + 1, found))
}

fn candidate(top: &Path, path: &Path) -> Result<Candidate, Fault> {
    let folder = top.join(path);
    let mut files = BTreeMap::new();
    let mut total = 0;
    read_files(&folder, Path::new(""), &mut files, &mut total)?;
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let text = files.get(Path::new(FILE)).map(|file| file.bytes.clone()).unwrap_or_default();
    let skill = parse(Source::User, &folder, &name, &text)
        .map_err(|reason| Fault::user(format!("{}: {reason}", path.join(FILE).display())))?;
    Ok(Candidate { skill, path: path.to_owned(), files })
}

fn read_files(folder: &Path, below: &Path, files: &mut BTreeMap<PathBuf, File>, total: &mut u64) -> Result<(), Fault> {
    let failed = |error: std::io::Error| Fault::environment(format!("cannot read {}: {error}", folder.display()));
    for entry in std::fs::read_dir(folder.join(below)).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = below.join(entry.file_name());
        if name == Path::new(ORIGIN) || name == Path::new(".git") {
            continue;
        }
        let facts = entry.metadata().map_err(failed)?;
        if facts.is_dir() {
            read_files(folder, &name, files, total)?;
        } else if facts.is_file() {
            *total += facts.len();
            if *total > MAX_BYTES || files.len() >= MAX_FILES {
                return Err(Fault::user(format!(
                    "the skill has more than {MAX_FILES} files or {} MiB",
                    MAX_BYTES >> 20
                )));
            }
            let bytes = std::fs::read(entry.path()).map_err(failed)?;
            files.insert(name, File { bytes, is_executable: facts.permissions().mode() & 0o111 != 0 });
        } else {
            return Err(Fault::user(format!("{} is a link; a skill must consist of files", name.display())));
        }
    }
    Ok(())
}

/// Returns the origin of an installed skill, or `None` if it was not added from a repository.
pub fn origin(folder: &Path) -> Option<Origin> {
    serde_json::from_slice(&std::fs::read(folder.join(ORIGIN)).ok()?).ok()
}

/// Returns the files of an installed skill.
pub fn installed(folder: &Path) -> Result<BTreeMap<PathBuf, File>, Fault> {
    let mut files = BTreeMap::new();
    read_files(folder, Path::new(""), &mut files, &mut 0)?;
    Ok(files)
}

/// Copies a skill into the user's folder. The old version stays until the new one is complete.
pub fn install(skills: &Path, candidate: &Candidate, origin: &Origin) -> Result<PathBuf, Fault> {
    let target = skills.join(&candidate.skill.name);
    let failed = |error: std::io::Error| Fault::environment(format!("cannot write {}: {error}", target.display()));
    std::fs::create_dir_all(skills).map_err(failed)?;
    let staging = tempfile_in(skills).map_err(failed)?;
    let written = write_all(&staging, candidate, origin).and_then(|()| {
        if target.exists() {
            let old = staging.with_extension("old");
            std::fs::rename(&target, &old)?;
            std::fs::rename(&staging, &target)?;
            return std::fs::remove_dir_all(&old);
        }
        std::fs::rename(&staging, &target)
    });
    if let Err(error) = written {
        let _ = std::fs::remove_dir_all(&staging);
        return Err(failed(error));
    }
    Ok(target)
}

/// Makes a folder whose name no skill can have.
fn tempfile_in(skills: &Path) -> std::io::Result<PathBuf> {
    let staging = skills.join(format!(".new-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&staging);
    std::fs::create_dir(&staging)?;
    Ok(staging)
}

fn write_all(staging: &Path, candidate: &Candidate, origin: &Origin) -> std::io::Result<()> {
    for (name, file) in &candidate.files {
        let path = staging.join(name);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(&path, &file.bytes)?;
        let mode = if file.is_executable { 0o755 } else { 0o644 };
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode))?;
    }
    std::fs::write(staging.join(ORIGIN), serde_json::to_vec_pretty(origin)?)
}

/// Deletes an installed skill.
pub fn remove(skills: &Path, name: &str) -> Result<(), Fault> {
    let folder = skills.join(name);
    let is_name = Path::new(name).components().count() == 1 && !name.starts_with('.');
    if !is_name || !folder.join(FILE).is_file() {
        return Err(Fault::user(format!("you have no skill \"{name}\"")).hint("`mxd skill list` lists the skills"));
    }
    let failed = |error: std::io::Error| Fault::environment(format!("cannot delete {}: {error}", folder.display()));
    // The user's own link to a folder elsewhere is removed, and not what it leads to.
    if folder.is_symlink() { std::fs::remove_file(&folder) } else { std::fs::remove_dir_all(&folder) }.map_err(failed)
}

/// Returns the difference between two versions as a patch. Empty if they are equal.
pub fn diff(old: &BTreeMap<PathBuf, File>, new: &BTreeMap<PathBuf, File>) -> String {
    let mut out = String::new();
    let names: std::collections::BTreeSet<&PathBuf> = old.keys().chain(new.keys()).collect();
    for name in names {
        let (before, after) = (old.get(name), new.get(name));
        if before == after {
            continue;
        }
        match (text_of(before), text_of(after)) {
            (Ok(before_text), Ok(after_text)) => {
                let changes = similar::TextDiff::from_lines(before_text, after_text);
                let (left, right) = (format!("a/{}", name.display()), format!("b/{}", name.display()));
                let _ = write!(out, "{}", changes.unified_diff().header(&left, &right));
            }
            _ => {
                let _ = writeln!(out, "{} differs (not text)", name.display());
            }
        }
        if before.map(|file| file.is_executable) != after.map(|file| file.is_executable) && after.is_some() {
            let _ = writeln!(out, "{} is executable: {}", name.display(), after.is_some_and(|file| file.is_executable));
        }
    }
    out
}

/// Returns the text of a file. Empty if it does not exist.
fn text_of(file: Option<&File>) -> Result<&str, std::str::Utf8Error> {
    file.map_or(Ok(""), |file| std::str::from_utf8(&file.bytes))
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
