//! `mxd task`: creates and changes tasks. `mxd restore`: restores worktrees and deleted tasks.

use crate::base::{Fault, MicroUsd, TaskId, text};
use crate::cli::TASK_HELP;
use crate::cli::console::{Console, Outcome as Exit};
use crate::cli::locate::ProjectLocator;
use crate::cli::open_engine::{AgentStart, Overrides, find, one_command, with_engine};
use crate::cli::open_read_only::Viewer;
use crate::cli::outcome::print;
use crate::cli::stdin;
use crate::config::recurring::Schedule;
use crate::engine::command::{Command, TaskChanges, TaskDraft, TaskStart};
use crate::model::address::AddressError;
use crate::model::task::{Overrides as TaskOverrides, Recurring};
use crate::model::{TaskNode, Tree};
use crate::permit::Mode;
use crate::permit::mode::UnknownMode;

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Create a task. It starts with the next `mxd run`.
    New {
        /// Title.
        title: String,
        /// What to do and why. `-` reads it from stdin.
        #[arg(short, long, default_value = "")]
        description: String,
        /// Parent task (default: the root).
        #[arg(long, value_name = "TASK")]
        under: Option<String>,
        /// Profile, fixed for this task (see `mxd agents`).
        #[arg(long)]
        profile: Option<String>,
        /// Budget in USD.
        #[arg(long, value_name = "USD")]
        budget: Option<f64>,
        /// Permission mode, such as ask, edits or plan.
        #[arg(long, value_name = "MODE")]
        mode: Option<Mode>,
        /// Let it begin with a plan that you approve.
        #[arg(long, conflicts_with = "mode")]
        plan: bool,
        #[command(flatten)]
        overrides: OverrideArgs,
        /// Create it as a draft.
        #[arg(long)]
        draft: bool,
        /// Start it only when it gets a message.
        #[arg(long, conflicts_with = "draft")]
        later: bool,
        /// Make it recurring.
        #[arg(long, value_name = "MODE")]
        recurring: Option<RecurringArg>,
        #[command(flatten)]
        times: ScheduleArgs,
    },
    /// Edit a task.
    Edit {
        #[arg(help = TASK_HELP)]
        task: String,
        /// New title.
        #[arg(long)]
        title: Option<String>,
        /// What to do and why. `-` reads it from stdin.
        #[arg(short, long)]
        description: Option<String>,
        /// Budget in USD (0: no limit).
        #[arg(long, value_name = "USD")]
        budget: Option<f64>,
        /// Shell command that verifies the work (empty: the project's).
        #[arg(long, value_name = "COMMAND")]
        verify: Option<String>,
        /// Permission mode, or "project" for the project's.
        #[arg(long, value_name = "MODE")]
        mode: Option<String>,
        #[command(flatten)]
        overrides: OverrideArgs,
        /// Make it a draft, or ready to start.
        #[arg(long, value_name = "true|false")]
        draft: Option<bool>,
        /// Make it recurring, or stop recurring.
        #[arg(long, value_name = "MODE")]
        recurring: Option<RecurringArg>,
        #[command(flatten)]
        times: ScheduleArgs,
    },
    /// Close a task and archive its work.
    Close {
        #[arg(help = TASK_HELP)]
        task: String,
    },
    /// Delete a task and its subtasks; their work is archived.
    Delete {
        #[arg(help = TASK_HELP)]
        task: String,
    },
    /// Restart a task with an empty conversation and branch.
    ///
    /// Archives the old work.
    Reset {
        #[arg(help = TASK_HELP)]
        task: String,
    },
    /// Move a task under another task.
    Move {
        #[arg(help = TASK_HELP)]
        task: String,
        /// New parent task.
        #[arg(long, value_name = "TASK")]
        under: String,
        /// Place it before this subtask (default: last).
        #[arg(long, value_name = "TASK")]
        before: Option<String>,
    },
}

