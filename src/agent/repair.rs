//! The repair of a log whose run died in the middle of its calls.

use crate::model::event::{Body, Repaired, ToolResult};
use crate::model::fold::OpenCall;

/// Returns what has to be added to a log whose run died in the middle of its calls. Nobody knows how far they came,
/// so that is what the model is told; they are never run again by themselves.
pub fn repair(orphans: &[OpenCall]) -> Vec<Body> {
    let mut bodies: Vec<Body> = orphans.iter().map(|call| unknown_outcome(call).into()).collect();
    let names: Vec<_> = orphans.iter().map(|call| call.name.as_str()).collect();
    bodies.push(
        Repaired { steps: vec![format!("answered the calls that were interrupted: {}", names.join(", "))] }.into(),
    );
    bodies
}

fn unknown_outcome(call: &OpenCall) -> ToolResult {
    let text = "Interrupted: Matrix was stopped while this call ran. It is not known whether it took effect, or how \
                much of it did. Check before you repeat it.";
    ToolResult::unrun(call, text, true)
}

#[cfg(test)]
#[path = "repair_tests.rs"]
mod tests;
