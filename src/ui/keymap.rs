//! From keys to actions: the defaults of the table, what the person changed, and keys pressed one after another.
//!
//! Invariants: in one context a chord means one action, and no chord is the beginning of another one that is active
//! with it. What the settings say against that is left out and reported, never half applied.

use std::collections::BTreeMap;
use std::ops::Bound;

use crate::base::keys::{Chord, Key};
use crate::ui::action::{Action, Context, TABLE};

/// What is wrong with the keys in the settings, in words for a person.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("keys.{name}: there is no action of that name{}", maybe(*.nearest))]
    UnknownAction { name: String, nearest: Option<&'static str> },
    #[error("keys.{name}: {reason}")]
    BadKey { name: String, reason: String },
    #[error("keys.{name}: `{chord}` already means {other} there; the keys of {name} stay as they were for it")]
    Taken { name: String, chord: String, other: Action },
    #[error("keys.{name}: `{chord}` was the only key of {other}, which has none now")]
    Lost { name: String, chord: String, other: Action },
    #[error("keys.{name}: `{chord}` would hide `{longer}`, which means {other}; it is left out")]
    Prefix { name: String, chord: String, longer: String, other: Action },
}

impl Problem {
    /// Returns the name in the settings that it is about.
    pub fn name(&self) -> &str {
        match self {
            Self::UnknownAction { name, .. }
            | Self::BadKey { name, .. }
            | Self::Taken { name, .. }
            | Self::Lost { name, .. }
            | Self::Prefix { name, .. } => name,
        }
    }
}

fn maybe(nearest: Option<&'static str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; the nearest is `{name}`"))
}

/// What a key comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolved {
    Action(Action),
    /// More keys must follow; these are possible.
    Pending,
    Nothing,
}

/// Which chord means what, by context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keymap {
    bindings: BTreeMap<Context, BTreeMap<Chord, Action>>,
}

impl Default for Keymap {
    fn default() -> Self {
        Self::new(&BTreeMap::new()).0
    }
}

impl Keymap {
    /// Returns the keys of the table, changed by the settings: for each name the keys that replace its own.
    pub fn new(overrides: &BTreeMap<String, Vec<String>>) -> (Self, Vec<Problem>) {
        let mut problems = Vec::new();
        let mut wanted: BTreeMap<Action, Vec<Chord>> = BTreeMap::new();
        for (name, keys) in overrides {
            let Some(action) = Action::named(name) else {
                problems.push(Problem::UnknownAction { name: name.clone(), nearest: Action::nearest(name) });
                continue;
            };
            let mut chords = Vec::new();
            for key in keys {
                match key.parse::<Chord>() {
                    Ok(chord) => chords.push(chord),
                    Err(error) => {
                        problems.push(Problem::BadKey { name: name.clone(), reason: error.to_string() });
                    }
                }
            }
            wanted.insert(action, chords);
        }
        let mut map = Self { bindings: BTreeMap::new() };
        // The person's keys go first: a default that is in their way yields, since the person asked for it.
        for (action, chords) in &wanted {
            for chord in chords {
                for context in action.entry().contexts {
                    if let Err(problem) = map.bind(*context, chord, *action) {
                        problems.push(problem);
                    }
                }
            }
        }
        for entry in TABLE.iter().filter(|entry| !wanted.contains_key(&entry.action)) {
            for key in entry.keys {
                let Ok(chord) = key.parse::<Chord>() else { continue };
                for context in entry.contexts {
                    // A default that lost a key to the person's choice is what the person wanted.
                    let _ = map.bind(*context, &chord, entry.action);
                }
            }
        }
        if !wanted.is_empty() {
            problems.extend(map.lost(&wanted));
        }
        (map, problems)
    }

