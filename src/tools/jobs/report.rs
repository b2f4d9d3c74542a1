//! What a model reads of a process's output, and where the rest of it is.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use crate::base::known_secrets::{self, KnownSecrets};
use crate::base::text::size;
use crate::model::BlobRef;
use crate::process::{Capture, Glimpse, Process};
use crate::tools::blobs::BlobSink;
use crate::tools::bound;

/// A process's output, bounded.
pub struct Report {
    pub text: String,
    /// The whole, if the text is not. Only of a process that has ended.
    pub full: Option<BlobRef>,
}

/// Returns what `process` has said, in about `budget` bytes. What it did not fit is kept as a blob once the process
/// is gone, and stays in its growing file before that.
pub async fn report(process: &Process, budget: usize, blobs: &dyn BlobSink) -> Report {
    let is_gone = process.phase().is_gone();
    let Some(error) = process.error() else {
        return stream(process.output(), "output", budget, is_gone, blobs).await;
    };
    // The two share the budget; what one does not need, the other may have.
    let needs = |capture: &Capture| usize::try_from(capture.glimpse().total).unwrap_or(usize::MAX);
    let (wants_output, wants_error) = (needs(process.output()), needs(error));
    let error_share = wants_error.min((budget / 2).max(budget.saturating_sub(wants_output)));
    let output = stream(process.output(), "stdout", budget - error_share, is_gone, blobs).await;
    let error = stream(error, "stderr", error_share.max(1), is_gone, blobs).await;
    let text = format!("--- stdout\n{}\n--- stderr\n{}", output.text.trim_end(), error.text.trim_end());
    Report { text, full: output.full.or(error.full) }
}

async fn stream(capture: &Capture, name: &str, budget: usize, is_gone: bool, blobs: &dyn BlobSink) -> Report {
    let glimpse = capture.glimpse();
    let mut bounded = bound::output(&glimpse, budget);
    bounded.text = known_secrets::mask(&bounded.text).into_owned();
    if glimpse.total == 0 {
        return Report { text: format!("(no {name})"), full: None };
    }
    if !bounded.is_cut {
        return Report { text: bounded.text, full: None };
    }
    let (place, full) = keep(&glimpse, is_gone, blobs).await;
    let newline = if bounded.text.ends_with('\n') { "" } else { "\n" };
    let text = format!("{}{newline}[{name}: {} in all; {place}]", bounded.text, size(glimpse.total));
    Report { text, full }
}

/// Says where the whole stream can be read, and makes sure that it stays there.
async fn keep(glimpse: &Glimpse, is_gone: bool, blobs: &dyn BlobSink) -> (String, Option<BlobRef>) {
    let how = "read it in pieces with read_file (offset, limit) or look for something in it with search";
    let kept = match (&glimpse.file, is_gone) {
        (Some(file), false) => return (format!("it grows in {}: {how}", file.display()), None),
        (None, false) => return ("the rest is kept until it ends".to_owned(), None),
        (Some(file), true) => {
            let spool = file.clone();
            // Nobody writes to it any more.
            let masked = tokio::task::spawn_blocking(move || mask_file(&spool, &known_secrets::known())).await;
            match masked.unwrap_or_else(|error| Err(io::Error::other(error))) {
                Ok(()) => blobs.put_file(file.clone()).await,
                Err(error) => Err(error),
            }
        }
        (None, true) if glimpse.total == glimpse.head.len() as u64 => {
            let mut bytes = glimpse.head.clone();
            known_secrets::known().blank(&mut bytes);
            blobs.put(bytes).await
        }
        (None, true) => return ("the rest could not be kept on disk".to_owned(), None),
    };
    match kept {
        Ok(blob) => {
            let missing = if glimpse.file.is_some() && glimpse.file_bytes < glimpse.total {
                format!(" (its first {}; what came between that and the end was dropped)", size(glimpse.file_bytes))
            } else {
                String::new()
            };
            (format!("the whole is in {}{missing}: {how}", blobs.path(&blob).display()), Some(blob))
        }
        Err(error) => (format!("the rest could not be kept: {error}"), None),
    }
}

/// How much of a file is looked at in one piece.
const PIECE: usize = 1 << 20;

/// Overwrites every secret in a file with asterisks. Pieces overlap, so that one across their border is found.
fn mask_file(path: &Path, secrets: &KnownSecrets) -> io::Result<()> {
    if secrets.is_empty() {
        return Ok(());
    }
    let file = File::options().read(true).write(true).open(path)?;
    let overlap = secrets.longest();
    let mut piece = vec![0; PIECE + overlap];
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
        at += PIECE as u64;
    }
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
