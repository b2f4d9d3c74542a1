//! The dim second line of a row: what the agent is doing, what it asks, or what came of it.

use crate::base::{sanitize, text};
use crate::engine::snapshot::{TaskView, Wait};
use crate::model::Status;
use crate::theme::Role;
use crate::ui::asks;
use crate::ui::live_lines::LiveLines;
use crate::ui::project_state::ProjectState;
use crate::ui::stuck;

/// The bytes of a result that a row can show.
const RESULT_BYTES: usize = 160;

/// Returns the second line of a task, or `None` if its row says everything.
pub fn second_line(task: &TaskView, project: &ProjectState, live: &LiveLines) -> Option<(String, Role)> {
    if let Some(ask) = task.asks.first() {
        return Some((asks::brief(ask), Role::Ask)).filter(|(words, _)| !words.is_empty());
    }
    if let Some(retry) = &task.retry {
        return Some((sanitize::line(&retry.reason).into_owned(), Role::Warn));
    }
    match &task.waits {
        Some(Wait::Task { task }) => return Some((format!("waits for {}", project.title(*task)), Role::Faint)),
        Some(Wait::Setup { step }) => return Some((sanitize::line(step).into_owned(), Role::Muted)),
        Some(Wait::Process { command, .. }) => {
            return Some((format!("waits for {}", sanitize::line(text::prefix(command, RESULT_BYTES))), Role::Faint));
        }
        Some(Wait::Stalled { .. }) => {
            let reason = stuck::brief(task, project)?;
            return Some((reason, Role::Warn));
        }
        Some(Wait::Slot { .. } | Wait::Idle | Wait::Silence { .. }) | None => {}
    }
    if task.is_working() {
        return live.of(task.node.id).map(|line| (line, Role::Muted));
    }
    if !matches!(task.node.status, Status::Passed | Status::Failed) {
        return None;
    }
    let result = task.node.results.last()?;
    let line = result.result.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some((sanitize::line(text::prefix(line, RESULT_BYTES)).into_owned(), Role::Faint))
}
