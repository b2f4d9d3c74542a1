use std::collections::BTreeSet;

use super::*;
use crate::base::keys::Chord;

#[test]
fn table_is_in_enum_order() {
    for (index, entry) in TABLE.iter().enumerate() {
        assert_eq!(entry.action as usize, index, "{}", entry.name);
        assert_eq!(Action::from_name(entry.name), Some(entry.action));
    }
}

#[test]
fn every_action_has_texts_and_a_context() {
    let mut names = BTreeSet::new();
    for entry in TABLE {
        assert!(names.insert(entry.name), "{} is there twice", entry.name);
        assert!(!entry.contexts.is_empty(), "{} works nowhere", entry.name);
        assert!(!entry.label.is_empty() && !entry.help.is_empty(), "{} says nothing", entry.name);
        assert!(!entry.help.ends_with('.') && entry.help.chars().next().unwrap().is_uppercase(), "{}", entry.help);
        assert!(entry.name.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{}", entry.name);
        assert!(!entry.keys.is_empty() || entry.in_palette(), "{} cannot be reached", entry.name);
    }
}

#[test]
fn default_keys_round_trip() {
    for entry in TABLE {
        for key in entry.keys {
            assert_eq!(key.parse::<Chord>().unwrap().to_string(), *key, "{}", entry.name);
        }
    }
}

#[test]
fn misspelled_name_finds_the_nearest() {
    assert_eq!(Action::nearest("new-task"), Some("new_task"));
    assert_eq!(Action::nearest("zzzzzz"), None);
}
