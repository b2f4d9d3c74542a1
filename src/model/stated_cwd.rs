//! The working directory that an agent was told.
//!
//! A session has no field for it: it is parsed from the two messages that name a folder, to detect a moved folder.

use std::path::Path;

use crate::model::message::{Message, MessageSource};

/// The start of the first line of a work context.
pub const WORKING_DIRECTORY: &str = "Working directory: ";

/// The start and the continuation of the notice that tells an agent its new folder.
const MOVED: &str = "Your working directory was moved and is now ";
const MOVED_END: &str = ". Your files are as they were.";

/// Returns the notice for an agent whose folder was moved with the repository or the data folder.
pub fn moved_notice(folder: &Path) -> String {
    format!(
        "{MOVED}{}{MOVED_END} Absolute paths from before lead nowhere: use paths below the new one.",
        folder.display()
    )
}

/// Returns the working directory that a message gives to an agent.
pub fn of(message: &Message) -> Option<&str> {
    let mut lines = message.body.lines();
    match message.from {
        MessageSource::WorkContext => lines.next()?.strip_prefix(WORKING_DIRECTORY),
        MessageSource::Notice => lines.find_map(|line| Some(line.strip_prefix(MOVED)?.split_once(MOVED_END)?.0)),
        _ => None,
    }
}
