//! Computes the effect of a file tool's call as a pure function of its input, to show one edit among several.

use serde_json::Value;

use super::{edit_file, names, write_file};
use crate::base::Json;

/// Returns true if a call of the tool may change files.
pub fn may_write(name: &str) -> bool {
    is_file_tool(name) || !is_own(name) || [names::BASH, names::BACKGROUND].iter().any(|own| is(name, own))
}

/// Returns true if the tool changes one file and nothing else.
pub fn is_file_tool(name: &str) -> bool {
    is(name, names::EDIT_FILE) || is(name, names::WRITE_FILE)
}

/// Returns the file or the command of a call, in the model's words.
pub fn subject(input: &Json) -> Option<String> {
    let input: Value = input.read().ok()?;
    let value = input.get("path").or_else(|| input.get("command"))?;
    value.as_str().map(str::to_owned)
}

/// Returns the new content of a file, or `None` if the tool is no file tool or the input does not match the file.
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
