//! Reads diffs from libgit2.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use git2::{
    Delta, DiffDelta, DiffFile, DiffFindOptions, DiffFormat, DiffLine, DiffOptions, FileMode, Patch, Repository, Tree,
};

use super::{DiffEndpoint, DiffSettings, Whitespace};
use crate::git::error::Error;
use crate::git::program::Checkout;
use crate::git::refs;
use crate::model::diff::{CutReason, Diff, FileDiff, FileKind, FileStatus, FileVersion, Hunk, Line, LineKind};

/// With more files than this, rename detection costs too much.
const RENAME_FILES: usize = 1_000;

/// Returns the fork point of a branch from another. If the other has merged all of it, returns the fork point before
/// that merge, so that changes taken from the other branch are not counted. `branch` is `None` for what is checked out.
pub(in crate::git) fn fork_point(checkout: &Checkout, branch: Option<&str>, base: &str) -> Result<String, Error> {
    let repository = checkout.open()?;
    let failed = Error::read(&checkout.path);
    let tip_of = |name: &str| refs::branch_tip(&repository, name)?.ok_or_else(|| Error::NoBranch(name.to_owned()));
    let (head, name) = match branch {
        Some(branch) => (tip_of(branch)?, Some(format!("{}{branch}", refs::HEADS))),
        None => {
            let head = repository.head().map_err(&failed)?;
            let name = head.name().ok().filter(|_| head.is_branch()).map(str::to_owned);
            (head.peel_to_commit().map_err(&failed)?.id(), name)
        }
    };
    let tip = tip_of(base)?;
    let left = match repository.merge_base(head, tip).unwrap_or(tip) {
        // The base has all of it; the branch's own changes are still of interest.
        merged if merged == head && name.as_deref() != Some(&format!("{}{base}", refs::HEADS)) => {
            let before = before_merge(&repository, head, tip).map_err(&failed)?;
            let left = before.and_then(|before| repository.merge_base(head, before).ok());
            left.or_else(|| first_commit(&repository, &name?, head)).unwrap_or(merged)
        }
        left => left,
    };
    Ok(left.to_string())
}

/// Returns the commit of a branch ending at `tip` just before it merged `head`. `None` if it was fast-forwarded.
fn before_merge(repository: &Repository, head: git2::Oid, tip: git2::Oid) -> Result<Option<git2::Oid>, git2::Error> {
    let mut walk = repository.revwalk()?;
    walk.set_sorting(git2::Sort::TOPOLOGICAL)?;
    walk.simplify_first_parent()?;
    walk.push(tip)?;
    walk.hide(head)?;
    let own = walk.collect::<Result<Vec<_>, _>>()?;
    // Binary search: once merged, all later commits contain it.
    let (mut with, mut without) = (0, own.len());
    while with < without {
        let middle = usize::midpoint(with, without);
        if repository.graph_descendant_of(own[middle], head)? {
            with = middle + 1;
        } else {
            without = middle;
        }
    }
    let Some(merge) = with.checked_sub(1).map(|at| own[at]) else { return Ok(None) };
    let before = repository.find_commit(merge)?.parent_id(0)?;
    Ok(Some(before).filter(|before| *before != head))
}

/// Returns the commit that a branch was created at, if the reflog still has it.
fn first_commit(repository: &Repository, name: &str, head: git2::Oid) -> Option<git2::Oid> {
    let log = repository.reflog(name).ok()?;
    let first = log.get(log.len().checked_sub(1)?)?.id_new();
    repository.merge_base(head, first).ok()
}

pub(super) fn between(
    checkout: &Checkout,
    old: &DiffEndpoint,
    new: &DiffEndpoint,
    settings: &DiffSettings,
) -> Result<Diff, Error> {
    let repository = checkout.open()?;
    let failed = Error::read(&checkout.path);
    let Some(diff) = compare(&repository, old, new, options(settings))? else { return Ok(Diff::default()) };
    let total = diff.deltas().len();
    let mut files = Vec::with_capacity(total.min(settings.max_files));
    for at in 0..total.min(settings.max_files) {
        files.extend(file(&diff, at, settings).map_err(&failed)?);
    }
    Ok(Diff { files, hidden_files: total.saturating_sub(settings.max_files) })
}

