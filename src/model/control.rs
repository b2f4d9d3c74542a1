//! The tools that control the run itself: `yield`, `done`, `fork_task_context`. Each must be the only call of its
//! turn.

use crate::model::tool_names as names;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    Yield,
    Done,
    Fork,
}

impl Control {
    /// Returns the control tool called `name`, including aliases.
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
