//! Names of a task's branch and worktree folder. Pure; callers store the names and use the stored ones from then on.

use crate::base::TaskId;

/// The prefix of task branches, below `refs/heads/`.
pub const PREFIX: &str = "mxd/";
const SLUG_CHARS: usize = 30;
/// The slug of a task whose title has no ASCII form.
const FALLBACK_SLUG: &str = "task";

/// Returns a title as part of a name: at most 30 of `a-z`, `0-9` and `-`. Other scripts are transliterated, the rest is
/// dropped. May be empty; neither starts nor ends with `-`.
pub fn slug(title: &str) -> String {
    let mut slug = String::new();
    // A title may be very long; only its start can matter.
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

/// Returns the branch of a task: `mxd/<id>/<slug>`. The id makes it unique, and gives the task its own folder of refs.
pub fn name(task: TaskId, title: &str) -> String {
    let slug = slug(title);
    format!("{PREFIX}{task}/{}", if slug.is_empty() { FALLBACK_SLUG } else { &slug })
}

/// Returns the name of a task's worktree folder: `<id>-<slug>`.
pub fn folder(task: TaskId, title: &str) -> String {
    let slug = slug(title);
    format!("{task}-{}", if slug.is_empty() { FALLBACK_SLUG } else { &slug })
}

/// Returns the task that a branch or a worktree folder is named after, or `None` if the name has another form.
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
