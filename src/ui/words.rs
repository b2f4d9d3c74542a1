//! How the screen says numbers, times and states. One place, so that the same thing is never said in two ways.

use crate::base::Timestamp;
use crate::engine::command::SendMode;
use crate::engine::snapshot::{TaskView, Wait};
use crate::model::ask::AskKind;
use crate::model::live::Activity;
use crate::model::task::{Colour, Status};
use crate::theme::{Glyphs, Role};

/// Returns a count of tokens: `812`, `41k`, `1.2M`.
pub fn tokens(count: u64) -> String {
    let value = count as f64;
    match count {
        0..1_000 => count.to_string(),
        1_000..10_000 => format!("{:.1}k", value / 1e3),
        10_000..999_500 => format!("{:.0}k", value / 1e3),
        _ => format!("{:.1}M", value / 1e6),
    }
}

/// Returns a duration as briefly as it can be understood: `0.4 s`, `12 s`, `3 min`, `2 h 05`, `4 d`.
pub fn duration(millis: u64) -> String {
    let seconds = millis / 1_000;
    match seconds {
        0 if millis == 0 => "0 s".to_owned(),
        0..10 => format!("{:.1} s", millis as f64 / 1e3),
        10..120 => format!("{seconds} s"),
        120..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h {:02}", seconds / 3_600, seconds % 3_600 / 60),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// Returns the time from `since` to `now` in whole seconds and more: it is said once a second.
pub fn elapsed(since: Timestamp, now: Timestamp) -> String {
    let millis = u64::try_from(now.as_millis() - since.as_millis()).unwrap_or(0);
    if millis < 10_000 { format!("{} s", millis / 1_000) } else { duration(millis) }
}

/// Returns how long until `until`, rounded up, so that it never says zero too early.
pub fn remaining(until: Timestamp, now: Timestamp) -> String {
    let millis = u64::try_from(until.as_millis() - now.as_millis()).unwrap_or(0);
    let seconds = millis.div_ceil(1_000);
    if seconds < 120 { format!("{seconds} s") } else { duration(seconds * 1_000) }
}

/// Returns the time of day as a person reads it.
pub fn time_of_day(at: Timestamp, zone: &jiff::tz::TimeZone) -> String {
    zoned(at, zone).strftime("%H:%M").to_string()
}

/// Returns the day as a person reads it.
pub fn day(at: Timestamp, zone: &jiff::tz::TimeZone) -> String {
    zoned(at, zone).strftime("%A %-d %B %Y").to_string()
}

fn zoned(at: Timestamp, zone: &jiff::tz::TimeZone) -> jiff::Zoned {
    jiff::Timestamp::from_millisecond(at.as_millis()).unwrap_or(jiff::Timestamp::UNIX_EPOCH).to_zoned(zone.clone())
}

pub fn activity(activity: Activity) -> &'static str {
    match activity {
        Activity::Idle => "idle",
        Activity::Thinking => "thinking",
        Activity::Streaming => "writing",
        Activity::Tool => "tool",
        Activity::Waiting => "waiting",
        Activity::Retrying => "retrying",
        Activity::Compacting => "compacting",
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
        Some(Wait::Task { .. }) => return "waits".to_owned(),
        Some(Wait::Stalled { .. }) => return "stalled".to_owned(),
        Some(Wait::Silence { .. }) => return "silent".to_owned(),
        None => {}
    }
    match (task.node.status, task.activity) {
        (_, Activity::Thinking | Activity::Streaming | Activity::Tool | Activity::Retrying | Activity::Compacting)
        | (Status::InProgress, _) => activity(task.activity).to_owned(),
        (Status::Draft, _) => "draft".to_owned(),
        (Status::Pending | Status::Passed | Status::Failed | Status::Closed, _) => String::new(),
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

pub fn colour_role(colour: Colour) -> Role {
    match colour {
        Colour::Red => Role::TaskRed,
        Colour::Orange => Role::TaskOrange,
        Colour::Yellow => Role::TaskYellow,
        Colour::Green => Role::TaskGreen,
        Colour::Blue => Role::TaskBlue,
        Colour::Purple => Role::TaskPurple,
        Colour::Gray => Role::TaskGray,
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

pub fn mode(mode: SendMode) -> &'static str {
    match mode {
        SendMode::Steer => "steer",
        SendMode::Next => "next",
        SendMode::Interrupt => "interrupt",
    }
}

/// Returns what an Ask is about, in a word or two.
pub fn ask_kind(kind: AskKind) -> &'static str {
    match kind {
        AskKind::Clarify => "question",
        AskKind::Permission => "permission",
        AskKind::LaunchFailed => "could not start",
        AskKind::RetriesExhausted => "model unreachable",
        AskKind::Budget => "budget spent",
        AskKind::Loop => "repeats itself",
        AskKind::TurnLimit => "turn limit",
        AskKind::ModelStopped => "model stopped",
        AskKind::CompactionFailed => "no summary",
        AskKind::SetupHook => "setup failed",
        AskKind::McpApproval => "new program",
        AskKind::Review => "to review",
    }
}

#[cfg(test)]
#[path = "words_tests.rs"]
mod tests;
