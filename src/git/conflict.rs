//! Finds the conflicts between two commits with an in-memory merge. Nothing is checked out or written.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use git2::{Index, IndexConflict, IndexEntry, MergeOptions, Oid, Repository};

use serde::{Deserialize, Serialize};

use super::error::Error;
use super::union;
use crate::model::diff::lossy;

/// Bytes shown of each side of a conflict.
const MAX_SHOWN_BYTES: usize = 8 << 10;
/// Conflicts shown with their content; the rest only by name.
const MAX_SHOWN_FILES: usize = 50;
const FORMAT: u32 = 0o170_000;
const COMMIT: u32 = 0o160_000;
/// The bits of an index entry that hold its conflict stage.
const STAGE: u16 = 0x3000;

/// The kind of a conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConflictKind {
    /// Both changed the same lines.
    Content,
    /// Both added a file of this name.
    BothAdded,
    /// We deleted or renamed it, they changed it.
    DeletedByUs,
    /// They deleted or renamed it, we changed it.
    DeletedByThem,
    /// Both renamed it, to different names.
    BothMoved,
    /// Both changed a file that is not text.
    Binary,
    /// Both changed the file type or the executable bit.
    Mode,
    /// Both moved a submodule.
    Submodule,
}

impl ConflictKind {
    /// Returns a description of the conflict, as seen from one side.
    pub fn description(self) -> &'static str {
        match self {
            Self::Content => "both changed the same lines",
            Self::BothAdded => "both added it",
            Self::DeletedByUs => "changed here, deleted there",
            Self::DeletedByThem => "deleted here, changed there",
            Self::BothMoved => "renamed to different names",
            Self::Binary => "both changed it (binary file)",
            Self::Mode => "both changed the file type",
            Self::Submodule => "both moved the submodule",
        }
    }
}

/// An excerpt of one side.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Excerpt {
    pub text: String,
    /// Bytes that are not shown.
    pub hidden: usize,
}

/// A conflicting file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Conflict {
    #[serde(serialize_with = "lossy")]
    pub path: PathBuf,
    pub kind: ConflictKind,
    /// The file on the side that is merged into. `None` if it does not exist there or is not text.
    pub ours: Option<Excerpt>,
    /// The file on the side that is merged.
    pub theirs: Option<Excerpt>,
    /// Both, with conflict markers.
    pub marked: Option<Excerpt>,
}

pub(super) fn merge(repository: &Repository, ours: Oid, theirs: Oid) -> Result<Index, Error> {
    let failed = Error::read(repository.path());
    let commit = |id| repository.find_commit(id).map_err(&failed);
    let mut options = MergeOptions::new();
    options.find_renames(true);
    let mut index = repository.merge_commits(&commit(ours)?, &commit(theirs)?, Some(&options)).map_err(&failed)?;
    union::resolve_memory(repository, &mut index)?;
    Ok(index)
}

/// Copies an index entry without its conflict stage.
pub(super) fn resolved_entry(entry: &IndexEntry) -> IndexEntry {
    IndexEntry {
        ctime: entry.ctime,
        mtime: entry.mtime,
        dev: 0,
        ino: 0,
        mode: entry.mode,
        uid: 0,
        gid: 0,
        file_size: 0,
        id: entry.id,
        flags: entry.flags & !STAGE,
        flags_extended: 0,
        path: entry.path.clone(),
    }
}

pub(super) fn conflicts(repository: &Repository, index: &Index) -> Result<Vec<Conflict>, Error> {
    let failed = Error::read(repository.path());
    let mut conflicts = Vec::new();
    if !index.has_conflicts() {
        return Ok(conflicts);
    }
    for found in index.conflicts().map_err(&failed)? {
        let found = found.map_err(&failed)?;
        let any = found.our.as_ref().or(found.their.as_ref()).or(found.ancestor.as_ref());
        let Some(path) = any.map(|entry| PathBuf::from(OsStr::from_bytes(&entry.path))) else { continue };
        let kind = kind(repository, &found);
        let mut conflict = Conflict { path, kind, ours: None, theirs: None, marked: None };
        if conflicts.len() < MAX_SHOWN_FILES {
            conflict.ours = found.our.as_ref().and_then(|entry| excerpt(repository, entry));
            conflict.theirs = found.their.as_ref().and_then(|entry| excerpt(repository, entry));
            conflict.marked = marked(repository, &found, kind);
        }
        conflicts.push(conflict);
    }
    conflicts.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(conflicts)
}

pub(super) fn kind(repository: &Repository, conflict: &IndexConflict) -> ConflictKind {
    let IndexConflict { ancestor, our, their } = conflict;
    let format = |entry: &IndexEntry| entry.mode & FORMAT;
    match (our, their) {
        (None, None) => ConflictKind::BothMoved,
        (None, Some(_)) => ConflictKind::DeletedByUs,
        (Some(_), None) => ConflictKind::DeletedByThem,
        (Some(our), Some(their)) if format(our) == COMMIT || format(their) == COMMIT => ConflictKind::Submodule,
        (Some(our), Some(their)) if format(our) != format(their) || our.id == their.id => ConflictKind::Mode,
        (Some(our), Some(their)) if is_binary(repository, our) || is_binary(repository, their) => ConflictKind::Binary,
        (Some(_), Some(_)) if ancestor.is_none() => ConflictKind::BothAdded,
        (Some(_), Some(_)) => ConflictKind::Content,
    }
}

fn is_binary(repository: &Repository, entry: &IndexEntry) -> bool {
    repository.find_blob(entry.id).is_ok_and(|blob| blob.is_binary())
}

fn excerpt(repository: &Repository, entry: &IndexEntry) -> Option<Excerpt> {
    let blob = repository.find_blob(entry.id).ok().filter(|blob| !blob.is_binary())?;
    Some(cut(blob.content()))
}

fn marked(repository: &Repository, conflict: &IndexConflict, kind: ConflictKind) -> Option<Excerpt> {
    let ConflictKind::Content = kind else { return None };
    let (ancestor, our, their) = (conflict.ancestor.as_ref()?, conflict.our.as_ref()?, conflict.their.as_ref()?);
    let result = repository.merge_file_from_index(ancestor, our, their, None).ok()?;
    let content = result.content();
    // Skip what precedes the first marker: both sides agree on it.
    let line = content.windows(7).position(|bytes| bytes == b"<<<<<<<").unwrap_or(0);
    let mut excerpt = cut(&content[line..]);
    excerpt.hidden += line;
    Some(excerpt)
}

fn cut(bytes: &[u8]) -> Excerpt {
    let shown = &bytes[..bytes.len().min(MAX_SHOWN_BYTES)];
    Excerpt { text: String::from_utf8_lossy(shown).into_owned(), hidden: bytes.len() - shown.len() }
}
