//! `mxd log`: the session of a task, for people, for programs, or as it is on disk.

pub mod entry;

use crate::base::{TaskId, sanitize};
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::place::Here;
use crate::cli::viewer::Viewer;
use crate::model::Event;

#[derive(clap::Args)]
pub struct Args {
    /// The task: its id, or the first 8 and more characters of it.
    task: String,
    /// One event per line, as JSON, along the active chain.
    #[arg(long)]
    json: bool,
    /// The file as it is, with everything that was rewound or is damaged.
    #[arg(long, conflicts_with = "json")]
    raw: bool,
    /// Only the last N events.
    #[arg(short = 'n', long, value_name = "N", conflicts_with = "raw")]
    last: Option<usize>,
}

pub fn run(console: &mut Console, here: &Here, args: &Args) -> Outcome {
    let viewer = Viewer::open(console, here)?;
    let task = viewer.find(&args.task)?;
    if args.raw {
        raw(console, &viewer, task)?;
    } else {
        let is_damaged = if let Some(count) = args.last {
            let page = viewer.ask(async |handle| handle.page(task, None, count).await)?;
            page.events.iter().try_for_each(|event| show(console, event, args.json))?;
            page.damaged
        } else {
            viewer.each_event(task, |event| show(console, &event, args.json))?
        };
        if is_damaged {
            console.note("warning: parts of this session cannot be read; `mxd check` says which");
        }
    }
    console.finish()?;
    Ok(0)
}

fn show(console: &mut Console, event: &Event, json: bool) -> Result<(), Failure> {
    if json {
        return console.json(event);
    }
    entry::lines(event).iter().try_for_each(|line| console.line(line))
}

/// Copies the file byte for byte, also what a torn write left at its end. A terminal gets every character that it would obey
/// as JSON escapes it. A task without events has no file.
fn raw(console: &mut Console, viewer: &Viewer, task: TaskId) -> Result<(), Failure> {
    let mut from = 0;
    let mut line = Vec::new();
    loop {
        let bytes = viewer.ask(async |handle| handle.raw_session(task, from).await)?;
        from += bytes.len() as u64;
        if console.is_terminal() {
            // A character may lie across two pieces, but never across two lines.
            line.extend_from_slice(&bytes);
            let last = if bytes.is_empty() { Some(line.len()) } else { line.iter().rposition(|byte| *byte == b'\n') };
            let rest = line.split_off(last.map_or(0, |end| line.len().min(end + 1)));
            console.bytes(sanitize::json(&String::from_utf8_lossy(&line)).as_bytes())?;
            line = rest;
        } else {
            console.bytes(&bytes)?;
        }
        if bytes.is_empty() {
            return Ok(());
        }
    }
}
