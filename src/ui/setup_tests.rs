use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::*;
use crate::base::Timestamp;
use crate::base::keys::Chord;
use crate::theme::{Appearance, ColourDepth, Glyphs, Theme};
use crate::ui::Cx;

fn connection(label: &str, needs: Needs) -> ConnectionOption {
    ConnectionOption { label: label.to_owned(), note: String::new(), vendor: Vendor::Openai, address: None, needs }
}

fn start() -> Start {
    Start {
        found: vec!["no key".to_owned()],
        connections: vec![
            connection("Vendor", Needs::Key),
            connection("Local", Needs::Nothing),
            connection("Another server", Needs::Address),
        ],
        ..Start::default()
    }
}

fn press(state: &mut State, keys: &str) -> Vec<Effect> {
    let chord: Chord = keys.parse().unwrap();
    chord.keys().iter().filter_map(|key| state.update(Msg::Input(Input::Key(*key)))).collect()
}

fn available(ids: &[&str]) -> Msg {
    let models =
        ids.iter().map(|id| ModelOption { id: (*id).to_owned(), note: String::new(), has_window: true }).collect();
    Msg::ConnectionTested(Ok(ModelList { models, default_model: Some("m-2".to_owned()) }))
}

fn drawn(state: &State, columns: u16, rows: u16) -> String {
    let theme = Theme::standard(Appearance::Dark, ColourDepth::True, &Glyphs::UNICODE);
    let cx =
        Cx { now: Timestamp::from_millis(0), size: (columns, rows), theme: &theme, zone: &jiff::tz::TimeZone::UTC };
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    terminal.draw(|frame| view(state, &cx, frame)).unwrap();
    terminal.backend().to_string()
}

#[test]
fn four_key_presses_complete_the_setup() {
    let mut state = State::new(start());
    assert_eq!(press(&mut state, "enter"), []);
    state.update(Msg::Input(Input::Paste("sk-secret-value\n".to_owned())));
    let tried = ConnectionAttempt { vendor: Vendor::Openai, address: None, key: Some(Secret::new("sk-secret-value")) };
    assert_eq!(press(&mut state, "enter"), [Effect::TestConnection(tried.clone())]);
    assert_eq!(press(&mut state, "enter x"), [], "nothing is taken while an answer is awaited");
    state.update(available(&["m-1", "m-2"]));
    assert_eq!(press(&mut state, "enter"), []);
    let decided = SetupResult { attempt: tried, model: Some("m-2".to_owned()), has_window: true, budget: None };
    assert_eq!(press(&mut state, "enter"), [Effect::Finish(Box::new(decided))]);
}

#[test]
fn a_key_is_never_drawn_nor_printed() {
    let mut state = State::new(start());
    press(&mut state, "enter");
    state.update(Msg::Input(Input::Paste("sk-secret-value".to_owned())));
    let screen = drawn(&state, 100, 24);
    assert!(screen.contains("***************") && !screen.contains("secret"), "{screen}");
    assert!(!format!("{state:?}").contains("secret"));
    press(&mut state, "backspace");
    assert_eq!(state.key.expose(), "sk-secret-valu");
    press(&mut state, "ctrl-u");
    assert!(state.key.is_empty());
    assert_eq!(press(&mut state, "enter"), [], "without a key there is nothing to try");
    assert!(drawn(&state, 100, 24).contains("Paste or type the key"));
}

#[test]
fn failed_test_is_shown_on_the_page() {
    let mut state = State::new(start());
    press(&mut state, "enter");
    press(&mut state, "k enter");
    state.update(Msg::ConnectionTested(Err("the key is not accepted".to_owned())));
    assert!(drawn(&state, 100, 24).contains("the key is not accepted"));
    press(&mut state, "x");
    assert!(!drawn(&state, 100, 24).contains("the key is not accepted"));
    assert_eq!(press(&mut state, "enter").len(), 1);
}

