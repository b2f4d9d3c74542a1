//! Says what `mxd --version` answers: the version and, in a release, the commit it is built from.
//!
//! The commit is read from the files of `.git`, so that neither git nor a network is needed; without them it is left out. A
//! debug build does not name it: it would have to be built again after every commit.

#![allow(clippy::print_stdout, reason = "this is how cargo is spoken to")]

use std::path::{Path, PathBuf};
use std::{env, fs};

/// How many digits of a commit's name are shown.
const SHOWN: usize = 12;

fn main() {
    println!("cargo:rerun-if-changed=assets/build.rs");
    println!("cargo:rerun-if-env-changed=MXD_COMMIT");
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let told = env::var("MXD_COMMIT").ok().filter(|commit| !commit.is_empty());
    let is_release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let found = if is_release { commit(Path::new(".")) } else { None };
    for file in found.iter().flat_map(|found| &found.files) {
        println!("cargo:rerun-if-changed={}", file.display());
    }
    let commit = told.or(found.map(|found| found.id));
    let shown = commit.map(|commit| format!(" ({})", commit.chars().take(SHOWN).collect::<String>()));
    println!("cargo:rustc-env=MXD_VERSION={version}{}", shown.unwrap_or_default());
}

/// The commit that a folder has checked out, and the files that say so.
pub struct Found {
    pub id: String,
    pub files: Vec<PathBuf>,
}

/// Returns the commit of the checkout whose top is `folder`. Nothing: it is none, or it has no commit.
pub fn commit(folder: &Path) -> Option<Found> {
    let mark = folder.join(".git");
    // Of a linked worktree `.git` is a file that names the folder.
    let git_dir = match fs::read_to_string(&mark) {
        Ok(text) => folder.join(text.strip_prefix("gitdir:")?.trim()),
        Err(_) => mark,
    };
    let common = fs::read_to_string(git_dir.join("commondir"))
        .map_or_else(|_| git_dir.clone(), |text| git_dir.join(text.trim()));
    let head = git_dir.join("HEAD");
    let text = fs::read_to_string(&head).ok()?;
    let Some(name) = text.strip_prefix("ref:").map(str::trim) else {
        return Some(Found { id: id(&text)?, files: vec![head] });
    };
    let (branch, packed) = (common.join(name), common.join("packed-refs"));
    let packed_id = || {
        let lines = fs::read_to_string(&packed).ok()?;
        lines.lines().find_map(|line| id(line.strip_suffix(name)?.strip_suffix(' ')?))
    };
    let own_id = fs::read_to_string(&branch).ok().and_then(|text| id(&text));
    // A file that does not exist would have cargo build again every time.
    let files = [head, branch, packed.clone()].into_iter().filter(|file| file.exists()).collect();
    Some(Found { id: own_id.or_else(packed_id)?, files })
}

fn id(text: &str) -> Option<String> {
    let text = text.trim();
    (text.len() >= 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| text.to_owned())
}
