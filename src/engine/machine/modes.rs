//! Permission modes of tasks: who may choose which, and what counts for a task under those above it.

use crate::base::{Fault, TaskId};
use crate::engine::machine::Machine;
use crate::model::TaskNode;
use crate::permit::{Bypass, Mode, ProfileMode, mode};

/// What the settings say about modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModeSettings {
    /// The mode of a task that has none of its own.
    pub usual: Mode,
    pub bypass: Bypass,
}

impl Default for ModeSettings {
    fn default() -> Self {
        Self { usual: Mode::Open, bypass: Bypass::default() }
    }
}

impl Machine {
    /// Takes over changed settings.
    pub(super) fn on_mode_settings(&mut self, settings: ModeSettings) {
        if self.modes != settings {
            self.modes = settings;
            self.changed.extend(self.tree.all().map(|node| node.id));
        }
        self.judge_waiting_calls();
    }

    /// Refuses a mode that a task cannot have.
    pub(super) fn check_mode(&self, mode: Option<Mode>) -> Result<(), Fault> {
        match (mode, self.modes.bypass) {
            (Some(Mode::Open), _) => {
                Err(Fault::user("\"open\" cannot be chosen; it is the mode of a project without one"))
            }
            (Some(Mode::Bypass), Bypass::RefusedToRoot) => {
                Err(Fault::user("the mode bypass is refused to root: agents could do anything to this machine")
                    .hint("run mxd as an ordinary user, or set MXD_ROOT_OK=1 if this machine is a throw-away"))
            }
            (Some(Mode::Bypass), Bypass::NeedsConsent) => {
                let name = &self.env.project.name;
                Err(Fault::user(format!("the mode bypass needs your consent once in the project \"{name}\"")).hint(
                    format!("`mxd permit bypass {name}` gives it: agents then run everything that no rule denies"),
                ))
            }
            _ => Ok(()),
        }
    }

    /// Returns the mode that counts for a task now.
    pub(super) fn mode_of(&self, node: &TaskNode) -> Mode {
        self.modes.bypass.limit(mode::effective(self.modes.usual, &self.permission_modes(node)))
    }

    /// Returns the modes from the root down to the task: its own, or that of its profile.
    pub(super) fn permission_modes(&self, node: &TaskNode) -> Vec<ProfileMode> {
        // A profile that is missing or invalid prevents the launch of its own task.
        let of_profile = |node: &TaskNode| {
            Some(self.profiles.by_full_name(node.profile.as_deref()?).ok()?.profile.permission_mode())
        };
        let mode = |node: &TaskNode| match node.mode {
            Some(mode) => ProfileMode { mode: Some(mode), is_foreign: false },
            None => of_profile(node).unwrap_or_default(),
        };
        let mut modes: Vec<ProfileMode> = self.tree.ancestors(node.id).map(mode).collect();
        modes.reverse();
        modes.push(mode(node));
        modes
    }

    /// Adds the mode that counts from now on to the description of a change, for the agent.
    pub(super) fn describe_mode(&self, task: TaskId, detail: String) -> String {
        let Some(node) = self.tree.get(task) else { return detail };
        let mode = self.mode_of(node);
        let line = format!("its permission mode, which is now {mode}: {}", for_agent(mode));
        if detail.is_empty() { line } else { format!("{detail}; {line}") }
    }
}

/// Returns what a mode means for the agent.
pub(in crate::engine) fn for_agent(mode: Mode) -> &'static str {
    match mode {
        Mode::Plan => {
            "you may only read. Find out what you need, then hand in your plan with submit_plan; you get it back approved or \
             with remarks, and go on with the work in this conversation"
        }
        Mode::Delegate => "you may only read, and create and instruct sub tasks",
        Mode::Ask => "whatever changes something waits for the user",
        Mode::Edits => "edits in your worktree run; other commands may wait for the user",
        Mode::Sandboxed => "edits in your worktree and commands in the sandbox run; the rest may wait for the user",
        Mode::Refuse => "what no rule allows is refused",
        Mode::Bypass | Mode::Open => "what no rule denies runs",
    }
}
