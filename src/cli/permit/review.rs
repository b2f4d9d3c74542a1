//! `mxd permit review`: how often each rule decided, and which rules can go.

use std::collections::HashMap;
use std::fmt::Write as _;

use serde::Serialize;

use crate::base::{Clock as _, SystemClock, Timestamp};
use crate::cli::console::{Console, Failure};
use crate::cli::locate::ProjectLocator;
use crate::cli::open_read_only::Viewer;
use crate::config::Merged;
use crate::model::Body;
use crate::model::event::PermissionCause;
use crate::permit::{Rule, Rules};

/// A rule that decided nothing for so long can go.
const UNUSED_DAYS: i64 = 30;
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// How often a rule decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Use {
    hits: u64,
    last: Option<Timestamp>,
}

#[derive(Debug, PartialEq, Serialize)]
struct Row {
    list: &'static str,
    rule: String,
    origin: &'static str,
    /// How many calls it decided about, in the sessions of this project.
    hits: u64,
    last: Option<Timestamp>,
    unused: bool,
    /// A wider rule that makes it superfluous.
    covered_by: Option<String>,
}

pub(super) fn run(console: &mut Console, here: &ProjectLocator, merged: &Merged, json: bool) -> Result<(), Failure> {
    let viewer = Viewer::open(console, here)?;
    let tasks = viewer.list(console, async |handle| handle.tasks().await)?;
    let mut uses: HashMap<(String, String, String), Use> = HashMap::new();
    for task in tasks {
        viewer.each_event(task.node.id, |event| {
            if let Body::ToolResult(result) = &event.body
                && let Some(note) = &result.permission
                && let PermissionCause::Rule { list, source, rule, .. } = &note.by
            {
                let known = uses.entry((list.clone(), source.clone(), rule.clone())).or_default();
                known.hits += 1;
                known.last = known.last.max(Some(event.ts));
            }
            Ok(())
        })?;
    }
    let rows = rows(&merged.rules, SystemClock.now(), |rule| {
        let key = (rule.list.to_string(), rule.source.to_string(), rule.text.clone());
        uses.get(&key).copied().unwrap_or_default()
    });
    if json {
        return rows.iter().try_for_each(|row| console.json(row));
    }
    if rows.is_empty() {
        return console.line("no rules");
    }
    let width = rows.iter().map(|row| row.rule.chars().count()).max().unwrap_or(0);
    rows.iter().try_for_each(|row| console.line(&line(row, width)))
}

/// Returns the rules with their use; those that can go come first.
fn rows(rules: &Rules, now: Timestamp, used: impl Fn(&Rule) -> Use) -> Vec<Row> {
    let row = |rule: &Rule| {
        let Use { hits, last } = used(rule);
        let is_old = last.is_none_or(|last| now.as_millis() - last.as_millis() > UNUSED_DAYS * DAY_MS);
        Row {
            list: rule.list.word(),
            rule: rule.text.clone(),
            origin: rule.source.word(),
            hits,
            last,
            unused: is_old,
            covered_by: rules.0.iter().find(|other| other.covers(rule)).map(|other| other.text.clone()),
        }
    };
    let mut rows: Vec<Row> = rules.0.iter().map(row).collect();
    rows.sort_by_key(|row| (!row.unused && row.covered_by.is_none(), std::cmp::Reverse(row.hits)));
    rows
}

fn line(row: &Row, width: usize) -> String {
    let Row { list, rule, origin, hits, last, unused, covered_by } = row;
    let last = last.map(|last| last.to_seconds_string().chars().take(10).collect::<String>());
    let used = match last {
        Some(day) => format!("{hits:>5} times, last {day}"),
        None => "never used".to_owned(),
    };
    let mut line = format!("{list:<5} {rule:<width$}  {origin:<7} {used}");
    if let Some(wider) = covered_by {
        let _ = write!(line, "  (covered by {wider})");
    } else if *unused && *hits > 0 {
        line.push_str("  (unused for 30 days)");
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::permit::{List, Source};

    #[test]
    fn rules_that_can_go_come_first_with_the_reason() {
        let rule = |text: &str| Rule::parse(text, List::Allow, Source::Local).unwrap();
        let rules =
            Rules(vec![rule("bash(cargo *)"), rule("bash(cargo test *)"), rule("bash(make)"), rule("bash(old)")]);
        let now = Timestamp::from_millis(100 * DAY_MS);
        let used = |rule: &Rule| match rule.text.as_str() {
            "bash(cargo *)" => Use { hits: 9, last: Some(Timestamp::from_millis(99 * DAY_MS)) },
            "bash(cargo test *)" => Use { hits: 2, last: Some(Timestamp::from_millis(99 * DAY_MS)) },
            "bash(old)" => Use { hits: 1, last: Some(Timestamp::from_millis(DAY_MS)) },
            _ => Use::default(),
        };
        let rows = rows(&rules, now, used);
        let lines: Vec<String> = rows.iter().map(|row| line(row, 18)).collect();
        assert_eq!(
            lines,
            [
                "allow bash(cargo test *)  local       2 times, last 1970-04-10  (covered by bash(cargo *))",
                "allow bash(old)           local       1 times, last 1970-01-02  (unused for 30 days)",
                "allow bash(make)          local   never used",
                "allow bash(cargo *)       local       9 times, last 1970-04-10",
            ]
        );
    }
}
