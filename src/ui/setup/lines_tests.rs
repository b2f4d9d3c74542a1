use super::*;
use crate::ui::setup::{Msg, Offered, Reached, Start, Vendor, Way};

fn way(label: &str, needs: Needs) -> Way {
    Way { label: label.to_owned(), note: "a note".to_owned(), vendor: Vendor::Anthropic, address: None, needs }
}

fn state() -> State {
    let ways = vec![way("Anthropic", Needs::Key), way("Another server", Needs::Address)];
    State::new(Start { found: vec!["Key in the environment: none.".to_owned()], ways, ..Start::default() })
}

fn models() -> Reached {
    let offered = |id: &str| Offered { id: id.to_owned(), note: "200k".to_owned(), windowed: true };
    let models = ["small-1", "large-1", "large-2"].map(offered).to_vec();
    Reached { models, usual: Some("large-2".to_owned()) }
}

fn asked(state: &State) -> String {
    state.question().lines.join("\n")
}

/// Answers up to the list of models.
fn at_models() -> State {
    let mut state = state();
    assert_eq!(state.answer("1"), None);
    assert!(matches!(state.answer("sk-1"), Some(Effect::Try(attempt)) if attempt.key == Some(Secret::new("sk-1"))));
    state.update(Msg::Tried(Ok(models())));
    state
}

#[test]
fn every_page_is_a_question_and_a_line_its_answer() {
    let mut state = state();
    let words = asked(&state);
    for part in ["Key in the environment: none.", "How do you want to reach a model?", "1. Anthropic, a note", "/skip"]
    {
        assert!(words.contains(part), "{words}");
    }
    state.answer("1");
    assert!(state.question().secret && asked(&state).contains("not shown"), "{}", asked(&state));
    let mut state = at_models();
    let words = asked(&state);
    assert!(words.contains("3. large-2, 200k") && words.contains("Enter alone takes large-2"), "{words}");
    assert!(!state.question().secret && !words.contains("sk-1"));
    assert_eq!(state.answer(""), None);
    assert!(asked(&state).contains("What may one task cost"));
    let Some(Effect::Finish(decided)) = state.answer("2,50") else { panic!("{}", asked(&state)) };
    assert_eq!(decided.model.as_deref(), Some("large-2"));
    assert_eq!(decided.budget.map(|budget| budget.0), Some(2_500_000));
}

#[test]
fn what_is_not_understood_is_said_and_asked_again() {
    let mut state = state();
    for odd in ["0", "3", "anthropic", "-1", "1e9"] {
        assert_eq!(state.answer(odd), None, "{odd}");
        assert!(asked(&state).starts_with("write a number from 1 to 2"), "{}", asked(&state));
    }
    state.answer("2");
    state.answer("models.example.org");
    assert!(asked(&state).starts_with("an address looks like"), "{}", asked(&state));
    assert_eq!(state.answer("http://127.0.0.1:1/v1"), None);
    assert!(
        matches!(state.answer(""), Some(Effect::Try(attempt)) if attempt.key.is_none()),
        "a key is not needed there"
    );
    state.update(Msg::Tried(Err("nobody answers".to_owned())));
    assert!(asked(&state).starts_with("nobody answers"), "{}", asked(&state));
}

#[test]
fn a_model_is_named_by_number_by_name_or_by_a_part_that_only_one_has() {
    for (line, model) in
        [("1", "small-1"), ("2.", "large-1"), ("large-1", "large-1"), ("SMALL", "small-1"), ("new", "new")]
    {
        let mut state = at_models();
        assert_eq!(state.answer(line), None, "{line}");
        let Some(Effect::Finish(decided)) = state.answer("") else { panic!("{line}") };
        assert_eq!(decided.model.as_deref(), Some(model), "{line}");
        assert_eq!(decided.budget, None);
    }
    let mut state = at_models();
    state.answer("large");
    assert!(asked(&state).starts_with("2 models have \"large\" in their name"), "{}", asked(&state));
}

#[test]
fn everything_can_be_skipped_gone_back_from_and_left() {
    assert_eq!(state().answer(""), Some(Effect::Skip));
    assert_eq!(state().answer("/skip"), Some(Effect::Skip));
    assert_eq!(state().answer("/quit"), Some(Effect::Quit));
    let mut state = state();
    state.answer("1");
    assert_eq!(state.answer("/back"), None);
    assert!(asked(&state).contains("How do you want to reach a model?"));
    state.answer("1");
    assert_eq!(state.answer(""), Some(Effect::Skip), "without a key there is nothing to try");
    // What was tried and works is kept.
    assert!(matches!(at_models().answer("/skip"), Some(Effect::Finish(decided)) if decided.model.is_none()));
}

#[test]
fn a_folder_becomes_a_repository_only_with_a_yes() {
    let fresh = || State::new(Start { no_repository: Some("/x".to_owned()), ..Start::default() });
    assert!(asked(&fresh()).contains("/x is not a git repository"));
    assert_eq!(fresh().answer("yes"), Some(Effect::MakeRepository));
    for no in ["", "no", "n"] {
        assert_eq!(fresh().answer(no), Some(Effect::Quit), "{no}");
    }
    let begun = State::new(Start { no_commit: Some("/x".to_owned()), ..Start::default() });
    assert!(asked(&begun).contains("/x has no commit yet"));
    let mut state = fresh();
    assert_eq!(state.answer("perhaps"), None);
    assert!(asked(&state).starts_with("write yes or no"));
}
