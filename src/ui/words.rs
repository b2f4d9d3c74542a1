//! How the screen says numbers, times and states. One place, so that the same thing is never said in two ways.

use std::time::Duration;

use jiff::tz::TimeZone;

use crate::base::Timestamp;
use crate::engine::snapshot::{TaskView, Wait};
use crate::model::ask::{BudgetCause, ServerApproval, Subject};
use crate::model::live::Activity;
use crate::model::message::Delivery;
use crate::model::task::{Colour, Status};
use crate::text::humane;
use crate::theme::{Glyphs, Role};

/// Returns a count of tokens: `812`, `41k`, `1.2M`.
pub fn tokens(count: u64) -> String {
    humane::count(count)
}

/// Returns how long something took.
pub fn duration(millis: u64) -> String {
    humane::took(Duration::from_millis(millis))
}

/// Returns the time from `since` to `now`. It is said once a second.
pub fn elapsed(since: Timestamp, now: Timestamp) -> String {
    humane::elapsed(Duration::from_millis(u64::try_from(now.as_millis() - since.as_millis()).unwrap_or(0)))
}

/// Returns how long until `until`, rounded up, so that it never says zero too early.
pub fn remaining(until: Timestamp, now: Timestamp) -> String {
    let millis = u64::try_from(until.as_millis() - now.as_millis()).unwrap_or(0);
    let seconds = millis.div_ceil(1_000);
    humane::elapsed(Duration::from_secs(seconds))
}

/// Returns the time of day as a person reads it.
pub fn time_of_day(at: Timestamp, zone: &TimeZone) -> String {
    humane::time_of_day(at, offset(at, zone))
}

/// Returns the day as a person reads it.
pub fn day(at: Timestamp, zone: &TimeZone) -> String {
    humane::date(at, offset(at, zone))
}

/// Tells whether two moments are on the same day.
pub fn same_day(one: Timestamp, other: Timestamp, zone: &TimeZone) -> bool {
    humane::day(one, offset(one, zone)) == humane::day(other, offset(other, zone))
}

/// Returns how far ahead of UTC clocks were at that moment: it is not the same in summer and in winter.
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

/// Returns what a task is doing, or why it does nothing, in a word or two.
pub fn doing(task: &TaskView) -> String {
    if !task.asks.is_empty() {
        return "ask".to_owned();
    }
    match &task.waits {
        Some(Wait::Slot { ahead: 0 }) => return "next in line".to_owned(),
        Some(Wait::Slot { ahead }) => return format!("{ahead} ahead"),
        Some(Wait::Setup { .. }) => return "setting up".to_owned(),
        Some(Wait::Task { .. } | Wait::Process { .. }) => return "waits".to_owned(),
        Some(Wait::Stalled { .. }) => return "stuck".to_owned(),
        Some(Wait::Silence { .. }) => return "no answer".to_owned(),
        None if task.queued_merge.is_some() && !task.is_working() => return "merge waits".to_owned(),
        None => {}
    }
    match (task.node.status, task.activity) {
        (_, Activity::Thinking | Activity::Streaming | Activity::Tool | Activity::Retrying | Activity::Compacting)
        | (Status::InProgress, _) => activity(task.activity).to_owned(),
        (Status::Draft, _) => "draft".to_owned(),
        (Status::Pending | Status::Passed | Status::Failed | Status::Closed, _) => String::new(),
    }
}

/// Tells whether an agent has worked on a task: what is said to it then lets it go on, and does not start it.
pub fn has_begun(task: &TaskView) -> bool {
    match task.node.status {
        Status::Draft | Status::Pending => task.turns > 0,
        Status::InProgress | Status::Passed | Status::Failed | Status::Closed => true,
    }
}

/// Returns the sign of a task's state and how it is coloured.
pub fn state(task: &TaskView, is_root: bool, glyphs: &Glyphs) -> (&'static str, Role) {
    if !task.asks.is_empty() {
        return (glyphs.ask, Role::Ask);
    }
    let stuck = matches!(task.waits, Some(Wait::Stalled { .. } | Wait::Silence { .. }));
    if stuck || task.retry.is_some() || task.activity == Activity::Retrying {
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

/// Every colour a task can have, in the order in which they are offered.
pub const COLOURS: [Colour; 7] =
    [Colour::Red, Colour::Orange, Colour::Yellow, Colour::Green, Colour::Blue, Colour::Purple, Colour::Gray];

pub fn mode(mode: Delivery) -> &'static str {
    match mode {
        Delivery::Steer => "steer",
        Delivery::Next => "next",
        Delivery::Interrupt => "interrupt",
    }
}

/// Returns when a message that is sent so is read.
pub fn mode_means(mode: Delivery) -> &'static str {
    match mode {
        Delivery::Steer => "at its next step",
        Delivery::Next => "after this turn",
        Delivery::Interrupt => "at once",
    }
}

/// Returns what an Ask is about, in a word or two.
pub fn ask_subject(subject: &Subject) -> &'static str {
    match subject {
        Subject::Clarify => "question",
        Subject::Permission => "permission",
        Subject::LaunchFailed(_) => "could not start",
        Subject::RetriesExhausted => "model unreachable",
        Subject::Budget { cause: BudgetCause::Spent } => "budget spent",
        Subject::Budget { cause: BudgetCause::Unpriced } => "no price",
        Subject::Loop => "repeats itself",
        Subject::TurnLimit => "turn limit",
        Subject::ModelStopped => "model stopped",
        Subject::CompactionFailed => "no summary",
        Subject::SetupHook => "setup failed",
        Subject::McpApproval { of: ServerApproval::Start } => "new program",
        Subject::McpApproval { of: ServerApproval::Tools } => "tools changed",
        Subject::Review => "to review",
        Subject::TaskLimit => "task limit",
        Subject::Approval { .. } => "needs approval",
        Subject::CheckFailed => "check fails",
    }
}

#[cfg(test)]
#[path = "words_tests.rs"]
mod tests;
