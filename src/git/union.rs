//! The project's memory is merged by keeping the lines of both sides: tasks that work side by side each add some, and
//! neither is wrong. It holds in the merges that we compute, and by an attribute of the repository in those that git does.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use git2::{FileFavor, Index, IndexEntry, MergeFileInput, MergeFileOptions, Repository};

use super::conflict;
use super::error::{Error, blocking};
use super::worktree::Worktrees;

/// The file, below the top folder.
pub const MEMORY: &str = ".mxd/memory.md";
const ATTRIBUTE: &str = ".mxd/memory.md merge=union";
const WHY: &str = "# Written by mxd: lines that several tasks add to the project's memory do not conflict.";

impl Worktrees {
    /// Tells git to merge the memory by keeping the lines of both sides, in every checkout of the repository. No file of a
    /// checkout is touched. What the user says about the file themselves is left alone.
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
            file.write_all(format!("{gap}{WHY}\n{ATTRIBUTE}\n").as_bytes()).map_err(failed())
        })
        .await
    }
}

/// Tells whether a file of attributes says anything but what is written here.
pub(super) fn has_other_attributes(path: &Path) -> bool {
    fs::read(path).is_ok_and(|text| lines(&text).any(|line| line != ATTRIBUTE))
}

/// Returns the lines of a file of attributes that say something.
fn lines(text: &[u8]) -> impl Iterator<Item = String> + '_ {
    let lines = text.split(|byte| *byte == b'\n').map(|line| String::from_utf8_lossy(line).trim().to_owned());
    lines.filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// Solves the conflict about the memory in the outcome of a merge, if there is one that lines can solve.
pub(super) fn settle(repository: &Repository, index: &mut Index) -> Result<(), Error> {
    let failed = Error::read(repository.path());
    if !index.has_conflicts() {
        return Ok(());
    }
    let mut about_memory = None;
    for found in index.conflicts().map_err(&failed)? {
        let found = found.map_err(&failed)?;
        let is_memory = |entry: &Option<IndexEntry>| entry.as_ref().is_none_or(|entry| entry.path == MEMORY.as_bytes());
        if found.our.is_some() && [&found.ancestor, &found.our, &found.their].into_iter().all(is_memory) {
            about_memory = Some(found);
        }
    }
    let Some(found) = about_memory else { return Ok(()) };
    let kind = conflict::kind(repository, &found);
    let (conflict::ConflictKind::Content | conflict::ConflictKind::BothAdded, Some(our), Some(their)) =
        (kind, found.our, found.their)
    else {
        return Ok(());
    };
    let read = |entry: &IndexEntry| -> Result<Vec<u8>, Error> {
        let mut text = repository.find_blob(entry.id).map_err(&failed)?.content().to_vec();
        // Lines of two sides would otherwise become one where the last has no end.
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
    index.add(&IndexEntry { id, ..conflict::undisputed(&our) }).map_err(&failed)
}
