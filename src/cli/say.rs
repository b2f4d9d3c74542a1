//! `mxd send`, `mxd answer`, `mxd stop`: a word to the agents, kept until they run.

use crate::base::Fault;
use crate::cli::console::{Console, Outcome as Exit};
use crate::cli::outcome::say;
use crate::cli::place::Here;
use crate::cli::words;
use crate::cli::work::{find, one_command};
use crate::engine::command::{Command, Outgoing, StopScope};
use crate::engine::snapshot::Snapshot;
use crate::model::ask::Given;
use crate::model::message::Delivery;

#[derive(clap::Args)]
pub struct SendArgs {
    /// The task: its id, or the first 8 and more characters of it.
    task: String,
    /// What to say; `-` reads it from standard input.
    #[arg(required = true)]
    text: Vec<String>,
}

#[derive(clap::Args)]
pub struct AnswerArgs {
    /// The question: its id, or the first 8 and more characters of it, as `mxd asks` shows it.
    ask: String,
    /// The number of a choice, or words; `-` reads them from standard input.
    #[arg(required = true)]
    answer: Vec<String>,
}

#[derive(clap::Args)]
pub struct StopArgs {
    /// The task. Nothing: all of them.
    task: Option<String>,
}

pub fn send(console: &mut Console, here: &Here, args: &SendArgs) -> Exit {
    let text = words::said(&args.text)?;
    let outcome = one_command(console, here, |snapshot| {
        let message = Outgoing { text, images: Vec::new() };
        Ok(Command::Send { task: find(snapshot, &args.task)?, message, mode: Delivery::Steer })
    })?;
    say(console, &outcome, "sent; `mxd run` lets the agents work on it")?;
    Ok(0)
}

pub fn answer(console: &mut Console, here: &Here, args: &AnswerArgs) -> Exit {
    let words = words::said(&args.answer)?;
    let outcome = one_command(console, here, |snapshot| {
        let (task, ask) = find_ask(snapshot, &args.ask)?;
        // A number is a choice where there are choices; elsewhere it is an answer like any other.
        let reply = match words.trim().parse::<usize>() {
            Ok(number) if number >= 1 && !ask.choices.is_empty() => ask.numbered(number),
            Ok(_) | Err(_) => Given::Text(words),
        };
        Ok(Command::Answer { task, ask: ask.id, reply })
    })?;
    say(console, &outcome, "answered; `mxd run` lets the agents go on")?;
    Ok(0)
}

fn find_ask<'a>(snapshot: &'a Snapshot, name: &str) -> Result<(crate::base::TaskId, &'a crate::model::Ask), Fault> {
    let wanted = name.trim().to_ascii_uppercase();
    let hint = "`mxd asks` lists what is open";
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

pub fn stop(console: &mut Console, here: &Here, args: &StopArgs) -> Exit {
    let outcome = one_command(console, here, |snapshot| {
        let scope = match &args.task {
            Some(task) => StopScope::Subtree(find(snapshot, task)?),
            None => StopScope::Subtree(snapshot.root),
        };
        Ok(Command::Stop { scope })
    })?;
    say(console, &outcome, "stopped")?;
    Ok(0)
}
