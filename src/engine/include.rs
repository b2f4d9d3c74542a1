//! Files that a profile includes in the opening message of its agents.

use std::path::Path;

use crate::base::text;
use crate::config::profile::ListedName;
use crate::git::repo_file;
use crate::model::render;

/// How much of each file is included.
const FILE_BYTES: usize = 16 << 10;

/// Returns the content of each file, which must be inside the repository, or why it is missing.
pub fn read(top: Option<&Path>, files: &[ListedName]) -> Vec<String> {
    let Some(top) = top else { return Vec::new() };
    files.iter().map(|file| read_one(top, &file.name)).collect()
}

fn read_one(top: &Path, name: &str) -> String {
    let whole = match repo_file::read_start(top, Path::new(name), FILE_BYTES as u64 + 1) {
        Ok(Some(bytes)) => String::from_utf8_lossy(&bytes).into_owned(),
        Ok(None) => return format!("[{name}, which the profile includes, does not exist]"),
        Err(error) => return format!("[{name}, which the profile includes, cannot be read: {}]", error.refusal),
    };
    let shown = text::prefix(&whole, FILE_BYTES);
    let cut = if shown.len() < whole.len() { "\n[cut here: read the file if you need the rest]" } else { "" };
    format!("# {name} (already read for you)\n\n{}{cut}", render::escape_tags(shown.trim()))
}

#[cfg(test)]
#[path = "include_tests.rs"]
mod tests;