/// What the task changes of its profile.
#[derive(clap::Args)]
struct OverrideArgs {
    /// Use this model instead of the profile's (empty: the profile's).
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Reasoning effort, in the provider's terms (empty: the profile's).
    #[arg(long, value_name = "EFFORT")]
    effort: Option<String>,
    /// Ask after this many turns (0: as the profile says).
    #[arg(long, value_name = "TURNS")]
    max_turns: Option<u64>,
    /// Instructions behind the profile's prompt (empty: none).
    #[arg(long, value_name = "TEXT")]
    append: Option<String>,
}

impl From<OverrideArgs> for TaskOverrides {
    fn from(args: OverrideArgs) -> Self {
        let OverrideArgs { model, effort, max_turns, append } = args;
        Self { append, model, effort, max_turns }
    }
}

#[derive(clap::Args)]
struct ScheduleArgs {
    /// Time between runs: 30m, 6h, 1d12h.
    #[arg(long, value_name = "SPAN", conflicts_with = "cron")]
    every: Option<String>,
    /// Cron schedule: minute, hour, day, month, weekday.
    #[arg(long, value_name = "LINE")]
    cron: Option<String>,
    /// Time zone of --cron, such as Europe/Zurich (default: local).
    #[arg(long, value_name = "ZONE", requires = "cron")]
    time_zone: Option<String>,
}

