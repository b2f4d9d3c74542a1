//! `edit_file`: replaces exact pieces of a file, all of them or none.

mod apply;
mod nearest;

use std::sync::Arc;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::{Json, diff};
use crate::tools::bound;
use crate::tools::fence::FileTarget;
use crate::tools::names;
use crate::tools::path_display::spelled;
use crate::tools::read_tracker::FileVersion;
use crate::tools::reply::Reply;
use crate::tools::tool::{Call, Handler, ToolEffect};
use apply::{EditResult, apply};

/// The largest file that is edited. Larger ones are data.
const LARGEST: u64 = 32 << 20;
const DIFF_BUDGET: usize = 8_000;
/// The time limit for a minimal diff. After that a longer diff is used: the file is already written.
const DIFF_TIME: Duration = Duration::from_millis(500);

pub(super) struct EditFile;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// Relative to the current folder, or absolute. Must be inside the worktree.
    path: String,
    /// Applied in order, each to the result of the one before; if one fails, nothing is changed.
    #[schemars(length(min = 1))]
    edits: Vec<Edit>,
}

/// One replacement.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Edit {
    /// The exact text to replace, with its whitespace. Must occur exactly once unless `replace_all` is set.
    old_string: String,
    /// What stands there instead. Taken literally.
    new_string: String,
    /// Replace every occurrence.
    #[serde(default)]
    replace_all: bool,
}

impl Handler for EditFile {
    const NAME: &'static str = names::EDIT_FILE;
    const DESCRIPTION: &'static str = "Replaces exact text in a file. old_string must match character for character, \
        without the line numbers that read_file shows, and must occur exactly once: add surrounding lines until it \
        does, or set replace_all. Several edits in one call are applied in order, all or none. Returns the diff; if a \
        text is not found, the nearest lines and how they differ. Only inside the worktree, never in .git nor among \
        git's hooks.";
    const EFFECT: ToolEffect = ToolEffect::Writes;
    const EXAMPLE: &'static str =
        r#"{"path": "src/lib.rs", "edits": [{"old_string": "let a = 1;", "new_string": "let a = 2;"}]}"#;

    type Input = Input;

    async fn run(self: Arc<Self>, input: Input, call: Call) -> Reply {
        let context = &call.context;
        let writable = match context.for_writing(&input.path).await {
            Ok(writable) => writable,
            Err(error) => return Reply::error(format!("Not edited: {error}.")),
        };
        let shown = spelled(context.path_policy.shown(&writable.path())).into_owned();
        let name = shown.clone();
        let edits = input.edits.len();
        let edit = tokio::task::spawn_blocking(move || {
            let absent = || "there is no such file; create it with write_file".to_owned();
            let slot = FileTarget::open(&writable).map_err(|error| match error.kind() {
                std::io::ErrorKind::NotFound => absent(),
                _ => error.to_string(),
            })?;
            let before = slot.read(LARGEST).map_err(|error| error.to_string())?.ok_or_else(absent)?;
            let EditResult { bytes, replaced } = apply(&before.bytes, &input.edits)?;
            let after = slot.replace(&bytes, Some(&before.metadata)).map_err(|error| error.to_string())?;
            Ok((slot.path().to_owned(), FileVersion::of(&after), replaced, diff(&before.bytes, &bytes, &name)))
        });
        match edit.await.unwrap_or_else(|_| Err("the edit failed".to_owned())) {
            Ok((path, version, replaced, diff)) => {
                context.reads.record(&path, version);
                let times = if replaced > edits { format!(" ({replaced} replacements)") } else { String::new() };
                Reply::text(format!("Edited {shown}{times}.\n{}", bound::text(&diff, DIFF_BUDGET)))
            }
            Err(problem) => Reply::error(format!("{shown} was not changed: {problem}")),
        }
    }
}

/// Returns the file after an edit, or `None` if the input does not match the file.
pub(super) fn replay(input: &Json, before: &[u8]) -> Option<Vec<u8>> {
    let input: Input = input.read().ok()?;
    apply(before, &input.edits).ok().map(|applied| applied.bytes)
}

fn diff(before: &[u8], after: &[u8], name: &str) -> String {
    let (before, after) = (String::from_utf8_lossy(before), String::from_utf8_lossy(after));
    diff::unified(name, &before, &after, Some(Instant::now() + DIFF_TIME))
}
