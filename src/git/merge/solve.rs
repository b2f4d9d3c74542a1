//! Conflicts that the user resolves by hand: drafts with conflict markers, in a folder beside the worktrees. Conflicts
//! without lines (binary files, deletions …) are decided in a list, one word each.
//!
//! Does not change the repository. A draft belongs to the three versions it was made from: as long as these conflict,
//! the resolution stays valid, across crashes and other commits on the branches.

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
use crate::git::conflict::{self, ConflictKind, resolved_entry};
use crate::git::dir::{Dir, split};
use crate::git::error::{Error, blocking};
use crate::git::repo_file;
use crate::git::snapshot::unescape;
use crate::git::worktree::Worktrees;
use crate::git::worktree_files;

/// The folder beside the worktrees; no task's folder has this name.
pub(in crate::git) const SOLVING: &str = ".solving";
/// The drafts, under the paths of their files.
pub(super) const DRAFTS: &str = "files";
/// The versions that each draft was made from.
pub(super) const ORIGINS: &str = "made-of";
/// The list of conflicts decided by a word.
pub(super) const LIST: &str = "CONFLICTS";
/// The marker length, unless the file has lines that look like markers.
const MARKER: u16 = 7;
const MAX_MARKER: u16 = 64;

/// The files for the user to edit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct DraftedConflicts {
    /// In the order in which to open them.
    pub files: Vec<PathBuf>,
    pub conflicts: usize,
}

/// The side to keep of a conflict without lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeptSide {
    Task,
    Target,
}

impl Worktrees {
    /// Writes drafts of all conflicts between a task's branch and its target. Leaves existing resolutions as they are.
    /// `None` if there are no conflicts.
    pub async fn draft_conflicts(
        &self,
        task: TaskId,
        branch: &str,
        target: &str,
    ) -> Result<Option<DraftedConflicts>, Error> {
        let (main, all, name) = (self.main().clone(), self.folder()?, drafts_of(task));
        let (branch, target) = (branch.to_owned(), target.to_owned());
        blocking(move || {
            let repository = main.open()?;
            let index = conflict::merge(&repository, tip(&repository, &branch)?, tip(&repository, &target)?)?;
            let open = OpenConflict::all(&repository, &index)?;
            if open.is_empty() {
                return Ok(None);
            }
            let folder = all.make(&name).map_err(Error::disk("make the folder", all.path().join(&name)))?;
            prepare(&repository, &open, &folder, &branch, &target).map(Some)
        })
        .await
    }

    /// Returns the folder with a task's drafts.
    pub(super) fn drafts_folder(&self, task: TaskId) -> PathBuf {
        self.folder.join(drafts_of(task))
    }
}

/// Returns the folder with a task's drafts, relative to the folder of the worktrees.
pub(super) fn drafts_of(task: TaskId) -> PathBuf {
    Path::new(SOLVING).join(task.to_string())
}

/// The origin of a draft.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DraftOrigin {
    /// Identifies the conflicting versions.
    key: String,
    /// The hash of the draft as written, to detect edits. `None` in records of older versions.
    drafted: Option<String>,
}

impl DraftOrigin {
    fn of(key: &str, content: &[u8]) -> Self {
        Self { key: key.to_owned(), drafted: Some(short(&blake3::hash(content))) }
    }

    pub(super) fn is_unedited(&self, content: &[u8]) -> bool {
        self.drafted.as_ref().is_some_and(|drafted| *drafted == short(&blake3::hash(content)))
    }
}

fn short(hash: &blake3::Hash) -> String {
    hash.to_hex()[..12].to_owned()
}

/// An unresolved conflict.
struct OpenConflict {
    path: PathBuf,
    conflict: IndexConflict,
    key: String,
    kind: ConflictKind,
}

impl OpenConflict {
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

