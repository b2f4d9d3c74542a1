//! The diff under review: changed files, with a mark per change that tells whether it is still the same.

use std::collections::{BTreeSet, HashMap};

use crate::model::diff::{FileDiff, Line, LineKind};

/// All changes between two states.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    pub files: Vec<ChangedFile>,
    /// Changed files that were left out.
    pub hidden_files: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFile {
    pub diff: FileDiff,
    /// The path as text.
    pub name: String,
    /// Notes about changes that are not lines, such as a mode.
    pub remarks: Vec<String>,
    /// For each hunk, a mark for each run of changed lines. The same lines have the same mark, wherever they have moved
    /// to and however many context lines surround them. Never empty: a file without hunks has one mark for all of it.
    pub marks: Vec<Vec<u64>>,
}

impl Comparison {
    /// Computes the marks of all files. Reads every line once, so it must not run on the UI thread.
    pub fn new(files: Vec<FileDiff>, hidden_files: usize) -> Self {
        Self { files: files.into_iter().map(ChangedFile::new).collect(), hidden_files }
    }

    pub fn added(&self) -> usize {
        self.files.iter().map(|file| file.diff.added).sum()
    }

    pub fn removed(&self) -> usize {
        self.files.iter().map(|file| file.diff.removed).sum()
    }

    pub fn hunks(&self) -> usize {
        self.files.iter().map(|file| file.marks.len()).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.hidden_files == 0
    }
}

impl ChangedFile {
    fn new(diff: FileDiff) -> Self {
        let (name, remarks) = (diff.name().into_owned(), diff.remarks());
        Self { marks: marks(&diff, &name, &remarks), name, remarks, diff }
    }

    /// Returns the id of a hunk, unique in the comparison.
    pub fn id(&self, hunk: usize) -> Option<u64> {
        self.marks.get(hunk).and_then(|marks| marks.first()).copied()
    }

    /// Returns true if the user has seen the whole hunk.
    pub fn is_seen(&self, hunk: usize, seen: &BTreeSet<u64>) -> bool {
        self.marks.get(hunk).is_some_and(|marks| marks.iter().all(|mark| seen.contains(mark)))
    }

    /// Returns the number of seen hunks.
    pub fn seen(&self, seen: &BTreeSet<u64>) -> usize {
        (0..self.marks.len()).filter(|hunk| self.is_seen(*hunk, seen)).count()
    }
}

fn marks(diff: &FileDiff, name: &str, remarks: &[String]) -> Vec<Vec<u64>> {
    let mut times: HashMap<u64, u64> = HashMap::new();
    let mut mark = |words: &mut dyn FnMut(&mut blake3::Hasher)| {
        let mut hash = blake3::Hasher::new();
        hash.update(name.as_bytes()).update(&[0]);
        words(&mut hash);
        let mut first = [0; 8];
        first.copy_from_slice(&hash.finalize().as_bytes()[..8]);
        let mark = u64::from_le_bytes(first);
        // The same change twice in a file counts as two.
        let before = times.entry(mark).or_default();
        *before += 1;
        mark.wrapping_add(*before - 1)
    };
    let mut marks: Vec<Vec<u64>> = Vec::with_capacity(diff.hunks.len());
    for hunk in &diff.hunks {
        let runs = hunk.lines.chunk_by(|a, b| (a.kind == LineKind::Context) == (b.kind == LineKind::Context));
        let changed = runs.filter(|run| run.first().is_some_and(|line| line.kind != LineKind::Context));
        let of = |run: &[Line]| {
            mark(&mut |hash| {
                for line in run {
                    hash.update(if line.kind == LineKind::Added { b"+" } else { b"-" });
                    hash.update(line.shown().as_bytes()).update(&[u8::from(line.unended), b'\n']);
                }
            })
        };
        marks.push(changed.map(of).collect());
    }
    // Changes that are not lines belong to the first hunk, or form one of their own. If neither lines nor notes show
    // the whole content, its id stands for it.
    let content = diff.cut.and(diff.new.as_ref()).map(|version| &version.id);
    let is_more = !remarks.is_empty() || content.is_some();
    if marks.is_empty() || is_more {
        let rest = mark(&mut |hash| {
            remarks.iter().chain(content).for_each(|words| {
                hash.update(words.as_bytes());
            });
        });
        match marks.first_mut() {
            Some(first) => first.push(rest),
            None => marks.push(vec![rest]),
        }
    }
    marks
}

#[cfg(test)]
#[path = "comparison_tests.rs"]
mod tests;
