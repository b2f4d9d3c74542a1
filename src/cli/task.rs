//! `mxd task`: changes to the tree, one command each. `mxd restore`: a worktree back from its archive.

use crate::base::{Fault, MicroUsd, TaskId, text};
use crate::cli::console::{Console, Outcome as Exit};
use crate::cli::outcome::say;
use crate::cli::place::Here;
use crate::cli::viewer::Viewer;
use crate::cli::words;
use crate::cli::work::{Agents, Wishes, find, one_command, with_engine};
use crate::config::recurring::Schedule;
use crate::engine::command::{Changes, Command, Draft, Start};
use crate::model::task::Recurring;
use crate::model::tree::LookupError;
use crate::model::{TaskNode, Tree};

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
        /// What is to be done, and why; `-` reads it from standard input.
        #[arg(short, long, default_value = "")]
        description: String,
        /// The task above. Nothing: the root.
        #[arg(long, value_name = "TASK")]
        under: Option<String>,
        /// Who does the work: one of `mxd agents`. The task keeps it.
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
        /// Let it come round again: with an empty conversation each time, or with the one before.
        #[arg(long, value_name = "MODE")]
        recurring: Option<Rounds>,
        #[command(flatten)]
        times: Times,
    },
    /// Change what a task says of itself.
    Edit {
        task: String,
        #[arg(long)]
        title: Option<String>,
        /// What is to be done, and why; `-` reads it from standard input.
        #[arg(short, long)]
        description: Option<String>,
        /// What it may cost, in dollars; 0 takes the limit away.
        #[arg(long, value_name = "USD")]
        budget: Option<f64>,
        /// A shell command that must succeed before its work counts; an empty one: whatever checks the project's.
        #[arg(long, value_name = "COMMAND")]
        verify: Option<String>,
        /// Make it a draft, or ready.
        #[arg(long, value_name = "true|false")]
        draft: Option<bool>,
        /// Let it come round again, or no more.
        #[arg(long, value_name = "MODE")]
        recurring: Option<Rounds>,
        #[command(flatten)]
        times: Times,
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

/// When a recurring task comes round.
#[derive(clap::Args)]
struct Times {
    /// How long after a round the next one begins: 30m, 6h, 1d12h.
    #[arg(long, value_name = "SPAN", conflicts_with = "cron")]
    every: Option<String>,
    /// When rounds begin: minute, hour, day, month, weekday.
    #[arg(long, value_name = "LINE")]
    cron: Option<String>,
    /// Whose clocks a cron line follows, such as Europe/Zurich. Nothing: this machine's.
    #[arg(long, value_name = "ZONE", requires = "cron")]
    time_zone: Option<String>,
}

impl From<Times> for Schedule {
    fn from(Times { every, cron, time_zone }: Times) -> Self {
        Self { every, cron, time_zone }
    }
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Rounds {
    /// It does not come round.
    None,
    /// Each round begins with an empty conversation on a fresh branch.
    Reset,
    /// Each round goes on with the conversation before.
    Continue,
}

impl From<Rounds> for Recurring {
    fn from(rounds: Rounds) -> Self {
        match rounds {
            Rounds::None => Self::None,
            Rounds::Reset => Self::Reset,
            Rounds::Continue => Self::Continue,
        }
    }
}

#[derive(clap::Args)]
pub struct RestoreArgs {
    /// The task: its id, or the first 8 and more characters of it. Nothing: list the deleted ones.
    task: Option<String>,
}

fn dollars(amount: f64) -> Result<MicroUsd, Fault> {
    MicroUsd::from_dollars(amount).ok_or_else(|| Fault::user(format!("{amount} is not an amount of dollars")))
}

/// Takes a description from standard input where that is where it stands.
fn read_out(mut action: Action) -> Result<Action, Fault> {
    match &mut action {
        Action::New { description, .. } | Action::Edit { description: Some(description), .. } => {
            *description = words::meant(std::mem::take(description))?;
        }
        Action::Edit { description: None, .. }
        | Action::Close { .. }
        | Action::Delete { .. }
        | Action::Reset { .. }
        | Action::Move { .. } => {}
    }
    Ok(action)
}

pub fn run(console: &mut Console, here: &Here, args: Args) -> Exit {
    let mut words = "done";
    let action = read_out(args.action)?;
    let outcome = one_command(console, here, |snapshot| {
        Ok(match action {
            Action::New { title, description, under, profile, budget, draft, later, recurring, times } => {
                let parent = under.map_or(Ok(snapshot.root), |under| find(snapshot, &under))?;
                let start = match (draft, later) {
                    (true, _) => Start::Draft,
                    (false, true) => Start::Later,
                    (false, false) => Start::Now,
                };
                let budget = budget.map(dollars).transpose()?;
                let recurring = recurring.map_or(Recurring::None, Recurring::from);
                let schedule = times.into();
                let draft = Draft { title, description, profile, budget, recurring, schedule, ..Draft::default() };
                Command::Create { parent, before: None, draft, start }
            }
            Action::Edit { task, title, description, budget, verify, draft, recurring, times } => {
                let budget =
                    budget.map(dollars).transpose()?.map(|limit| Some(limit).filter(|limit| *limit > MicroUsd::ZERO));
                let verify = verify.map(|command| Some(command).filter(|command| !command.trim().is_empty()));
                let schedule = Some(Schedule::from(times)).filter(|schedule| !schedule.is_empty());
                let recurring = recurring.map(Recurring::from);
                let changes =
                    Changes { title, description, budget, recurring, verify, schedule, draft, ..Changes::default() };
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

pub fn restore(console: &mut Console, here: &Here, args: &RestoreArgs) -> Exit {
    let Some(name) = &args.task else { return list_deleted(console, here) };
    let outcome = with_engine(console, here, Agents::Leave, Wishes::default(), |handle| async move {
        let (snapshot, _) = handle.look().await?;
        let task = match find(&snapshot, name) {
            Ok(task) => task,
            Err(fault) => find_deleted(handle.deleted_tasks().await?, name, fault)?,
        };
        Ok(handle.command(Command::Restore { task }).await?)
    })?;
    say(console, &outcome, "restored")?;
    Ok(0)
}

/// Lists what was deleted and can be brought back.
fn list_deleted(console: &mut Console, here: &Here) -> Exit {
    let deleted = Viewer::open(console, here)?.ask(async |handle| handle.deleted_tasks().await)?;
    for node in &deleted {
        let title = text::headline(&node.title, 60);
        console.line(&format!("{}  {title}  {}", node.id.short(), node.status))?;
    }
    if deleted.is_empty() {
        console.line("nothing was deleted")?;
    }
    console.finish()?;
    Ok(0)
}

/// Returns the deleted task that a person calls `name`. If there is none, what was said of the others stands.
fn find_deleted(deleted: Vec<TaskNode>, name: &str, otherwise: Fault) -> Result<TaskId, Fault> {
    let Some(deleted) = Tree::from_nodes(None, deleted) else { return Err(otherwise) };
    match deleted.tree.find(name) {
        Ok(node) => Ok(node.id),
        Err(error @ LookupError::Ambiguous { .. }) => Err(Fault::user(error.to_string())),
        Err(LookupError::Unknown(_) | LookupError::TooShort(_)) => {
            Err(otherwise.hint("`mxd restore` lists what was deleted"))
        }
    }
}
