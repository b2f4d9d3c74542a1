//! What a call of a file tool makes of a file, as a pure function of its input: for showing one edit among several.

use serde_json::Value;

use super::{edit_file, names, write_file};
use crate::base::Json;

/// Tells whether a call of a tool may have changed files.
pub fn may_write(name: &str) -> bool {
    is_file_tool(name) || !is_own(name) || [names::BASH, names::BACKGROUND].iter().any(|own| is(name, own))
}

/// Tells whether a tool changes one file, and nothing else.
pub fn is_file_tool(name: &str) -> bool {
    is(name, names::EDIT_FILE) || is(name, names::WRITE_FILE)
}

/// Returns what a call is about, in the model's words: its file or its command.
pub fn subject(input: &Json) -> Option<String> {
    let input: Value = input.read().ok()?;
    let said = input.get("path").or_else(|| input.get("command"))?;
    said.as_str().map(str::to_owned)
}

/// Returns what a file becomes, if the tool is one that says so and the input fits the file.
pub fn replay(name: &str, input: &Json, before: Option<&[u8]>) -> Option<Vec<u8>> {
    match () {
        () if is(name, names::EDIT_FILE) => edit_file::replay(input, before?),
        () if is(name, names::WRITE_FILE) => write_file::replay(input),
        () => None,
    }
}

fn is(name: &str, own: &str) -> bool {
    names::canonical(name) == names::wire(own)
}

fn is_own(name: &str) -> bool {
    names::ALL.iter().any(|own| is(name, own))
}

#[cfg(test)]
#[path = "replay_tests.rs"]
mod tests;
