//! `mxd log`: the session of a task, for people, for programs, or as it is on disk.

pub mod entry;

use std::fs::File;
use std::io::{BufRead as _, BufReader, ErrorKind, Read as _};

use crate::base::{TaskId, sanitize};
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::place::{Here, home};
use crate::cli::tree;
use crate::model::Event;
use crate::store::scan::CHUNK;
use crate::store::{Sessions, StoreError};

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
    let home = home()?;
    // Makes the keys in the settings known, so that they are masked.
    let _ = here.settings(&home);
    let located = here.located(&home)?;
    let sessions = located.sessions();
    let task = tree::find(console, &located, &sessions, &args.task)?;
    if args.raw {
        raw(console, &sessions, task)?;
    } else {
        let damage = if let Some(count) = args.last {
            let page = sessions.last_page(task, count)?;
            page.events.iter().try_for_each(|event| show(console, event, args.json))?;
            page.damage
        } else {
            let mut failed = None;
            let damage = sessions.stream_chain(task, |event| {
                if failed.is_none() {
                    failed = show(console, &event, args.json).err();
                }
            })?;
            failed.map_or(Ok(()), Err)?;
            damage
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

/// Copies the file byte for byte, also what a torn write left at its end. A terminal gets every character that it would obey
/// as JSON escapes it. A task without events has no file.
fn raw(console: &mut Console, sessions: &Sessions, task: TaskId) -> Result<(), Failure> {
    let path = sessions.path(task);
    let mut file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(StoreError::io("open", &path)(error).into()),
    };
    if console.is_terminal() {
        let mut lines = BufReader::new(file);
        let mut line = Vec::new();
        while lines.read_until(b'\n', &mut line).map_err(StoreError::io("read", &path))? > 0 {
            console.bytes(sanitize::json(&String::from_utf8_lossy(&line)).as_bytes())?;
            line.clear();
        }
        return Ok(());
    }
    let mut buffer = vec![0; CHUNK];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(read) => console.bytes(&buffer[..read])?,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(StoreError::io("read", &path)(error).into()),
        }
    }
}
