//! The diary: what the program notices about itself, in a file per day, for whoever has to find out why.
//!
//! Nothing is created before there is something to say. Never on the terminal: that belongs to the person.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use tracing_appender::rolling::{RollingFileAppender, Rotation};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::config::paths::Home;
use crate::store::disk::{Disk as _, RealDisk};

/// Says how much is written down, in the filter language of the `tracing` crates. Warnings, if it says nothing.
const VARIABLE: &str = "MXD_LOG";
/// How many days are kept.
const DAYS: usize = 7;

/// Starts the diary for this process. A second start changes nothing.
pub fn start(home: &Home) {
    let pages = Pages::new(home.root().join("logs"));
    let diary = tracing_subscriber::fmt().with_ansi(false).with_writer(pages);
    // The language of filters takes a while to get ready: only who uses it waits for it.
    let _ = match EnvFilter::try_from_env(VARIABLE) {
        Ok(filter) => diary.with_env_filter(filter).try_init(),
        Err(_) => diary.with_max_level(tracing::Level::WARN).try_init(),
    };
}

/// Files that are opened when the first line is written.
#[derive(Clone)]
struct Pages {
    folder: PathBuf,
    today: Arc<OnceLock<Option<RollingFileAppender>>>,
}

impl Pages {
    fn new(folder: PathBuf) -> Self {
        Self { folder, today: Arc::default() }
    }

    fn open(&self) -> Option<&RollingFileAppender> {
        let open = || {
            RealDisk.create_dirs(&self.folder).ok()?;
            let builder = RollingFileAppender::builder().rotation(Rotation::DAILY);
            builder.filename_prefix("mxd").filename_suffix("log").max_log_files(DAYS).build(&self.folder).ok()
        };
        self.today.get_or_init(open).as_ref()
    }
}

impl<'a> MakeWriter<'a> for Pages {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Line<'a> {
        Line(self)
    }
}

/// One line on its way to the diary. Where there is no diary to be had, it is forgotten.
struct Line<'a>(&'a Pages);

impl Write for Line<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.open() {
            Some(file) => file.make_writer().write(bytes),
            None => Ok(bytes.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.today.get().and_then(Option::as_ref).map_or(Ok(()), |file| file.make_writer().flush())
    }
}

#[cfg(test)]
#[path = "diary_tests.rs"]
mod tests;
