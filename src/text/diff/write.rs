//! Writes diffs as text in git's format, for the clipboard and the pager.

use std::fmt::Write as _;

use crate::model::diff::{FileDiff, FileStatus, FileVersion, Hunk, LineKind};

/// Returns the unified diff of files. Changes that have no lines are described in words.
pub fn unified<'a>(files: impl IntoIterator<Item = &'a FileDiff>) -> String {
    let mut out = String::new();
    for file in files {
        let path = |version: &FileVersion| version.path.to_string_lossy().into_owned();
        let (old, new) = (file.old.as_ref().map(path), file.new.as_ref().map(path));
        let (old, new) = (old.as_deref(), new.as_deref());
        let name = &*file.name();
        let _ = writeln!(out, "diff --git a/{} b/{}", old.unwrap_or(name), new.unwrap_or(name));
        if let (FileStatus::Renamed, Some(old), Some(new)) = (file.status, old, new) {
            let _ = writeln!(out, "rename from {old}\nrename to {new}");
        }
        for note in file.remarks() {
            let _ = writeln!(out, "{note}");
        }
        if file.hunks.is_empty() {
            continue;
        }
        let side =
            |prefix: char, path: Option<&str>| path.map_or("/dev/null".to_owned(), |path| format!("{prefix}/{path}"));
        let _ = writeln!(out, "--- {}\n+++ {}", side('a', old), side('b', new));
        file.hunks.iter().for_each(|part| hunk(part, &mut out));
    }
    out
}

fn hunk(hunk: &Hunk, out: &mut String) {
    let count = |other: LineKind| hunk.lines.iter().filter(|line| line.kind != other).count();
    let (old, new) = (count(LineKind::Added), count(LineKind::Removed));
    let _ = write!(out, "@@ -{},{old} +{},{new} @@", hunk.old_start, hunk.new_start);
    if !hunk.heading.is_empty() {
        let _ = write!(out, " {}", hunk.heading);
    }
    out.push('\n');
    for line in &hunk.lines {
        out.push(match line.kind {
            LineKind::Context => ' ',
            LineKind::Added => '+',
            LineKind::Removed => '-',
        });
        out.push_str(&line.shown());
        out.push('\n');
        if line.unended {
            out.push_str("\\ No newline at end of file\n");
        }
    }
}
