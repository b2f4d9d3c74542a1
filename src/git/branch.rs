//! What a task's branch and worktree are called. Pure; whoever stores the names uses the stored ones from then on.

use crate::base::TaskId;

/// Where the branches of tasks live, below `refs/heads/`.
pub const PREFIX: &str = "mxd/";
const SLUG_CHARS: usize = 30;
/// The last part of a branch whose task has no title that could be spelled.
const NAMELESS: &str = "task";

/// Returns a title as part of a name: at most 30 of `a-z`, `0-9` and `-`, other scripts transliterated, what has no
/// spelling dropped. May be empty; neither starts nor ends with `-`.
pub fn slug(title: &str) -> String {
    let mut slug = String::new();
    // A title may be a whole page; what lies beyond a few hundred letters cannot matter any more.
    for letter in title.chars().take(SLUG_CHARS * 20) {
        for ascii in any_ascii::any_ascii_char(letter).chars() {
            if slug.len() == SLUG_CHARS {
                break;
            }
            if ascii.is_ascii_alphanumeric() {
                slug.push(ascii.to_ascii_lowercase());
            } else if !slug.is_empty() && !slug.ends_with('-') {
                slug.push('-');
            }
        }
    }
    slug.truncate(slug.trim_end_matches('-').len());
    slug
}

/// Returns the branch of a task: `mxd/<id>/<slug>`. The id makes it unique, and gives the task a folder of refs to itself.
pub fn name(task: TaskId, title: &str) -> String {
    let slug = slug(title);
    format!("{PREFIX}{task}/{}", if slug.is_empty() { NAMELESS } else { &slug })
}

/// Returns the name of a task's worktree folder: `<id>-<slug>`.
pub fn folder(task: TaskId, title: &str) -> String {
    let slug = slug(title);
    format!("{task}-{}", if slug.is_empty() { NAMELESS } else { &slug })
}

/// Returns the task that a branch or a worktree folder is named after.
pub fn task_of(name: &str) -> Option<TaskId> {
    let id = match name.strip_prefix(PREFIX) {
        Some(rest) => rest.split_once('/')?.0,
        None => name.get(..ulid::ULID_LEN).filter(|_| name[ulid::ULID_LEN..].starts_with('-'))?,
    };
    id.parse().ok()
}

#[cfg(test)]
#[path = "branch_tests.rs"]
mod tests;