#[test]
fn server_needs_a_url_and_maybe_a_key() {
    let mut state = State::new(start());
    press(&mut state, "down down enter");
    assert_eq!(press(&mut state, "enter"), []);
    assert!(drawn(&state, 100, 24).contains("Enter a URL such as"));
    state.update(Msg::Input(Input::Paste("box:8000/v1".to_owned())));
    assert_eq!(press(&mut state, "enter"), []);
    let attempt =
        ConnectionAttempt { vendor: Vendor::Openai, address: Some("http://box:8000/v1".to_owned()), key: None };
    assert_eq!(press(&mut state, "enter"), [Effect::TestConnection(attempt)]);
}

#[test]
fn pasted_url_replaces_the_prefix() {
    for (first, pasted, meant) in [
        ("", "https://models.example.org/v1", "https://models.example.org/v1"),
        ("", "\n  https://models.example.org/v1\n", "https://models.example.org/v1"),
        ("ctrl-u", "https://box:8000", "https://box:8000"),
        ("", "box:8000", "http://box:8000"),
    ] {
        let mut state = State::new(start());
        press(&mut state, "down down enter");
        if !first.is_empty() {
            press(&mut state, first);
        }
        state.update(Msg::Input(Input::Paste(pasted.to_owned())));
        press(&mut state, "enter");
        let effects = press(&mut state, "enter");
        let [Effect::TestConnection(attempt)] = effects.as_slice() else { panic!("{effects:?}") };
        assert_eq!(attempt.address.as_deref(), Some(meant), "{pasted:?}");
    }
}

#[test]
fn server_without_model_list_asks_for_a_name() {
    let mut state = State::new(start());
    press(&mut state, "enter k enter");
    state.update(Msg::ConnectionTested(Ok(ModelList { models: Vec::new(), default_model: None })));
    let screen = drawn(&state, 100, 24);
    assert!(screen.contains("lists no models") && screen.contains("model name"), "{screen}");
    assert_eq!(press(&mut state, "enter"), []);
    assert!(drawn(&state, 100, 24).contains("Enter a model name"));
    press(&mut state, "m i n e enter");
    let effects = press(&mut state, "enter");
    let [Effect::Finish(decided)] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!((decided.model.as_deref(), decided.has_window), (Some("mine"), false));
}

#[test]
fn pending_test_can_be_cancelled() {
    let mut state = State::new(start());
    press(&mut state, "enter k enter");
    assert!(drawn(&state, 100, 24).contains("Esc cancel"));
    assert_eq!(press(&mut state, "esc"), []);
    assert_eq!(state.page, SetupPage::Key);
    assert_eq!(state.update(available(&["m-1"])), None);
    assert_eq!(state.page, SetupPage::Key, "an answer that nobody waits for leads nowhere");
    assert_eq!(press(&mut state, "enter").len(), 1);
}

#[test]
fn local_server_is_tested_at_once_and_accepts_any_name() {
    let mut state = State::new(start());
    let effects = press(&mut state, "down enter");
    assert!(matches!(effects.as_slice(), [Effect::TestConnection(ConnectionAttempt { key: None, .. })]), "{effects:?}");
    for (typed, model, has_window) in [("o t", "other", true), ("x y z", "xyz", false)] {
        let mut state = state.clone();
        state.update(available(&["m-1", "m-2", "other"]));
        press(&mut state, typed);
        let effects = press(&mut state, "enter");
        let [Effect::Finish(decided)] = effects.as_slice() else { panic!("{effects:?}") };
        assert_eq!((decided.model.as_deref(), decided.has_window), (Some(model), has_window));
    }
}

