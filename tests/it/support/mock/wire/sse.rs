//! Server-sent events, and where a text is split into deltas.

use serde_json::Value;

use crate::support::mock::reply::Step;

/// Returns an event with a name.
pub fn event(name: &str, data: &Value) -> Step {
    Step::Send(format!("event: {name}\ndata: {data}\n\n"))
}

/// Returns an event without one.
pub fn data(data: &Value) -> Step {
    Step::Send(format!("data: {data}\n\n"))
}

/// Returns the data of a step that is an event.
pub fn data_of(step: &Step) -> Option<&str> {
    match step {
        Step::Send(text) => text.lines().find_map(|line| line.strip_prefix("data: ")),
        Step::Gate(_) | Step::DelayMs(_) => None,
    }
}

/// Splits `text` every `size` characters.
pub fn split(text: &str, size: usize) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    chars.chunks(size.max(1)).map(|chunk| chunk.iter().collect()).collect()
}
