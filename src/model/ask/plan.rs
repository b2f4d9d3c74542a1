//! The subject of a plan Ask: a plan that an agent hands in before it may change anything, and the requests that hold a
//! call.

use serde::{Deserialize, Serialize};

use crate::base::AskId;
use crate::model::ask::{Ask, AskMode, Choice, ChoiceId, PermissionRequest, Subject};

/// A plan to approve.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct PlanRequest {
    /// Markdown.
    pub plan: String,
    /// The files that it changes, as far as the agent knows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub risks: Vec<String>,
}

impl PlanRequest {
    /// Returns the plan with its files and risks, as one document.
    pub fn document(&self) -> String {
        let list = |title: &str, items: &[String]| match items {
            [] => String::new(),
            items => format!("\n\n## {title}\n\n- {}\n", items.join("\n- ")),
        };
        let plan = self.plan.trim_end();
        format!("{plan}{}{}", list("Files", &self.files), list("Risks", &self.risks)).trim_end().to_owned()
    }

    fn into_ask(self, id: AskId, call: &str) -> Ask {
        let title = self.plan.lines().map(|line| line.trim_start_matches('#').trim()).find(|line| !line.is_empty());
        Ask {
            id,
            question: format!("Plan: {}", title.unwrap_or("without a title")),
            detail: String::new(),
            choices: vec![
                Choice::new(ChoiceId::Approve, "Approve, and start the work"),
                Choice::new(ChoiceId::Decline, "Send it back"),
                Choice::new(ChoiceId::Stop, "Stop the task"),
            ],
            default: None,
            mode: AskMode::Blocks,
            deadline: None,
            tool_call: Some(call.to_owned()),
            subject: Subject::Plan(Box::new(self)),
        }
    }
}

/// What a held call waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeldRequest {
    Permission(PermissionRequest),
    Plan(PlanRequest),
}

impl Default for HeldRequest {
    fn default() -> Self {
        Self::Permission(PermissionRequest::default())
    }
}

impl HeldRequest {
    /// Returns what waits, in one line.
    pub fn headline(&self) -> String {
        match self {
            Self::Permission(request) => request.headline(),
            Self::Plan(_) => "a plan to approve".to_owned(),
        }
    }

    /// Returns the Ask that holds the call with this id.
    pub fn into_ask(self, id: AskId, call: &str) -> Ask {
        match self {
            Self::Permission(request) => request.into_ask(id, call),
            Self::Plan(request) => request.into_ask(id, call),
        }
    }
}
