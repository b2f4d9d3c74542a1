//! What a token may do. The matches on commands are exhaustive, so that a new command declares the scope it needs.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::engine::command::{Command, FileCommand};

/// A permission of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Read everything of a project.
    Read,
    /// Answer open questions.
    Answer,
    /// Send messages to tasks.
    Send,
    /// Create, change and delete tasks.
    Edit,
    /// Start, stop, merge and rewind.
    Run,
    /// Change settings, end the engine, make page links. Includes all other scopes.
    Admin,
}

impl Scope {
    pub const ALL: [Self; 6] = [Self::Read, Self::Answer, Self::Send, Self::Edit, Self::Run, Self::Admin];

    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Answer => "answer",
            Self::Send => "send",
            Self::Edit => "edit",
            Self::Run => "run",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Not the name of a scope.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{}\" is not a scope; scopes are read, answer, send, edit, run and admin", .0.escape_debug())]
pub struct UnknownScope(String);

impl FromStr for Scope {
    type Err = UnknownScope;

    fn from_str(text: &str) -> Result<Self, UnknownScope> {
        Self::ALL.into_iter().find(|scope| scope.name() == text).ok_or_else(|| UnknownScope(text.to_owned()))
    }
}

/// Returns the scope that a command needs.
pub(super) fn of_command(command: &Command) -> Scope {
    match command {
        Command::Answer { .. } | Command::ReviewPlan { .. } => Scope::Answer,
        Command::Send { .. } | Command::Withdraw { .. } | Command::Review { .. } => Scope::Send,
        // Only agents give these two, and the engine refuses them to users.
        Command::Message { .. } | Command::Ask { .. } => Scope::Send,
        Command::Create { .. }
        | Command::Update { .. }
        | Command::HandOverTask { .. }
        | Command::Close { .. }
        | Command::Delete { .. }
        | Command::Reset { .. }
        | Command::Restore { .. }
        | Command::Move { .. }
        | Command::Reorder { .. }
        | Command::Fork { .. }
        | Command::ForkContext { .. } => Scope::Edit,
        Command::Resume { .. }
        | Command::Interrupt { .. }
        | Command::Stop { .. }
        | Command::Compact { .. }
        | Command::Background { .. }
        | Command::Kill { .. }
        | Command::Merge { .. }
        | Command::UndoMerge { .. }
        | Command::CancelMerge { .. }
        | Command::Verify { .. }
        | Command::CatchUp { .. }
        | Command::Rewind { .. }
        | Command::Redo { .. }
        | Command::Resend { .. } => Scope::Run,
        Command::Files(command) => match command {
            FileCommand::MarkSeen { .. } | FileCommand::AttachPicture { .. } => Scope::Send,
            FileCommand::DraftConflicts { .. } => Scope::Run,
            FileCommand::SetSetting { .. } => Scope::Admin,
        },
        Command::HandOver { .. } | Command::Quit => Scope::Admin,
    }
}
