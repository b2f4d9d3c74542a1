//! What happened in all worlds together. A world in which something never happens proves nothing about it.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::AddAssign;

/// How often each thing happened.
#[derive(Clone, Debug, Default)]
pub struct Tally(BTreeMap<&'static str, u64>);

/// Everything that has to happen in some world.
const EXPECTED: &[&str] = &[
    "steps",
    "crashes",
    "quits",
    "launches",
    "launches refused",
    "setup hooks failed",
    "launches cancelled",
    "appends refused",
    "tree saves refused",
    "runs lost",
    "runs rested",
    "runs stopped",
    "passed",
    "failed",
    "messages",
    "withdrawn",
    "asks",
    "answers",
    "calls held",
    "defaults",
    "requests",
    "requests refused",
    "commands",
    "commands refused",
    "closed",
    "deleted",
    "reset",
    "moved",
    "forked",
    "revived",
    "processes",
    "stalls",
    "completions redone",
];

impl Tally {
    pub fn count(&mut self, what: &'static str) {
        debug_assert!(EXPECTED.contains(&what), "{what} is not expected");
        *self.0.entry(what).or_default() += 1;
    }

    pub fn of(&self, what: &str) -> u64 {
        self.0.get(what).copied().unwrap_or(0)
    }

    pub fn assert_everything_happened(&self) {
        let never: Vec<_> = EXPECTED.iter().filter(|what| self.of(what) == 0).collect();
        assert!(never.is_empty(), "never happened: {never:?}");
    }
}

impl AddAssign<&Self> for Tally {
    fn add_assign(&mut self, other: &Self) {
        for (what, count) in &other.0 {
            *self.0.entry(what).or_default() += count;
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts: Vec<_> = EXPECTED.iter().map(|what| format!("{} {what}", self.of(what))).collect();
        f.write_str(&counts.join(", "))
    }
}
