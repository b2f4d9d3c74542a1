//! `mxd send`, `mxd answer`, `mxd stop`. Messages and answers are delivered when the agents run.

mod wait;

use crate::base::{Fault, TaskId};
use crate::cli::TASK_HELP;
use crate::cli::console::{Console, Outcome as Exit};
use crate::cli::locate::ProjectLocator;
use crate::cli::open_engine::{EngineHost, find, one_command, one_command_on};
use crate::cli::outcome::print;
use crate::cli::shared_engine::client_name;
use crate::cli::stdin;
use crate::engine::command::{Command, Outgoing, StopScope};
use crate::engine::snapshot::Snapshot;
use crate::model::Ask;
use crate::model::address::SHORTEST_ID;
use crate::model::ask::AskReply;
use crate::model::message::Delivery;

#[derive(clap::Args)]
pub struct SendArgs {
    #[arg(help = TASK_HELP)]
    task: String,
    /// The message. `-` reads it from stdin.
    #[arg(required = true)]
    text: Vec<String>,
    /// When it reaches a busy agent.
    #[arg(long, value_enum, default_value_t)]
    mode: Mode,
    /// Wait for the reply and print it.
    #[arg(long)]
    wait: bool,
    /// Wait no longer than this many seconds.
    #[arg(long, value_name = "SECONDS", requires = "wait")]
    timeout: Option<u64>,
    /// Print the reply as JSON.
    #[arg(long, requires = "wait")]
    json: bool,
}

/// When a message reaches a busy agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum Mode {
    /// At the next point of its turn.
    #[default]
    Steer,
    /// When its turn is over.
    Next,
    /// Now: its turn is interrupted.
    Interrupt,
}

impl From<Mode> for Delivery {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Steer => Self::Steer,
            Mode::Next => Self::Next,
            Mode::Interrupt => Self::Interrupt,
        }
    }
}

#[derive(clap::Args)]
pub struct AnswerArgs {
    /// Task that asks, or id from `mxd asks`.
    ask: String,
    /// Choice number or text. `-` reads it from stdin.
    #[arg(required_unless_present = "rule")]
    answer: Vec<String>,
    /// Allow the call and save this rule for the project.
    #[arg(long, value_name = "RULE", conflicts_with = "answer")]
    rule: Vec<String>,
}

#[derive(clap::Args)]
pub struct StopArgs {
    /// Task to stop, with its subtasks (default: all).
    task: Option<String>,
}

pub fn send(console: &mut Console, here: &ProjectLocator, args: &SendArgs) -> Exit {
    let text = stdin::read_args(&args.text)?;
    if args.wait {
        return wait::send(console, here, args, text);
    }
    let (outcome, host) = one_command_on(console, here, |snapshot| {
        let message = Outgoing { text, ..Outgoing::default() };
        Ok(Command::Send { task: find(snapshot, &args.task)?, message, mode: args.mode.into() })
    })?;
    print(
        console,
        &outcome,
        match host {
            EngineHost::Own => "sent; continue with `mxd run`",
            EngineHost::Joined => "sent",
        },
    )?;
    Ok(0)
}

pub fn answer(console: &mut Console, here: &ProjectLocator, args: &AnswerArgs) -> Exit {
    let words = stdin::read_args(&args.answer)?;
    let (outcome, host) = one_command_on(console, here, |snapshot| {
        let (task, ask) = find_ask(snapshot, &args.ask)?;
        if !args.rule.is_empty() {
            let (reply, by) = (AskReply::Rules(args.rule.clone()), Some(client_name()));
            return Ok(Command::Answer { task, ask: ask.id, reply, by });
        }
        // A number selects a choice. If the question has none, it is text.
        let reply = match words.trim().parse::<usize>() {
            Ok(number) if number >= 1 && !ask.choices.is_empty() => ask.reply_with_number(number),
            Ok(_) | Err(_) => AskReply::Text(words),
        };
        Ok(Command::Answer { task, ask: ask.id, reply, by: Some(client_name()) })
    })?;
    print(
        console,
        &outcome,
        match host {
            EngineHost::Own => "answered; continue with `mxd run`",
            EngineHost::Joined => "answered",
        },
    )?;
    Ok(0)
}

/// Returns the question with this id, or the only one of the task with this name.
fn find_ask<'a>(snapshot: &'a Snapshot, name: &str) -> Result<(TaskId, &'a Ask), Fault> {
    let wanted = name.trim().to_ascii_uppercase();
    let hint = "`mxd asks` lists open questions";
    let all = snapshot.tasks.iter().flat_map(|task| task.asks.iter().map(move |ask| (task.node.id, ask)));
    let starts = |ask: &Ask| wanted.len() >= SHORTEST_ID && ask.id.to_string().starts_with(&wanted);
    let found: Vec<_> = all.filter(|(_, ask)| starts(ask)).collect();
    let fault = match (found.as_slice(), find(snapshot, name)) {
        ([one], _) => return Ok(*one),
        ([], Ok(task)) => return only_ask(snapshot, task).map_err(|fault| fault.hint(hint)),
        ([], Err(_)) => Fault::user(format!("no open question has the id \"{name}\" or is asked by such a task")),
        (many, _) => Fault::user(format!("{} questions start with \"{name}\"; give more characters", many.len())),
    };
    Err(fault.hint(hint))
}

/// Returns the open question of a task that has only one.
fn only_ask(snapshot: &Snapshot, task: TaskId) -> Result<(TaskId, &Ask), Fault> {
    let Some(view) = snapshot.tasks.iter().find(|view| view.node.id == task) else {
        return Err(Fault::internal(format!("task {task} is not in the snapshot")));
    };
    let title = &view.node.title;
    match view.asks.as_slice() {
        [ask] => Ok((task, ask)),
        [] => Err(Fault::user(format!("\"{title}\" has no open question"))),
        asks => Err(Fault::user(format!("\"{title}\" has {} open questions: give the id of one", asks.len()))),
    }
}

pub fn stop(console: &mut Console, here: &ProjectLocator, args: &StopArgs) -> Exit {
    let outcome = one_command(console, here, |snapshot| {
        let scope = match &args.task {
            Some(task) => StopScope::Subtree(find(snapshot, task)?),
            None => StopScope::Subtree(snapshot.root),
        };
        Ok(Command::Stop { scope })
    })?;
    print(console, &outcome, "stopped")?;
    Ok(0)
}
