//! Prefix consistency: a conversation only grows.
//!
//! System and tools are the bytes they were; each message that was sent is sent again byte for byte, and only the last
//! one may have gained blocks at its end (a message that joins a turn not yet answered). Cache marks may move and are
//! not looked at. An equal request is a retry and legal.

use std::sync::Arc;

use super::{Findings, Rule};
use crate::support::mock::raw;
use crate::support::mock::seen::Seen;

/// What one request sent, for the next to be compared with. Messages are shared with earlier snapshots.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub system: Arc<str>,
    pub tools: Arc<str>,
    pub messages: Vec<Arc<str>>,
}

/// How a request relates to an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    Same,
    Extended,
    Broken,
}

impl Snapshot {
    /// Returns what `seen` sent, sharing what it has in common with `before`.
    pub fn of(seen: &Seen, before: Option<&Self>) -> Self {
        let earlier = before.map_or(&[][..], |before| &before.messages);
        let share = |index: usize, raw: &Arc<str>| match earlier.get(index) {
            Some(old) if old == raw => Arc::clone(old),
            Some(_) | None => Arc::clone(raw),
        };
        Self {
            system: Arc::clone(&seen.system),
            tools: Arc::clone(&seen.tools_raw),
            messages: seen.entries.iter().enumerate().map(|(index, entry)| share(index, &entry.raw)).collect(),
        }
    }

    /// Tells how this request relates to the earlier one.
    pub fn relation_to(&self, before: &Self) -> Relation {
        let mut findings = Findings::default();
        self.check_against(before, &mut findings);
        if !findings.0.is_empty() {
            Relation::Broken
        } else if self.messages == before.messages {
            Relation::Same
        } else {
            Relation::Extended
        }
    }

    /// Says where this request departs from the earlier one.
    pub fn check_against(&self, before: &Self, found: &mut Findings) {
        if self.system != before.system {
            found.add(Rule::PrefixSystem, departs("system", &before.system, &self.system));
        }
        if self.tools != before.tools {
            found.add(Rule::PrefixTools, departs("tools", &before.tools, &self.tools));
        }
        if self.messages.len() < before.messages.len() {
            found.add(
                Rule::PrefixShrunk,
                format!(
                    "messages: the request before had {} messages, this one has {}",
                    before.messages.len(),
                    self.messages.len()
                ),
            );
        }
        let last = before.messages.len().saturating_sub(1);
        for (index, (old, new)) in before.messages.iter().zip(&self.messages).enumerate() {
            let grown = index == last && raw::extends_content(old, new);
            if old != new && !grown {
                found.add(Rule::PrefixMessages, departs(&format!("messages.{index}"), old, new));
                break;
            }
        }
    }
}

fn departs(what: &str, old: &str, new: &str) -> String {
    let at = old.bytes().zip(new.bytes()).take_while(|(a, b)| a == b).count();
    let around = |text: &str| {
        let bytes = &text.as_bytes()[at.saturating_sub(40).min(text.len())..(at + 60).min(text.len())];
        String::from_utf8_lossy(bytes).into_owned()
    };
    format!("{what}: departs from the request before at byte {at}: {:?} became {:?}", around(old), around(new))
}