    /// Returns both versions with conflict markers, and the marker length.
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
        let free = |length: &u16| ![&our, &their].iter().any(|side| has_markers(side, *length));
        let length = (MARKER..MAX_MARKER).find(free).unwrap_or(MAX_MARKER);
        let mut inputs = [MergeFileInput::new(), MergeFileInput::new(), MergeFileInput::new()];
        for (input, content) in inputs.iter_mut().zip([&ancestor, &our, &their]) {
            input.content(content);
        }
        let mut options = MergeFileOptions::new();
        options.our_label(names.0).their_label(names.1).marker_size(length);
        let merged = git2::merge_file(&inputs[0], &inputs[1], &inputs[2], Some(&mut options)).map_err(&failed)?;
        Ok((merged.content().to_vec(), length))
    }

    /// Returns the index entry of a resolved file. A change of the file mode counts, whichever side made it.
    fn entry(&self) -> Option<IndexEntry> {
        let IndexConflict { ancestor, our, their } = &self.conflict;
        let (our, their) = (our.as_ref()?, their.as_ref()?);
        let before = ancestor.as_ref().map(|ancestor| ancestor.mode);
        Some(resolved_entry(if before == Some(our.mode) { their } else { our }))
    }

    fn side(&self, side: KeptSide) -> Option<IndexEntry> {
        match side {
            KeptSide::Task => self.conflict.our.as_ref().map(resolved_entry),
            KeptSide::Target => self.conflict.their.as_ref().map(resolved_entry),
        }
    }
}

fn prepare(
    repository: &Repository,
    open: &[OpenConflict],
    folder: &Dir,
    branch: &str,
    target: &str,
) -> Result<DraftedConflicts, Error> {
    let mut known = read_origins(folder.path());
    known.retain(|path, origin| {
        let same = open.iter().any(|open| open.path == *path && open.key == origin.key);
        same && draft(folder, path).is_ok()
    });
    // Drop the records of outdated drafts before overwriting them.
    write_origins(folder, &known)?;
    let drafts = folder.make(Path::new(DRAFTS)).map_err(Error::disk("make the folder", folder.path()))?;
    let mut files = Vec::new();
    for conflict in open.iter().filter(|open| open.is_in_lines()) {
        if !known.contains_key(&conflict.path) {
            let (content, _) = conflict.marked(repository, (branch, target))?;
            worktree_files::write(&drafts, &conflict.path, &content, FileMode::Blob)?;
            known.insert(conflict.path.clone(), DraftOrigin::of(&conflict.key, &content));
        }
        files.push(drafts.path().join(&conflict.path));
    }
    write_origins(folder, &known)?;
    let listed: Vec<&OpenConflict> =
        open.iter().filter(|open| !open.is_in_lines() && open.kind != ConflictKind::BothMoved).collect();
    if !listed.is_empty() {
        let decisions = read_decisions(folder.path());
        let page = list(&listed, &decisions, branch, target);
        worktree_files::write(folder, Path::new(LIST), page.as_bytes(), FileMode::Blob)?;
        files.insert(0, folder.path().join(LIST));
    }
    Ok(DraftedConflicts { files, conflicts: open.len() })
}

fn list(open: &[&OpenConflict], decisions: &BTreeMap<String, KeptSide>, branch: &str, target: &str) -> String {
    let mut page = format!(
        "# \"task\" is {branch}, \"target\" is {target}.\n\
         # These files cannot be merged line by line. Replace each \"?\" with \"task\" or \"target\" to keep that side,\n\
         # even if it deleted the file. Nothing is merged while a \"?\" is left.\n\n"
    );
    for conflict in open {
        let word = match decisions.get(&conflict.key) {
            Some(KeptSide::Task) => "task",
            Some(KeptSide::Target) => "target",
            None => "?",
        };
        let why = match conflict.kind {
            ConflictKind::DeletedByUs => "changed in the target, deleted or renamed by the task",
            ConflictKind::DeletedByThem => "changed by the task, deleted or renamed in the target",
            ConflictKind::Binary => "both changed it (binary file)",
            ConflictKind::Mode => "both changed the file type",
            ConflictKind::Submodule => "both moved the submodule",
            ConflictKind::Content | ConflictKind::BothAdded | ConflictKind::BothMoved => "both changed it",
        };
        let name = conflict.path.as_os_str().as_bytes().escape_ascii();
        let _ = writeln!(page, "{word} {} {name}: {why}", conflict.key);
    }
    page
}

