//! What of the agents' doings a person who watches lines is told.

use crate::base::text;
use crate::model::ask::{Approval, Subject};
use crate::model::event::Body;
use crate::model::message::Source;
use crate::model::{Ask, AskKind};

/// How much of what a tool gave is shown to somebody who hears it read out.
const OUTPUT_LINES: usize = 3;
const OUTPUT_COLUMNS: usize = 160;

/// Tells whether work goes on only when the person has answered. A tool server that nobody has approved is done without.
pub fn holds_work_up(ask: &Ask) -> bool {
    ask.kind() != AskKind::McpApproval
        && !matches!(ask.subject, Subject::Approval { approval: Approval::Project { .. } })
}

/// Returns the first lines of what a tool gave, and how many more there are.
pub fn beginning(output: &str) -> Vec<String> {
    let said = || output.lines().filter(|line| !line.trim().is_empty());
    let mut lines: Vec<String> =
        said().take(OUTPUT_LINES).map(|line| text::headline(line.trim_end(), OUTPUT_COLUMNS)).collect();
    let more = said().count().saturating_sub(OUTPUT_LINES);
    if more > 0 {
        lines.push(format!("… {}", text::count(more, "more line", "more lines")));
    }
    lines
}

/// Tells whether a person who watches wants to read of it.
pub fn is_news(body: &Body) -> bool {
    match body {
        Body::Message(message) => !matches!(
            message.from,
            Source::WorkContext | Source::TreeChange { .. } | Source::UserMessageForwarded { .. }
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
        | Body::DoneNotified(_) => true,
        Body::ToolResult(result) => result.is_error,
        _ => false,
    }
}

#[cfg(test)]
#[path = "news_tests.rs"]
mod tests;
