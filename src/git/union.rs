//! Merges the project's memory file by keeping the lines of both sides: concurrent tasks each add some, and none is
//! wrong. Applies to merges computed here, and through an attribute of the repository to those that git does.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use git2::{FileFavor, Index, IndexEntry, MergeFileInput, MergeFileOptions, Repository};

use super::conflict;
use super::error::{Error, blocking};
use super::worktree::Worktrees;

/// The memory file, relative to the top folder.
pub const MEMORY: &str = ".mxd/memory.md";
const ATTRIBUTE: &str = ".mxd/memory.md merge=union";
const COMMENT: &str = "# Written by mxd: lines that several tasks add to the project's memory do not conflict.";

impl Worktrees {
    /// Tells git to merge the memory file by union, in every checkout of the repository. Changes no file of a checkout,
    /// and respects the user's own attributes for the file.
    pub async fn merge_memory_by_union(&self) -> Result<(), Error> {
        let path = self.main().common.join("info/attributes");
        blocking(move || {
            let failed = || Error::disk("write", &path);
            let text = match fs::read(&path) {
                Ok(text) => text,
                Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
                Err(error) => return Err(Error::disk("read", &path)(error)),
            };
            if lines(&text).any(|line| line.trim_start_matches('/').starts_with(MEMORY) && line.contains("merge")) {
                return Ok(());
            }
            let gap = if text.is_empty() || text.ends_with(b"\n") { "" } else { "\n" };
            fs::create_dir_all(path.parent().unwrap_or(&path)).map_err(failed())?;
            let mut file = File::options().create(true).append(true).open(&path).map_err(failed())?;
            file.write_all(format!("{gap}{COMMENT}\n{ATTRIBUTE}\n").as_bytes()).map_err(failed())
        })
        .await
    }
}

/// Returns true if an attributes file has other lines than ours.
pub(super) fn has_other_attributes(path: &Path) -> bool {
    fs::read(path).is_ok_and(|text| lines(&text).any(|line| line != ATTRIBUTE))
}

/// Returns the lines of an attributes file without comments and blanks.
fn lines(text: &[u8]) -> impl Iterator<Item = String> + '_ {
    let lines = text.split(|byte| *byte == b'\n').map(|line| String::from_utf8_lossy(line).trim().to_owned());
    lines.filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// Resolves a conflict about the memory file in the result of a merge, if it is a line conflict.
pub(super) fn resolve_memory(repository: &Repository, index: &mut Index) -> Result<(), Error> {
    let failed = Error::read(repository.path());
    if !index.has_conflicts() {
        return Ok(());
    }
    let mut memory_conflict = None;
    for found in index.conflicts().map_err(&failed)? {
        let found = found.map_err(&failed)?;
        let is_memory = |entry: &Option<IndexEntry>| entry.as_ref().is_none_or(|entry| entry.path == MEMORY.as_bytes());
        if found.our.is_some() && [&found.ancestor, &found.our, &found.their].into_iter().all(is_memory) {
            memory_conflict = Some(found);
        }
    }
    let Some(found) = memory_conflict else { return Ok(()) };
    let kind = conflict::kind(repository, &found);
    let (conflict::ConflictKind::Content | conflict::ConflictKind::BothAdded, Some(our), Some(their)) =
        (kind, found.our, found.their)
    else {
        return Ok(());
    };
    let read = |entry: &IndexEntry| -> Result<Vec<u8>, Error> {
        let mut text = repository.find_blob(entry.id).map_err(&failed)?.content().to_vec();
        // Without a final newline, lines of both sides would be joined.
        if !text.is_empty() && !text.ends_with(b"\n") {
            text.push(b'\n');
        }
        Ok(text)
    };
    let ancestor = found.ancestor.as_ref().map_or_else(|| Ok(Vec::new()), read)?;
    let (ours, theirs) = (read(&our)?, read(&their)?);
    let mut inputs = [MergeFileInput::new(), MergeFileInput::new(), MergeFileInput::new()];
    for (input, content) in inputs.iter_mut().zip([&ancestor, &ours, &theirs]) {
        input.content(content);
    }
    let mut options = MergeFileOptions::new();
    options.favor(FileFavor::Union);
    let merged = git2::merge_file(&inputs[0], &inputs[1], &inputs[2], Some(&mut options)).map_err(&failed)?;
    let id = repository.blob(merged.content()).map_err(&failed)?;
    index.conflict_remove(Path::new(MEMORY)).map_err(&failed)?;
    index.add(&IndexEntry { id, ..conflict::resolved_entry(&our) }).map_err(&failed)
}
