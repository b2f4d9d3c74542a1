//! Where the agent's shell stands, as its results tell.

use serde::{Deserialize, Serialize};

use crate::model::event::ToolResult;

/// The top of a worktree, as a result spells it.
const TOP: &str = ".";

/// The folder in which the next command starts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Whereabouts(Option<String>);

impl Whereabouts {
    /// Returns the folder: below the worktree, or an absolute path. Nothing: the top of the worktree.
    pub fn folder(&self) -> Option<&str> {
        self.0.as_deref()
    }

    pub fn is_top(&self) -> bool {
        self.0.is_none()
    }

    pub fn tool_result(&mut self, result: &ToolResult) {
        if let Some(folder) = &result.cwd {
            self.0 = Some(folder.clone()).filter(|folder| folder != TOP);
        }
    }

    /// Forgets a folder outside of the worktree: it is the source's. The copy has a worktree of its own, and stands in it
    /// where the conversation says.
    pub fn forked(&mut self) {
        self.0.take_if(|folder| folder.starts_with('/'));
    }
}
