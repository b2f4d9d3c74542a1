//! The current folder of the agent's shell, from its tool results.

use serde::{Deserialize, Serialize};

use crate::model::event::ToolResult;

/// The root of a worktree, as results write it.
const TOP: &str = ".";

/// The folder in which the next command starts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ShellCwd(Option<String>);

impl ShellCwd {
    /// Returns the folder: relative to the worktree, or absolute. `None` for the root of the worktree.
    pub fn folder(&self) -> Option<&str> {
        self.0.as_deref()
    }

    pub fn is_top(&self) -> bool {
        self.0.is_none()
    }

    pub fn on_tool_result(&mut self, result: &ToolResult) {
        if let Some(folder) = &result.cwd {
            self.0 = Some(folder.clone()).filter(|folder| folder != TOP);
        }
    }

    /// Drops a folder outside of the worktree, which belongs to the source. The copy has its own worktree, and a
    /// relative folder is valid there too.
    pub fn on_forked(&mut self) {
        self.0.take_if(|folder| folder.starts_with('/'));
    }
}
