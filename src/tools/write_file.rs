//! `write_file`: writes a whole file atomically.

use std::fmt::Write as _;
use std::fs::Metadata;
use std::io::{self, Read as _};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::Json;
use crate::base::text::{count, size};
use crate::process::output::line_breaks;
use crate::tools::fence::FileTarget;
use crate::tools::names;
use crate::tools::path_display::spelled;
use crate::tools::read_tracker::{FileVersion, ReadTracker};
use crate::tools::reply::Reply;
use crate::tools::tool::{Call, Handler, ToolEffect};

/// A larger file is replaced without a backup.
const MAX_BACKUP: u64 = 16 << 20;

pub(super) struct WriteFile;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// Relative to the current folder, or absolute. Must be inside the worktree.
    path: String,
    /// The whole content of the file.
    content: String,
}

impl Handler for WriteFile {
    const NAME: &'static str = names::WRITE_FILE;
    const DESCRIPTION: &'static str = "Creates a file or replaces it whole, in one step; folders are created, the mode \
        is kept. Only inside the worktree, never in .git nor among git's hooks. To change a part of a file use \
        edit_file. If it replaces a file that changed since you last read it, the reply says so and names a copy of the \
        old content.";
    const EFFECT: ToolEffect = ToolEffect::Writes;
    const EXAMPLE: &'static str = r#"{"path": "src/lib.rs", "content": "pub mod parser;\n"}"#;

    type Input = Input;

    async fn run(self: Arc<Self>, input: Input, call: Call) -> Reply {
        let context = &call.context;
        let writable = match context.for_writing(&input.path).await {
            Ok(writable) => writable,
            Err(error) => return Reply::error(format!("Not written: {error}.")),
        };
        let shown = spelled(context.path_policy.shown(&writable.path())).into_owned();
        let new = input.content.into_bytes();
        let (bytes, lines) = (new.len() as u64, line_count(&new));
        let not_written =
            |problem: &dyn std::fmt::Display| Reply::error(format!("{shown} was not written: {problem}."));
        let reads = Arc::clone(&context.reads);
        let look = tokio::task::spawn_blocking(move || {
            let slot = FileTarget::make(&writable)?;
            let before = inspect(&slot, &reads)?;
            io::Result::Ok((slot, before))
        });
        let (slot, mut before) = match look.await.map_err(io::Error::other).flatten() {
            Ok(found) => found,
            Err(error) => return not_written(&error),
        };
        // The copy must be saved before the file is replaced.
        let mut warning = String::new();
        if let Some(ExistingFile { unread: Some(unread), .. }) = &mut before {
            warning.push_str(" WARNING: it existed and you had not read it since it last changed.");
            match unread {
                Unread::Content(bytes) if bytes.is_empty() => {}
                Unread::Content(bytes) => match context.blobs.put(std::mem::take(bytes)).await {
                    Ok(blob) => {
                        let place = context.blobs.path(&blob);
                        let _ = write!(
                            warning,
                            " What it held before is in {}; compare, and restore what should not be lost.",
                            place.display()
                        );
                    }
                    Err(error) => {
                        let problem =
                            format!("you have not read what it holds, and no copy of that could be kept: {error}");
                        return not_written(&problem);
                    }
                },
                Unread::TooLarge(bytes) => {
                    let _ = write!(
                        warning,
                        " It had {}, too much for a copy to be kept: what it held before is gone.",
                        size(*bytes)
                    );
                }
            }
        }
        let write = tokio::task::spawn_blocking(move || {
            let after = slot.replace(&new, before.as_ref().map(|before| &before.metadata))?;
            io::Result::Ok((slot.path().to_owned(), before.is_some(), after))
        });
        let (path, existed, after) = match write.await.map_err(io::Error::other).flatten() {
            Ok(done) => done,
            Err(error) => return not_written(&error),
        };
        let verb = if existed { "Replaced" } else { "Created" };
        let text = format!("{verb} {shown} ({}, {}).{warning}", count(lines, "line", "lines"), size(bytes));
        context.reads.record(&path, FileVersion::of(&after));
        Reply::text(text)
    }
}

/// Returns the content that an input writes.
pub(super) fn replay(input: &Json) -> Option<Vec<u8>> {
    let input: Input = input.read().ok()?;
    Some(input.content.into_bytes())
}

/// The file that is about to be replaced.
struct ExistingFile {
    metadata: Metadata,
    /// Content that the agent has not seen. `None` if it has seen the file.
    unread: Option<Unread>,
}

enum Unread {
    Content(Vec<u8>),
    TooLarge(u64),
}

fn inspect(slot: &FileTarget, reads: &ReadTracker) -> io::Result<Option<ExistingFile>> {
    let file = match slot.file() {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let metadata = file.metadata()?;
    if reads.has_seen(slot.path(), FileVersion::of(&metadata)) {
        return Ok(Some(ExistingFile { metadata, unread: None }));
    }
    let mut bytes = Vec::new();
    let read = file.take(MAX_BACKUP + 1).read_to_end(&mut bytes)? as u64;
    let unread = if read > MAX_BACKUP { Unread::TooLarge(metadata.len()) } else { Unread::Content(bytes) };
    Ok(Some(ExistingFile { metadata, unread: Some(unread) }))
}

/// Returns the number of lines; a last one without a line break counts.
fn line_count(bytes: &[u8]) -> usize {
    let breaks = usize::try_from(line_breaks(bytes)).unwrap_or(usize::MAX);
    breaks + usize::from(bytes.last().is_some_and(|byte| *byte != b'\n'))
}
