//! `mxd task`: changes to the tree, one command each. `mxd restore`: a worktree back from its archive.

use crate::base::{Fault, MicroUsd};
use crate::cli::console::{Console, Outcome as Exit};
use crate::cli::place::Here;
use crate::cli::work::{Agents, Wishes, find, one_command, say, with_engine};
use crate::engine::command::{Changes, Command, Draft, Outcome, Start};

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Make a task. It begins with the next `mxd run`.
    New {
        title: String,
        /// What is to be done, and why.
        #[arg(short, long, default_value = "")]
        description: String,
        /// The task above. Nothing: the root.
        #[arg(long, value_name = "TASK")]
        under: Option<String>,
        /// Who does the work.
        #[arg(long)]
        profile: Option<String>,
        /// What it may cost, in dollars.
        #[arg(long, value_name = "USD")]
        budget: Option<f64>,
        /// Write it down without making it ready.
        #[arg(long)]
        draft: bool,
        /// Make it ready, and start it only when it is spoken to.
        #[arg(long, conflicts_with = "draft")]
        later: bool,
    },
    /// Change what a task says of itself.
    Edit {
        task: String,
        #[arg(long)]
        title: Option<String>,
        #[arg(short, long)]
        description: Option<String>,
        /// What it may cost, in dollars; 0 takes the limit away.
        #[arg(long, value_name = "USD")]
        budget: Option<f64>,
        /// Make it a draft, or ready.
        #[arg(long, value_name = "true|false")]
        draft: Option<bool>,
    },
    /// Put a task away. Its work is archived.
    Close { task: String },
    /// Take a task and everything below it out of the tree. Its work is archived.
    Delete { task: String },
    /// Start a task over: an empty conversation, a fresh branch. Its old work is archived.
    Reset { task: String },
    /// Hang a task below another one.
    Move {
        task: String,
        /// The task above.
        #[arg(long, value_name = "TASK")]
        under: String,
        /// Before this sub task. Nothing: last.
        #[arg(long, value_name = "TASK")]
        before: Option<String>,
    },
}

#[derive(clap::Args)]
pub struct RestoreArgs {
    /// The task: its id, or the first 8 and more characters of it.
    task: String,
}

#[derive(clap::Args)]
pub struct ForkArgs {
    /// Whose conversation: the task's id, or the first 8 and more characters of it.
    task: String,
    /// What the new task is called.
    title: String,
    /// What is to be done, and why.
    #[arg(short, long, default_value = "")]
    description: String,
    /// The task above. Nothing: the root.
    #[arg(long, value_name = "TASK")]
    under: Option<String>,
}

fn dollars(amount: f64) -> Result<MicroUsd, Fault> {
    MicroUsd::from_dollars(amount).ok_or_else(|| Fault::user(format!("{amount} is not an amount of dollars")))
}

pub fn run(console: &mut Console, here: &Here, args: Args) -> Exit {
    let mut words = "done";
    let outcome = one_command(console, here, |snapshot| {
        Ok(match args.action {
            Action::New { title, description, under, profile, budget, draft, later } => {
                let parent = under.map_or(Ok(snapshot.root), |under| find(snapshot, &under))?;
                let start = match (draft, later) {
                    (true, _) => Start::Draft,
                    (false, true) => Start::Later,
                    (false, false) => Start::Now,
                };
                let budget = budget.map(dollars).transpose()?;
                let draft = Draft { title, description, profile, budget, ..Draft::default() };
                Command::Create { parent, before: None, draft, start }
            }
            Action::Edit { task, title, description, budget, draft } => {
                let budget =
                    budget.map(dollars).transpose()?.map(|limit| Some(limit).filter(|limit| *limit > MicroUsd::ZERO));
                let changes = Changes { title, description, budget, draft, ..Changes::default() };
                words = "changed";
                Command::Update { task: find(snapshot, &task)?, changes }
            }
            Action::Close { task } => {
                words = "closed";
                Command::Close { task: find(snapshot, &task)? }
            }
            Action::Delete { task } => {
                words = "deleted; its work is archived";
                Command::Delete { task: find(snapshot, &task)? }
            }
            Action::Reset { task } => {
                words = "reset; its old work is archived";
                Command::Reset { task: find(snapshot, &task)? }
            }
            Action::Move { task, under, before } => {
                let before = before.map(|before| find(snapshot, &before)).transpose()?;
                words = "moved";
                Command::Move { task: find(snapshot, &task)?, parent: find(snapshot, &under)?, before }
            }
        })
    })?;
    say(console, &outcome, words)?;
    Ok(0)
}

/// Makes a task that waits to be spoken to, and gives it the conversation.
pub fn fork(console: &mut Console, here: &Here, args: &ForkArgs) -> Exit {
    let made = with_engine(console, here, Agents::Leave, Wishes::default(), |handle| async move {
        let (snapshot, _) = handle.look().await?;
        let from = find(&snapshot, &args.task)?;
        let parent = args.under.as_ref().map_or(Ok(snapshot.root), |under| find(&snapshot, under))?;
        let draft = Draft { title: args.title.clone(), description: args.description.clone(), ..Draft::default() };
        let made = handle.command(Command::Create { parent, before: None, draft, start: Start::Later }).await?;
        if let Outcome::Created(to) = made {
            let copied = handle.command(Command::Fork { from, to }).await;
            if let Err(fault) = copied {
                // A task without the conversation it was made for is of no use.
                let _ = handle.command(Command::Delete { task: to }).await;
                return Err(fault.into());
            }
        }
        Ok(made)
    })?;
    say(console, &made, "forked")?;
    Ok(0)
}

pub fn restore(console: &mut Console, here: &Here, args: &RestoreArgs) -> Exit {
    let outcome = one_command(console, here, |snapshot| Ok(Command::Restore { task: find(snapshot, &args.task)? }))?;
    say(console, &outcome, "restored")?;
    Ok(0)
}
