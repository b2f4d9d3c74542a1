use std::collections::BTreeSet;

use super::*;

#[test]
fn names_are_unique_and_no_name_is_the_parent_of_another() {
    let names: BTreeSet<&str> = Role::ALL.iter().map(|role| role.name()).collect();
    assert_eq!(names.len(), Role::ALL.len());
    for name in &names {
        // In TOML `diff` and `diff.add` could not both be given.
        assert!(!names.iter().any(|other| other.starts_with(&format!("{name}."))), "{name} is also a group");
    }
}

#[test]
fn every_fallback_chain_ends_at_the_background() {
    for role in Role::ALL {
        let mut at = *role;
        for _ in 0..8 {
            at = at.fallback();
        }
        assert_eq!(at, Role::Background, "{role:?}");
    }
}

#[test]
fn every_role_finds_itself_and_is_found_under_a_misspelt_name() {
    for role in Role::ALL {
        assert_eq!(Role::named(role.name()), Some(*role));
        assert!(!role.about().is_empty());
    }
    assert_eq!(Role::nearest("syntax.keywrd"), Some(Role::SyntaxKeyword));
    assert_eq!(Role::nearest("selektion"), Some(Role::Selection));
    assert_eq!(Role::nearest("zzzz"), None);
}

#[test]
fn roles_are_distinct_without_colour() {
    let apart = [Role::Text, Role::Faint, Role::Ask, Role::Selection, Role::SelectionDim, Role::SearchCurrent];
    assert_ne!(Role::Ask.mono(), Role::Working.mono());
    assert_ne!(Role::Selection.mono(), Role::SelectionDim.mono());
    assert_ne!(Role::SearchMatch.mono(), Role::SearchCurrent.mono());
    assert_eq!(apart.iter().filter(|role| role.mono().is_empty()).count(), 1, "only text itself is plain");
}
