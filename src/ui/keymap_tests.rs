use super::*;

fn chord(text: &str) -> Vec<Key> {
    text.parse::<Chord>().unwrap().keys().to_vec()
}

fn overrides(entries: &[(&str, &[&str])]) -> BTreeMap<String, Vec<String>> {
    entries
        .iter()
        .map(|(name, keys)| ((*name).to_owned(), keys.iter().map(|key| (*key).to_owned()).collect()))
        .collect()
}

#[test]
fn default_keys_do_not_collide() {
    let mut map = Keymap { bindings: BTreeMap::new() };
    for entry in TABLE {
        for key in entry.keys {
            for context in entry.contexts {
                map.bind(*context, &key.parse().unwrap(), entry.action).unwrap();
            }
        }
    }
}

#[test]
fn default_keys_do_not_hide_longer_chords() {
    let map = Keymap::default();
    for (context, bindings) in &map.bindings {
        for chord in map.bindings[&Context::Anywhere].keys().filter(|chord| chord.keys().len() > 1) {
            let first = &chord.keys()[..1];
            assert!(!bindings.keys().any(|bound| bound.keys() == first), "{context:?} hides {chord}");
        }
    }
}

#[test]
fn chords_wait_for_their_last_key() {
    let map = Keymap::default();
    let contexts = [Context::Tree, Context::Anywhere];
    assert_eq!(map.resolve(&contexts, &chord("g")), KeyMatch::Pending);
    assert_eq!(map.resolve(&contexts, &chord("g g")), KeyMatch::Action(Action::Top));
    assert_eq!(map.resolve(&contexts, &chord("g z")), KeyMatch::Nothing);
    let following = map.following(&contexts, &chord("g"));
    assert!(following.contains(&(Key::char('g'), Action::Top)));
    assert!(following.contains(&(Key::char('d'), Action::ShowDiff)), "also those of the wider context");
}

#[test]
fn more_specific_context_wins() {
    let map = Keymap::default();
    assert_eq!(map.resolve(&[Context::Asks, Context::Anywhere], &chord("1")), KeyMatch::Action(Action::Choose));
    assert_eq!(map.resolve(&[Context::Tree, Context::Anywhere], &chord("1")), KeyMatch::Action(Action::ShowTranscript));
}

#[test]
fn settings_replace_the_keys_of_an_action() {
    let (map, problems) = Keymap::new(&overrides(&[("quit", &["ctrl-e"]), ("help", &[])]));
    assert_eq!(problems, []);
    let contexts = [Context::Tree, Context::Anywhere];
    assert_eq!(map.resolve(&contexts, &chord("q")), KeyMatch::Nothing);
    assert_eq!(map.resolve(&contexts, &chord("ctrl-e")), KeyMatch::Action(Action::Quit));
    assert_eq!(map.resolve(&contexts, &chord("?")), KeyMatch::Nothing);
    assert_eq!(map.shown(&contexts, Action::Help), None);
}

#[test]
fn default_yields_to_user_key() {
    let (map, problems) = Keymap::new(&overrides(&[("rename", &["K"])]));
    assert_eq!(problems, [], "the other action has another key");
    assert_eq!(map.resolve(&[Context::Tree], &chord("K")), KeyMatch::Action(Action::Rename));
    assert_eq!(map.resolve(&[Context::Tree], &chord("shift-up")), KeyMatch::Action(Action::MoveUp));
}

#[test]
fn losing_the_only_key_is_reported() {
    let (map, problems) = Keymap::new(&overrides(&[("rename", &["n"])]));
    assert_eq!(map.resolve(&[Context::Tree], &chord("n")), KeyMatch::Action(Action::Rename));
    let sentences: Vec<_> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(sentences, ["keys.rename: `n` was the only key of new_task, which is now unbound"]);
    assert_eq!(problems[0].name(), "rename");
}

#[test]
fn problems_name_reason_and_nearest_action() {
    let (_, problems) = Keymap::new(&overrides(&[
        ("new-task", &["x"]),
        ("quit", &["contrl-x"]),
        ("rename", &["v"]),
        ("filter", &["v"]),
        ("sort", &["v v"]),
    ]));
    let sentences: Vec<_> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(sentences.len(), 4, "{sentences:#?}");
    assert!(sentences.iter().any(|s| s.starts_with("keys.new-task: no such action") && s.contains("`new_task`")));
    assert!(sentences.iter().any(|s| s.contains("`contrl-x` is not a key")));
    assert!(sentences.iter().any(|s| s.contains("`v` is already bound")));
    assert!(sentences.iter().any(|s| s.contains("would hide")));
}

#[test]
fn typing_keys_are_not_hinted_in_text_inputs() {
    let map = Keymap::default();
    let writing = [Context::Composer, Context::Text, Context::Anywhere];
    assert_eq!(map.shown(&writing, Action::Help).unwrap().to_string(), "f1");
    assert_eq!(map.shown(&[Context::Tree, Context::Anywhere], Action::Help).unwrap().to_string(), "?");
}
