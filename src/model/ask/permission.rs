//! The subject of a permission Ask: a tool call that is held until the user decides about it.
//!
//! It has everything that is needed to show the call, to judge it again after a rule has changed, and to save a rule.

use serde::{Deserialize, Serialize};

use crate::base::AskId;
use crate::model::ask::{Ask, AskMode, Choice, ChoiceId, Subject};
use crate::model::event::PermissionCause;

/// A tool call that needs permission.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct PermissionRequest {
    /// The name of the tool as rules spell it: `bash`, `edit_file`, or `mcp__server__tool`.
    pub tool: String,
    pub action: RequestedAction,
    /// The current folder of the agent's shell, which relative paths begin at.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cwd: String,
    /// The worktree, which rules for paths begin at.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub root: String,
    /// What decided that the call needs permission.
    pub cause: PermissionCause,
    /// The rules that the choice "this task" saves: they match exactly this call.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exact: Vec<String>,
    /// The rules that the choice "project" saves. Empty if none should be offered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
}

/// What a held call would do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum RequestedAction {
    /// A shell command.
    Command {
        command: String,
    },
    Read {
        paths: Vec<String>,
    },
    Edit {
        paths: Vec<String>,
        /// The change as a unified diff. Empty if it could not be computed.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        diff: String,
    },
    /// A connection to a host.
    Network {
        host: String,
    },
    /// A tool for tasks and messages.
    Coordinate {
        reads_only: bool,
        input: String,
    },
    /// The tool of a server, with its input as JSON.
    External {
        input: String,
    },
}

impl Default for RequestedAction {
    fn default() -> Self {
        Self::External { input: String::new() }
    }
}

impl PermissionRequest {
    /// Returns the Ask that holds the call with this id.
    pub fn into_ask(self, id: AskId, call: &str) -> Ask {
        Ask {
            id,
            question: self.headline(),
            detail: String::new(),
            choices: self.choices(),
            default: None,
            mode: AskMode::Blocks,
            deadline: None,
            tool_call: Some(call.to_owned()),
            subject: Subject::Permission(Box::new(self)),
        }
    }

    /// Returns the choices. A rule is offered only if it would have decided, and is displayed letter for letter.
    fn choices(&self) -> Vec<Choice> {
        let is_undecided = matches!(self.cause, PermissionCause::Undecided { .. });
        let offers = |rules: &[String]| is_undecided && !rules.is_empty();
        let mut choices = vec![Choice::new(ChoiceId::Once, "Allow once")];
        if offers(&self.exact) {
            choices.push(Choice::new(ChoiceId::ThisTask, format!("Allow in this task: {}", self.exact.join(", "))));
        }
        if offers(&self.rules) {
            choices.push(Choice::new(ChoiceId::Project, format!("Allow in the project: {}", self.rules.join(", "))));
        }
        choices.push(Choice::new(ChoiceId::No, "Refuse"));
        if !self.exact.is_empty() {
            choices.push(Choice::new(ChoiceId::Never, format!("Refuse from now on: {}", self.exact.join(", "))));
        }
        choices
    }

    /// Returns the call in one line: the command, the path, or the tool.
    pub fn headline(&self) -> String {
        match &self.action {
            RequestedAction::Command { command } => command.split_whitespace().collect::<Vec<_>>().join(" "),
            RequestedAction::Read { paths } => format!("read {}", self.shown(paths)),
            RequestedAction::Edit { paths, .. } => format!("edit {}", self.shown(paths)),
            RequestedAction::Network { host } => format!("connect to {host}"),
            RequestedAction::Coordinate { .. } | RequestedAction::External { .. } => self.tool.clone(),
        }
    }

    /// Returns the first path, relative to the worktree if it is in it. The second is the same path after following
    /// links.
    fn shown(&self, paths: &[String]) -> String {
        let path = paths.first().map(String::as_str).unwrap_or_default();
        let inside = path.strip_prefix(self.root.as_str()).and_then(|rest| rest.strip_prefix('/'));
        inside.filter(|_| !self.root.is_empty()).unwrap_or(path).to_owned()
    }

    /// Returns true if both ask for the same, in whatever task. Worktrees differ, so paths are compared inside of them.
    pub fn is_same_call(&self, other: &Self) -> bool {
        let inside = |request: &Self, paths: &[String]| {
            paths
                .iter()
                .map(|path| path.strip_prefix(request.root.as_str()).unwrap_or(path).to_owned())
                .collect::<Vec<_>>()
        };
        let folder = |request: &Self| inside(request, std::slice::from_ref(&request.cwd));
        self.tool == other.tool
            && self.cause == other.cause
            && match (&self.action, &other.action) {
                (RequestedAction::Command { command: a }, RequestedAction::Command { command: b }) => {
                    a == b && folder(self) == folder(other)
                }
                (RequestedAction::Edit { paths: a, diff: x }, RequestedAction::Edit { paths: b, diff: y }) => {
                    inside(self, a) == inside(other, b) && x == y
                }
                (RequestedAction::Read { paths: a }, RequestedAction::Read { paths: b }) => {
                    inside(self, a) == inside(other, b)
                }
                (a, b) => a == b,
            }
    }
}

#[cfg(test)]
#[path = "permission_tests.rs"]
mod tests;
