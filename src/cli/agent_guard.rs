//! Refuses commands that change something in a process that an agent started.
//!
//! An agent's shell runs as the user, so it could call `mxd` to approve an MCP server, raise a budget or answer the
//! question that stops it. Inside such a process only read-only commands are allowed. The match on `Command` is
//! exhaustive, so that a new command does not compile until it declares its reach.

use super::Command;
use crate::base::Fault;
use crate::config::paths::Home;
use crate::serve::guard;

/// Whether a command reads or changes the user's settings, approvals, budgets, tasks and questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    Reads,
    Changes,
}

impl Reach {
    /// Returns `Changes` if `changes` is true.
    pub fn changes(changes: bool) -> Self {
        if changes { Self::Changes } else { Self::Reads }
    }
}

/// Returns the reach of a command. `None` is the UI, which can change everything.
fn reach(command: Option<&Command>) -> Reach {
    let Some(command) = command else { return Reach::Changes };
    match command {
        // The demo has a data folder of its own and a scripted model.
        Command::Demo(_)
        | Command::Asks(_)
        | Command::Diff(_)
        | Command::Cost(_)
        | Command::Context(_)
        | Command::Projects(_)
        | Command::Tree(_)
        | Command::Log(_)
        | Command::Export(_)
        | Command::Search(_)
        | Command::Doctor(_)
        | Command::Help(_)
        | Command::Completions(_)
        | Command::Man(_)
        | Command::Complete(_)
        // Started by the engine for a program of an agent.
        | Command::Host(_) => Reach::Reads,
        Command::Init(_)
        | Command::Run(_)
        | Command::Prompt(_)
        | Command::Send(_)
        | Command::Answer(_)
        | Command::Stop(_)
        | Command::Task(_)
        | Command::Handover(_)
        | Command::Restore(_)
        | Command::Fork(_)
        | Command::Attach(_) => Reach::Changes,
        Command::Serve(args) => args.reach(),
        Command::Config(args) => args.reach(),
        Command::Mcp(args) => args.reach(),
        Command::Backends(args) => args.reach(),
        Command::Permit(args) => args.reach(),
        Command::Agents(args) => args.reach(),
        Command::Skill(args) => args.reach(),
        Command::Hooks(args) => args.reach(),
        Command::Merge(args) => args.reach(),
        Command::Rewind(args) => args.reach(),
        Command::Import(args) => args.reach(),
        Command::Check(args) => args.reach(),
        Command::Gc(args) => args.reach(),
    }
}

/// Returns the reason why a command is refused, or `None` if it may run.
pub(super) fn refusal(home: &Home, command: Option<&Command>) -> Option<Fault> {
    (reach(command) == Reach::Changes && guard::is_inside_agent(home)).then(guard::refusal)
}

#[cfg(test)]
#[path = "agent_guard_tests.rs"]
mod tests;
