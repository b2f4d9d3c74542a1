//! Which calls of one response may run at the same time.
//!
//! Calls that only read run concurrently. A call that changes something runs alone: it waits for everything before it,
//! and everything after it waits for it. So a turn gives the same result as if its calls had been made one by one.

use crate::tools::tool::Effect;

/// Returns for each call the earlier calls that must have ended before it starts.
pub fn predecessors(effects: &[Effect]) -> Vec<Vec<usize>> {
    let mut last_change = None;
    let mut reads_since = Vec::new();
    let mut predecessors = Vec::with_capacity(effects.len());
    for (position, effect) in effects.iter().enumerate() {
        match effect {
            Effect::Reads => {
                predecessors.push(last_change.into_iter().collect());
                reads_since.push(position);
            }
            Effect::Writes | Effect::Opaque => {
                // The reads since the last change have waited for it.
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
