//! The record of what was said to and by a program: a file of limited size and its predecessor, for bug reports.
//!
//! Every message is kept as it came, with the credentials that this process knows masked.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use crate::base::known_secrets;

/// The largest size of one file. There are at most two.
const CAP: u64 = 4 << 20;
/// The longest message that is kept whole.
const LONGEST: usize = 256 << 10;

/// The direction of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    ToAgent,
    FromAgent,
}

/// A record. A failed write ends it: the session is worth more than its record.
#[derive(Debug)]
pub struct WireLog {
    path: PathBuf,
    file: Option<File>,
    bytes: u64,
}

impl WireLog {
    /// Opens a record. Without a path, nothing is kept.
    pub fn open(path: Option<&Path>) -> Self {
        let Some(path) = path else { return Self { path: PathBuf::new(), file: None, bytes: 0 } };
        if let Some(folder) = path.parent() {
            let _ = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
        }
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path);
        let bytes = fs::metadata(path).map_or(0, |meta| meta.len());
        Self { path: path.to_owned(), file: file.ok(), bytes }
    }

    pub fn record(&mut self, way: Way, line: &str) {
        if self.file.is_none() {
            return;
        }
        let mark = match way {
            Way::ToAgent => '>',
            Way::FromAgent => '<',
        };
        let shown = crate::base::text::prefix(line.trim_end(), LONGEST);
        let cut = if shown.len() < line.trim_end().len() { " [cut]" } else { "" };
        let text = format!("{mark} {}{cut}\n", known_secrets::mask(shown));
        if self.bytes + text.len() as u64 > CAP {
            self.rotate();
        }
        let Some(file) = &mut self.file else { return };
        match file.write_all(text.as_bytes()) {
            Ok(()) => self.bytes += text.len() as u64,
            Err(error) => {
                tracing::warn!(%error, path = %self.path.display(), "messages of a program are no longer recorded");
                self.file = None;
            }
        }
    }

    fn rotate(&mut self) {
        let renamed = fs::rename(&self.path, self.path.with_extension("1.log"));
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(&self.path);
        self.file = renamed.and(file).ok();
        self.bytes = 0;
    }
}
