//! Finds a task by an id or a prefix of one.

use crate::base::TaskId;
use crate::model::task::TaskNode;
use crate::model::tree::Tree;

/// The shortest prefix that may name a task.
pub const SHORTEST: usize = 8;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LookupError {
    #[error("no task has an id that starts with \"{0}\"")]
    Unknown(String),
    #[error("\"{0}\" is too short: give at least {SHORTEST} characters of the task's id")]
    TooShort(String),
    #[error("\"{text}\" could be any of {}; give more characters", candidates(.found))]
    Ambiguous { text: String, found: Vec<(TaskId, String)> },
}

fn candidates(found: &[(TaskId, String)]) -> String {
    found.iter().map(|(id, title)| format!("{id} ({title})")).collect::<Vec<_>>().join(", ")
}

impl Tree {
    /// Returns the task whose id is `text` or starts with it.
    pub fn find(&self, text: &str) -> Result<&TaskNode, LookupError> {
        let wanted = text.trim().to_ascii_uppercase();
        if let Some(node) = wanted.parse().ok().and_then(|id| self.get(id)) {
            return Ok(node);
        }
        let unknown = || LookupError::Unknown(text.to_owned());
        if wanted.len() < SHORTEST {
            return Err(LookupError::TooShort(text.to_owned()));
        }
        let mut found: Vec<_> = self.all().filter(|node| node.id.to_string().starts_with(&wanted)).collect();
        match found.len() {
            0 => Err(unknown()),
            1 => found.pop().ok_or_else(unknown),
            _ => Err(LookupError::Ambiguous {
                text: text.to_owned(),
                found: found.iter().map(|node| (node.id, node.title.clone())).collect(),
            }),
        }
    }
}
