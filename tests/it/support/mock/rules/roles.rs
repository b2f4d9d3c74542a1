//! Who may speak first, last and after whom.

use super::{Findings, Rule};
use crate::support::mock::seen::{Role, Seen, Wire};

pub fn check(seen: &Seen, may_end_with_assistant: bool, found: &mut Findings) {
    match seen.wire {
        Wire::Anthropic => anthropic(seen, may_end_with_assistant, found),
        Wire::Responses => responses(seen, found),
        Wire::Chat => chat(seen, found),
    }
}

fn anthropic(seen: &Seen, may_end_with_assistant: bool, found: &mut Findings) {
    let Some((first, last)) = seen.entries.first().zip(seen.entries.last()) else {
        return found.add(Rule::MissingField, "messages: at least one message is required");
    };
    if first.role != Role::User {
        found.add(Rule::FirstRole, "messages: first message must use the \"user\" role");
    }
    if last.role == Role::Assistant && !may_end_with_assistant {
        found.add(
            Rule::LastRole,
            "This model does not support assistant message prefill. The conversation must end with a user message.",
        );
    }
}

fn responses(seen: &Seen, found: &mut Findings) {
    if seen.entries.is_empty() {
        found.add(Rule::MissingField, "Missing required parameter: 'input'.");
    }
    if !seen.entries.iter().any(|entry| entry.role == Role::User) {
        found.add(Rule::FirstRole, "Invalid 'input': there must be at least one user message.");
    }
    if seen.entries.iter().find(|entry| entry.role != Role::System).is_some_and(|entry| entry.role != Role::User) {
        found.add(Rule::RoleOrder, "Invalid 'input': the conversation must open with a user message.");
    }
}

fn chat(seen: &Seen, found: &mut Findings) {
    let Some(first) = seen.entries.iter().position(|entry| entry.role != Role::System) else {
        return found.add(
            Rule::FirstRole,
            "Invalid 'messages': empty array. Expected an array with a message that is not of the system.",
        );
    };
    if seen.entries[first].role != Role::User {
        found.add(
            Rule::RoleOrder,
            format!("Invalid 'messages[{first}].role': the conversation must open with a user message."),
        );
    }
    for (index, entry) in seen.entries.iter().enumerate().skip(first) {
        if entry.role == Role::System {
            // Chat templates of compatible servers refuse it, whatever the vendor itself does.
            found.add(
                Rule::RoleOrder,
                format!("Invalid 'messages[{index}].role': system messages must stand at the beginning."),
            );
        }
    }
}
