//! Conflicts that the person solves by hand: drafts with the usual marks, in a folder beside the worktrees, and what
//! became of them. What has no lines to mark is decided in a list, a word for each.
//!
//! Nothing of the repository changes here. A draft belongs to the three versions it was made of and to nothing else: as
//! long as these conflict, what was solved stays solved, over a crash and whatever else the branches gain.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use git2::{FileMode, Index, IndexConflict, IndexEntry, MergeFileInput, MergeFileOptions, Repository};
use serde::{Deserialize, Serialize};

use super::tip;
use crate::base::{TaskId, text};
use crate::git::conflict::{self, ConflictKind, undisputed};
use crate::git::dir::{Dir, split};
use crate::git::error::{Error, blocking};
use crate::git::repo_file;
use crate::git::snapshot::unescape;
use crate::git::worktree::Worktrees;
use crate::git::worktree_files;

/// Beside the worktrees; a name that no task's folder has.
pub(in crate::git) const SOLVING: &str = ".solving";
/// The drafts, by the names of their files.
pub(super) const DRAFTS: &str = "files";
/// Which versions the drafts were made of.
pub(super) const MADE_OF: &str = "made-of";
/// What is decided by a word.
pub(super) const LIST: &str = "CONFLICTS";
/// How long a mark is, unless a file has lines of its own that look like one.
const MARK: u16 = 7;
const LONGEST_MARK: u16 = 64;

/// What the person has to look at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Solving {
    /// The files to open, in this order.
    pub files: Vec<PathBuf>,
    pub conflicts: usize,
}

/// Whose version stays, where lines cannot be put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stays {
    Task,
    Target,
}

impl Worktrees {
    /// Writes a draft of everything that a task's branch and its target disagree about. What was solved already is left as
    /// it is. Nothing: there is nothing to solve.
    pub async fn prepare_solving(&self, task: TaskId, branch: &str, target: &str) -> Result<Option<Solving>, Error> {
        let (main, all, name) = (self.main().clone(), self.folder()?, drafts_of(task));
        let (branch, target) = (branch.to_owned(), target.to_owned());
        blocking(move || {
            let repository = main.open()?;
            let index = conflict::merge(&repository, tip(&repository, &branch)?, tip(&repository, &target)?)?;
            let open = Open::all(&repository, &index)?;
            if open.is_empty() {
                return Ok(None);
            }
            let folder = all.make(&name).map_err(Error::disk("make the folder", all.path().join(&name)))?;
            prepare(&repository, &open, &folder, &branch, &target).map(Some)
        })
        .await
    }

    /// Returns where the conflicts of a task are solved.
    pub(super) fn solving(&self, task: TaskId) -> PathBuf {
        self.folder.join(drafts_of(task))
    }
}

/// Returns where the drafts of a task are, below the folder of the worktrees.
pub(super) fn drafts_of(task: TaskId) -> PathBuf {
    Path::new(SOLVING).join(task.to_string())
}

/// What a draft was made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Made {
    /// The versions that conflict.
    key: String,
    /// What was written, for whoever asks whether the person has worked on it. Nothing: that was not noted.
    drafted: Option<String>,
}

impl Made {
    fn of(key: &str, content: &[u8]) -> Self {
        Self { key: key.to_owned(), drafted: Some(short(&blake3::hash(content))) }
    }

    pub(super) fn is_as_drafted(&self, content: &[u8]) -> bool {
        self.drafted.as_ref().is_some_and(|drafted| *drafted == short(&blake3::hash(content)))
    }
}

fn short(hash: &blake3::Hash) -> String {
    hash.to_hex()[..12].to_owned()
}

/// A conflict, and how a person solves it.
struct Open {
    path: PathBuf,
    conflict: IndexConflict,
    key: String,
    kind: ConflictKind,
}

impl Open {
    fn all(repository: &Repository, index: &Index) -> Result<Vec<Self>, Error> {
        if !index.has_conflicts() {
            return Ok(Vec::new());
        }
        let failed = Error::read(repository.path());
        let mut all = Vec::new();
        for found in index.conflicts().map_err(&failed)? {
            let conflict = found.map_err(&failed)?;
            let sides = [&conflict.ancestor, &conflict.our, &conflict.their];
            let Some(path) = sides.iter().find_map(|side| side.as_ref()).map(|entry| entry.path.clone()) else {
                continue;
            };
            let mut hash = blake3::Hasher::new();
            hash.update(&path);
            for side in sides {
                let version = side.as_ref().map_or_else(String::new, |side| format!("{:o} {}", side.mode, side.id));
                hash.update(b"\0").update(version.as_bytes());
            }
            let key = short(&hash.finalize());
            let kind = conflict::kind(repository, &conflict);
            all.push(Self { path: PathBuf::from(OsStr::from_bytes(&path)), conflict, key, kind });
        }
        all.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(all)
    }

