//! The command line: what can be asked, and how answers and failures are said.
//!
//! Commands are thin. They find the project, call the rooms that do the work, and talk through one `console`.

mod agents;
mod asks;
mod check;
mod config;
mod console;
mod cost;
mod demo;
mod diary;
mod diff;
mod doctor;
mod export;
mod first;
mod fork;
mod gc;
mod help;
mod import;
mod init;
mod inside;
mod log;
mod looks;
mod mcp;
mod merge;
mod outcome;
mod pages;
mod place;
mod plain;
mod projects;
mod rewind;
mod run;
mod say;
mod screen;
mod search;
mod signals;
mod task;
mod tree;
mod viewer;
mod words;
mod work;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::base::{FaultKind, known_secrets};
use crate::process::environment;
use console::{Console, Failure};

/// The version, with the commit of a release.
pub(crate) const VERSION: &str = env!("MXD_VERSION");

/// Terminal mission control for a tree of coding agents.
#[derive(Parser)]
#[command(name = "mxd", version = VERSION, about, disable_help_subcommand = true, after_help = help::TOPICS_LINE)]
struct Cli {
    /// Work on the repository at PATH instead of the one you are in.
    #[arg(short = 'C', long, value_name = "PATH", global = true)]
    project: Option<PathBuf>,
    /// Without a full screen: lines that are only ever added, for screen readers and plain terminals.
    #[arg(long)]
    plain: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Play the whole job offline, on a small repository in a temporary folder. The model is scripted.
    Demo(demo::Args),
    /// Register a repository and write its `.mxd` folder. Never overwrites, makes no commit unless asked.
    Init(init::Args),
    /// Read and change settings.
    Config(config::Args),
    /// Look at, try out and approve servers of external tools.
    Mcp(mcp::Args),
    /// List the profiles that tasks can have, and check them.
    Agents(agents::Args),
    /// Let the agents work, without a screen: on a goal, or on what is in progress.
    Run(run::Args),
    /// Say something to a task.
    Send(say::SendArgs),
    /// List what waits for you.
    Asks(asks::Args),
    /// Answer a question, with the number of a choice or in your own words.
    Answer(say::AnswerArgs),
    /// Stop a task and what is below it, or everything.
    Stop(say::StopArgs),
    /// Make, change, move, close, reset and delete tasks.
    Task(task::Args),
    /// Bring the worktree of a task back from its branch or its archive.
    Restore(task::RestoreArgs),
    /// Show what a task changed: since it left its base, in a turn, between two turns.
    Diff(diff::Args),
    /// Bring a task's work into the branch of the task above, or into the base branch. Or take that back.
    Merge(merge::Args),
    /// Make a task's conversation, its files or both what they were after an earlier turn. Or take that back.
    Rewind(rewind::Args),
    /// Make a task that goes on from another's conversation and files, now or after a turn.
    Fork(fork::Args),
    /// Show what was spent.
    Cost(cost::Args),
    /// Read sessions of Matrix, Claude Code and Codex as closed tasks. Their files are only read.
    Import(import::Args),
    /// List the registered repositories.
    Projects(projects::Args),
    /// Show the tasks of this project.
    Tree(tree::Args),
    /// Show the session of a task.
    Log(log::Args),
    /// Write the conversation of a task as a document, with tool output folded.
    Export(export::Args),
    /// Search everything: titles, descriptions, results, messages and transcripts of all tasks.
    Search(search::Args),
    /// Read every file, say what is wrong, mend what is safe.
    Check(check::Args),
    /// Look at everything that work depends on, and say what to do where it is not in order. Changes nothing.
    Doctor(doctor::Args),
    /// Free what is no longer needed. Never anything that is not archived.
    Gc(gc::Args),
    /// Explain a command or a topic.
    Help(help::Args),
    /// Print a completion script for a shell.
    Completions(pages::CompletionsArgs),
    /// Print a manual page.
    Man(pages::ManArgs),
}

