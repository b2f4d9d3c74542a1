//! Where a sentence names a command, a test runs that command. The sentences are read out of the sources, so that a new one
//! without a test, and a test that is gone, are failures. Commands of which the program must know itself are also parsed, by
//! `src/cli_tests.rs`.
//!
//! The tests here do what the program says, as a user would who pastes it: `settings`, `places`, `tokens`, `work`. What can be seen
//! in a race alone, such as a question that is answered by two at once, is run where its sentence stands otherwise.

mod places;
mod programs;
mod settings;
mod sources;
mod table;
mod tokens;
mod work;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use table::ADVICE;

use crate::cli_support::World;

/// Returns the commands in backticks that `said` names.
fn named(said: &str) -> Vec<String> {
    let quoted = said.split('`').skip(1).step_by(2);
    let ours = quoted.filter(|part| ["mxd", "git ", "kill "].iter().any(|start| part.starts_with(start)));
    ours.map(str::to_owned).collect()
}

/// Runs every command that `said` names, with `words` for what only the user knows, and returns what each said.
#[track_caller]
fn obey(world: &World, cwd: &Path, said: &str, words: &[(&str, &str)]) -> Vec<String> {
    let commands = named(said);
    assert!(!commands.is_empty(), "no command in {said}");
    let mut heard = Vec::new();
    for command in commands {
        let line = words.iter().fold(command, |line, (word, meant)| line.replace(word, meant));
        let ran = world.paste(cwd, &line);
        assert_eq!(ran.code, 0, "`{line}`: {ran:?}");
        heard.push(ran.out);
    }
    heard
}

fn top() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns every source that is no test, by its path below `src`.
fn gather(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if name.ends_with("_tests") || name == "testing" {
            continue;
        }
        if path.is_dir() {
            gather(&path, found);
        } else if path.extension().is_some_and(|kind| kind == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn every_command_that_a_sentence_names_is_run_by_a_test() {
    let mut files = Vec::new();
    gather(&top().join("src"), &mut files);
    let mut said = BTreeSet::new();
    for file in files {
        let name = file.strip_prefix(top().join("src")).unwrap().to_str().unwrap().to_owned();
        if name == "ui/advice.rs" {
            // Its commands are looked up in messages of others, and never shown.
            continue;
        }
        let commands = sources::commands(&std::fs::read_to_string(&file).unwrap());
        said.extend(commands.into_iter().map(|command| (name.clone(), command)));
    }
    let run: BTreeSet<(String, String)> = ADVICE
        .iter()
        .flat_map(|(_, commands)| commands.iter())
        .map(|(file, command)| ((*file).to_owned(), (*command).to_owned()))
        .collect();
    let missing: Vec<_> = said.difference(&run).collect();
    assert!(missing.is_empty(), "write a test that runs them, and name it in advice/table.rs: {missing:#?}");
    let gone: Vec<_> = run.difference(&said).collect();
    assert!(gone.is_empty(), "nobody says this any more: {gone:#?}");
}

#[test]
fn every_test_that_the_table_names_is_there_and_runs_something() {
    for (test, _) in ADVICE {
        let (file, name) = test.split_once("::").unwrap();
        let text = std::fs::read_to_string(top().join("tests/it").join(file)).unwrap();
        let body = text.split(&format!("fn {name}(")).nth(1).unwrap_or_else(|| panic!("there is no test {test}"));
        let body = body.split("\n}\n").next().unwrap();
        let runs = ["obey(", "paste(", "cure(", ".mxd(["].iter().any(|call| body.contains(call));
        assert!(runs, "{test} runs no command");
    }
}