    /// Returns which actions can no longer be reached by a key because the person's keys took them all.
    fn lost(&self, wanted: &BTreeMap<Action, Vec<Chord>>) -> Vec<Problem> {
        let untouched = TABLE.iter().filter(|entry| !wanted.contains_key(&entry.action) && !entry.keys.is_empty());
        let unreachable = untouched
            .filter(|entry| entry.contexts.iter().all(|context| self.chords(*context, entry.action).is_empty()));
        let problems = unreachable.filter_map(|entry| {
            let taken = |chord: &Chord| entry.keys.iter().any(|key| *key == chord.to_string());
            let (action, chord) = wanted
                .iter()
                .find_map(|(action, chords)| chords.iter().find(|chord| taken(chord)).map(|chord| (action, chord)))?;
            let name = action.name().to_owned();
            Some(Problem::Lost { name, chord: chord.to_string(), other: entry.action })
        });
        problems.collect()
    }

    fn bind(&mut self, context: Context, chord: &Chord, action: Action) -> Result<(), Problem> {
        let name = || action.name().to_owned();
        let map = self.bindings.entry(context).or_default();
        if let Some(other) = map.get(chord).filter(|other| **other != action) {
            return Err(Problem::Taken { name: name(), chord: chord.to_string(), other: *other });
        }
        let keys = chord.keys();
        let shorter = (1..keys.len()).find_map(|length| map.get_key_value(&keys[..length]));
        if let Some((longer, other)) = shorter.or_else(|| longer(map, keys)) {
            return Err(Problem::Prefix {
                name: name(),
                chord: chord.to_string(),
                longer: longer.to_string(),
                other: *other,
            });
        }
        map.insert(chord.clone(), action);
        Ok(())
    }

    /// Returns what `keys`, pressed one after another, mean where `contexts` are active, the nearest first.
    pub fn resolve(&self, contexts: &[Context], keys: &[Key]) -> Resolved {
        for map in contexts.iter().filter_map(|context| self.bindings.get(context)) {
            if let Some(action) = map.get(keys) {
                return Resolved::Action(*action);
            }
            if longer(map, keys).is_some() {
                return Resolved::Pending;
            }
        }
        Resolved::Nothing
    }

    /// Returns what can follow `keys`: the key and what it comes to, for the which-key hint.
    pub fn following(&self, contexts: &[Context], keys: &[Key]) -> Vec<(Key, Action)> {
        let mut found: Vec<(Key, Action)> = Vec::new();
        for map in contexts.iter().filter_map(|context| self.bindings.get(context)) {
            for (chord, action) in map {
                if let Some(next) = chord.keys().get(keys.len()).filter(|_| chord.keys().starts_with(keys))
                    && !found.iter().any(|(key, _)| key == next)
                {
                    found.push((*next, *action));
                }
            }
        }
        found
    }

    /// Returns every chord of `action` in `context`, shortest first.
    pub fn chords(&self, context: Context, action: Action) -> Vec<&Chord> {
        let Some(map) = self.bindings.get(&context) else { return Vec::new() };
        let mut chords: Vec<_> = map.iter().filter(|(_, bound)| **bound == action).map(|(chord, _)| chord).collect();
        let written_order = |chord: &Chord| {
            let shown = chord.to_string();
            action.entry().keys.iter().position(|key| *key == shown).unwrap_or(usize::MAX)
        };
        chords.sort_by_key(|chord| (written_order(chord), chord.keys().len()));
        chords
    }

    /// Returns the chord of `action` that works where `contexts` are active and is not hidden by a nearer one.
    pub fn shown(&self, contexts: &[Context], action: Action) -> Option<&Chord> {
        let typing = contexts.iter().any(|context| context.types());
        contexts.iter().find_map(|context| {
            self.chords(*context, action).into_iter().find(|chord| {
                let typed = chord.keys().first().is_some_and(|key| key.typed().is_some());
                !(typing && typed) && self.resolve(contexts, chord.keys()) == Resolved::Action(action)
            })
        })
    }
}

/// Returns the first chord that begins with `keys` and goes on: in the order of keys it comes right behind them.
fn longer<'a>(map: &'a BTreeMap<Chord, Action>, keys: &[Key]) -> Option<(&'a Chord, &'a Action)> {
    let mut behind = map.range::<[Key], _>((Bound::Excluded(keys), Bound::Unbounded));
    behind.next().filter(|(chord, _)| chord.keys().starts_with(keys))
}

#[cfg(test)]
#[path = "keymap_tests.rs"]
mod tests;
