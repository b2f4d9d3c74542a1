//! The tools that steer the run itself: `yield`, `done`, `fork_task_context`. Each stands alone in its turn.

use crate::model::tool_names as names;

/// A tool that steers the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    Yield,
    Done,
    Fork,
}

impl Control {
    /// Returns which of them `name` is, by whatever name it goes.
    pub fn of(name: &str) -> Option<Self> {
        let wire = names::canonical(name);
        match names::split(&wire) {
            Some((names::OWN, names::YIELD)) => Some(Self::Yield),
            Some((names::OWN, names::DONE)) => Some(Self::Done),
            Some((names::OWN, names::FORK_TASK_CONTEXT)) => Some(Self::Fork),
            Some(_) | None => None,
        }
    }
}
