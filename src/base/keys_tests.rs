use proptest::prelude::*;

use super::*;

fn key(word: &str) -> Key {
    word.parse().unwrap()
}

#[test]
fn keys_are_read_as_people_write_them() {
    assert_eq!(key("x"), Key::char('x'));
    assert_eq!(key("ctrl-x"), Key::ctrl('x'));
    assert_eq!(key("Ctrl+X"), Key::ctrl('X'));
    assert_eq!(key("alt-enter"), Key::plain(KeyCode::Enter).with_mods(Modifiers::ALT));
    assert_eq!(key("Return"), Key::plain(KeyCode::Enter));
    assert_eq!(key("f12"), Key::plain(KeyCode::F(12)));
    assert_eq!(key("space"), Key::char(' '));
    assert_eq!(key("shift-tab"), Key::plain(KeyCode::Tab).with_mods(Modifiers::SHIFT));
    assert_eq!(key("漢"), Key::char('漢'));
}

#[test]
fn separators_are_keys_too() {
    assert_eq!(key("-"), Key::char('-'));
    assert_eq!(key("+"), Key::char('+'));
    assert_eq!(key("ctrl--"), Key::ctrl('-'));
    assert_eq!(key("ctrl++"), Key::ctrl('+'));
    assert_eq!("ctrl-".parse::<Key>(), Err(KeyError::Unknown { word: "ctrl-".into() }));
}

#[test]
fn a_letter_carries_its_shift_in_its_case() {
    assert_eq!(key("shift-g"), key("G"));
    assert_eq!(key("ctrl-shift-g"), key("ctrl-G"));
    assert_ne!(key("ctrl-g"), key("ctrl-G"));
    assert_eq!(Key::char('g').with_mods(Modifiers::SHIFT).mods(), Modifiers::NONE);
    assert_eq!(key("shift-ß").to_string(), "shift-ß", "no capital of one character");
    assert_eq!(key("shift-space").to_string(), "shift-space");
}

#[test]
fn an_unknown_key_is_reported_with_the_valid_ones() {
    for word in ["", "   ", "ctrl-foo", "f0", "f36", "f01", "f+1", "ab", "hyper-x", "\u{1b}"] {
        assert!(word.parse::<Key>().is_err(), "{word:?}");
    }
    let error = "ctrl-foo".parse::<Key>().unwrap_err().to_string();
    assert!(error.starts_with("`ctrl-foo` is not a key"), "{error}");
    assert!(error.contains("pagedown"), "{error}");
    let twice = "ctrl-control-x".parse::<Key>().unwrap_err();
    assert_eq!(twice.to_string(), "`ctrl-control-x` has control twice: write it once");
}

#[test]
fn chords_are_keys_with_spaces_between() {
    let chord: Chord = "  g   ctrl-g ".parse().unwrap();
    assert_eq!(chord.keys(), [Key::char('g'), Key::ctrl('g')]);
    assert_eq!(chord.to_string(), "g ctrl-g");
    assert_eq!("".parse::<Chord>(), Err(KeyError::Empty));
    assert!("g nokey".parse::<Chord>().is_err());
    assert_eq!(Chord::new(Vec::new()), None);
}

#[test]
fn only_keys_without_a_held_modifier_type() {
    assert_eq!(key("x").typed(), Some('x'));
    assert_eq!(key("space").typed(), Some(' '));
    assert_eq!(key("shift-space").typed(), Some(' '));
    assert_eq!(key("ctrl-x").typed(), None);
    assert_eq!(key("enter").typed(), None);
}

#[test]
fn modifiers_of_a_report_drop_locks() {
    assert_eq!(Modifiers::from_report(0), Modifiers::NONE);
    assert_eq!(Modifiers::from_report(1), Modifiers::NONE);
    assert_eq!(Modifiers::from_report(6), Modifiers::SHIFT.with(Modifiers::CTRL));
    assert_eq!(Modifiers::from_report(1 + 64 + 128 + 2), Modifiers::ALT, "caps lock and num lock do not count");
}

fn any_code() -> impl Strategy<Value = KeyCode> {
    prop_oneof![
        any::<char>().prop_filter("typable", |c| !c.is_control() && !c.is_whitespace()).prop_map(KeyCode::Char),
        (1..=MAX_FUNCTION_KEY).prop_map(KeyCode::F),
        proptest::sample::select(NAMES.iter().map(|&(_, code)| code).collect::<Vec<_>>()),
    ]
}

proptest! {
    #[test]
    fn every_chord_is_read_back_as_it_was_printed(keys in prop::collection::vec((any_code(), 0u8..16), 1..4)) {
        let keys = keys.into_iter().map(|(code, mods)| Key::new(code, Modifiers(mods))).collect();
        let chord = Chord::new(keys).unwrap();
        prop_assert_eq!(chord.to_string().parse::<Chord>(), Ok(chord));
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in any::<String>()) {
        let _ = text.parse::<Chord>();
    }
}
