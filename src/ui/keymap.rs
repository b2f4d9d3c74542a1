//! Maps keys to actions: the defaults of the table, the user's overrides, and chords.
//!
//! Invariants: in one context a chord means one action, and no chord is a prefix of another active one. Overrides that
//! would break this are skipped and reported, never partly applied.

use std::collections::BTreeMap;
use std::ops::Bound;

use crate::base::keys::{Chord, Key};
use crate::ui::action::{Action, Context, TABLE};

/// A problem with the `keys` setting.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("keys.{name}: no such action{}", suggestion(*.nearest))]
    UnknownAction { name: String, nearest: Option<&'static str> },
    #[error("keys.{name}: {reason}")]
    BadKey { name: String, reason: String },
    #[error("keys.{name}: `{chord}` is already bound to {other} in that context; ignored")]
    Taken { name: String, chord: String, other: Action },
    #[error("keys.{name}: `{chord}` was the only key of {other}, which is now unbound")]
    Lost { name: String, chord: String, other: Action },
    #[error("keys.{name}: `{chord}` would hide `{longer}`, which is bound to {other}; ignored")]
    Prefix { name: String, chord: String, longer: String, other: Action },
}

impl Problem {
    /// Returns the action name in the settings that the problem is about.
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

fn suggestion(nearest: Option<&'static str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

/// The result of resolving keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyMatch {
    Action(Action),
    /// More keys must follow.
    Pending,
    Nothing,
}

/// Key bindings by context.
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
    /// Builds the keymap from the table and the overrides. An override replaces all keys of its action.
    pub fn new(overrides: &BTreeMap<String, Vec<String>>) -> (Self, Vec<Problem>) {
        let mut problems = Vec::new();
        let mut user_keys: BTreeMap<Action, Vec<Chord>> = BTreeMap::new();
        for (name, keys) in overrides {
            let Some(action) = Action::from_name(name) else {
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
            user_keys.insert(action, chords);
        }
        let mut map = Self { bindings: BTreeMap::new() };
        // User keys are bound first, so that a conflicting default yields.
        for (action, chords) in &user_keys {
            for chord in chords {
                for context in action.spec().contexts {
                    if let Err(problem) = map.bind(*context, chord, *action) {
                        problems.push(problem);
                    }
                }
            }
        }
        for entry in TABLE.iter().filter(|entry| !user_keys.contains_key(&entry.action)) {
            for key in entry.keys {
                let Ok(chord) = key.parse::<Chord>() else { continue };
                for context in entry.contexts {
                    // Ignored on purpose: the user's override wins over the default.
                    let _ = map.bind(*context, &chord, entry.action);
                }
            }
        }
        if !user_keys.is_empty() {
            problems.extend(map.unreachable_actions(&user_keys));
        }
        (map, problems)
    }

    /// Returns the actions that lost all their keys to overrides.
    fn unreachable_actions(&self, user_keys: &BTreeMap<Action, Vec<Chord>>) -> Vec<Problem> {
        let untouched = TABLE.iter().filter(|entry| !user_keys.contains_key(&entry.action) && !entry.keys.is_empty());
        let unreachable = untouched
            .filter(|entry| entry.contexts.iter().all(|context| self.chords(*context, entry.action).is_empty()));
        let problems = unreachable.filter_map(|entry| {
            let taken = |chord: &Chord| entry.keys.iter().any(|key| *key == chord.to_string());
            let (action, chord) = user_keys
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
        if let Some((longer, other)) = shorter.or_else(|| find_longer(map, keys)) {
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

    /// Resolves `keys`, pressed one after another, in `contexts`, the most specific first.
    pub fn resolve(&self, contexts: &[Context], keys: &[Key]) -> KeyMatch {
        for map in contexts.iter().filter_map(|context| self.bindings.get(context)) {
            if let Some(action) = map.get(keys) {
                return KeyMatch::Action(*action);
            }
            if find_longer(map, keys).is_some() {
                return KeyMatch::Pending;
            }
        }
        KeyMatch::Nothing
    }

    /// Returns the possible next keys after `keys` with their actions.
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

    /// Returns every chord of `action` in `context`, in table order, then shortest first.
    pub fn chords(&self, context: Context, action: Action) -> Vec<&Chord> {
        let Some(map) = self.bindings.get(&context) else { return Vec::new() };
        let mut chords: Vec<_> = map.iter().filter(|(_, bound)| **bound == action).map(|(chord, _)| chord).collect();
        let written_order = |chord: &Chord| {
            let shown = chord.to_string();
            action.spec().keys.iter().position(|key| *key == shown).unwrap_or(usize::MAX)
        };
        chords.sort_by_key(|chord| (written_order(chord), chord.keys().len()));
        chords
    }

    /// Returns the chord of `action` that works in `contexts` and is not shadowed by a more specific one.
    pub fn shown(&self, contexts: &[Context], action: Action) -> Option<&Chord> {
        let typing = contexts.iter().any(|context| context.is_text_input());
        contexts.iter().find_map(|context| {
            self.chords(*context, action).into_iter().find(|chord| {
                let typed = chord.keys().first().is_some_and(|key| key.typed().is_some());
                !(typing && typed) && self.resolve(contexts, chord.keys()) == KeyMatch::Action(action)
            })
        })
    }
}

/// Returns the first chord that `keys` is a proper prefix of. It directly follows `keys` in the map's order.
fn find_longer<'a>(map: &'a BTreeMap<Chord, Action>, keys: &[Key]) -> Option<(&'a Chord, &'a Action)> {
    let mut behind = map.range::<[Key], _>((Bound::Excluded(keys), Bound::Unbounded));
    behind.next().filter(|(chord, _)| chord.keys().starts_with(keys))
}

#[cfg(test)]
#[path = "keymap_tests.rs"]
mod tests;
