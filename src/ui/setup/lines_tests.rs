use super::*;
use crate::ui::setup::{ConnectionOption, ModelList, ModelOption, Msg, Start, Vendor};

fn connection(label: &str, needs: Needs) -> ConnectionOption {
    ConnectionOption {
        label: label.to_owned(),
        note: "a note".to_owned(),
        vendor: Vendor::Anthropic,
        address: None,
        needs,
    }
}

fn state() -> State {
    let connections = vec![connection("Anthropic", Needs::Key), connection("Another server", Needs::Address)];
    State::new(Start { found: vec!["Key in the environment: none.".to_owned()], connections, ..Start::default() })
}

fn models() -> ModelList {
    let offered = |id: &str| ModelOption { id: id.to_owned(), note: "200k".to_owned(), has_window: true };
    let models = ["small-1", "large-1", "large-2"].map(offered).to_vec();
    ModelList { models, default_model: Some("large-2".to_owned()) }
}

fn asked(state: &State) -> String {
    state.question().lines.join("\n")
}

/// Answers up to the list of models.
fn at_models() -> State {
    let mut state = state();
    assert_eq!(state.answer("1"), None);
    assert!(
        matches!(state.answer("sk-1"), Some(Effect::TestConnection(attempt)) if attempt.key == Some(Secret::new("sk-1")))
    );
    state.update(Msg::ConnectionTested(Ok(models())));
    state
}

#[test]
fn every_page_is_answered_by_a_line() {
    let mut state = state();
    let words = asked(&state);
    for part in ["Key in the environment: none.", "Which provider do you want to use?", "1. Anthropic, a note", "/skip"]
    {
        assert!(words.contains(part), "{words}");
    }
    state.answer("1");
    assert!(state.question().secret && asked(&state).contains("(hidden)"), "{}", asked(&state));
    let mut state = at_models();
    let words = asked(&state);
    assert!(words.contains("3. large-2, 200k") && words.contains("Press Enter for large-2"), "{words}");
    assert!(!state.question().secret && !words.contains("sk-1"));
    assert_eq!(state.answer(""), None);
    assert!(asked(&state).contains("Budget per task"));
    let Some(Effect::Finish(decided)) = state.answer("2,50") else { panic!("{}", asked(&state)) };
    assert_eq!(decided.model.as_deref(), Some("large-2"));
    assert_eq!(decided.budget.map(|budget| budget.0), Some(2_500_000));
}

#[test]
fn invalid_answer_is_reported_and_asked_again() {
    let mut state = state();
    for odd in ["0", "3", "anthropic", "-1", "1e9"] {
        assert_eq!(state.answer(odd), None, "{odd}");
        assert!(asked(&state).starts_with("Enter a number from 1 to 2"), "{}", asked(&state));
    }
    state.answer("2");
    state.answer("models.example.org");
    assert!(asked(&state).starts_with("Enter a URL such as"), "{}", asked(&state));
    assert_eq!(state.answer("http://127.0.0.1:1/v1"), None);
    assert!(
        matches!(state.answer(""), Some(Effect::TestConnection(attempt)) if attempt.key.is_none()),
        "a key is not needed there"
    );
    state.update(Msg::ConnectionTested(Err("nobody answers".to_owned())));
    assert!(asked(&state).starts_with("nobody answers"), "{}", asked(&state));
}

#[test]
fn model_is_selected_by_number_name_or_unique_part() {
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
    assert!(asked(&state).starts_with("\"large\" matches 2 models"), "{}", asked(&state));
}

#[test]
fn every_page_can_be_skipped_back_and_quit() {
    assert_eq!(state().answer(""), Some(Effect::Skip));
    assert_eq!(state().answer("/skip"), Some(Effect::Skip));
    assert_eq!(state().answer("/quit"), Some(Effect::Quit));
    let mut state = state();
    state.answer("1");
    assert_eq!(state.answer("/back"), None);
    assert!(asked(&state).contains("Which provider do you want to use?"));
    state.answer("1");
    assert_eq!(state.answer(""), Some(Effect::Skip), "without a key there is nothing to try");
    // A tested connection is saved.
    assert!(matches!(at_models().answer("/skip"), Some(Effect::Finish(decided)) if decided.model.is_none()));
}

#[test]
fn repository_is_created_only_after_yes() {
    let fresh = || State::new(Start { no_repository: Some("/x".to_owned()), ..Start::default() });
    assert!(asked(&fresh()).contains("/x is not a git repository"));
    assert_eq!(fresh().answer("yes"), Some(Effect::CreateRepository));
    for no in ["", "no", "n"] {
        assert_eq!(fresh().answer(no), Some(Effect::Quit), "{no}");
    }
    let begun = State::new(Start { no_commit: Some("/x".to_owned()), ..Start::default() });
    assert!(asked(&begun).contains("/x has no commits yet"));
    let mut state = fresh();
    assert_eq!(state.answer("perhaps"), None);
    assert!(asked(&state).starts_with("Type yes or no"));
}