#[test]
fn every_page_can_be_skipped_and_left() {
    for (keys, expected) in
        [("tab", Effect::Skip), ("esc", Effect::Skip), ("enter tab", Effect::Skip), ("ctrl-c", Effect::Quit)]
    {
        let mut state = State::new(start());
        assert_eq!(press(&mut state, keys), [expected], "{keys}");
    }
    let mut state = State::new(start());
    press(&mut state, "enter k enter");
    state.update(available(&["m-1"]));
    let effects = press(&mut state, "tab");
    let [Effect::Finish(decided)] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!((decided.model.as_deref(), decided.attempt.key.is_some()), (None, true));
    assert_eq!(press(&mut state, "esc esc"), []);
    assert_eq!(state.page, SetupPage::Connections);
}

#[test]
fn budget_is_an_amount_or_empty() {
    let mut state = State::new(start());
    press(&mut state, "enter k enter");
    state.update(available(&["m-1"]));
    press(&mut state, "enter a");
    assert_eq!(press(&mut state, "enter"), []);
    press(&mut state, "backspace 2 . 5");
    let effects = press(&mut state, "enter");
    let [Effect::Finish(decided)] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!(decided.budget, MicroUsd::from_dollars(2.5));
}

#[test]
fn folder_without_git_offers_a_repository_first() {
    let begin = Start { no_repository: Some("/home/me/new".to_owned()), ..start() };
    let mut state = State::new(begin.clone());
    assert!(drawn(&state, 100, 24).contains("/home/me/new is not a git repository."));
    assert_eq!(press(&mut state, "enter"), [Effect::CreateRepository]);
    state.update(Msg::RepositoryCreated(Err("no name for commits".to_owned())));
    assert!(drawn(&state, 100, 24).contains("no name for commits"));
    assert_eq!(press(&mut state, "enter"), [Effect::CreateRepository]);
    assert_eq!(state.update(Msg::RepositoryCreated(Ok(()))), None);
    assert_eq!(state.page, SetupPage::Connections);
    let begun = State::new(Start { no_commit: Some("/home/me/new".to_owned()), ..start() });
    let screen = drawn(&begun, 100, 24);
    assert!(
        screen.contains("/home/me/new has no commits yet") && screen.contains("Enter: create an empty commit"),
        "{screen}"
    );
    let mut ready = State::new(Start { connections: Vec::new(), ..begin });
    press(&mut ready, "enter");
    assert_eq!(ready.update(Msg::RepositoryCreated(Ok(()))), Some(Effect::Skip));
}

#[test]
fn it_fits_any_screen() {
    for (columns, rows) in [(1, 1), (20, 6), (40, 10), (80, 24), (200, 60)] {
        let mut state = State::new(start());
        drawn(&state, columns, rows);
        press(&mut state, "enter k enter");
        state.update(available(&["m-1", "m-2", "m-3", "m-4", "m-5", "m-6", "m-7", "m-8", "m-9"]));
        drawn(&state, columns, rows);
    }
}

#[test]
fn too_small_screen_keeps_the_input() {
    let mut state = State::new(start());
    press(&mut state, "enter");
    for (columns, rows) in [(20, 5), (29, 30), (80, 9)] {
        let text = drawn(&state, columns, rows);
        let words: String = text.replace(['"', '\n'], " ").split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(&format!("too small ({columns}x{rows})")) && words.contains("Ctrl-C: quit"), "{text}");
    }
    for (columns, rows) in [(1, 1), (1, 40), (40, 1)] {
        drawn(&state, columns, rows);
    }
    assert!(drawn(&state, 30, 10).contains("API key"));
}

#[test]
fn page_hints_only_useful_keys() {
    let last = |state: &State| drawn(state, 100, 24).lines().last().unwrap_or_default().to_owned();
    let mut state = State::new(start());
    assert!(last(&state).contains("Up Down choose") && last(&state).contains("Enter next"), "{}", last(&state));
    press(&mut state, "enter x enter");
    assert!(!last(&state).contains("Enter") && last(&state).contains("Esc cancel"), "{}", last(&state));
    state.update(available(&[]));
    assert!(!last(&state).contains("choose"), "there is nothing to choose from: {}", last(&state));
}
