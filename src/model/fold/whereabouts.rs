//! Where the agent's shell stands, as its results tell.

use serde::{Deserialize, Serialize};

use crate::model::event::{Body, Event};

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

    pub fn apply(&mut self, event: &Event) {
        match &event.body {
            Body::ToolResult(result) => {
                if let Some(folder) = &result.cwd {
                    self.0 = Some(folder.clone()).filter(|folder| folder != TOP);
                }
            }
            Body::CompactMarker(marker) => *self = marker.carry.whereabouts.clone(),
            Body::HeadMoved(moved) => *self = moved.carry.whereabouts.clone(),
            // The copy has a worktree of its own, and stands in it where the conversation says. Anywhere else is the source's.
            Body::ForkMarker(_) => {
                self.0.take_if(|folder| folder.starts_with('/'));
            }
            Body::Message(_)
            | Body::MessagesConsumed(_)
            | Body::MessagesWithdrawn(_)
            | Body::SessionConfig(_)
            | Body::AssistantText(_)
            | Body::Thinking(_)
            | Body::ToolCall(_)
            | Body::Usage(_)
            | Body::TurnEnded(_)
            | Body::CompactStarted(_)
            | Body::RunStarted(_)
            | Body::RunEnded(_)
            | Body::DoneNotified(_)
            | Body::AskRaised(_)
            | Body::AskAnswered(_)
            | Body::AskWithdrawn(_)
            | Body::Granted(_)
            | Body::BudgetWarning(_)
            | Body::BudgetExceeded(_)
            | Body::Error(_)
            | Body::Repaired(_)
            | Body::Snapshot(_)
            | Body::Work(_)
            | Body::TaskChanged(_)
            | Body::Unknown(_) => {}
        }
    }
}
