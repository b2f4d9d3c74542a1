//! `mxd log`: the session of a task, for people, for programs, or as it is on disk.

mod entry;

use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::place::{Here, home};
use crate::cli::tree;
use crate::model::Event;
use crate::store::Sessions;

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
    let located = here.located(&home()?)?;
    let sessions = located.sessions();
    let task = tree::find(console, &located, &sessions, &args.task)?;
    if args.raw {
        raw(console, &sessions, task)?;
    } else {
        let damage = match args.last {
            Some(count) => {
                let page = sessions.last_page(task, count)?;
                page.events.iter().try_for_each(|event| show(console, event, args.json))?;
                page.damage
            }
            None => {
                let mut failed = None;
                let damage = sessions.stream_chain(task, |event| {
                    if failed.is_none() {
                        failed = show(console, &event, args.json).err();
                    }
                })?;
                failed.map_or(Ok(()), Err)?;
                damage
            }
        };
        if damage.bad_lines > 0 || damage.gaps > 0 {
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

fn raw(console: &mut Console, sessions: &Sessions, task: crate::base::TaskId) -> Result<(), Failure> {
    let mut failed = None;
    sessions.scan(task, |span| {
        let bytes = span.bytes.unwrap_or(b"[a line too long to show]");
        if failed.is_none() {
            failed = console.bytes(bytes).and_then(|()| console.bytes(b"\n")).err();
        }
    })?;
    failed.map_or(Ok(()), Err)
}
