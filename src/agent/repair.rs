//! Repairs a log whose run died while tool calls were running.

use crate::model::event::{Body, Repaired, ToolResult};
use crate::model::fold::OpenCall;

/// Returns the events that complete a log whose run died while `orphans` were running. The results tell the model that
/// the outcome is unknown; the calls are never rerun automatically.
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
