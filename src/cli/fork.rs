//! `mxd fork`: a task that goes on from another's conversation and files.

use crate::cli::console::{Console, Outcome as Exit};
use crate::cli::diff::turn;
use crate::cli::outcome::say;
use crate::cli::place::Here;
use crate::cli::work::{Agents, Wishes, find, with_engine};
use crate::engine::command::{Command, Draft, Start};

#[derive(clap::Args)]
pub struct Args {
    /// The task: its id, or the first 8 and more characters of it.
    task: String,
    /// As it was after this turn: its number, or its id. Nothing: as it is now.
    #[arg(long, value_name = "TURN")]
    at: Option<String>,
    /// What the new task is called. Nothing: like the old one.
    #[arg(long, default_value = "")]
    title: String,
    /// What is to be done instead.
    #[arg(short, long, default_value = "")]
    description: String,
    /// Write it down without making it ready.
    #[arg(long)]
    draft: bool,
    /// Make it ready, and start it only when it is spoken to.
    #[arg(long, conflicts_with = "draft")]
    later: bool,
    /// The answer as JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(console: &mut Console, here: &Here, args: Args) -> Exit {
    let start = match (args.draft, args.later) {
        (true, _) => Start::Draft,
        (false, true) => Start::Later,
        (false, false) => Start::Now,
    };
    let json = args.json;
    let outcome = with_engine(console, here, Agents::Leave, Wishes::default(), |handle| async move {
        let (snapshot, _) = handle.look().await?;
        let task = find(&snapshot, &args.task)?;
        let turns = handle.turns(task).await?;
        let at = args.at.as_ref().map(|name| turn(&turns, name)).transpose()?;
        let draft = Draft { title: args.title, description: args.description, ..Draft::default() };
        Ok(handle.command(Command::Fork { task, at, draft, start }).await?)
    })?;
    if json {
        console.json(&outcome)?;
        console.finish()?;
    } else {
        say(console, &outcome, "forked")?;
    }
    Ok(0)
}