/// Reads the decisions made so far.
pub(super) fn read_decisions(folder: &Path) -> BTreeMap<String, KeptSide> {
    let page = repo_file::read_plain(&folder.join(LIST), u64::MAX).unwrap_or_default();
    let page = String::from_utf8_lossy(&page).into_owned();
    let decisions = page.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let side = match words.next()?.to_ascii_lowercase().as_str() {
            "task" => KeptSide::Task,
            "target" => KeptSide::Target,
            _ => return None,
        };
        Some((words.next()?.to_owned(), side))
    });
    decisions.collect()
}

pub(super) fn read_origins(folder: &Path) -> BTreeMap<PathBuf, DraftOrigin> {
    let page = repo_file::read_plain(&folder.join(ORIGINS), u64::MAX).unwrap_or_default();
    let lines = page.split(|byte| *byte == b'\n').filter_map(|line| {
        let at = line.iter().position(|byte| *byte == b' ')?;
        let words = String::from_utf8(line[..at].to_vec()).ok()?;
        let origin = match words.split_once(':') {
            Some((key, drafted)) => DraftOrigin { key: key.to_owned(), drafted: Some(drafted.to_owned()) },
            None => DraftOrigin { key: words, drafted: None },
        };
        Some((PathBuf::from(OsStr::from_bytes(&unescape(&line[at + 1..]))), origin))
    });
    lines.collect()
}

fn write_origins(folder: &Dir, known: &BTreeMap<PathBuf, DraftOrigin>) -> Result<(), Error> {
    let line = |(path, DraftOrigin { key, drafted }): (&PathBuf, &DraftOrigin)| {
        let drafted = drafted.as_ref().map(|drafted| format!(":{drafted}")).unwrap_or_default();
        format!("{key}{drafted} {}\n", path.as_os_str().as_bytes().escape_ascii())
    };
    let page: String = known.iter().map(line).collect();
    worktree_files::write(folder, Path::new(ORIGINS), page.as_bytes(), FileMode::Blob)
}

/// Reads a draft, without following links.
fn draft(folder: &Dir, path: &Path) -> io::Result<Vec<u8>> {
    let (above, name) = split(path)?;
    folder.below(Path::new(DRAFTS))?.below(above)?.read(name, u64::MAX)
}

/// Replaces the conflicts of a merge by the user's resolutions. Refuses, with the names, if a conflict is unresolved.
pub(super) fn apply(repository: &Repository, index: &mut Index, folder: &Path) -> Result<(), Error> {
    let failed = Error::read(repository.path());
    let (known, decisions) = (read_origins(folder), read_decisions(folder));
    let (mut marked, mut undecided) = (Vec::new(), Vec::new());
    for open in OpenConflict::all(repository, index)? {
        let resolved = if open.is_in_lines() {
            let content = Dir::open(folder).and_then(|folder| draft(&folder, &open.path)).ok();
            let content = content.filter(|_| known.get(&open.path).is_some_and(|origin| origin.key == open.key));
            let (_, length) = open.marked(repository, ("", ""))?;
            match content.filter(|content| !has_markers(content, length)).zip(open.entry()) {
                Some((content, entry)) => Some(IndexEntry { id: repository.blob(&content).map_err(&failed)?, ..entry }),
                None => {
                    marked.push(open.path);
                    continue;
                }
            }
        } else if open.kind == ConflictKind::BothMoved {
            // The new names are separate conflicts.
            None
        } else if let Some(side) = decisions.get(&open.key) {
            open.side(*side)
        } else {
            undecided.push(open.path);
            continue;
        };
        index.conflict_remove(&open.path).map_err(&failed)?;
        if let Some(entry) = resolved {
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

/// Returns true if a text has conflict markers of this length.
fn has_markers(content: &[u8], length: u16) -> bool {
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
