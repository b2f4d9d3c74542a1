//! `mxd "fix the tests"`: a goal in the place of a command.
//!
//! Only a word with a space in it is a goal: no command has one, so a misspelt command is never run as a goal.

use std::ffi::{OsStr, OsString};

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Returns the command line with `run` before the goal, if the word that is no command is one.
pub fn as_run(line: &[OsString], error: &clap::Error) -> Option<Vec<OsString>> {
    let at = position(line, error).filter(|at| line.get(*at).is_some_and(|word| is_goal(word)))?;
    let (before, after) = line.split_at(at);
    Some(before.iter().cloned().chain([OsString::from("run")]).chain(after.iter().cloned()).collect())
}

/// Adds how to run a goal to an error about a word that is no command, if other words follow it.
pub fn with_advice(line: &[OsString], mut error: clap::Error) -> clap::Error {
    let Some(at) = position(line, &error).filter(|at| at + 1 < line.len()) else { return error };
    let words: Vec<_> = line.iter().skip(at).map(|word| word.to_string_lossy()).collect();
    let has_options = words.iter().any(|word| word.starts_with('-'));
    if !has_options && error.get(ContextKind::SuggestedSubcommand).is_none() {
        let advice = format!("to run a goal, quote it: mxd \"{}\"", words.join(" "));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![advice.into()]));
    }
    error
}

/// Returns the position of the word that is no command.
fn position(line: &[OsString], error: &clap::Error) -> Option<usize> {
    let ErrorKind::InvalidSubcommand = error.kind() else { return None };
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    let at = line.iter().skip(1).position(|known| known == OsStr::new(word))? + 1;
    // The word may follow another command; then it is no goal.
    let has_value = |option: &OsString| option == "-C" || option == "--project" || option == "--color";
    let mut words = line.iter().take(at).enumerate().skip(1);
    let is_option = |(place, word): (usize, &OsString)| {
        word.to_string_lossy().starts_with('-') || line.get(place - 1).is_some_and(has_value)
    };
    words.all(is_option).then_some(at)
}

fn is_goal(word: &OsStr) -> bool {
    word.to_str().is_some_and(|word| word.trim().contains(char::is_whitespace))
}

#[cfg(test)]
#[path = "goal_tests.rs"]
mod tests;
