//! Labels for numbers, times and states, so that the whole screen words them the same way.

use std::time::Duration;

use jiff::tz::TimeZone;

use crate::base::Timestamp;
use crate::engine::snapshot::{TaskState, TaskView};
use crate::model::ask::{BudgetCause, ServerApproval, Subject};
use crate::model::live::Activity;
use crate::model::message::Delivery;
use crate::model::task::{Colour, Status};
use crate::permit::Mode;
use crate::text::format;
use crate::theme::{Glyphs, Role};

/// Formats a token count: `812`, `41k`, `1.2M`.
pub fn tokens(count: u64) -> String {
    format::count(count)
}

/// Formats how long something took.
pub fn duration(millis: u64) -> String {
    format::duration(Duration::from_millis(millis))
}

/// Formats the time from `since` to `now`, in whole seconds.
pub fn elapsed(since: Timestamp, now: Timestamp) -> String {
    format::elapsed(Duration::from_millis(u64::try_from(now.as_millis() - since.as_millis()).unwrap_or(0)))
}

/// Formats the time until `until`, rounded up, so that it never shows zero too early.
pub fn remaining(until: Timestamp, now: Timestamp) -> String {
    let millis = u64::try_from(until.as_millis() - now.as_millis()).unwrap_or(0);
    let seconds = millis.div_ceil(1_000);
    format::elapsed(Duration::from_secs(seconds))
}

pub fn time_of_day(at: Timestamp, zone: &TimeZone) -> String {
    format::time_of_day(at, offset(at, zone))
}

pub fn day(at: Timestamp, zone: &TimeZone) -> String {
    format::date(at, offset(at, zone))
}

pub fn same_day(one: Timestamp, other: Timestamp, zone: &TimeZone) -> bool {
    format::day(one, offset(one, zone)) == format::day(other, offset(other, zone))
}

/// Returns the UTC offset in seconds at that time, which depends on daylight saving.
fn offset(at: Timestamp, zone: &TimeZone) -> i32 {
    let moment = jiff::Timestamp::from_millisecond(at.as_millis()).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    zone.to_offset(moment).seconds()
}

pub fn activity(activity: Activity) -> &'static str {
    match activity {
        Activity::Idle => "idle",
        Activity::Thinking => "thinking",
        Activity::Streaming => "writing",
        Activity::Tool => "tool",
        Activity::Waiting => "waiting",
        Activity::Retrying => "retrying",
        Activity::Compacting => "summarising",
        Activity::Stopped => "stopped",
    }
}

/// Returns the state of a task in a word or two. Empty if its glyph says it.
pub fn doing(task: &TaskView) -> String {
    match task.state() {
        TaskState::Queued { ahead } if ahead > 0 => format!("queued ({ahead})"),
        TaskState::Pending | TaskState::Passed | TaskState::Merged | TaskState::Failed | TaskState::Closed => {
            String::new()
        }
        state => state.word().to_owned(),
    }
}

/// Returns true if an agent has worked on the task: a message then resumes it instead of starting it.
pub fn has_begun(task: &TaskView) -> bool {
    match task.node.status {
        Status::Draft | Status::Pending => task.turns > 0,
        Status::InProgress | Status::Passed | Status::Failed | Status::Closed => true,
    }
}

/// Returns the glyph and the colour role of a task's state.
pub fn state(task: &TaskView, is_root: bool, glyphs: &Glyphs) -> (&'static str, Role) {
    if !task.asks.is_empty() {
        return (glyphs.ask, Role::Ask);
    }
    let needs_look = matches!(task.state(), TaskState::Stuck | TaskState::NoResponse);
    if needs_look || task.retry.is_some() || task.activity == Activity::Retrying {
        return (glyphs.working, Role::Warn);
    }
    if task.is_working() {
        return (glyphs.working, Role::Working);
    }
    match task.node.status {
        Status::Draft => (glyphs.draft, Role::Muted),
        Status::Pending if is_root => (glyphs.root, Role::Accent),
        Status::Pending => (glyphs.pending, Role::Muted),
        Status::InProgress if is_root => (glyphs.root, Role::Accent),
        Status::InProgress => (glyphs.sleeping, Role::Waiting),
        Status::Passed => (glyphs.passed, Role::Ok),
        Status::Failed => (glyphs.failed, Role::Error),
        Status::Closed => (glyphs.closed, Role::Faint),
    }
}

