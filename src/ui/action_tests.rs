use std::collections::BTreeSet;

use super::*;
use crate::base::keys::Chord;

#[test]
fn the_table_lists_the_actions_in_the_order_of_the_enum() {
    for (index, entry) in TABLE.iter().enumerate() {
        assert_eq!(entry.action as usize, index, "{}", entry.name);
        assert_eq!(Action::named(entry.name), Some(entry.action));
    }
}

#[test]
fn every_action_has_words_and_a_place() {
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
fn every_default_key_can_be_read_and_prints_as_it_is_written() {
    for entry in TABLE {
        for key in entry.keys {
            assert_eq!(key.parse::<Chord>().unwrap().to_string(), *key, "{}", entry.name);
        }
    }
}

#[test]
fn a_wrong_name_finds_its_neighbour() {
    assert_eq!(Action::nearest("new-task"), Some("new_task"));
    assert_eq!(Action::nearest("zzzzzz"), None);
}