pub(super) fn patch(
    checkout: &Checkout,
    old: &DiffEndpoint,
    new: &DiffEndpoint,
    settings: &DiffSettings,
) -> Result<Vec<u8>, Error> {
    let repository = checkout.open()?;
    // A patch must be complete: only git's own size limit applies.
    let Some(diff) = compare(&repository, old, new, options(&DiffSettings { max_bytes: 0, ..settings.clone() }))?
    else {
        return Ok(Vec::new());
    };
    let mut text = Vec::new();
    diff.print(DiffFormat::Patch, |_, _, line| {
        if kind(&line).is_some() {
            text.extend(u8::try_from(line.origin()));
        }
        text.extend_from_slice(line.content());
        true
    })
    .map_err(Error::read(&checkout.path))?;
    Ok(text)
}

/// Computes the diff. `None` if both endpoints are the worktree.
fn compare<'r>(
    repository: &'r Repository,
    old: &DiffEndpoint,
    new: &DiffEndpoint,
    mut options: DiffOptions,
) -> Result<Option<git2::Diff<'r>>, Error> {
    let failed = Error::read(repository.path());
    let (old_tree, new_tree) = (tree(repository, old)?, tree(repository, new)?);
    let mut diff = match (old, new) {
        (DiffEndpoint::Worktree, DiffEndpoint::Worktree) => return Ok(None),
        (_, DiffEndpoint::Worktree) => {
            repository.diff_tree_to_workdir_with_index(old_tree.as_ref(), Some(&mut options))
        }
        (DiffEndpoint::Worktree, _) => {
            options.reverse(true);
            repository.diff_tree_to_workdir_with_index(new_tree.as_ref(), Some(&mut options))
        }
        (_, _) => repository.diff_tree_to_tree(old_tree.as_ref(), new_tree.as_ref(), Some(&mut options)),
    }
    .map_err(&failed)?;
    find_renames(&mut diff).map_err(&failed)?;
    Ok(Some(diff))
}

/// Detects renames. Every caller that counts changes must call this first, so that the counts agree.
pub(in crate::git) fn find_renames(diff: &mut git2::Diff<'_>) -> Result<(), git2::Error> {
    if diff.deltas().len() > RENAME_FILES {
        return Ok(());
    }
    let mut find = DiffFindOptions::new();
    find.renames(true).for_untracked(true);
    diff.find_similar(Some(&mut find))
}

fn options(settings: &DiffSettings) -> DiffOptions {
    let mut options = DiffOptions::new();
    options
        .context_lines(settings.context)
        .max_size(settings.max_bytes)
        .include_untracked(true)
        .recurse_untracked_dirs(true)
        .show_untracked_content(true)
        .include_typechange(true)
        .disable_pathspec_match(true);
    match settings.whitespace {
        Whitespace::Counts => {}
        Whitespace::Amount => {
            options.ignore_whitespace_change(true).ignore_whitespace_eol(true);
        }
        Whitespace::Ignored => {
            options.ignore_whitespace(true);
        }
    }
    for path in &settings.only {
        options.pathspec(path);
    }
    options
}

fn tree<'r>(repository: &'r Repository, end: &DiffEndpoint) -> Result<Option<Tree<'r>>, Error> {
    let (name, found) = match end {
        DiffEndpoint::Worktree | DiffEndpoint::Empty => return Ok(None),
        DiffEndpoint::Commit(name) => (name, refs::branch_tip(repository, name)?.map(|tip| tip.to_string())),
        DiffEndpoint::Tree(name) => (name, None),
    };
    let missing = |_| Error::NoCommit(name.clone());
    let object = repository.revparse_single(found.as_ref().unwrap_or(name)).map_err(missing)?;
    object.peel_to_tree().map(Some).map_err(missing)
}

fn file(diff: &git2::Diff<'_>, at: usize, settings: &DiffSettings) -> Result<Option<FileDiff>, git2::Error> {
    let patch = Patch::from_diff(diff, at)?;
    let Some(delta) = diff.get_delta(at) else { return Ok(None) };
    let Some(status) = status(delta.status()) else { return Ok(None) };
    let (has_old, has_new) = match status {
        FileStatus::Added | FileStatus::Untracked => (false, true),
        FileStatus::Deleted => (true, false),
        FileStatus::Modified
        | FileStatus::Renamed
        | FileStatus::Copied
        | FileStatus::TypeChanged
        | FileStatus::Conflicted => (true, true),
    };
    let mut file = FileDiff {
        status,
        old: version(&delta.old_file()).filter(|_| has_old),
        new: version(&delta.new_file()).filter(|_| has_new),
        added: 0,
        removed: 0,
        hunks: Vec::new(),
        cut: None,
        notes: Vec::new(),
    };
    match &patch {
        Some(patch) if !is_binary(&patch.delta()) => lines(patch, &mut file, settings)?,
        _ => file.cut = reason_without_lines(&delta, settings),
    }
    Ok(Some(file))
}

