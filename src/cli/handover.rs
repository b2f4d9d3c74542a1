//! `mxd handover`: gives a task to another profile.

use crate::cli::TASK_HELP;
use crate::cli::console::{Console, Outcome as Exit};
use crate::cli::locate::ProjectLocator;
use crate::cli::open_engine::{find, one_command};
use crate::cli::outcome::print;
use crate::cli::stdin;
use crate::engine::command::Command;

#[derive(clap::Args)]
pub struct Args {
    #[arg(help = TASK_HELP)]
    task: String,
    /// The profile that goes on with it (see `mxd agents`).
    #[arg(long, value_name = "PROFILE")]
    to: String,
    /// What the next agent should know. `-` reads it from stdin.
    ///
    /// Without it, the note is made from the session's record.
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
}

pub fn run(console: &mut Console, here: &ProjectLocator, args: Args) -> Exit {
    let note = args.note.map(stdin::read_arg).transpose()?;
    let outcome = one_command(console, here, |snapshot| {
        Ok(Command::HandOverTask { task: find(snapshot, &args.task)?, to: args.to, note })
    })?;
    print(console, &outcome, "handed over")?;
    Ok(0)
}
