//! `mxd asks`: lists open questions. Read-only, so it works while another process has the project.

use crate::base::text;
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::local_time;
use crate::cli::locate::ProjectLocator;
use crate::cli::open_read_only::Viewer;
use crate::cli::paint::{Span, Style};
use crate::model::Ask;
use crate::model::ask::{AskMode, RequestedAction, Subject};

#[derive(clap::Args)]
pub struct Args {
    /// Print one JSON question per line.
    #[arg(long)]
    json: bool,
}

pub fn run(console: &mut Console, here: &ProjectLocator, args: &Args) -> Outcome {
    let viewer = Viewer::open(console, here)?;
    let rows = viewer.list(console, async |handle| handle.asks().await)?;
    for row in &rows {
        if args.json {
            console.json(row)?;
        } else {
            show(console, &row.title, &row.ask)?;
            if !row.also.is_empty() {
                let others = text::count(row.also.len(), "other task", "other tasks");
                console
                    .spans(&[Span::dim(format!("    The answer also counts for {others} with the same problem."))])?;
            }
        }
    }
    if rows.is_empty() && !args.json {
        console.line("no open questions")?;
    }
    console.finish()?;
    Ok(0)
}

/// Prints a question and the command that answers it.
pub fn show(console: &mut Console, title: &str, ask: &Ask) -> Result<(), Failure> {
    let mark = Span::new("? ", Style::Warning);
    console.spans(&[mark, Span::new(title, Style::Strong), Span::plain(format!(": {}", ask.question))])?;
    for line in call(ask) {
        console.line(&format!("    {line}"))?;
    }
    for line in ask.detail.lines() {
        console.line(&format!("    {line}"))?;
    }
    for (choice, number) in ask.choices.iter().zip(1..) {
        console.spans(&[Span::new(format!("    {number}. "), Style::Accent), Span::plain(choice.to_string())])?;
    }
    for line in terms(ask) {
        console.spans(&[Span::dim(format!("    {line}"))])?;
    }
    console.spans(&[Span::dim("    "), Span::new(answer_command(ask), Style::Accent)])
}

/// Describes a call that waits for permission: what it would do, and why it is asked.
fn call(ask: &Ask) -> Vec<String> {
    let Subject::Permission(request) = &ask.subject else { return Vec::new() };
    let (RequestedAction::Edit { diff: shown, .. }
    | RequestedAction::External { input: shown }
    | RequestedAction::Coordinate { input: shown, .. }
    | RequestedAction::Command { command: shown }) = &request.action
    else {
        return vec![format!("asked because: {}", request.cause)];
    };
    let is_repeated = *shown == ask.question;
    let lines = shown.lines().filter(|_| !is_repeated).map(str::to_owned);
    lines.chain([format!("asked because: {}", request.cause)]).collect()
}

/// Describes whether the task waits for the answer, and the default.
fn terms(ask: &Ask) -> Vec<String> {
    let mode = match ask.mode {
        AskMode::Blocks => "The task waits for the answer.",
        AskMode::Continues => "The task continues meanwhile.",
    };
    let default = ask.default_text().map(|default| match ask.deadline {
        Some(at) => format!("Default: {default} (used at {} if there is no answer)", local_time::moment(at)),
        None => format!("Default: {default} (no deadline: used only if you choose it)"),
    });
    std::iter::once(mode.to_owned()).chain(default).collect()
}

/// Returns the command that answers a question.
pub fn answer_command(ask: &Ask) -> String {
    format!("mxd answer {} TEXT{}", ask.id.short(), if ask.choices.is_empty() { "" } else { "|N" })
}
