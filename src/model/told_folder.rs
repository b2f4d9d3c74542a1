//! The folder that an agent was told to work in, as its session has it.
//!
//! A session has no field for it: the two messages that name a folder are read back where a folder may have moved.

use std::path::Path;

use crate::model::message::{Message, Source};

/// How the first line of a work context begins.
pub const WORKING_DIRECTORY: &str = "Working directory: ";

/// How the notice begins and goes on that tells an agent its new folder.
const MOVED: &str = "Your working directory was moved and is now ";
const MOVED_END: &str = ". Your files are as they were.";

/// Returns what an agent is told whose folder was moved with the repository or the data folder.
pub fn moved_notice(folder: &Path) -> String {
    format!(
        "{MOVED}{}{MOVED_END} Absolute paths from before lead nowhere: use paths below the new one.",
        folder.display()
    )
}

/// Returns the folder that a message tells an agent to work in.
pub fn of(message: &Message) -> Option<&str> {
    let mut lines = message.body.lines();
    match message.from {
        Source::WorkContext => lines.next()?.strip_prefix(WORKING_DIRECTORY),
        Source::Notice => lines.find_map(|line| Some(line.strip_prefix(MOVED)?.split_once(MOVED_END)?.0)),
        _ => None,
    }
}