    fn is_in_lines(&self) -> bool {
        match self.kind {
            ConflictKind::Content | ConflictKind::BothAdded => true,
            ConflictKind::DeletedByUs
            | ConflictKind::DeletedByThem
            | ConflictKind::BothMoved
            | ConflictKind::Binary
            | ConflictKind::Mode
            | ConflictKind::Submodule => false,
        }
    }

    /// Returns both versions with marks around what differs, and how long the marks are.
    fn marked(&self, repository: &Repository, names: (&str, &str)) -> Result<(Vec<u8>, u16), Error> {
        let failed = Error::read(repository.path());
        let read = |side: Option<&IndexEntry>| {
            side.map_or_else(
                || Ok(Vec::new()),
                |side| repository.find_blob(side.id).map(|blob| blob.content().to_vec()),
            )
        };
        let IndexConflict { ancestor, our, their } = &self.conflict;
        let versions = [ancestor.as_ref(), our.as_ref(), their.as_ref()].map(read);
        let [ancestor, our, their] = versions.map(|version| version.map_err(&failed));
        let (ancestor, our, their) = (ancestor?, our?, their?);
        let free = |length: &u16| ![&our, &their].iter().any(|side| has_marks(side, *length));
        let length = (MARK..LONGEST_MARK).find(free).unwrap_or(LONGEST_MARK);
        let mut inputs = [MergeFileInput::new(), MergeFileInput::new(), MergeFileInput::new()];
        for (input, content) in inputs.iter_mut().zip([&ancestor, &our, &their]) {
            input.content(content);
        }
        let mut options = MergeFileOptions::new();
        options.our_label(names.0).their_label(names.1).marker_size(length);
        let merged = git2::merge_file(&inputs[0], &inputs[1], &inputs[2], Some(&mut options)).map_err(&failed)?;
        Ok((merged.content().to_vec(), length))
    }

    /// Returns the entry of a solved file, as far as its kind is concerned: a change of it counts, whoever made it.
    fn entry(&self) -> Option<IndexEntry> {
        let IndexConflict { ancestor, our, their } = &self.conflict;
        let (our, their) = (our.as_ref()?, their.as_ref()?);
        let before = ancestor.as_ref().map(|ancestor| ancestor.mode);
        Some(undisputed(if before == Some(our.mode) { their } else { our }))
    }

    fn side(&self, stays: Stays) -> Option<IndexEntry> {
        match stays {
            Stays::Task => self.conflict.our.as_ref().map(undisputed),
            Stays::Target => self.conflict.their.as_ref().map(undisputed),
        }
    }
}

fn prepare(repository: &Repository, open: &[Open], folder: &Dir, branch: &str, target: &str) -> Result<Solving, Error> {
    let mut known = made_of(folder.path());
    known.retain(|path, made| {
        let same = open.iter().any(|open| open.path == *path && open.key == made.key);
        same && draft(folder, path).is_ok()
    });
    // What is written over first is no longer said to be there.
    write_made_of(folder, &known)?;
    let drafts = folder.make(Path::new(DRAFTS)).map_err(Error::disk("make the folder", folder.path()))?;
    let mut files = Vec::new();
    for conflict in open.iter().filter(|open| open.is_in_lines()) {
        if !known.contains_key(&conflict.path) {
            let (content, _) = conflict.marked(repository, (branch, target))?;
            worktree_files::write(&drafts, &conflict.path, &content, FileMode::Blob)?;
            known.insert(conflict.path.clone(), Made::of(&conflict.key, &content));
        }
        files.push(drafts.path().join(&conflict.path));
    }
    write_made_of(folder, &known)?;
    let listed: Vec<&Open> =
        open.iter().filter(|open| !open.is_in_lines() && open.kind != ConflictKind::BothMoved).collect();
    if !listed.is_empty() {
        let said = decided(folder.path());
        let page = list(&listed, &said, branch, target);
        worktree_files::write(folder, Path::new(LIST), page.as_bytes(), FileMode::Blob)?;
        files.insert(0, folder.path().join(LIST));
    }
    Ok(Solving { files, conflicts: open.len() })
}

fn list(open: &[&Open], said: &BTreeMap<String, Stays>, branch: &str, target: &str) -> String {
    let mut page = format!(
        "# \"task\" is {branch}, \"target\" is {target}.\n\
         # These cannot be put together line by line. Write \"task\" or \"target\" in place of each \"?\": that side stays\n\
         # as it is, also if it has no such file. A \"?\" that is left means: nothing is merged.\n\n"
    );
    for conflict in open {
        let word = match said.get(&conflict.key) {
            Some(Stays::Task) => "task",
            Some(Stays::Target) => "target",
            None => "?",
        };
        let why = match conflict.kind {
            ConflictKind::DeletedByUs => "changed in the target, deleted or renamed by the task",
            ConflictKind::DeletedByThem => "changed by the task, deleted or renamed in the target",
            ConflictKind::Binary => "both changed it, and it is not text",
            ConflictKind::Mode => "both changed whether it is a file, a program or a link",
            ConflictKind::Submodule => "both moved the submodule",
            ConflictKind::Content | ConflictKind::BothAdded | ConflictKind::BothMoved => "both changed it",
        };
        let name = conflict.path.as_os_str().as_bytes().escape_ascii();
        let _ = writeln!(page, "{word} {} {name}: {why}", conflict.key);
    }
    page
}