impl From<ScheduleArgs> for Schedule {
    fn from(ScheduleArgs { every, cron, time_zone }: ScheduleArgs) -> Self {
        Self { every, cron, time_zone }
    }
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum RecurringArg {
    /// Not recurring.
    None,
    /// Each run starts with an empty conversation and branch.
    Reset,
    /// Each run continues the previous conversation.
    Continue,
}

impl From<RecurringArg> for Recurring {
    fn from(mode: RecurringArg) -> Self {
        match mode {
            RecurringArg::None => Self::None,
            RecurringArg::Reset => Self::Reset,
            RecurringArg::Continue => Self::Continue,
        }
    }
}

#[derive(clap::Args)]
pub struct RestoreArgs {
    /// Task to restore; omit it to list deleted tasks.
    task: Option<String>,
}

/// Returns the mode of a word. `project` stands for that of the profile and the settings.
fn parse_mode(word: &str) -> Result<Option<Mode>, Fault> {
    match word {
        "project" => Ok(None),
        word => word.parse().map(Some).map_err(|error: UnknownMode| Fault::user(error.to_string())),
    }
}

fn dollars(amount: f64) -> Result<MicroUsd, Fault> {
    MicroUsd::from_dollars(amount).ok_or_else(|| Fault::user(format!("{amount} is not an amount of dollars")))
}

/// Reads the description from stdin if it is `-`.
fn read_stdin_fields(mut action: Action) -> Result<Action, Fault> {
    match &mut action {
        Action::New { description, .. } | Action::Edit { description: Some(description), .. } => {
            *description = stdin::read_arg(std::mem::take(description))?;
        }
        Action::Edit { description: None, .. }
        | Action::Close { .. }
        | Action::Delete { .. }
        | Action::Reset { .. }
        | Action::Move { .. } => {}
    }
    Ok(action)
}

pub fn run(console: &mut Console, here: &ProjectLocator, args: Args) -> Exit {
    let mut message = "done";
    let action = read_stdin_fields(args.action)?;
    let outcome = one_command(console, here, |snapshot| {
        Ok(match action {
            Action::New {
                title,
                description,
                under,
                profile,
                budget,
                mode,
                plan,
                overrides,
                draft,
                later,
                recurring,
                times,
            } => {
                let parent = under.map_or(Ok(snapshot.root), |under| find(snapshot, &under))?;
                let start = match (draft, later) {
                    (true, _) => TaskStart::Draft,
                    (false, true) => TaskStart::Later,
                    (false, false) => TaskStart::Now,
                };
                let budget = budget.map(dollars).transpose()?;
                let recurring = recurring.map_or(Recurring::None, Recurring::from);
                let schedule = times.into();
                let mode = mode.or(plan.then_some(Mode::Plan));
                let overrides = Box::new(overrides.into());
                let draft = TaskDraft {
                    title,
                    description,
                    profile,
                    budget,
                    overrides,
                    recurring,
                    schedule,
                    mode,
                    ..TaskDraft::default()
                };
                Command::Create { parent, before: None, draft, start }
            }
            Action::Edit { task, title, description, budget, verify, mode, overrides, draft, recurring, times } => {
                let mode = mode.map(|word| parse_mode(&word)).transpose()?;
                let budget =
                    budget.map(dollars).transpose()?.map(|limit| Some(limit).filter(|limit| *limit > MicroUsd::ZERO));
                let verify = verify.map(|command| Some(command).filter(|command| !command.trim().is_empty()));
                let schedule = Some(Schedule::from(times)).filter(|schedule| !schedule.is_empty());
                let recurring = recurring.map(Recurring::from);
                let changes = TaskChanges {
                    title,
                    description,
                    budget,
                    recurring,
                    verify,
                    overrides: Some(Box::new(TaskOverrides::from(overrides))).filter(|overrides| !overrides.is_empty()),
                    schedule,
                    draft,
                    mode,
                    ..TaskChanges::default()
                };
                message = "changed";
                Command::Update { task: find(snapshot, &task)?, changes }
            }
            Action::Close { task } => {
                message = "closed";
                Command::Close { task: find(snapshot, &task)? }
            }
            Action::Delete { task } => {
                message = "deleted; its work is archived";
                Command::Delete { task: find(snapshot, &task)? }
            }
            Action::Reset { task } => {
                message = "reset; its old work is archived";
                Command::Reset { task: find(snapshot, &task)? }
            }
            Action::Move { task, under, before } => {
                let before = before.map(|before| find(snapshot, &before)).transpose()?;
                message = "moved";
                Command::Move { task: find(snapshot, &task)?, parent: find(snapshot, &under)?, before }
            }
        })
    })?;
    print(console, &outcome, message)?;
    Ok(0)
}

pub fn restore(console: &mut Console, here: &ProjectLocator, args: &RestoreArgs) -> Exit {
    let Some(name) = &args.task else { return list_deleted(console, here) };
    let outcome = with_engine(console, here, AgentStart::Hold, Overrides::default(), |handle| async move {
        let (snapshot, _) = handle.subscribe().await?;
        let task = match find(&snapshot, name) {
            Ok(task) => task,
            Err(fault) => find_deleted(handle.deleted_tasks().await?, name, fault)?,
        };
        Ok(handle.command(Command::Restore { task }).await?)
    })?;
    print(console, &outcome, "restored")?;
    Ok(0)
}

/// Lists the deleted tasks that can be restored.
fn list_deleted(console: &mut Console, here: &ProjectLocator) -> Exit {
    let deleted = Viewer::open(console, here)?.ask(async |handle| handle.deleted_tasks().await)?;
    for node in &deleted {
        let title = text::headline(&node.title, 60);
        console.line(&format!("{}  {title}  {}", node.id.short(), node.status))?;
    }
    if deleted.is_empty() {
        console.line("no deleted tasks")?;
    }
    console.finish()?;
    Ok(0)
}

/// Finds a deleted task by id or prefix. Returns `fault` if there is none.
fn find_deleted(deleted: Vec<TaskNode>, name: &str, fault: Fault) -> Result<TaskId, Fault> {
    let Some(deleted) = Tree::from_nodes(None, deleted) else { return Err(fault) };
    match deleted.tree.find(name) {
        Ok(node) => Ok(node.id),
        Err(error @ AddressError::Ambiguous { .. }) => Err(Fault::user(error.to_string())),
        Err(_) => Err(fault.hint("`mxd restore` lists deleted tasks")),
    }
}
