//! The slash commands of the composer: the names that people type, and the actions behind them. The ids of actions in
//! the settings work too, but are only offered for actions without a name here.

use crate::ui::action::{Action, ActionSpec, TABLE};

/// Names and actions, in the order in which they are offered.
const COMMANDS: &[(&str, Action)] = &[
    ("help", Action::Help),
    ("new", Action::NewTask),
    ("model", Action::ChooseModel),
    ("diff", Action::ShowDiff),
    ("merge", Action::Merge),
    ("rewind", Action::Rewind),
    ("search", Action::SearchAll),
    ("cost", Action::ShowInfo),
    ("status", Action::ShowInfo),
    ("agents", Action::Dashboard),
    ("theme", Action::ChooseTheme),
    ("settings", Action::Settings),
    ("config", Action::Settings),
    ("login", Action::SetUp),
    ("stop", Action::Stop),
    ("resume", Action::Resume),
    ("clear", Action::ResetTask),
    ("compact", Action::Compact),
    ("tasks", Action::FocusTasks),
    ("asks", Action::NextAsk),
    ("fork", Action::Fork),
    ("log", Action::ShowLog),
    ("init", Action::WriteGuide),
    ("detach", Action::Detach),
    ("who", Action::Who),
    ("quit", Action::Quit),
    ("exit", Action::Quit),
];

/// Returns the action of a typed name: a command, or the id of an action.
pub fn find(name: &str) -> Option<Action> {
    let command = COMMANDS.iter().find(|(command, _)| *command == name).map(|(_, action)| *action);
    command.or_else(|| TABLE.iter().filter(|entry| entry.in_palette()).find(|e| e.name == name).map(|e| e.action))
}

/// Returns the name most similar to `name`, if one is similar enough.
pub fn nearest(name: &str) -> Option<&'static str> {
    let likeness = all().map(|(known, _)| (strsim::jaro_winkler(known, name), known));
    likeness.filter(|(like, _)| *like > 0.75).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| name)
}

/// Returns the commands that match a query: by the start of the name, by a part of it, then by the help text, for
/// users who do not know the name.
pub fn matching(query: &str) -> Vec<(&'static str, &'static ActionSpec)> {
    let query = query.to_lowercase();
    let starts = |words: &str| words.split(' ').any(|word| word.to_lowercase().starts_with(&query));
    let fit = |name: &str, entry: &ActionSpec| match name.find(&query) {
        Some(0) => Some(0),
        Some(_) => Some(1),
        None => starts(entry.help).then_some(2),
    };
    let mut found: Vec<_> = all().filter_map(|(name, entry)| Some((fit(name, entry)?, name, entry))).collect();
    found.sort_by_key(|(fit, ..)| *fit);
    found.into_iter().map(|(_, name, entry)| (name, entry)).collect()
}

fn all() -> impl Iterator<Item = (&'static str, &'static ActionSpec)> {
    let is_named = |action: Action| COMMANDS.iter().any(|(_, named)| *named == action);
    let rest = TABLE.iter().filter(move |entry| entry.in_palette() && !is_named(entry.action));
    let named = COMMANDS.iter().map(|(name, action)| (*name, action.spec()));
    named.chain(rest.map(|entry| (entry.name, entry)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_that_people_type_are_commands_and_ids_still_work() {
        let names = "model theme settings config login clear cost exit quit help diff merge rewind fork search status init \
                     tasks asks";
        for name in names.split_whitespace() {
            assert!(COMMANDS.iter().any(|(command, _)| *command == name), "/{name}");
        }
        assert_eq!(find("search"), Some(Action::SearchAll));
        assert_eq!(find("show_diff"), Some(Action::ShowDiff));
        assert_eq!(find("nonsense"), None);
    }

    #[test]
    fn names_match_before_descriptions() {
        let names: Vec<_> = matching("the").into_iter().map(|(name, _)| name).collect();
        assert_eq!(names.first(), Some(&"theme"));
        assert!(names.len() > 1, "descriptions match too");
        assert!(matching("show_d").iter().all(|(name, _)| *name != "show_diff"), "an id with a command is hidden");
    }
}
