//! A diff as text, as git writes it: for the clipboard and the pager.

use std::fmt::Write as _;

use super::{FileDiff, FileState, Hunk, LineKind};

/// Returns the unified diff of files. What cannot be shown as lines is said in words.
pub fn unified<'a>(files: impl IntoIterator<Item = &'a FileDiff>) -> String {
    let mut out = String::new();
    for file in files {
        let (old, new) = (file.old_path.as_deref(), file.new_path.as_deref());
        let name = file.path();
        let _ = writeln!(out, "diff --git a/{} b/{}", old.unwrap_or(name), new.unwrap_or(name));
        if let (FileState::Renamed, Some(old), Some(new)) = (file.state, old, new) {
            let _ = writeln!(out, "rename from {old}\nrename to {new}");
        }
        for note in &file.notes {
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
        out.push_str(&line.text);
        out.push('\n');
        if line.unfinished {
            out.push_str("\\ No newline at end of file\n");
        }
    }
}
