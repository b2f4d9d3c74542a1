//! Decides which calls of one response may run in parallel.
//!
//! Read-only calls run in parallel. A call with side effects runs alone: it waits for all earlier calls, and all
//! later calls wait for it. So a turn gives the same result as sequential calls.

use crate::tools::tool::ToolEffect;

/// Returns for each call the earlier calls that must end before it starts.
pub fn predecessors(effects: &[ToolEffect]) -> Vec<Vec<usize>> {
    let mut last_change = None;
    let mut reads_since = Vec::new();
    let mut predecessors = Vec::with_capacity(effects.len());
    for (position, effect) in effects.iter().enumerate() {
        match effect {
            ToolEffect::Reads => {
                predecessors.push(last_change.into_iter().collect());
                reads_since.push(position);
            }
            ToolEffect::Writes | ToolEffect::Opaque => {
                // The reads since the last change have already waited for it.
                let waits = std::mem::take(&mut reads_since);
                predecessors.push(if waits.is_empty() { last_change.into_iter().collect() } else { waits });
                last_change = Some(position);
            }
        }
    }
    predecessors
}

#[cfg(test)]
#[path = "order_tests.rs"]
mod tests;
