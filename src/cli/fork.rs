//! `mxd fork`: creates a task from a copy of another task's conversation and files.

use crate::cli::TASK_HELP;
use crate::cli::console::{Console, Outcome as Exit};
use crate::cli::diff::turn;
use crate::cli::locate::ProjectLocator;
use crate::cli::open_engine::{AgentStart, Overrides, find, with_engine};
use crate::cli::outcome::print;
use crate::engine::command::{Command, TaskDraft, TaskStart};

#[derive(clap::Args)]
pub struct Args {
    #[arg(help = TASK_HELP)]
    task: String,
    /// Fork after this turn, by number or id (default: now).
    #[arg(long, value_name = "TURN")]
    at: Option<String>,
    /// Title of the new task (default: the old title).
    #[arg(long, default_value = "")]
    title: String,
    /// What the new task should do instead.
    #[arg(short, long, default_value = "")]
    description: String,
    /// Create it as a draft.
    #[arg(long)]
    draft: bool,
    /// Start it only when it gets a message.
    #[arg(long, conflicts_with = "draft")]
    later: bool,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(console: &mut Console, here: &ProjectLocator, args: Args) -> Exit {
    let start = match (args.draft, args.later) {
        (true, _) => TaskStart::Draft,
        (false, true) => TaskStart::Later,
        (false, false) => TaskStart::Now,
    };
    let json = args.json;
    let outcome = with_engine(console, here, AgentStart::Hold, Overrides::default(), |handle| async move {
        let (snapshot, _) = handle.subscribe().await?;
        let task = find(&snapshot, &args.task)?;
        let turns = handle.turns(task).await?;
        let at = args.at.as_ref().map(|name| turn(&turns, name)).transpose()?;
        let draft = TaskDraft { title: args.title, description: args.description, ..TaskDraft::default() };
        Ok(handle.command(Command::Fork { task, at, draft, start }).await?)
    })?;
    if json {
        console.json(&outcome)?;
        console.finish()?;
    } else {
        print(console, &outcome, "forked")?;
    }
    Ok(0)
}
