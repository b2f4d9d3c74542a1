//! How often an agent had to ask for permission, and what decided about its last call.

use serde::{Deserialize, Serialize};

use crate::model::ask::{Ask, AskKind};
use crate::model::event::{PermissionNote, ToolResult};

/// Calls and permission Asks of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct PermissionTotals {
    pub calls: u64,
    pub asked: u64,
    /// What decided about the last call that a rule or a mode had a say about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<LastDecision>,
}

/// A decision about a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LastDecision {
    /// The wire name of the tool.
    pub tool: String,
    #[serde(flatten)]
    pub note: PermissionNote,
}

impl PermissionTotals {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub fn on_tool_call(&mut self) {
        self.calls += 1;
    }

    pub fn on_tool_result(&mut self, result: &ToolResult) {
        if let Some(note) = &result.permission {
            self.last = Some(LastDecision { tool: result.name.clone(), note: note.clone() });
        }
    }

    pub fn on_asked(&mut self, ask: &Ask) {
        self.asked += u64::from(ask.kind() == AskKind::Permission);
    }

    /// Returns how many of a hundred calls asked, or `None` without calls.
    pub fn per_hundred(&self) -> Option<f64> {
        (self.calls > 0).then(|| self.asked as f64 * 100.0 / self.calls as f64)
    }
}
