use super::*;
use crate::cli::Cli;

fn line(words: &[&str]) -> Vec<OsString> {
    ["mxd"].iter().chain(words).map(OsString::from).collect()
}

fn error(words: &[&str]) -> clap::Error {
    Cli::parse_line(line(words)).err().unwrap()
}

fn run(words: &[&str]) -> Option<Vec<OsString>> {
    as_run(&line(words), &error(words))
}

#[test]
fn a_quoted_sentence_is_a_goal() {
    assert_eq!(run(&["fix the tests"]), Some(line(&["run", "fix the tests"])));
    assert_eq!(run(&["-C", "/tmp", "fix the tests"]), Some(line(&["-C", "/tmp", "run", "fix the tests"])));
    let with_option = ["fix the tests", "--budget", "2"];
    assert_eq!(run(&with_option), Some(line(&["run", "fix the tests", "--budget", "2"])));
    assert!(Cli::parse_line(run(&with_option).unwrap()).is_ok());
}

#[test]
fn a_word_is_never_a_goal() {
    for words in
        [&["tre"][..], &["fix"], &["fix", "the", "tests"], &["config", "fix the tests"], &[" "], &["run", "--x"]]
    {
        assert_eq!(run(words), None, "{words:?}");
    }
}

#[test]
fn a_misspelt_command_is_suggested_and_loose_words_are_told_to_be_quoted() {
    let said = |words: &[&str]| with_advice(&line(words), error(words)).to_string();
    assert!(said(&["tre"]).contains("'tree'"), "{}", said(&["tre"]));
    let loose = said(&["zap", "the", "tests"]);
    assert!(loose.contains("to run a goal, quote it: mxd \"zap the tests\""), "{loose}");
}