/// Returns what was decided by a word so far.
pub(super) fn decided(folder: &Path) -> BTreeMap<String, Stays> {
    let page = repo_file::read_plain(&folder.join(LIST), u64::MAX).unwrap_or_default();
    let page = String::from_utf8_lossy(&page).into_owned();
    let decided = page.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let stays = match words.next()?.to_ascii_lowercase().as_str() {
            "task" => Stays::Task,
            "target" => Stays::Target,
            _ => return None,
        };
        Some((words.next()?.to_owned(), stays))
    });
    decided.collect()
}

pub(super) fn made_of(folder: &Path) -> BTreeMap<PathBuf, Made> {
    let page = repo_file::read_plain(&folder.join(MADE_OF), u64::MAX).unwrap_or_default();
    let lines = page.split(|byte| *byte == b'\n').filter_map(|line| {
        let at = line.iter().position(|byte| *byte == b' ')?;
        let words = String::from_utf8(line[..at].to_vec()).ok()?;
        let made = match words.split_once(':') {
            Some((key, drafted)) => Made { key: key.to_owned(), drafted: Some(drafted.to_owned()) },
            None => Made { key: words, drafted: None },
        };
        Some((PathBuf::from(OsStr::from_bytes(&unescape(&line[at + 1..]))), made))
    });
    lines.collect()
}

fn write_made_of(folder: &Dir, known: &BTreeMap<PathBuf, Made>) -> Result<(), Error> {
    let line = |(path, Made { key, drafted }): (&PathBuf, &Made)| {
        let drafted = drafted.as_ref().map(|drafted| format!(":{drafted}")).unwrap_or_default();
        format!("{key}{drafted} {}\n", path.as_os_str().as_bytes().escape_ascii())
    };
    let page: String = known.iter().map(line).collect();
    worktree_files::write(folder, Path::new(MADE_OF), page.as_bytes(), FileMode::Blob)
}

/// Reads a draft, and nothing that a link in its place leads to.
fn draft(folder: &Dir, path: &Path) -> io::Result<Vec<u8>> {
    let (above, name) = split(path)?;
    folder.below(Path::new(DRAFTS))?.below(above)?.read(name, u64::MAX)
}

/// Puts what the person solved in place of the conflicts of a merge. Refused, with the names, if something is not solved.
pub(super) fn apply(repository: &Repository, index: &mut Index, folder: &Path) -> Result<(), Error> {
    let failed = Error::read(repository.path());
    let (known, said) = (made_of(folder), decided(folder));
    let (mut marked, mut undecided) = (Vec::new(), Vec::new());
    for open in Open::all(repository, index)? {
        let solved = if open.is_in_lines() {
            let content = Dir::open(folder).and_then(|folder| draft(&folder, &open.path)).ok();
            let content = content.filter(|_| known.get(&open.path).is_some_and(|made| made.key == open.key));
            let (_, length) = open.marked(repository, ("", ""))?;
            match content.filter(|content| !has_marks(content, length)).zip(open.entry()) {
                Some((content, entry)) => Some(IndexEntry { id: repository.blob(&content).map_err(&failed)?, ..entry }),
                None => {
                    marked.push(open.path);
                    continue;
                }
            }
        } else if open.kind == ConflictKind::BothMoved {
            // The new names are decided about one by one.
            None
        } else if let Some(stays) = said.get(&open.key) {
            open.side(*stays)
        } else {
            undecided.push(open.path);
            continue;
        };
        index.conflict_remove(&open.path).map_err(&failed)?;
        if let Some(entry) = solved {
            index.add(&entry).map_err(&failed)?;
        }
    }
    match (marked.first(), undecided.first()) {
        (None, None) => Ok(()),
        (Some(first), _) => Err(Error::Refused(format!(
            "{} conflict marks, such as \"{}\"",
            still(marked.len(), "has", "have"),
            first.display()
        ))),
        (None, Some(first)) => Err(Error::Refused(format!(
            "{} not decided, such as \"{}\"",
            still(undecided.len(), "is", "are"),
            first.display()
        ))),
    }
}

fn still(count: usize, one: &str, several: &str) -> String {
    format!("{} still {}", text::count(count, "file", "files"), if count == 1 { one } else { several })
}

/// Tells whether a text has lines that begin or end a conflict, with marks of a length.
fn has_marks(content: &[u8], length: u16) -> bool {
    let length = usize::from(length);
    content.split(|byte| *byte == b'\n').any(|line| {
        [b'<', b'>'].iter().any(|mark| {
            let run = line.iter().take_while(|byte| *byte == mark).count();
            run == length && matches!(line.get(length), None | Some(b' ' | b'\r'))
        })
    })
}

#[cfg(test)]
#[path = "solve_tests.rs"]
mod tests;
