//! The generated part of `docs/cli.md`: every command with its arguments, from the declarations that parse the command
//! line. A test fails when the page differs. Completions and manual pages are made in `completions.rs`.

use std::fmt::Write as _;

use clap::builder::StyledStr;
use clap::{Arg, ArgAction, Command, CommandFactory as _};

use crate::cli::Cli;

/// The line above the generated part. The text before it is written by hand and kept.
const MARK: &str =
    "<!-- generated from src/cli.rs; change it there, then run MXD_UPDATE_DOCS=1 cargo test --lib reference -->";

/// Returns the generated part of the page.
fn page() -> String {
    let mut program = Cli::command();
    program.build();
    let mut out = format!("{MARK}\n\n## General options\n\n");
    arguments(&mut out, program.get_arguments());
    out.push_str("\n## Commands\n\n| command | |\n|---|---|\n");
    for command in shown(&program) {
        let name = command.get_name();
        let (bin, about) = (program.get_name(), cell(&sentence(command.get_about())));
        let _ = writeln!(out, "| [`{bin} {name}`](#{bin}-{name}) | {about} |");
    }
    for command in shown(&program) {
        section(&mut out, command, "mxd", 2);
    }
    out
}

/// Writes the section of a command, and those of its subcommands below it.
fn section(out: &mut String, command: &Command, parent: &str, level: usize) {
    let path = format!("{parent} {}", command.get_name());
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").trim_end();
    let about = sentence(command.get_long_about().or_else(|| command.get_about()));
    let _ = write!(out, "\n{} {path}\n\n{about}\n\n```\n{usage}\n```\n", "#".repeat(level));
    let own: Vec<&Arg> = command.get_arguments().filter(|arg| !arg.is_global_set() && !is_help(arg)).collect();
    if !own.is_empty() {
        out.push('\n');
        arguments(out, own.into_iter());
    }
    for subcommand in shown(command) {
        section(out, subcommand, &path, level + 1);
    }
}

fn arguments<'a>(out: &mut String, arguments: impl Iterator<Item = &'a Arg>) {
    out.push_str("| argument | |\n|---|---|\n");
    for arg in arguments.filter(|arg| !arg.is_hide_set()) {
        let _ = writeln!(out, "| `{}` | {} |", cell(&name(arg)), cell(&meaning(arg)));
    }
}

/// Returns how an argument is written: `<TASK>`, `-n, --last <N>`.
fn name(arg: &Arg) -> String {
    if arg.is_positional() {
        return arg.to_string();
    }
    let short = arg.get_short().map(|short| format!("-{short}"));
    let long = arg.get_long().map(|long| format!("--{long}"));
    let flags: Vec<String> = [short, long].into_iter().flatten().collect();
    let mut name = flags.join(", ");
    if takes_value(arg) {
        for value in arg.get_value_names().unwrap_or_default() {
            let _ = write!(name, " <{value}>");
        }
    }
    name
}

/// Returns the help of an argument, with its possible values and its default.
fn meaning(arg: &Arg) -> String {
    let mut sentences = vec![sentence(arg.get_long_help().or_else(|| arg.get_help()))];
    let values = if takes_value(arg) { arg.get_possible_values() } else { Vec::new() };
    let listed: Vec<String> = values
        .iter()
        .filter(|value| !value.is_hide_set())
        .map(|value| match value.get_help() {
            Some(help) => format!("`{}` ({help})", value.get_name()),
            None => format!("`{}`", value.get_name()),
        })
        .collect();
    if !listed.is_empty() {
        sentences.push(format!("One of {}.", listed.join(", ")));
    }
    let defaults = if takes_value(arg) { arg.get_default_values() } else { &[] };
    for default in defaults.iter().filter(|default| !default.is_empty()) {
        sentences.push(format!("Default: `{}`.", default.to_string_lossy()));
    }
    sentences.retain(|sentence| !sentence.is_empty());
    sentences.join(" ")
}

fn takes_value(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Set | ArgAction::Append)
}

fn is_help(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Help | ArgAction::HelpShort | ArgAction::HelpLong)
}

fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|command| !command.is_hide_set())
}

/// Returns a help text with a period at its end, which clap takes away.
fn sentence(help: Option<&StyledStr>) -> String {
    let help = help.map(ToString::to_string).unwrap_or_default();
    let is_whole = help.is_empty() || help.ends_with(['.', '!', '?', ':']);
    if is_whole { help } else { format!("{help}.") }
}

/// Returns a text that can stand in a cell of a table.
fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

#[path = "reference_tests.rs"]
mod tests;