pub fn colour(colour: Colour) -> &'static str {
    match colour {
        Colour::Red => "red",
        Colour::Orange => "orange",
        Colour::Yellow => "yellow",
        Colour::Green => "green",
        Colour::Blue => "blue",
        Colour::Purple => "purple",
        Colour::Gray => "gray",
    }
}

/// Task colours in menu order.
pub const COLOURS: [Colour; 7] =
    [Colour::Red, Colour::Orange, Colour::Yellow, Colour::Green, Colour::Blue, Colour::Purple, Colour::Gray];

pub fn delivery(mode: Delivery) -> &'static str {
    match mode {
        Delivery::Steer => "steer",
        Delivery::Next => "next",
        Delivery::Interrupt => "interrupt",
    }
}

/// Returns what an agent may do without asking in a mode.
pub fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Ask => "asks before it changes anything",
        Mode::Edits => "edits its worktree; asks about other commands",
        Mode::Sandboxed => "edits its worktree and runs commands in the sandbox",
        Mode::Plan => "only reads, until you approve its plan",
        Mode::Refuse => "is refused what would ask",
        Mode::Bypass => "runs everything that no rule denies",
        Mode::Delegate => "reads, and works through subtasks",
        Mode::Open => "runs everything that no rule mentions",
    }
}

/// Returns the mark of a mode that the user should not overlook.
pub fn mode_mark(mode: Mode, glyphs: &Glyphs) -> Option<(&'static str, Role)> {
    match mode {
        Mode::Plan => Some((glyphs.plan, Role::Accent)),
        Mode::Bypass => Some((glyphs.bypass, Role::Error)),
        Mode::Ask | Mode::Edits | Mode::Sandboxed | Mode::Refuse | Mode::Delegate | Mode::Open => None,
    }
}

/// Returns when the agent reads a message sent in this mode.
pub fn delivery_time(mode: Delivery) -> &'static str {
    match mode {
        Delivery::Steer => "at its next step",
        Delivery::Next => "after its turn",
        Delivery::Interrupt => "now",
    }
}

/// Returns the subject of an Ask in a word or two.
pub fn ask_subject(subject: &Subject) -> &'static str {
    match subject {
        Subject::Clarify => "question",
        Subject::Permission(_) => "permission",
        Subject::Plan(_) => "plan",
        Subject::LaunchFailed(_) => "start failed",
        Subject::RetriesExhausted { .. } => "provider error",
        Subject::Budget { cause: BudgetCause::Spent, .. } => "budget spent",
        Subject::Budget { cause: BudgetCause::Unpriced, .. } => "unknown price",
        Subject::Loop { .. } => "loop",
        Subject::TurnLimit => "turn limit",
        Subject::ModelStopped => "model stopped",
        Subject::CompactionFailed => "summary failed",
        Subject::SetupHook => "setup failed",
        Subject::McpApproval { of: ServerApproval::Start } => "new MCP server",
        Subject::McpApproval { of: ServerApproval::Tools } => "MCP tools changed",
        Subject::Review => "review",
        Subject::TaskLimit => "task limit",
        Subject::Approval { .. } => "needs approval",
        Subject::Bind { problem: None } => "needs a profile",
        Subject::Bind { problem: Some(_) } => "profile unusable",
        Subject::CheckFailed => "verify failed",
    }
}

#[cfg(test)]
#[path = "labels_tests.rs"]
mod tests;
