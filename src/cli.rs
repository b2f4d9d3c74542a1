//! The command line: arguments, output and exit codes.
//!
//! Commands are thin. They find the project, call the rooms that do the work, and print through one `Console`.

mod agent_guard;
mod agents;
mod asks;
mod attach;
mod backends;
mod check;
mod completions;
mod config;
mod console;
mod context;
mod cost;
mod demo;
mod diff;
mod doctor;
mod export;
mod fork;
mod gc;
mod goal;
mod handover;
mod help;
mod hooks;
mod host;
mod import;
mod import_settings;
mod init;
mod local_time;
mod locate;
mod log;
mod logging;
mod mcp;
mod merge;
mod onboarding;
mod open_engine;
mod open_read_only;
mod outcome;
mod paint;
mod permit;
mod plain;
mod projects;
mod prompt;
#[cfg(test)]
mod reference;
mod rewind;
mod run;
mod screen;
mod search;
mod send;
mod serve;
mod shared_engine;
mod signals;
mod skill;
mod stdin;
mod table;
mod task;
mod tree;
mod ui_checks;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::base::{FaultKind, known_secrets};
use crate::process::{self, environment};
use console::{Console, Failure};
use paint::ColorChoice;

/// Version, with the commit for a release.
pub(crate) const VERSION: &str = env!("MXD_VERSION");

/// Terminal mission control for a tree of coding agents.
#[derive(Parser)]
#[command(name = "mxd", version = VERSION, about, disable_help_subcommand = true, after_help = help::AFTER_HELP)]
struct Cli {
    /// Use the repository at PATH instead of the current one.
    #[arg(short = 'C', long, value_name = "PATH", global = true)]
    project: Option<PathBuf>,
    /// Use colours: auto, always or never.
    #[arg(
        long,
        value_name = "WHEN",
        global = true,
        default_value = "auto",
        hide_possible_values = true,
        hide_default_value = true
    )]
    color: ColorChoice,
    /// Work line by line, for screen readers.
    #[arg(long)]
    plain: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Watch a complete run offline, in a temporary repository.
    Demo(demo::Args),
    /// Register a repository and write its `.mxd` folder.
    ///
    /// Never overwrites a file. Commits only with `--commit`.
    Init(init::Args),
    /// Read and change settings.
    Config(config::Args),
    /// List, test and approve MCP servers.
    Mcp(mcp::Args),
    /// List and test outside agent programs that do tasks.
    Backends(backends::Args),
    /// List, explain and change what agents may do without asking.
    Permit(permit::Args),
    /// List, approve and test lifecycle hooks.
    Hooks(hooks::Args),
    /// List and check the profiles that tasks can use.
    Agents(agents::Args),
    /// List, check, add and update skills.
    Skill(skill::Args),
    /// Run a goal, or resume work, without the screen.
    Run(run::Args),
    /// Ask a model one question, without a task.
    ///
    /// The answer goes to stdout. The cost is recorded.
    Prompt(prompt::Args),
    /// Send a message to a task.
    Send(send::SendArgs),
    /// List open questions.
    Asks(asks::Args),
    /// Answer a question by choice number or text.
    Answer(send::AnswerArgs),
    /// Stop a task and its subtasks, or all tasks.
    Stop(send::StopArgs),
    /// Create, edit, move, close, reset and delete tasks.
    Task(task::Args),
    /// Give a task to another profile.
    ///
    /// The conversation so far is retired; files, branch, messages and questions stay.
    Handover(handover::Args),
    /// Restore a task's worktree, or a deleted task.
    Restore(task::RestoreArgs),
    /// Show what a task changed, in total or by turn.
    Diff(diff::Args),
    /// Merge a task's branch, or undo a merge.
    ///
    /// Merges into the parent task's branch, or into the base branch.
    Merge(merge::Args),
    /// Rewind a task to an earlier turn, or redo.
    ///
    /// Rewinds the conversation, the files or both.
    Rewind(rewind::Args),
    /// Fork a task: copy its conversation and files.
    Fork(fork::Args),
    /// Show what an agent is given at its start.
    Context(context::Args),
    /// Show costs by task, model or day.
    Cost(cost::Args),
    /// Import sessions of Matrix, Claude Code and Codex.
    ///
    /// Each session becomes a closed task. The original files are not changed.
    Import(import::Args),
    /// List registered repositories.
    Projects(projects::Args),
    /// Show the task tree.
    Tree(tree::Args),
    /// Show a task's session.
    Log(log::Args),
    /// Export a task's conversation as Markdown, HTML or JSON.
    Export(export::Args),
    /// Run the agents of a project without a screen.
    ///
    /// Screens and commands join it. It ends 30 seconds after the last of them, when no agent works.
    Serve(serve::Args),
    /// Open a screen on an engine, here or over ssh.
    Attach(attach::Args),
    /// Search the titles, messages and transcripts of all tasks.
    Search(search::Args),
    /// Check data files for damage, and repair them.
    Check(check::Args),
    /// Check the environment and suggest fixes (read-only).
    Doctor(doctor::Args),
    /// Delete data that is no longer needed.
    ///
    /// Never deletes work that is not archived.
    Gc(gc::Args),
    /// Explain a command or topic.
    Help(help::Args),
    /// Print a shell completion script.
    Completions(completions::CompletionsArgs),
    /// Print a manual page.
    Man(completions::ManArgs),
    /// Print the words that may complete a command line.
    #[command(name = "__complete", hide = true)]
    Complete(completions::CompleteArgs),
    /// Run a program and let nothing of it survive.
    #[command(name = "__host", hide = true)]
    Host(host::Args),
}

