//! `mxd asks`: what waits for the person. Only reads, so it works while another process has the project.

use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::place::Here;
use crate::cli::viewer::Viewer;
use crate::model::Ask;
use crate::model::ask::AskMode;

#[derive(clap::Args)]
pub struct Args {
    /// One question per line, as JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(console: &mut Console, here: &Here, args: &Args) -> Outcome {
    let viewer = Viewer::open(console, here)?;
    let rows = viewer.list(console, async |handle| handle.asks().await)?;
    for row in &rows {
        if args.json {
            console.json(row)?;
        } else {
            show(console, &row.title, &row.ask)?;
        }
    }
    if rows.is_empty() && !args.json {
        console.line("nothing waits for you")?;
    }
    console.finish()?;
    Ok(0)
}

/// Shows a question and how to answer it.
pub fn show(console: &mut Console, title: &str, ask: &Ask) -> Result<(), Failure> {
    console.line(&format!("? {title}: {}", ask.question))?;
    for line in ask.detail.lines() {
        console.line(&format!("    {line}"))?;
    }
    for (choice, number) in ask.choices.iter().zip(1..) {
        console.line(&format!("    {number}. {choice}"))?;
    }
    for line in terms(ask) {
        console.line(&format!("    {line}"))?;
    }
    console.line(&format!("    {}", how(ask)))
}

/// Returns whether work waits for the answer, and what happens if there is none.
fn terms(ask: &Ask) -> Vec<String> {
    let mode = match ask.mode {
        AskMode::Blocks => "The task waits for the answer.",
        AskMode::Continues => "The task goes on meanwhile.",
    };
    let default = ask.default_text().map(|default| match ask.deadline {
        Some(at) => format!("Default: {default} (taken at {} if nobody answers)", at.to_seconds_string()),
        None => format!("Default: {default} (only if you choose it: there is no deadline)"),
    });
    std::iter::once(mode.to_owned()).chain(default).collect()
}

/// Returns the command that answers a question.
pub fn how(ask: &Ask) -> String {
    format!("mxd answer {} TEXT{}", ask.id.short(), if ask.choices.is_empty() { "" } else { "|N" })
}