fn is_binary(delta: &DiffDelta<'_>) -> bool {
    delta.flags().is_binary()
}

/// Returns why a file has no lines.
fn reason_without_lines(delta: &DiffDelta<'_>, settings: &DiffSettings) -> Option<CutReason> {
    let max = u64::try_from(settings.max_bytes).unwrap_or(u64::MAX);
    let sizes = [delta.old_file().size(), delta.new_file().size()];
    let submodule = [delta.old_file().mode(), delta.new_file().mode()].contains(&FileMode::Commit);
    match () {
        () if submodule => None,
        () if sizes.iter().any(|size| *size > max) => Some(CutReason::TooLarge),
        () => Some(CutReason::Binary),
    }
}

fn lines(patch: &Patch<'_>, file: &mut FileDiff, settings: &DiffSettings) -> Result<(), git2::Error> {
    let (_, added, removed) = patch.line_stats()?;
    (file.added, file.removed) = (added, removed);
    let mut lines_left = settings.max_lines;
    let mut hidden = 0;
    for number in 0..patch.num_hunks() {
        let (hunk, count) = patch.hunk(number)?;
        if lines_left == 0 {
            hidden += count;
            continue;
        }
        let header = String::from_utf8_lossy(hunk.header()).into_owned();
        let heading = header.splitn(3, "@@").nth(2).unwrap_or_default().trim().to_owned();
        let mut lines: Vec<Line> = Vec::with_capacity(count.min(lines_left));
        for at in 0..count {
            let found = patch.line_in_hunk(number, at)?;
            match kind(&found) {
                // The "no newline" marker belongs to the line before.
                None => {
                    if let Some(last) = lines.last_mut() {
                        last.unended = true;
                    }
                }
                Some(_) if lines_left == 0 => hidden += 1,
                Some(kind) => {
                    lines.push(line(kind, &found, settings.max_columns));
                    lines_left -= 1;
                }
            }
        }
        file.hunks.push(Hunk {
            old_start: hunk.old_start(),
            old_lines: hunk.old_lines(),
            new_start: hunk.new_start(),
            new_lines: hunk.new_lines(),
            heading,
            lines,
        });
    }
    if hidden > 0 {
        file.cut = Some(CutReason::Lines(hidden));
    }
    Ok(())
}

fn kind(line: &DiffLine<'_>) -> Option<LineKind> {
    match line.origin() {
        ' ' => Some(LineKind::Context),
        '+' => Some(LineKind::Added),
        '-' => Some(LineKind::Removed),
        _ => None,
    }
}

fn line(kind: LineKind, found: &DiffLine<'_>, max: usize) -> Line {
    let content = found.content();
    let content = content.strip_suffix(b"\n").unwrap_or(content);
    let shown = &content[..content.len().min(max)];
    Line {
        kind,
        old: found.old_lineno(),
        new: found.new_lineno(),
        text: String::from_utf8_lossy(shown).into_owned(),
        hidden: content.len() - shown.len(),
        unended: false,
    }
}

fn status(delta: Delta) -> Option<FileStatus> {
    match delta {
        Delta::Added => Some(FileStatus::Added),
        Delta::Deleted => Some(FileStatus::Deleted),
        Delta::Modified => Some(FileStatus::Modified),
        Delta::Renamed => Some(FileStatus::Renamed),
        Delta::Copied => Some(FileStatus::Copied),
        Delta::Typechange => Some(FileStatus::TypeChanged),
        Delta::Untracked => Some(FileStatus::Untracked),
        Delta::Conflicted => Some(FileStatus::Conflicted),
        Delta::Unmodified | Delta::Ignored | Delta::Unreadable => None,
    }
}

fn version(file: &DiffFile<'_>) -> Option<FileVersion> {
    let path = PathBuf::from(OsStr::from_bytes(file.path_bytes()?));
    let kind = match file.mode() {
        FileMode::BlobExecutable => FileKind::Executable,
        FileMode::Link => FileKind::Link,
        FileMode::Commit => FileKind::Submodule,
        FileMode::Unreadable | FileMode::Tree | FileMode::Blob | FileMode::BlobGroupWritable => FileKind::File,
    };
    Some(FileVersion { path, kind, id: file.id().to_string(), bytes: file.size() })
}
