//! Views of tasks whose engine is in another process, or in none: derived from their sessions.

use crate::engine::snapshot::{TaskState, TaskView};
use crate::engine::stall::TaskProgress;
use crate::model::conversation::Role;
use crate::model::event::{Exit, InterruptReason};
use crate::model::fold::SessionState;
use crate::model::live::Activity;
use crate::model::task::{Status, TaskNode};
use crate::tools::names;

/// Returns the view of a task whose run is in another process. Derives its activity from its session.
pub fn view(node: TaskNode, state: &SessionState) -> TaskView {
    let turns = &state.turns;
    let only_yields =
        turns.open.iter().all(|call| names::split(&names::canonical(&call.name)) == Some((names::OWN, names::YIELD)));
    let is_stopped = turns.exit() == Some(&Exit::Interrupted(InterruptReason::Stopped));
    // A run that the end of the program cut short continues when an engine opens the project.
    let was_quit = turns.exit() == Some(&Exit::Interrupted(InterruptReason::Quit));
    let activity = if node.status == Status::InProgress && is_stopped {
        Activity::Stopped
    } else if node.status == Status::InProgress && was_quit {
        Activity::Thinking
    } else if node.status != Status::InProgress || turns.last_exit.is_some() {
        Activity::Idle
    } else if !state.asks.is_empty() {
        Activity::Waiting
    } else if !only_yields {
        Activity::Tool
    } else if turns.open.is_empty() && turns.last_role == Some(Role::User) {
        Activity::Thinking
    } else {
        Activity::Idle
    };
    let alive = node.status == Status::InProgress && turns.last_exit.is_none();
    TaskView { activity, alive, since: state.activity.at, ..TaskView::from_session(node, state) }
}

/// Returns the progress that can be expected of a task.
pub fn progress(view: &TaskView) -> TaskProgress {
    let will_read = view.unread.iter().any(|message| message.from.wakes());
    if !view.asks.is_empty() {
        TaskProgress::WaitsForUser
    } else if view.activity == Activity::Stopped {
        TaskProgress::Stopped
    } else if view.is_working() || will_read {
        TaskProgress::Running
    } else {
        TaskProgress::Idle
    }
}

/// Returns the state of a task. Without an engine nothing is at work: it continues later.
pub fn state(view: &TaskView, has_engine: bool) -> TaskState {
    let continues = !has_engine && view.asks.is_empty() && progress(view) == TaskProgress::Running;
    if continues && view.node.status == Status::InProgress { TaskState::Paused } else { view.state() }
}

#[cfg(test)]
#[path = "session_view_tests.rs"]
mod tests;
