//! The user's editor and pager: environment variables, split into words as a shell would.
//!
//! Pure: finds no file and starts nothing.

use thiserror::Error;

use crate::base::Fault;

/// A program and its arguments; the file to open comes after them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    pub program: String,
    pub arguments: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ToolError {
    #[error("no editor is set: $VISUAL and $EDITOR are both empty")]
    NoEditor,
    #[error("${variable} has an unclosed quote: `{value}`")]
    OpenQuote { variable: &'static str, value: String },
}

impl From<ToolError> for Fault {
    fn from(error: ToolError) -> Self {
        let fault = Self::config(error.to_string());
        match error {
            ToolError::NoEditor => fault.hint("set one in your shell, for example: export EDITOR=vim"),
            ToolError::OpenQuote { variable, .. } => {
                fault.hint(format!("close the quote, for example: export {variable}='code --wait'"))
            }
        }
    }
}

/// Returns the user's editor: `VISUAL`, else `EDITOR`.
pub fn editor(lookup: impl Fn(&str) -> Option<String>) -> Result<Tool, ToolError> {
    first(&lookup, &["VISUAL", "EDITOR"])?.ok_or(ToolError::NoEditor)
}

/// Returns the user's pager: `PAGER`, else `less -R`, which shows colours.
pub fn pager(lookup: impl Fn(&str) -> Option<String>) -> Result<Tool, ToolError> {
    let less = || Tool { program: "less".to_owned(), arguments: vec!["-R".to_owned()] };
    Ok(first(&lookup, &["PAGER"])?.unwrap_or_else(less))
}

fn first(lookup: &impl Fn(&str) -> Option<String>, variables: &[&'static str]) -> Result<Option<Tool>, ToolError> {
    for &variable in variables {
        let Some(value) = lookup(variable) else { continue };
        let words = split(&value).ok_or_else(|| ToolError::OpenQuote { variable, value: value.clone() })?;
        let mut words = words.into_iter();
        if let Some(program) = words.next() {
            return Ok(Some(Tool { program, arguments: words.collect() }));
        }
    }
    Ok(None)
}

/// Splits a line into words by the quoting rules of the shell, without its expansions. `None` if a quote or a backslash
/// is left open.
pub fn split(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = line.chars();
    while let Some(char) = chars.next() {
        match char {
            ' ' | '\t' | '\n' => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '\'' => break,
                        char => word.push(char),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '"' => break,
                        '\\' => match chars.next()? {
                            '\n' => {}
                            char @ ('$' | '`' | '"' | '\\') => word.push(char),
                            char => word.extend(['\\', char]),
                        },
                        char => word.push(char),
                    }
                }
            }
            '\\' => match chars.next()? {
                '\n' => {}
                char => word.get_or_insert_default().push(char),
            },
            char => word.get_or_insert_default().push(char),
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
#[path = "editor_tests.rs"]
mod tests;