/// What went well, or did not, as a number for scripts.
mod exit {
    /// Everything worked, but what was looked at is not in order.
    pub const PROBLEMS: u8 = 1;
    /// The machine, or the program itself, let us down.
    pub const FAILED: u8 = 1;
    /// Something waits for the person.
    pub const WAITING: u8 = 2;
    /// The command, or the configuration, cannot work as it is.
    pub const USAGE: u8 = 3;
    /// An agent's process asked for something that only the user may do.
    pub const REFUSED: u8 = 4;
}

/// Runs the program.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are answers; everything else is a misunderstanding.
            let code = if error.use_stderr() { exit::USAGE } else { 0 };
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    known_secrets::remember(environment::secret_values(std::env::vars_os()));
    let mut console = Console::new();
    if let Ok(home) = place::home() {
        diary::start(&home);
        if let Some(refusal) = inside::refusal(&home, cli.command.as_ref()) {
            console.fault(&refusal);
            return ExitCode::from(exit::REFUSED);
        }
    }
    let place = place::Here::new(cli.project);
    let done = match cli.command {
        None if cli.plain => plain::run(&mut console, &place),
        None => screen::run(&mut console, &place),
        Some(Command::Demo(args)) => demo::run(&mut console, &args),
        Some(Command::Init(args)) => init::run(&mut console, &place, &args),
        Some(Command::Config(args)) => config::run(&mut console, &place, args),
        Some(Command::Mcp(args)) => mcp::run(&mut console, &place, args),
        Some(Command::Agents(args)) => agents::run(&mut console, &place, &args),
        Some(Command::Run(args)) => run::run(&mut console, &place, &args),
        Some(Command::Send(args)) => say::send(&mut console, &place, &args),
        Some(Command::Asks(args)) => asks::run(&mut console, &place, &args),
        Some(Command::Answer(args)) => say::answer(&mut console, &place, &args),
        Some(Command::Stop(args)) => say::stop(&mut console, &place, &args),
        Some(Command::Task(args)) => task::run(&mut console, &place, args),
        Some(Command::Restore(args)) => task::restore(&mut console, &place, &args),
        Some(Command::Diff(args)) => diff::run(&mut console, &place, &args),
        Some(Command::Merge(args)) => merge::run(&mut console, &place, &args),
        Some(Command::Rewind(args)) => rewind::run(&mut console, &place, args),
        Some(Command::Fork(args)) => fork::run(&mut console, &place, args),
        Some(Command::Cost(args)) => cost::run(&mut console, &place, &args),
        Some(Command::Import(args)) => import::run(&mut console, &place, &args),
        Some(Command::Projects(args)) => projects::run(&mut console, &args),
        Some(Command::Tree(args)) => tree::run(&mut console, &place, &args),
        Some(Command::Log(args)) => log::run(&mut console, &place, &args),
        Some(Command::Export(args)) => export::run(&mut console, &place, &args),
        Some(Command::Search(args)) => search::run(&mut console, &place, &args),
        Some(Command::Check(args)) => check::run(&mut console, &place, &args),
        Some(Command::Doctor(args)) => doctor::run(&mut console, &place, &args),
        Some(Command::Gc(args)) => gc::run(&mut console, &place, &args),
        Some(Command::Help(args)) => help::run(&mut console, &args),
        Some(Command::Completions(args)) => pages::completions(&mut console, &args),
        Some(Command::Man(args)) => pages::man(&mut console, &args),
    };
    match done {
        Ok(code) => ExitCode::from(code),
        // Whoever read our output has seen enough.
        Err(Failure::Closed) => ExitCode::SUCCESS,
        Err(Failure::Fault(fault)) => {
            console.fault(&fault);
            ExitCode::from(match fault.kind {
                FaultKind::User | FaultKind::Config => exit::USAGE,
                FaultKind::Environment | FaultKind::Internal => exit::FAILED,
            })
        }
    }
}

#[cfg(test)]
#[path = "cli_tests.rs"]
mod tests;
