//! Every tool call has its result, once, where the wire wants it.

use std::collections::HashSet;

use super::{Findings, Rule};
use crate::support::mock::seen::{Entry, Part, Role, Seen, Wire};

pub fn check(seen: &Seen, found: &mut Findings) {
    unique_calls(seen, found);
    match seen.wire {
        Wire::Anthropic | Wire::Chat => adjacent(seen, found),
        Wire::Responses => anywhere_after(seen, found),
    }
}

fn unique_calls(seen: &Seen, found: &mut Findings) {
    let mut known = HashSet::new();
    for call in seen.entries.iter().flat_map(Entry::calls) {
        if !known.insert(&call.id) {
            found.add(Rule::DuplicateToolUse, format!("messages: `tool_use` ids must be unique ({})", call.id));
        }
    }
}

/// Results must be the first that follows the calls: a run of blocks, or of messages with the role "tool".
fn adjacent(seen: &Seen, found: &mut Findings) {
    let entries = &seen.entries;
    let mut at = 0;
    let mut calls: Vec<&str> = Vec::new();
    while at < entries.len() {
        let assistant = entries[at].role == Role::Assistant;
        let run = entries[at..].iter().take_while(|e| (e.role == Role::Assistant) == assistant).count();
        let run = &entries[at..at + run];
        if assistant {
            calls = run.iter().flat_map(Entry::calls).map(|call| call.id.as_str()).collect();
            if at + run.len() == entries.len() && !calls.is_empty() {
                unanswered(seen.wire, at, &calls, found);
            }
        } else {
            answered(seen.wire, at, &calls, run, found);
            calls.clear();
        }
        at += run.len();
    }
}

fn answered(wire: Wire, at: usize, calls: &[&str], run: &[Entry], found: &mut Findings) {
    let parts = || run.iter().flat_map(|entry| &entry.parts);
    let leading: Vec<&str> = parts().map_while(result_id).collect();
    let missing: Vec<&str> = calls.iter().filter(|call| !leading.contains(call)).copied().collect();
    if !missing.is_empty() {
        unanswered(wire, at.saturating_sub(1), &missing, found);
    }
    let mut seen_ids = HashSet::new();
    for id in parts().filter_map(result_id) {
        if !calls.contains(&id) {
            orphan(wire, at, id, found);
        } else if !seen_ids.insert(id) {
            duplicate(at, id, found);
        }
    }
}

fn anywhere_after(seen: &Seen, found: &mut Findings) {
    let mut called = HashSet::new();
    let mut answered = HashSet::new();
    for (at, entry) in seen.entries.iter().enumerate() {
        called.extend(entry.calls().map(|call| call.id.as_str()));
        for result in entry.results() {
            if !called.contains(result.call.as_str()) {
                orphan(seen.wire, at, &result.call, found);
            } else if !answered.insert(result.call.as_str()) {
                duplicate(at, &result.call, found);
            }
        }
    }
    for call in seen.entries.iter().flat_map(Entry::calls).filter(|call| !answered.contains(call.id.as_str())) {
        unanswered(seen.wire, 0, &[&call.id], found);
    }
}

fn result_id(part: &Part) -> Option<&str> {
    match part {
        Part::Result(result) => Some(&result.call),
        Part::Text(_) | Part::Call(_) | Part::Thinking | Part::Media => None,
    }
}

fn unanswered(wire: Wire, at: usize, calls: &[&str], found: &mut Findings) {
    let ids = calls.join(", ");
    found.add(
        Rule::UnansweredToolUse,
        match wire {
            Wire::Anthropic => format!(
                "messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: {ids}. Each \
                 `tool_use` block must have a corresponding `tool_result` block in the next message."
            ),
            Wire::Responses => format!("No tool output found for function call {ids}."),
            Wire::Chat => format!(
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each \
                 'tool_call_id'. The following tool_call_ids did not have response messages: {ids}"
            ),
        },
    );
}

fn orphan(wire: Wire, at: usize, id: &str, found: &mut Findings) {
    found.add(
        Rule::OrphanToolResult,
        match wire {
            Wire::Anthropic => format!(
                "messages.{at}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block \
                 must have a corresponding `tool_use` block in the previous message."
            ),
            Wire::Responses => format!("No tool call found for function call output with call_id {id}."),
            Wire::Chat => format!(
                "Invalid parameter: messages with role 'tool' must be a response to a preceding message with \
                 'tool_calls' (messages[{at}], {id})."
            ),
        },
    );
}

fn duplicate(at: usize, id: &str, found: &mut Findings) {
    found.add(
        Rule::DuplicateToolResult,
        format!(
            "messages.{at}: each tool_use must have a single result. Found multiple `tool_result` blocks with id: {id}"
        ),
    );
}
