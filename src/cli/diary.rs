//! The program's own log: what it notices about itself, in one file per day, for whoever has to find out why.
//!
//! Nothing is created before there is something to say. Never on the terminal. The files are private, and known
//! credentials are masked in every line: libraries that we use log addresses and headers.

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

/// Says how much is written down, in the filter language of the `tracing` crates. Warnings, if it says nothing.
const VARIABLE: &str = "MXD_LOG";
/// How many days are kept.
const DAYS: usize = 7;
/// How much of a written time is the date.
const DATE: usize = "2026-11-16".len();

/// Starts the log of this process. A second start changes nothing.
pub fn start(home: &Home) {
    let pages = Pages::new(home.root().join("logs"));
    let diary = tracing_subscriber::fmt().with_ansi(false).with_writer(pages);
    // The language of filters takes a while to get ready: only who uses it waits for it.
    let _ = match EnvFilter::try_from_env(VARIABLE) {
        Ok(filter) => diary.with_env_filter(filter).try_init(),
        Err(_) => diary.with_max_level(tracing::Level::WARN).try_init(),
    };
}

/// Files that are opened when the first line of a day is written.
#[derive(Clone)]
struct Pages {
    folder: PathBuf,
    today: Arc<Mutex<Option<Page>>>,
}

/// The file of the last day on which something was written.
struct Page {
    date: String,
    appender: RollingFileAppender,
}

impl Pages {
    fn new(folder: PathBuf) -> Self {
        Self { folder, today: Arc::default() }
    }

    /// Writes a line. Where no file can be opened, it is forgotten.
    fn write(&self, line: &str) {
        let mut today = self.today.lock().unwrap_or_else(PoisonError::into_inner);
        let now = SystemClock.now().to_string();
        let date = now.get(..DATE).unwrap_or_default();
        if today.as_ref().is_none_or(|page| page.date != date) {
            *today = open(&self.folder, date).map(|appender| Page { date: date.to_owned(), appender });
        }
        if let Some(page) = &mut *today {
            let _ = page.appender.write_all(line.as_bytes());
        }
    }
}

/// Opens the files of a folder, of which only the user may read today's.
fn open(folder: &Path, date: &str) -> Option<RollingFileAppender> {
    RealDisk.create_dirs(folder).ok()?;
    // The appender would make it readable for everybody.
    let path = folder.join(format!("mxd.{date}.log"));
    File::options().append(true).create(true).mode(0o600).open(path).ok()?;
    let builder = RollingFileAppender::builder().rotation(Rotation::DAILY);
    builder.filename_prefix("mxd").filename_suffix("log").max_log_files(DAYS).build(folder).ok()
}

impl<'a> MakeWriter<'a> for Pages {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Line<'a> {
        Line(self)
    }
}

/// One line on its way to the log.
struct Line<'a>(&'a Pages);

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
#[path = "diary_tests.rs"]
mod tests;
