//! Selects which events the line-by-line front ends print.

use crate::base::text;
use crate::model::ask::{Approval, Subject};
use crate::model::event::Body;
use crate::model::message::MessageSource;
use crate::model::{Ask, AskKind};

/// Limits for printed tool output. Small, because screen readers read all of it.
const OUTPUT_LINES: usize = 3;
const OUTPUT_COLUMNS: usize = 160;

/// Returns true if work waits for the answer. Agents run without MCP servers that are not approved.
pub fn is_blocking(ask: &Ask) -> bool {
    ask.kind() != AskKind::McpApproval
        && !matches!(ask.subject, Subject::Approval { approval: Approval::Project { .. } })
}

/// Returns the first lines of a tool's output, and the number of further lines.
pub fn beginning(output: &str) -> Vec<String> {
    let content = || output.lines().filter(|line| !line.trim().is_empty());
    let mut lines: Vec<String> =
        content().take(OUTPUT_LINES).map(|line| text::headline(line.trim_end(), OUTPUT_COLUMNS)).collect();
    let more = content().count().saturating_sub(OUTPUT_LINES);
    if more > 0 {
        lines.push(format!("… {}", text::count(more, "more line", "more lines")));
    }
    lines
}

/// Returns true if the event is printed.
pub fn is_shown(body: &Body) -> bool {
    match body {
        Body::Message(message) => !matches!(
            message.from,
            MessageSource::WorkContext | MessageSource::TreeChange { .. } | MessageSource::UserMessageForwarded { .. }
        ),
        Body::AssistantText(_)
        | Body::ToolCall(_)
        | Body::AskRaised(_)
        | Body::AskAnswered(_)
        | Body::BudgetWarning(_)
        | Body::BudgetExceeded(_)
        | Body::Error(_)
        | Body::Repaired(_)
        | Body::CompactMarker(_)
        | Body::ForkMarker(_)
        | Body::HandedOver(_)
        | Body::DoneNotified(_) => true,
        Body::ToolResult(result) => result.is_error,
        _ => false,
    }
}

#[cfg(test)]
#[path = "progress_tests.rs"]
mod tests;
