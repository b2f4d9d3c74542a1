//! Reports the output of a process to a model, with a reference to the rest.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use crate::base::known_secrets::{self, KnownSecrets};
use crate::base::text::size;
use crate::model::BlobRef;
use crate::process::{Capture, OutputSnapshot, Process};
use crate::tools::blobs::BlobSink;
use crate::tools::bound;

/// The bounded output of a process.
pub struct OutputReport {
    pub text: String,
    /// The whole output, if the text is only a part of it. Only for a process that has ended.
    pub full: Option<BlobRef>,
}

/// Returns the output of `process` in about `budget` bytes. The whole output becomes a blob once the process has
/// ended; before that it stays in its growing file.
pub async fn report(process: &Process, budget: usize, blobs: &dyn BlobSink) -> OutputReport {
    let is_gone = process.phase().is_gone();
    let Some(error) = process.error() else {
        return stream(process.output(), "output", budget, is_gone, blobs).await;
    };
    // The two streams share the budget; one may use what the other does not need.
    let needs = |capture: &Capture| usize::try_from(capture.snapshot().total).unwrap_or(usize::MAX);
    let (wants_output, wants_error) = (needs(process.output()), needs(error));
    let error_share = wants_error.min((budget / 2).max(budget.saturating_sub(wants_output)));
    let output = stream(process.output(), "stdout", budget - error_share, is_gone, blobs).await;
    let error = stream(error, "stderr", error_share.max(1), is_gone, blobs).await;
    let text = format!("--- stdout\n{}\n--- stderr\n{}", output.text.trim_end(), error.text.trim_end());
    OutputReport { text, full: output.full.or(error.full) }
}

async fn stream(capture: &Capture, name: &str, budget: usize, is_gone: bool, blobs: &dyn BlobSink) -> OutputReport {
    let snapshot = capture.snapshot();
    let mut bounded = bound::output(&snapshot, budget);
    bounded.text = known_secrets::mask(&bounded.text).into_owned();
    if snapshot.total == 0 {
        return OutputReport { text: format!("(no {name})"), full: None };
    }
    if !bounded.is_cut {
        return OutputReport { text: bounded.text, full: None };
    }
    let (place, full) = store_rest(&snapshot, is_gone, blobs).await;
    let newline = if bounded.text.ends_with('\n') { "" } else { "\n" };
    let text = format!("{}{newline}[{name}: {} in all; {place}]", bounded.text, size(snapshot.total));
    OutputReport { text, full }
}

/// Returns where the whole stream can be read, after storing it.
async fn store_rest(snapshot: &OutputSnapshot, is_gone: bool, blobs: &dyn BlobSink) -> (String, Option<BlobRef>) {
    let how = "read it in pieces with read_file (offset, limit) or look for something in it with search";
    let stored = match (&snapshot.file, is_gone) {
        (Some(file), false) => return (format!("it grows in {}: {how}", file.display()), None),
        (None, false) => return ("the rest is kept until it ends".to_owned(), None),
        (Some(file), true) => {
            let spool = file.clone();
            // The process has ended, so the file no longer grows.
            let masked = tokio::task::spawn_blocking(move || mask_file(&spool, &known_secrets::known())).await;
            match masked.unwrap_or_else(|error| Err(io::Error::other(error))) {
                Ok(()) => blobs.put_file(file.clone()).await,
                Err(error) => Err(error),
            }
        }
        (None, true) if snapshot.total == snapshot.head.len() as u64 => {
            let mut bytes = snapshot.head.clone();
            known_secrets::known().blank(&mut bytes);
            blobs.put(bytes).await
        }
        (None, true) => return ("the rest could not be kept on disk".to_owned(), None),
    };
    match stored {
        Ok(blob) => {
            let missing = if snapshot.file.is_some() && snapshot.file_bytes < snapshot.total {
                format!(" (its first {}; what came between that and the end was dropped)", size(snapshot.file_bytes))
            } else {
                String::new()
            };
            (format!("the whole is in {}{missing}: {how}", blobs.path(&blob).display()), Some(blob))
        }
        Err(error) => (format!("the rest could not be kept: {error}"), None),
    }
}

/// The number of bytes processed at a time.
const CHUNK: usize = 1 << 20;

/// Overwrites every secret in a file with asterisks. Pieces overlap, so that a secret across their border is found.
fn mask_file(path: &Path, secrets: &KnownSecrets) -> io::Result<()> {
    if secrets.is_empty() {
        return Ok(());
    }
    let file = File::options().read(true).write(true).open(path)?;
    let overlap = secrets.longest();
    let mut piece = vec![0; CHUNK + overlap];
    let mut at = 0;
    loop {
        let mut filled = 0;
        while filled < piece.len() {
            match file.read_at(&mut piece[filled..], at + filled as u64) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        for (start, end) in secrets.blank(&mut piece[..filled]) {
            file.write_all_at(&piece[start..end], at + start as u64)?;
        }
        if filled < piece.len() {
            return Ok(());
        }
        at += CHUNK as u64;
    }
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
