//! `write_file`: puts a whole file in place, in one step.

use std::fmt::Write as _;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::text::{count, size};
use crate::process::output::line_breaks;
use crate::tools::fence::{Found, Slot};
use crate::tools::names;
use crate::tools::read_tracker::Version;
use crate::tools::reply::Reply;
use crate::tools::tool::{Call, Effect, Handler};

/// Above this, what is replaced is not kept.
const KEPT: u64 = 16 << 20;

/// Writes a file.
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
        is kept. Only inside the worktree, never in .git. To change a part of a file use edit_file. If it replaces a \
        file that changed since you last read it, the reply says so and names a copy of the old content.";
    const EFFECT: Effect = Effect::Writes;
    const EXAMPLE: &'static str = r#"{"path": "src/lib.rs", "content": "pub mod parser;\n"}"#;

    type Input = Input;

    async fn run(self: Arc<Self>, input: Input, call: Call) -> Reply {
        let context = &call.context;
        let writable = match context.fence.for_writing(&input.path, &context.cwd.get()) {
            Ok(writable) => writable,
            Err(error) => return Reply::error(format!("Not written: {error}.")),
        };
        let shown = context.fence.shown(&writable.path()).display().to_string();
        let new = input.content.into_bytes();
        let (bytes, lines) = (new.len() as u64, line_count(&new));
        let write = tokio::task::spawn_blocking(move || {
            let slot = Slot::make(&writable)?;
            let before = match slot.found(KEPT) {
                Ok(found) => found,
                // Too large to be kept, but replacing it is what was asked for.
                Err(_) if slot.file().is_ok() => {
                    slot.file()?.metadata().map(|metadata| Some(Found { bytes: Vec::new(), metadata }))?
                }
                Err(error) => return Err(error),
            };
            let after = slot.replace(&new, before.as_ref().map(|found| &found.metadata))?;
            std::io::Result::Ok((slot.path().to_owned(), before, after))
        });
        let (path, before, after) = match write.await.map_err(std::io::Error::other).flatten() {
            Ok(done) => done,
            Err(error) => return Reply::error(format!("{shown} was not written: {error}.")),
        };
        let size = format!("{}, {}", count(lines, "line", "lines"), size(bytes));
        let mut text = match &before {
            None => format!("Created {shown} ({size})."),
            Some(_) => format!("Replaced {shown} ({size})."),
        };
        if let Some(before) = before
            && !context.reads.knows(&path, Version::of(&before.metadata))
        {
            text.push_str(" WARNING: it existed and you had not read it since it last changed.");
            if !before.bytes.is_empty() {
                match context.blobs.put(before.bytes).await {
                    Ok(blob) => {
                        let place = context.blobs.path(&blob);
                        let _ = write!(
                            text,
                            " What it held before is in {}; compare, and restore what should not be lost.",
                            place.display()
                        );
                    }
                    Err(error) => {
                        let _ = write!(text, " What it held before could not be kept: {error}.");
                    }
                }
            }
        }
        context.reads.saw(&path, Version::of(&after));
        Reply::text(text)
    }
}

/// Returns the number of lines; a last one without a line break counts.
fn line_count(bytes: &[u8]) -> usize {
    let breaks = usize::try_from(line_breaks(bytes)).unwrap_or(usize::MAX);
    breaks + usize::from(bytes.last().is_some_and(|byte| *byte != b'\n'))
}
