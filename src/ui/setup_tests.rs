use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::*;
use crate::base::Timestamp;
use crate::base::keys::Chord;
use crate::theme::{Appearance, ColourDepth, Glyphs, Theme};
use crate::ui::Cx;

fn way(label: &str, needs: Needs) -> Way {
    Way { label: label.to_owned(), note: String::new(), vendor: Vendor::Openai, address: None, needs }
}

fn start() -> Start {
    Start {
        found: vec!["no key".to_owned()],
        ways: vec![way("Vendor", Needs::Key), way("Local", Needs::Nothing), way("Another server", Needs::Address)],
        ..Start::default()
    }
}

fn press(state: &mut State, keys: &str) -> Vec<Effect> {
    let chord: Chord = keys.parse().unwrap();
    chord.keys().iter().filter_map(|key| state.update(Msg::Input(Input::Key(*key)))).collect()
}

fn reached(ids: &[&str]) -> Msg {
    let models = ids.iter().map(|id| Offered { id: (*id).to_owned(), note: String::new(), windowed: true }).collect();
    Msg::Tried(Ok(Reached { models, usual: Some("m-2".to_owned()) }))
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
fn four_presses_beside_the_key_decide_everything() {
    let mut state = State::new(start());
    assert_eq!(press(&mut state, "enter"), []);
    state.update(Msg::Input(Input::Paste("sk-secret-value\n".to_owned())));
    let tried = Attempt { vendor: Vendor::Openai, address: None, key: Some(Secret::new("sk-secret-value")) };
    assert_eq!(press(&mut state, "enter"), [Effect::Try(tried.clone())]);
    assert_eq!(press(&mut state, "enter x"), [], "nothing is taken while an answer is awaited");
    state.update(reached(&["m-1", "m-2"]));
    assert_eq!(press(&mut state, "enter"), []);
    let decided = Decided { attempt: tried, model: Some("m-2".to_owned()), windowed: true, budget: None };
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
    assert!(drawn(&state, 100, 24).contains("paste or type the key"));
}

#[test]
fn what_went_wrong_is_said_where_it_can_be_mended() {
    let mut state = State::new(start());
    press(&mut state, "enter");
    press(&mut state, "k enter");
    state.update(Msg::Tried(Err("the key is not accepted".to_owned())));
    assert!(drawn(&state, 100, 24).contains("the key is not accepted"));
    press(&mut state, "x");
    assert!(!drawn(&state, 100, 24).contains("the key is not accepted"));
    assert_eq!(press(&mut state, "enter").len(), 1);
}

#[test]
fn a_server_needs_an_address_and_may_want_no_key() {
    let mut state = State::new(start());
    press(&mut state, "down down enter");
    assert_eq!(press(&mut state, "enter"), []);
    assert!(drawn(&state, 100, 24).contains("an address looks like"));
    state.update(Msg::Input(Input::Paste("box:8000/v1".to_owned())));
    assert_eq!(press(&mut state, "enter"), []);
    let attempt = Attempt { vendor: Vendor::Openai, address: Some("http://box:8000/v1".to_owned()), key: None };
    assert_eq!(press(&mut state, "enter"), [Effect::Try(attempt)]);
}

#[test]
fn an_address_is_understood_however_it_is_written() {
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
        let [Effect::Try(attempt)] = effects.as_slice() else { panic!("{effects:?}") };
        assert_eq!(attempt.address.as_deref(), Some(meant), "{pasted:?}");
    }
}

#[test]
fn of_a_server_that_lists_no_models_a_name_is_asked_for() {
    let mut state = State::new(start());
    press(&mut state, "enter k enter");
    state.update(Msg::Tried(Ok(Reached { models: Vec::new(), usual: None })));
    let screen = drawn(&state, 100, 24);
    assert!(screen.contains("does not say which models it has") && screen.contains("the name of a model"), "{screen}");
    assert_eq!(press(&mut state, "enter"), []);
    assert!(drawn(&state, 100, 24).contains("type the name of a model"));
    press(&mut state, "m i n e enter");
    let effects = press(&mut state, "enter");
    let [Effect::Finish(decided)] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!((decided.model.as_deref(), decided.windowed), (Some("mine"), false));
}

#[test]
fn an_answer_need_not_be_waited_for() {
    let mut state = State::new(start());
    press(&mut state, "enter k enter");
    assert!(drawn(&state, 100, 24).contains("do not wait"));
    assert_eq!(press(&mut state, "esc"), []);
    assert_eq!(state.page, Page::Key);
    assert_eq!(state.update(reached(&["m-1"])), None);
    assert_eq!(state.page, Page::Key, "an answer that nobody waits for leads nowhere");
    assert_eq!(press(&mut state, "enter").len(), 1);
}

