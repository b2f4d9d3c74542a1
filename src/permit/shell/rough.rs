//! The literal commands of a script that is not understood, for deny and ask rules.
//!
//! Splits at everything that could begin a command. Finds too much rather than too little.

use super::{Command, Role, Script, Word};

/// Longer scripts are searched up to this length.
const MAX_SEARCHED: usize = 50_000;
/// The words of a segment at which a command is assumed to begin, and the most words of a command.
const MAX_STARTS: usize = 12;
const MAX_WORDS: usize = 24;

/// Adds every sequence of words that could be a command.
pub(super) fn add(text: &str, script: &mut Script) {
    let text: String = text.chars().take(MAX_SEARCHED).collect();
    let searched: String = text.replace("\\\n", "").chars().filter(|c| *c != '\\').collect();
    let ends =
        |c: char| matches!(c, ';' | '&' | '|' | '(' | ')' | '{' | '}' | '\n' | '$' | '`' | '\'' | '"' | '<' | '>');
    for segment in searched.split(ends) {
        add_segment(segment, script);
    }
    // Quotes may be in the middle of a word: `r''m`.
    let unquoted: String = searched.chars().filter(|c| !matches!(c, '\'' | '"')).collect();
    if unquoted.len() != searched.len() {
        for segment in unquoted.split(ends) {
            add_segment(segment, script);
        }
    }
}

fn add_segment(segment: &str, script: &mut Script) {
    let words: Vec<&str> = segment.split_whitespace().collect();
    for start in 0..words.len().min(MAX_STARTS) {
        let words = words[start..].iter().take(MAX_WORDS).map(|word| Word::literal(*word)).collect();
        script.commands.push(Command { words, role: Role::Guess, ..Command::default() });
    }
}
