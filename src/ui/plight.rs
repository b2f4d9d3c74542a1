//! Why a task gets nowhere, in a sentence, and what the person can do about it. It stands above the composer, because
//! writing is what mostly helps.
//!
//! Only for what does not pass by itself and is not an Ask: those say what they want themselves.

use crate::base::{TaskId, text};
use crate::engine::snapshot::{TaskView, Wait};
use crate::ui::world::World;

/// How much of a title is said: enough to find the task.
const TITLE: usize = 32;

/// Returns why a task gets nowhere, if it does. `interrupt` is the key that cuts a turn short.
pub fn of(task: &TaskView, world: &World, interrupt: &str) -> Option<String> {
    if !task.asks.is_empty() {
        return None;
    }
    match task.waits.as_ref()? {
        Wait::Stalled { chain, .. } => Some(stalled(task, chain, world)),
        Wait::Silence { .. } => Some(format!(
            "no answer: the model has sent nothing for a while. Wait, or {interrupt} cuts its turn short."
        )),
        Wait::Slot { .. } | Wait::Setup { .. } | Wait::Task { .. } | Wait::Process { .. } => None,
    }
}

fn stalled(task: &TaskView, chain: &[TaskId], world: &World) -> String {
    let Some(last) = chain.last().copied().filter(|last| *last != task.node.id) else {
        return "stuck: it stopped without saying that it is done. A message lets it go on.".to_owned();
    };
    let other = text::headline(&world.title(last), TITLE);
    if world.above(task.node.id).any(|above| above == last) {
        return format!("stuck: it asked \"{other}\" something and got no reply. A message to either lets it go on.");
    }
    format!(
        "stuck: it waits for \"{other}\", which stopped without saying that it is done. \
         A message to that one lets it go on."
    )
}

#[cfg(test)]
#[path = "plight_tests.rs"]
mod tests;
