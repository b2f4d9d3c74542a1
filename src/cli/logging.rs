//! The program's own log: one file per day in the data folder, for debugging.
//!
//! No file is created before the first line. Nothing is written to the terminal. The files are private, and known
//! credentials are masked in every line, because libraries log addresses and headers.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tracing_appender::rolling::{RollingFileAppender, Rotation};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::base::{Clock as _, SystemClock, known_secrets};
use crate::config::mask;
use crate::config::paths::Home;
use crate::store::disk::{Disk as _, RealDisk};

/// Filter in the syntax of the `tracing` crates. The default level is warning.
const VARIABLE: &str = "MXD_LOG";
const MAX_FILES: usize = 7;
/// Length of the date at the start of a timestamp.
const DATE_LEN: usize = "2026-11-16".len();

/// Starts the log of this process. A second call does nothing.
pub fn start(home: &Home) {
    let files = LogFiles::new(home.root().join("logs"));
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(files);
    // Setting up an `EnvFilter` is slow, so do it only if the variable is set.
    let _ = match EnvFilter::try_from_env(VARIABLE) {
        Ok(filter) => subscriber.with_env_filter(filter).try_init(),
        Err(_) => subscriber.with_max_level(tracing::Level::WARN).try_init(),
    };
}

/// Log files. Each is opened when the first line of its day is written.
#[derive(Clone)]
struct LogFiles {
    folder: PathBuf,
    today: Arc<Mutex<Option<DayFile>>>,
}

/// The open log file and its date.
struct DayFile {
    date: String,
    appender: RollingFileAppender,
}

impl LogFiles {
    fn new(folder: PathBuf) -> Self {
        Self { folder, today: Arc::default() }
    }

    /// Writes a line, or drops it if no file can be opened.
    fn write(&self, line: &str) {
        let mut today = self.today.lock().unwrap_or_else(PoisonError::into_inner);
        let now = SystemClock.now().to_string();
        let date = now.get(..DATE_LEN).unwrap_or_default();
        if today.as_ref().is_none_or(|file| file.date != date) {
            *today = open(&self.folder, date).map(|appender| DayFile { date: date.to_owned(), appender });
        }
        if let Some(file) = &mut *today {
            let _ = file.appender.write_all(line.as_bytes());
        }
    }
}

/// Opens today's log file, readable by the user only.
fn open(folder: &Path, date: &str) -> Option<RollingFileAppender> {
    RealDisk.create_dirs(folder).ok()?;
    // The appender would create the file readable by everyone.
    let path = folder.join(format!("mxd.{date}.log"));
    File::options().append(true).create(true).mode(0o600).open(path).ok()?;
    let builder = RollingFileAppender::builder().rotation(Rotation::DAILY);
    builder.filename_prefix("mxd").filename_suffix("log").max_log_files(MAX_FILES).build(folder).ok()
}

impl<'a> MakeWriter<'a> for LogFiles {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Line<'a> {
        Line(self)
    }
}

/// Writer of one log line.
struct Line<'a>(&'a LogFiles);

impl Write for Line<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let line = String::from_utf8_lossy(bytes);
        let line = match known_secrets::mask(&line) {
            Cow::Borrowed(line) => mask::scrub(line),
            Cow::Owned(line) => mask::scrub(&line),
        };
        self.0.write(&line);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
#[path = "logging_tests.rs"]
mod tests;
