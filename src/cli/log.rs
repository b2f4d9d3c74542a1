//! `mxd log`: prints a task's session as text, as JSON, or byte for byte.

pub mod entry;

use crate::base::{EventId, TaskId, sanitize};
use crate::cli::TASK_HELP;
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::locate::ProjectLocator;
use crate::cli::open_read_only::Viewer;
use crate::engine::update::Update;
use crate::model::Event;

#[derive(clap::Args)]
pub struct Args {
    #[arg(help = TASK_HELP)]
    task: String,
    /// Print one JSON event per line (active chain only).
    #[arg(long)]
    json: bool,
    /// Print the file as is, with rewound and damaged events.
    #[arg(long, conflicts_with = "json")]
    raw: bool,
    /// Show only the last N events.
    #[arg(short = 'n', long, value_name = "N", conflicts_with = "raw")]
    last: Option<usize>,
    /// Print new events as they are saved, until Ctrl-C.
    #[arg(short, long, conflicts_with = "raw")]
    follow: bool,
}

pub fn run(console: &mut Console, here: &ProjectLocator, args: &Args) -> Outcome {
    let viewer = Viewer::open(console, here)?;
    let task = viewer.find(&args.task)?;
    if args.raw {
        raw(console, &viewer, task)?;
    } else if args.follow {
        follow(console, &viewer, task, args)?;
    } else {
        let is_damaged = if let Some(count) = args.last {
            let page = viewer.ask(async |handle| handle.page(task, None, count).await)?;
            page.events.iter().try_for_each(|event| show(console, event, args.json))?;
            page.damaged
        } else {
            viewer.each_event(task, |event| show(console, &event, args.json))?
        };
        if is_damaged {
            console.note("warning: parts of this session are unreadable; run `mxd check` for details");
        }
    }
    console.finish()?;
    Ok(0)
}

/// Prints the events of a task, and new ones until the task is gone.
fn follow(console: &mut Console, viewer: &Viewer, task: TaskId, args: &Args) -> Result<(), Failure> {
    // Watched before the session is read, so that nothing in between is missed.
    let mut watcher = viewer.ask(async |handle| Ok(handle.subscribe().await?.1))?;
    let mut last = None;
    match args.last {
        Some(count) => {
            let page = viewer.ask(async |handle| handle.page(task, None, count).await)?;
            last = page.events.last().map(|event| event.id);
            page.events.iter().try_for_each(|event| show(console, event, args.json))?;
        }
        None => show_after(console, viewer, task, &mut last, args.json)?,
    }
    console.finish()?;
    loop {
        match viewer.ask(async |_| Ok(watcher.next().await))? {
            Update::Event { task: of, event } if of == task && last.is_none_or(|last| event.id > last) => {
                last = Some(event.id);
                show(console, &event, args.json)?;
            }
            Update::Resync => {
                watcher = viewer.ask(async |handle| Ok(handle.subscribe().await?.1))?;
                show_after(console, viewer, task, &mut last, args.json)?;
            }
            Update::Removed { task: of } if of == task => {
                console.note("the task was deleted");
                return Ok(());
            }
            Update::Moved | Update::Ended => return Ok(()),
            _ => {}
        }
        console.finish()?;
    }
}

/// Prints the events after `last`, and sets it to the last of them.
fn show_after(
    console: &mut Console,
    viewer: &Viewer,
    task: TaskId,
    last: &mut Option<EventId>,
    json: bool,
) -> Result<(), Failure> {
    viewer
        .each_event(task, |event| {
            if last.is_none_or(|last| event.id > last) {
                *last = Some(event.id);
                show(console, &event, json)?;
            }
            Ok(())
        })
        .map(drop)
}

fn show(console: &mut Console, event: &Event, json: bool) -> Result<(), Failure> {
    if json {
        return console.json(event);
    }
    entry::lines(event).iter().try_for_each(|line| console.line(line))
}

/// Copies the session file byte for byte, including a torn write at its end. On a terminal, control characters are
/// escaped as in JSON. Prints nothing if the task has no events.
fn raw(console: &mut Console, viewer: &Viewer, task: TaskId) -> Result<(), Failure> {
    let mut from = 0;
    let mut line = Vec::new();
    loop {
        let bytes = viewer.ask(async |handle| handle.raw_session(task, from).await)?;
        from += bytes.len() as u64;
        if console.is_terminal() {
            // A character may be split across two chunks, but never across two lines.
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
