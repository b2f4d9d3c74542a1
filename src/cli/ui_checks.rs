//! Checks of the settings that only the UI can judge: names of actions, keys and themes.

use crate::app;
use crate::config::paths::Home;
use crate::config::{KeyPath, Merged};

/// Returns the problems, each with its file and line.
pub(super) fn problems(home: &Home, merged: &Merged) -> Vec<String> {
    let place = |key: &KeyPath| merged.origin(key).and_then(|origin| origin.place().map(|place| format!("{place}: ")));
    let with_place = |(key, problem): (KeyPath, String)| format!("{}{problem}", place(&key).unwrap_or_default());
    found(home, merged).into_iter().map(with_place).collect()
}

/// Returns the problems without their places.
pub(super) fn sentences(home: &Home, merged: &Merged) -> Vec<String> {
    found(home, merged).into_iter().map(|(_, problem)| problem).collect()
}

fn found(home: &Home, merged: &Merged) -> Vec<(KeyPath, String)> {
    let settings = &merged.settings;
    let keys = settings.keys.iter().map(|(name, keys)| (name.clone(), keys.0.clone())).collect();
    let of_keys =
        app::key_problems(&keys).into_iter().map(|(name, problem)| (KeyPath::top("keys").child(&name), problem));
    let of_theme = app::missing_theme(&home.root().join("themes"), &settings.theme);
    of_keys.chain(of_theme.map(|problem| (KeyPath::top("theme"), problem))).collect()
}
