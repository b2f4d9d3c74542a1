//! Permission modes: what may happen without asking.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A permission mode. [`Mode::Open`] cannot be chosen: it is the default where no sandbox holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Mode {
    /// Everything that changes something asks.
    Ask,
    /// Edits in the worktree are granted.
    Edits,
    /// Like `edits`, and commands inside the sandbox are granted.
    Sandboxed,
    /// Only reading.
    Plan,
    /// Whatever would ask is refused.
    Refuse,
    /// Everything is granted, except what deny rules, stops and ask rules say.
    Bypass,
    /// Only the tools for tasks and messages, and reading.
    Delegate,
    /// What no rule mentions is granted.
    Open,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a permission mode; the modes are ask, edits, sandboxed, plan, refuse, bypass and delegate")]
pub struct UnknownMode(pub String);

impl Mode {
    /// The modes that a user can choose.
    pub const CHOICES: [Self; 7] =
        [Self::Ask, Self::Edits, Self::Sandboxed, Self::Plan, Self::Refuse, Self::Bypass, Self::Delegate];

    pub fn word(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Edits => "edits",
            Self::Sandboxed => "sandboxed",
            Self::Plan => "plan",
            Self::Refuse => "refuse",
            Self::Bypass => "bypass",
            Self::Delegate => "delegate",
            Self::Open => "open",
        }
    }

    /// Returns how much the mode permits, for comparing a task with the one above it.
    fn looseness(self) -> u8 {
        match self {
            Self::Plan => 0,
            Self::Delegate => 1,
            Self::Refuse => 2,
            Self::Ask => 3,
            Self::Edits => 4,
            Self::Sandboxed => 5,
            Self::Open => 6,
            Self::Bypass => 7,
        }
    }

    pub fn is_looser_than(self, other: Self) -> bool {
        self.looseness() > other.looseness()
    }

    /// Returns the mode of a task that wants `self` under a task with the mode `above`.
    ///
    /// `plan` and `delegate` belong to one task: below them, a task works like below `ask`, unless it is stricter.
    pub fn below(self, above: Self) -> Self {
        match above {
            // What asks below would be refused above.
            Self::Refuse if self.is_looser_than(Self::Refuse) => Self::Refuse,
            Self::Plan | Self::Delegate => self,
            above if self.is_looser_than(above) => above,
            _ => self,
        }
    }
}

/// What a profile says about the mode of its tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProfileMode {
    pub mode: Option<Mode>,
    /// From the repository, so it can only be stricter than the settings.
    pub is_foreign: bool,
}

impl ProfileMode {
    /// Returns the mode of a task with this profile, where `usual` is the mode of the settings.
    pub fn within(self, usual: Mode) -> Mode {
        match self.mode {
            Some(mode) if self.is_foreign && mode.is_looser_than(usual) => usual,
            Some(mode) => mode,
            None => usual,
        }
    }
}

/// Returns the mode of the last of `tasks`, which begin at the root and lead down to it.
pub fn effective(usual: Mode, tasks: &[ProfileMode]) -> Mode {
    let modes = tasks.iter().map(|task| task.within(usual));
    modes.reduce(|above, wanted| wanted.below(above)).unwrap_or(usual)
}

/// Whether agents of this user and project may have the mode `bypass`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Bypass {
    /// The user has not consented in this project.
    #[default]
    NeedsConsent,
    /// Root can do anything to the machine.
    RefusedToRoot,
    Allowed,
}

impl Bypass {
    /// Returns the mode that counts instead of `mode`.
    pub fn limit(self, mode: Mode) -> Mode {
        if mode == Mode::Bypass && self != Self::Allowed { Mode::Edits } else { mode }
    }
}

impl From<Mode> for String {
    fn from(mode: Mode) -> Self {
        mode.word().to_owned()
    }
}

impl TryFrom<String> for Mode {
    type Error = UnknownMode;

    fn try_from(word: String) -> Result<Self, UnknownMode> {
        if word == Self::Open.word() { Ok(Self::Open) } else { word.parse() }
    }
}

impl schemars::JsonSchema for Mode {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Mode".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let words: Vec<&str> = Self::CHOICES.into_iter().chain([Self::Open]).map(Self::word).collect();
        schemars::json_schema!({"description": "What a task's agent may do without asking.", "type": "string", "enum": words})
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl FromStr for Mode {
    type Err = UnknownMode;

    /// Reads our names, and those of Claude Code.
    fn from_str(text: &str) -> Result<Self, UnknownMode> {
        let alias = match text {
            "default" | "manual" => Some(Self::Ask),
            "acceptEdits" => Some(Self::Edits),
            "dontAsk" => Some(Self::Refuse),
            "bypassPermissions" => Some(Self::Bypass),
            _ => Self::CHOICES.into_iter().find(|mode| mode.word() == text),
        };
        alias.ok_or_else(|| UnknownMode(text.to_owned()))
    }
}

#[cfg(test)]
#[path = "mode_tests.rs"]
mod tests;
