//! `mxd send`, `mxd answer`, `mxd stop`. Messages and answers are delivered when the agents run.

use crate::base::Fault;
use crate::cli::TASK_HELP;
use crate::cli::console::{Console, Outcome as Exit};
use crate::cli::locate::ProjectLocator;
use crate::cli::open_engine::{find, one_command};
use crate::cli::outcome::print;
use crate::cli::stdin;
use crate::engine::command::{Command, Outgoing, StopScope};
use crate::engine::snapshot::Snapshot;
use crate::model::ask::AskReply;
use crate::model::message::Delivery;

#[derive(clap::Args)]
pub struct SendArgs {
    #[arg(help = TASK_HELP)]
    task: String,
    /// The message. `-` reads it from stdin.
    #[arg(required = true)]
    text: Vec<String>,
}

#[derive(clap::Args)]
pub struct AnswerArgs {
    /// Question id or prefix (8+ characters), from `mxd asks`.
    ask: String,
    /// Choice number or text. `-` reads it from stdin.
    #[arg(required = true)]
    answer: Vec<String>,
}

#[derive(clap::Args)]
pub struct StopArgs {
    /// Task id or prefix (default: all tasks).
    task: Option<String>,
}

pub fn send(console: &mut Console, here: &ProjectLocator, args: &SendArgs) -> Exit {
    let text = stdin::read_args(&args.text)?;
    let outcome = one_command(console, here, |snapshot| {
        let message = Outgoing { text, images: Vec::new() };
        Ok(Command::Send { task: find(snapshot, &args.task)?, message, mode: Delivery::Steer })
    })?;
    print(console, &outcome, "sent; continue with `mxd run`")?;
    Ok(0)
}

pub fn answer(console: &mut Console, here: &ProjectLocator, args: &AnswerArgs) -> Exit {
    let words = stdin::read_args(&args.answer)?;
    let outcome = one_command(console, here, |snapshot| {
        let (task, ask) = find_ask(snapshot, &args.ask)?;
        // A number selects a choice. If the question has none, it is text.
        let reply = match words.trim().parse::<usize>() {
            Ok(number) if number >= 1 && !ask.choices.is_empty() => ask.reply_with_number(number),
            Ok(_) | Err(_) => AskReply::Text(words),
        };
        Ok(Command::Answer { task, ask: ask.id, reply })
    })?;
    print(console, &outcome, "answered; continue with `mxd run`")?;
    Ok(0)
}

fn find_ask<'a>(snapshot: &'a Snapshot, name: &str) -> Result<(crate::base::TaskId, &'a crate::model::Ask), Fault> {
    let wanted = name.trim().to_ascii_uppercase();
    let hint = "`mxd asks` lists open questions";
    if wanted.len() < 8 {
        return Err(
            Fault::user(format!("\"{name}\" is too short to name a question: give at least 8 characters")).hint(hint)
        );
    }
    let all = snapshot.tasks.iter().flat_map(|task| task.asks.iter().map(move |ask| (task.node.id, ask)));
    let found: Vec<_> = all.filter(|(_, ask)| ask.id.to_string().starts_with(&wanted)).collect();
    match found.as_slice() {
        [one] => Ok(*one),
        [] => Err(Fault::user(format!("no open question has an id that starts with \"{name}\"")).hint(hint)),
        many => {
            Err(Fault::user(format!("{} questions start with \"{name}\"; give more characters", many.len())).hint(hint))
        }
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