impl Cli {
    /// Returns the declarations, with the commands grouped in the help.
    fn grouped() -> clap::Command {
        let command = Self::command();
        let template = help::template(&command);
        command.help_template(template)
    }

    fn parse_line(line: Vec<OsString>) -> Result<Self, clap::Error> {
        let matches = Self::grouped().try_get_matches_from(line)?;
        Self::from_arg_matches(&matches)
    }
}

/// Help for arguments that name a task.
const TASK_HELP: &str = "Task number (12), id prefix, or part of its title";

/// Exit codes. 0 is success.
mod exit {
    /// The command ran and found problems.
    pub const PROBLEMS: u8 = 1;
    /// The environment or the program itself failed.
    pub const FAILED: u8 = 1;
    /// Work waits for the user.
    pub const WAITING: u8 = 2;
    /// The command line or the configuration is wrong.
    pub const USAGE: u8 = 3;
    /// An agent's process ran a command that is reserved for the user.
    pub const REFUSED: u8 = 4;
}

/// Runs the program.
pub fn main() -> ExitCode {
    let line: Vec<OsString> = std::env::args_os().collect();
    let parsed = match Cli::parse_line(line.clone()) {
        Err(error) => match goal::as_run(&line, &error) {
            Some(line) => Cli::parse_line(line),
            None => Err(goal::with_advice(&line, error)),
        },
        parsed => parsed,
    };
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version go to stdout and are not errors.
            let code = if error.use_stderr() { exit::USAGE } else { 0 };
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    if let Some(Command::Host(args)) = &cli.command {
        return host::run(args);
    }
    if let Ok(program) = std::env::current_exe() {
        process::set_host_program(program);
    }
    known_secrets::remember(environment::secret_values(std::env::vars_os()));
    // Screen readers and simple terminals use the plain mode.
    let color = if cli.plain && cli.color == ColorChoice::Auto { ColorChoice::Never } else { cli.color };
    console::set_color_choice(color);
    let mut console = Console::new();
    if let Ok(home) = locate::home() {
        logging::start(&home);
        if let Some(refusal) = agent_guard::refusal(&home, cli.command.as_ref()) {
            console.fault(&refusal);
            return ExitCode::from(exit::REFUSED);
        }
    }
    let place = locate::ProjectLocator::new(cli.project);
    let done = match cli.command {
        None if cli.plain => plain::run(&mut console, &place),
        None => screen::run(&mut console, &place),
        Some(Command::Demo(args)) => demo::run(&mut console, &args),
        Some(Command::Init(args)) => init::run(&mut console, &place, &args),
        Some(Command::Config(args)) => config::run(&mut console, &place, args),
        Some(Command::Mcp(args)) => mcp::run(&mut console, &place, args),
        Some(Command::Backends(args)) => backends::run(&mut console, &place, args),
        Some(Command::Permit(args)) => permit::run(&mut console, &place, args),
        Some(Command::Hooks(args)) => hooks::run(&mut console, &place, args),
        Some(Command::Agents(args)) => agents::run(&mut console, &place, &args),
        Some(Command::Skill(args)) => skill::run(&mut console, &place, &args),
        Some(Command::Run(args)) => run::run(&mut console, &place, &args),
        Some(Command::Prompt(args)) => prompt::run(&mut console, &place, &args),
        Some(Command::Send(args)) => send::send(&mut console, &place, &args),
        Some(Command::Asks(args)) => asks::run(&mut console, &place, &args),
        Some(Command::Answer(args)) => send::answer(&mut console, &place, &args),
        Some(Command::Stop(args)) => send::stop(&mut console, &place, &args),
        Some(Command::Task(args)) => task::run(&mut console, &place, args),
        Some(Command::Handover(args)) => handover::run(&mut console, &place, args),
        Some(Command::Restore(args)) => task::restore(&mut console, &place, &args),
        Some(Command::Diff(args)) => diff::run(&mut console, &place, &args),
        Some(Command::Merge(args)) => merge::run(&mut console, &place, &args),
        Some(Command::Rewind(args)) => rewind::run(&mut console, &place, args),
        Some(Command::Fork(args)) => fork::run(&mut console, &place, args),
        Some(Command::Context(args)) => context::run(&mut console, &place, &args),
        Some(Command::Cost(args)) => cost::run(&mut console, &place, &args),
        Some(Command::Import(args)) => import::run(&mut console, &place, &args),
        Some(Command::Projects(args)) => projects::run(&mut console, &place, &args),
        Some(Command::Tree(args)) => tree::run(&mut console, &place, &args),
        Some(Command::Log(args)) => log::run(&mut console, &place, &args),
        Some(Command::Export(args)) => export::run(&mut console, &place, &args),
        Some(Command::Serve(args)) => serve::run(&mut console, &place, &args),
        Some(Command::Attach(args)) => attach::run(&mut console, &place, &args),
        Some(Command::Search(args)) => search::run(&mut console, &place, &args),
        Some(Command::Check(args)) => check::run(&mut console, &place, &args),
        Some(Command::Doctor(args)) => doctor::run(&mut console, &place, &args),
        Some(Command::Gc(args)) => gc::run(&mut console, &place, &args),
        Some(Command::Help(args)) => help::run(&mut console, &args),
        Some(Command::Completions(args)) => completions::completions(&mut console, &args),
        Some(Command::Man(args)) => completions::man(&mut console, &args),
        Some(Command::Complete(args)) => completions::complete(&mut console, &place, &args),
        // Handled above: a host does nothing else.
        Some(Command::Host(_)) => Ok(0),
    };
    match done {
        Ok(code) => ExitCode::from(code),
        // The reader of the output closed the pipe.
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