#[test]
fn a_local_server_is_tried_at_once_and_any_name_can_be_typed() {
    let mut state = State::new(start());
    let effects = press(&mut state, "down enter");
    assert!(matches!(effects.as_slice(), [Effect::Try(Attempt { key: None, .. })]), "{effects:?}");
    for (typed, model, windowed) in [("o t", "other", true), ("x y z", "xyz", false)] {
        let mut state = state.clone();
        state.update(reached(&["m-1", "m-2", "other"]));
        press(&mut state, typed);
        let effects = press(&mut state, "enter");
        let [Effect::Finish(decided)] = effects.as_slice() else { panic!("{effects:?}") };
        assert_eq!((decided.model.as_deref(), decided.windowed), (Some(model), windowed));
    }
}

#[test]
fn everything_can_be_skipped_and_gone_back_from() {
    for (keys, expected) in
        [("tab", Effect::Skip), ("esc", Effect::Skip), ("enter tab", Effect::Skip), ("ctrl-c", Effect::Quit)]
    {
        let mut state = State::new(start());
        assert_eq!(press(&mut state, keys), [expected], "{keys}");
    }
    let mut state = State::new(start());
    press(&mut state, "enter k enter");
    state.update(reached(&["m-1"]));
    let effects = press(&mut state, "tab");
    let [Effect::Finish(decided)] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!((decided.model.as_deref(), decided.attempt.key.is_some()), (None, true));
    assert_eq!(press(&mut state, "esc esc"), []);
    assert_eq!(state.page, Page::Ways);
}

#[test]
fn a_budget_is_an_amount_or_nothing() {
    let mut state = State::new(start());
    press(&mut state, "enter k enter");
    state.update(reached(&["m-1"]));
    press(&mut state, "enter a");
    assert_eq!(press(&mut state, "enter"), []);
    press(&mut state, "backspace 2 . 5");
    let effects = press(&mut state, "enter");
    let [Effect::Finish(decided)] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!(decided.budget, MicroUsd::from_dollars(2.5));
}

#[test]
fn a_folder_without_git_is_offered_a_repository_first() {
    let begin = Start { no_repository: Some("/home/me/new".to_owned()), ..start() };
    let mut state = State::new(begin.clone());
    assert!(drawn(&state, 100, 24).contains("/home/me/new is not a git repository."));
    assert_eq!(press(&mut state, "enter"), [Effect::MakeRepository]);
    state.update(Msg::Made(Err("no name for commits".to_owned())));
    assert!(drawn(&state, 100, 24).contains("no name for commits"));
    assert_eq!(press(&mut state, "enter"), [Effect::MakeRepository]);
    assert_eq!(state.update(Msg::Made(Ok(()))), None);
    assert_eq!(state.page, Page::Ways);
    let begun = State::new(Start { no_commit: Some("/home/me/new".to_owned()), ..start() });
    let screen = drawn(&begun, 100, 24);
    assert!(
        screen.contains("/home/me/new has no commit yet") && screen.contains("Enter makes an empty commit"),
        "{screen}"
    );
    let mut ready = State::new(Start { ways: Vec::new(), ..begin });
    press(&mut ready, "enter");
    assert_eq!(ready.update(Msg::Made(Ok(()))), Some(Effect::Skip));
}

#[test]
fn it_fits_any_screen() {
    for (columns, rows) in [(1, 1), (20, 6), (40, 10), (80, 24), (200, 60)] {
        let mut state = State::new(start());
        drawn(&state, columns, rows);
        press(&mut state, "enter k enter");
        state.update(reached(&["m-1", "m-2", "m-3", "m-4", "m-5", "m-6", "m-7", "m-8", "m-9"]));
        drawn(&state, columns, rows);
    }
}

#[test]
fn a_screen_too_small_for_a_page_says_so_and_what_was_typed_is_kept() {
    let mut state = State::new(start());
    press(&mut state, "enter");
    for (columns, rows) in [(20, 5), (29, 30), (80, 9)] {
        let text = drawn(&state, columns, rows);
        let words: String = text.replace(['"', '\n'], " ").split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(&format!("{columns}x{rows} is too small")) && words.contains("Ctrl-C quits"), "{text}");
    }
    for (columns, rows) in [(1, 1), (1, 40), (40, 1)] {
        drawn(&state, columns, rows);
    }
    assert!(drawn(&state, 30, 10).contains("the API key"));
}

#[test]
fn the_keys_of_a_page_are_those_that_do_something() {
    let last = |state: &State| drawn(state, 100, 24).lines().last().unwrap_or_default().to_owned();
    let mut state = State::new(start());
    assert!(last(&state).contains("Up Down choose") && last(&state).contains("Enter next"), "{}", last(&state));
    press(&mut state, "enter x enter");
    assert!(!last(&state).contains("Enter") && last(&state).contains("Esc do not wait"), "{}", last(&state));
    state.update(reached(&[]));
    assert!(!last(&state).contains("choose"), "there is nothing to choose from: {}", last(&state));
}
