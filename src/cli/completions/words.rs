//! Decides which words may complete a command line. Pure: the values of a project come from a function.

use clap::{Arg, ArgAction, Command};

/// A word that may follow, with a description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    pub text: String,
    pub about: String,
}

impl Word {
    pub fn new(text: impl Into<String>, about: impl Into<String>) -> Self {
        Self { text: text.into(), about: about.into() }
    }
}

/// A kind of value that only the project or the settings know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueKind {
    Task,
    Ask,
    Profile,
    SettingKey,
    /// The value of the setting with this key.
    SettingValue(String),
    Topic,
}

/// Returns the words that may complete the last of `line`, which may be empty.
pub fn complete(program: &Command, line: &[String], values: &dyn Fn(ValueKind) -> Vec<Word>) -> Vec<Word> {
    let mut program = program.clone();
    program.build();
    let (current, before) = match line.split_last() {
        Some((current, before)) => (current.as_str(), before),
        None => ("", &[][..]),
    };
    let state = State::after(&program, before);
    let starts = |word: &Word| word.text.starts_with(current);
    let matches = |word: &Word| starts(word) || has_words(&word.about, current);
    let of_arg = |arg: &Arg| of_arg(state.command, arg, &state.positionals, values);
    if let Some(option) = state.pending {
        return of_arg(option).into_iter().filter(|word| starts(word)).collect();
    }
    if current.starts_with('-') {
        return options(state.command).filter(|word| starts(word)).collect();
    }
    let subcommands = state.command.get_subcommands().filter(|command| !command.is_hide_set());
    let about = |command: &Command| command.get_about().map(ToString::to_string).unwrap_or_default();
    let mut words: Vec<Word> =
        subcommands.map(|command| Word::new(command.get_name(), about(command))).filter(starts).collect();
    if let Some(arg) = state.next_positional() {
        words.extend(of_arg(arg).into_iter().filter(matches));
    }
    words
}

/// Returns true if a description contains what was typed. A task can be picked by its title.
fn has_words(about: &str, typed: &str) -> bool {
    typed.chars().count() > 1 && about.to_lowercase().contains(&typed.to_lowercase())
}

/// Where a command line is after some words.
struct State<'a> {
    command: &'a Command,
    /// The values of the command's positional arguments so far.
    positionals: Vec<&'a str>,
    /// The option that waits for its value.
    pending: Option<&'a Arg>,
}

impl<'a> State<'a> {
    fn after(program: &'a Command, words: &'a [String]) -> Self {
        let mut state = Self { command: program, positionals: Vec::new(), pending: None };
        for word in words {
            if state.pending.take().is_some() {
                continue;
            }
            if word.starts_with('-') && word.len() > 1 {
                let option = state.command.get_arguments().find(|arg| is_named(arg, word));
                state.pending = option.filter(|arg| takes_value(arg));
            } else if let Some(command) = state.command.find_subcommand(word).filter(|_| state.positionals.is_empty()) {
                state = Self { command, positionals: Vec::new(), pending: None };
            } else {
                state.positionals.push(word);
            }
        }
        state
    }

    /// Returns the positional argument that the next word belongs to.
    fn next_positional(&self) -> Option<&'a Arg> {
        let mut arguments = self.command.get_positionals();
        let last = self.command.get_positionals().last();
        let repeats = |arg: &&Arg| matches!(arg.get_action(), ArgAction::Append);
        arguments.nth(self.positionals.len()).or_else(|| last.filter(repeats))
    }
}

fn is_named(arg: &Arg, word: &str) -> bool {
    let long = word.strip_prefix("--").is_some_and(|name| arg.get_long() == Some(name));
    let short = word.strip_prefix('-').is_some_and(|name| name.chars().eq(arg.get_short()));
    long || short
}

fn takes_value(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Set | ArgAction::Append)
}

fn options(command: &Command) -> impl Iterator<Item = Word> {
    command.get_arguments().filter(|arg| !arg.is_hide_set()).filter_map(|arg| {
        let about = arg.get_help().map(ToString::to_string).unwrap_or_default();
        Some(Word::new(format!("--{}", arg.get_long()?), about))
    })
}

/// Returns the values of an argument: those of its declaration, or those of its kind.
fn of_arg(command: &Command, arg: &Arg, earlier: &[&str], values: &dyn Fn(ValueKind) -> Vec<Word>) -> Vec<Word> {
    let declared: Vec<Word> = arg
        .get_possible_values()
        .iter()
        .filter(|value| !value.is_hide_set())
        .map(|value| Word::new(value.get_name(), value.get_help().map(ToString::to_string).unwrap_or_default()))
        .collect();
    if !declared.is_empty() {
        return declared;
    }
    let id = arg.get_id().as_str();
    let names_a_task = arg.get_value_names().is_some_and(|names| names.iter().any(|name| name == "TASK"));
    match (command.get_name(), id) {
        _ if names_a_task => values(ValueKind::Task),
        ("answer", "ask") => values(ValueKind::Ask),
        (_, "profile") => values(ValueKind::Profile),
        ("get" | "set" | "unset", "key") => values(ValueKind::SettingKey),
        ("set", "value") => values(ValueKind::SettingValue(earlier.first().copied().unwrap_or_default().to_owned())),
        ("help", "topic") => values(ValueKind::Topic),
        _ => Vec::new(),
    }
}

#[cfg(test)]
#[path = "words_tests.rs"]
mod tests;
