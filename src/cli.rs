//! The command line: what can be asked, and how answers and failures are said.
//!
//! Commands are thin. They find the project, call the rooms that do the work, and talk through one `console`.

mod check;
mod config;
mod console;
mod diary;
mod init;
mod log;
mod mcp;
mod place;
mod projects;
mod tree;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::base::FaultKind;
use console::{Console, Failure};

/// Terminal mission control for a tree of coding agents.
#[derive(Parser)]
#[command(name = "mxd", version, about, disable_help_subcommand = true, arg_required_else_help = true)]
struct Cli {
    /// Work on the repository at PATH instead of the one you are in.
    #[arg(short = 'C', long, value_name = "PATH", global = true)]
    project: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Register a repository and write its `.mxd` folder. Never overwrites, makes no commit unless asked.
    Init(init::Args),
    /// Read and change settings.
    Config(config::Args),
    /// Look at, try out and approve servers of external tools.
    Mcp(mcp::Args),
    /// List the registered repositories.
    Projects(projects::Args),
    /// Show the tasks of this project.
    Tree(tree::Args),
    /// Show the session of a task.
    Log(log::Args),
    /// Read every file, say what is wrong, mend what is safe.
    Check(check::Args),
}

/// What went well, or did not, as a number for scripts.
mod exit {
    /// Everything worked, but what was looked at is not in order.
    pub const PROBLEMS: u8 = 1;
    /// The machine, or the program itself, let us down.
    pub const FAILED: u8 = 1;
    /// The command, or the configuration, cannot work as it is.
    pub const USAGE: u8 = 3;
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
    if let Ok(home) = place::home() {
        diary::start(&home);
    }
    let mut console = Console::new();
    let place = place::Here::new(cli.project);
    let done = match cli.command {
        Command::Init(args) => init::run(&mut console, &place, &args),
        Command::Config(args) => config::run(&mut console, &place, args),
        Command::Mcp(args) => mcp::run(&mut console, &place, args),
        Command::Projects(args) => projects::run(&mut console, &args),
        Command::Tree(args) => tree::run(&mut console, &place, &args),
        Command::Log(args) => log::run(&mut console, &place, &args),
        Command::Check(args) => check::run(&mut console, &place, &args),
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
