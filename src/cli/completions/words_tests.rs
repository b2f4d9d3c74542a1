use clap::CommandFactory as _;

use super::*;
use crate::cli::Cli;

/// Returns the completions of a line whose last word is being typed.
fn after(line: &str) -> Vec<String> {
    let values = |kind| match kind {
        ValueKind::Task => vec![Word::new("1", "Main"), Word::new("12", "Token store")],
        ValueKind::Ask => vec![Word::new("01ASK", "Docs: Which?")],
        ValueKind::Profile => vec![Word::new("engineer", "")],
        ValueKind::SettingKey => vec![Word::new("model", ""), Word::new("theme", "")],
        ValueKind::SettingValue(key) => vec![Word::new(format!("value-of-{key}"), "")],
        ValueKind::Topic => vec![Word::new("keys", "")],
    };
    let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    complete(&Cli::command(), &words, &values).into_iter().map(|word| word.text).collect()
}

#[test]
fn commands_and_options_are_offered() {
    assert_eq!(after("tr"), ["tree"]);
    assert!(after("").contains(&"run".to_owned()) && !after("").contains(&"__complete".to_owned()));
    assert_eq!(after("config se"), ["set"]);
    assert_eq!(after("diff --st"), ["--stat"]);
    assert!(after("-C /tmp tr").contains(&"tree".to_owned()), "the value of an option is no command");
}

#[test]
fn tasks_are_offered_wherever_one_is_named() {
    for line in ["log ", "diff ", "send ", "merge ", "task close ", "task new x --under ", "run --task ", "stop "] {
        assert_eq!(after(line), ["1", "12"], "{line}");
    }
    assert_eq!(after("log 12"), ["12"]);
    assert_eq!(after("log token"), ["12"], "by a part of the title");
    assert_eq!(after("answer "), ["01ASK"]);
}

#[test]
fn profiles_settings_values_and_topics_are_offered() {
    assert_eq!(after("task new x --profile "), ["engineer"]);
    assert_eq!(after("config set th"), ["theme"]);
    assert_eq!(after("config set theme "), ["value-of-theme"]);
    assert_eq!(after("help ke"), ["keys"]);
    assert_eq!(after("completions z"), ["zsh"]);
    assert_eq!(after("cost --by "), ["task", "model", "day"]);
}

#[test]
fn the_last_argument_repeats_only_if_it_may() {
    assert!(after("stop 1 ").is_empty());
    assert!(after("send 12 hello ").is_empty());
}
