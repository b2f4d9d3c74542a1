//! Checks of the settings that only the UI can judge: names of actions, keys and themes.

use crate::app;
use crate::config::paths::Home;
use crate::config::{KeyPath, Merged};

/// Returns the problems, each with its file and line.
pub(super) fn problems(home: &Home, merged: &Merged) -> Vec<String> {
    let settings = &merged.settings;
    let place = |key: &KeyPath| merged.origin(key).and_then(|origin| origin.place().map(|place| format!("{place}: ")));
    let keys = settings.keys.iter().map(|(name, keys)| (name.clone(), keys.0.clone())).collect();
    let of_keys = app::key_problems(&keys).into_iter().map(|(name, problem)| {
        let place = place(&KeyPath::top("keys").child(&name)).unwrap_or_default();
        format!("{place}{problem}")
    });
    let of_theme = app::missing_theme(&home.root().join("themes"), &settings.theme)
        .map(|problem| format!("{}{problem}", place(&KeyPath::top("theme")).unwrap_or_default()));
    of_keys.chain(of_theme).collect()
}
