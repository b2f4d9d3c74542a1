//! Reads the refs of a git folder, the real one or a shadow, without git and without following a link.
//!
//! A shadow belongs to an agent: its files may be anything. What is not a well-formed ref is left out, and everything
//! is bounded. Knows the files format only; [`super::support`] refuses repositories with another.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;

use git2::{Oid, Reference};

use crate::git::dir::{Dir, is_file, is_folder};

/// Refs by their full name. Symbolic refs are not among them.
pub(super) type RefTable = BTreeMap<String, Oid>;

/// The largest loose ref and the largest `packed-refs` that are read.
const MAX_REF: u64 = 4 << 10;
const MAX_PACKED: u64 = 256 << 20;
/// The most loose refs and the deepest folder that are read.
const MAX_LOOSE: usize = 100_000;
const MAX_DEPTH: usize = 32;
/// Refs that belong to one checkout, and Matrix's own.
const NOT_SHARED: [&str; 4] = ["refs/bisect/", "refs/worktree/", "refs/rewritten/", "refs/mxd/"];
/// The stash is a log more than a ref; it is handled by [`stash`].
pub(super) const STASH: &str = "refs/stash";

/// What was found in a git folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) refs: RefTable,
    /// Symbolic refs, such as `refs/remotes/origin/HEAD`, with their targets.
    pub(super) symbolic: BTreeMap<String, String>,
    /// The folders with loose refs, and `packed-refs`: all files that change when a ref does.
    pub(super) watched: Vec<PathBuf>,
}

/// Reads the shared refs of a git folder.
pub(super) fn read(git_dir: &Dir) -> io::Result<Found> {
    let mut found = Found { watched: vec![PathBuf::from("packed-refs")], ..Found::default() };
    let mut loose = Found::default();
    // Loose refs first: one that is packed meanwhile is then found in the packed file.
    match git_dir.child(OsStr::new("refs")) {
        Ok(folder) => read_loose(&folder, "refs", 0, &mut loose),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    read_packed(git_dir, &mut found.refs)?;
    found.refs.append(&mut loose.refs);
    for name in loose.symbolic.keys() {
        found.refs.remove(name);
    }
    found.symbolic = loose.symbolic;
    found.watched.append(&mut loose.watched);
    Ok(found)
}

/// Reads the entries of the stash, the oldest first.
pub(super) fn stash(git_dir: &Dir) -> Vec<Oid> {
    let Ok(folder) = git_dir.below(&PathBuf::from("logs/refs")) else { return Vec::new() };
    let log = folder.read(OsStr::new("stash"), MAX_PACKED).unwrap_or_default();
    log.split(|byte| *byte == b'\n').filter_map(|line| oid(line.split(|byte| *byte == b' ').nth(1)?)).collect()
}

fn read_loose(folder: &Dir, prefix: &str, depth: usize, found: &mut Found) {
    found.watched.push(PathBuf::from(prefix));
    let Ok(names) = folder.names() else { return };
    for name in names {
        let Some(name_text) = name.to_str() else { continue };
        let full = format!("{prefix}/{name_text}");
        if found.refs.len() >= MAX_LOOSE || found.watched.len() >= MAX_LOOSE {
            return;
        }
        match folder.stat(&name) {
            Ok(Some(stat)) if is_folder(&stat) && depth < MAX_DEPTH => {
                if let (true, Ok(child)) = (is_shared(&format!("{full}/")), folder.child(&name)) {
                    read_loose(&child, &full, depth + 1, found);
                }
            }
            Ok(Some(stat)) if is_file(&stat) && is_wanted(&full) => {
                let content = folder.read(&name, MAX_REF).unwrap_or_default();
                if let Some(target) = content.strip_prefix(b"ref: ") {
                    let target = String::from_utf8_lossy(target).trim().to_owned();
                    if Reference::is_valid_name(&target) {
                        found.symbolic.insert(full, target);
                    }
                } else if let Some(id) = oid(content.trim_ascii()) {
                    found.refs.insert(full, id);
                }
            }
            _ => {}
        }
    }
}

fn read_packed(git_dir: &Dir, refs: &mut RefTable) -> io::Result<()> {
    let content = match git_dir.read(OsStr::new("packed-refs"), MAX_PACKED) {
        Ok(content) => content,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for line in content.split(|byte| *byte == b'\n') {
        let Some((id, name)) = line.split_at_checked(40) else { continue };
        let name = name.strip_prefix(b" ").and_then(|name| std::str::from_utf8(name).ok());
        if let (Some(id), Some(name)) = (oid(id), name.filter(|name| is_wanted(name))) {
            refs.insert(name.to_owned(), id);
        }
    }
    Ok(())
}

fn oid(hex: &[u8]) -> Option<Oid> {
    let text = std::str::from_utf8(hex).ok().filter(|text| text.len() == 40)?;
    Oid::from_str(text).ok().filter(|id| !id.is_zero())
}

fn is_shared(name: &str) -> bool {
    !NOT_SHARED.iter().any(|prefix| name.starts_with(prefix))
}

fn is_wanted(name: &str) -> bool {
    is_shared(name) && name != STASH && name.starts_with("refs/") && Reference::is_valid_name(name)
}

#[cfg(test)]
#[path = "ref_table_tests.rs"]
mod tests;
