//! Changes to a file of settings, as text in and text out.
//!
//! Everything else in the file stays as it is written: order, comments, white space, unknown keys, repeated keys, the
//! spelling of numbers. What is written is checked first, by the same walk that reads; a file that cannot be read is
//! never rewritten.

mod tree;

use std::path::Path;

use serde_json::Value;

use crate::base::Fault;
use crate::config::document::{Document, shape};
use crate::config::key_path::{InvalidPath, KeyPath};
use crate::config::layer::Layer;
use crate::config::problem::{Place, Problem, Severity, Spot, Trouble};
use crate::config::read::{self, LayerFile};
use crate::config::table::{self, Kind, Nowhere, Resolved};
use crate::config::validate::{Expected, Validator, is};
use crate::model::ask::Approval;
use tree::Tree;

/// A file that is to be changed.
#[derive(Clone, Copy, Debug)]
pub struct Edit<'a> {
    pub layer: Layer,
    /// Its name, for messages.
    pub file: &'a Path,
    /// What it holds now. Empty if it does not exist.
    pub text: &'a str,
}

/// Why a file stays as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    #[error(transparent)]
    Path(#[from] InvalidPath),
    #[error(transparent)]
    Nowhere(#[from] Nowhere),
    /// The file must be put right by hand first.
    #[error("{0}")]
    Broken(Box<Problem>),
    /// The file was read, and the parser that edits does not take it.
    #[error("{place}: this file cannot be changed by mxd: {why}")]
    NotEditable { place: Place, why: String },
    /// The new value would not be accepted.
    #[error("{0}")]
    Refused(Box<Trouble>),
    /// The new value would be accepted if something else stood beside it.
    #[error("{trouble}")]
    Incomplete { layer: Layer, trouble: Box<Trouble> },
    #[error("{path} is not set in {file}")]
    NotSet { path: KeyPath, file: String },
}

impl From<EditError> for Fault {
    fn from(error: EditError) -> Self {
        match error {
            EditError::Path(error) => Self::user(error.to_string())
                .hint("a name that contains a dot stands in double quotes, for example: 'models.\"gpt-4.1\".window'"),
            EditError::Nowhere(nowhere) => nowhere.into(),
            EditError::Broken(problem) => (*problem).into(),
            EditError::NotEditable { .. } => Self::config(sentence(&error)).hint("change it in an editor"),
            EditError::Refused(_) => Self::user(sentence(&error)).hint("nothing was changed"),
            EditError::Incomplete { layer, ref trouble } => {
                let fault = Self::user(sentence(&error));
                match &**trouble {
                    // In the same file: what another has does not count in this one.
                    Trouble::Missing { key, field, .. } => {
                        fault.hint(format!("set it first: `mxd config set --{layer} {key}.{field} …`"))
                    }
                    _ => fault,
                }
            }
            EditError::NotSet { .. } => {
                Self::user(sentence(&error)).hint("`mxd config list` shows where each value comes from")
            }
        }
    }
}

fn refused(trouble: Trouble) -> EditError {
    EditError::Refused(Box::new(trouble))
}

fn broken(problem: Problem) -> EditError {
    EditError::Broken(Box::new(problem))
}

fn sentence(error: &EditError) -> String {
    crate::base::sanitize::line(&error.to_string()).into_owned()
}

impl Edit<'_> {
    /// Returns the file's text with the setting at `path` set to `value`: JSON, or a plain word where a text belongs.
    pub fn set(&self, path: &str, value: &str) -> Result<String, EditError> {
        let path: KeyPath = path.parse()?;
        let resolved = table::resolve(&path)?;
        if let Some(trouble) = table::find(path.key()).and_then(|key| read::not_here(key, &path, self.layer)) {
            return Err(refused(trouble));
        }
        let value = accepted(resolved, &path, value)?;
        self.change(&path, |tree| tree.set(path.parts(), value))
    }

    /// Returns the file's text without the setting at `path`. Anything can be removed, known or not.
    pub fn unset(&self, path: &str) -> Result<String, EditError> {
        let path: KeyPath = path.parse()?;
        let absent = || EditError::NotSet { path: path.clone(), file: self.file.display().to_string() };
        let mut removed = false;
        let text = self.change(&path, |tree| {
            removed = tree.unset(path.parts());
            Ok(())
        })?;
        if removed { Ok(text) } else { Err(absent()) }
    }

    /// Returns the file's text with the server entry that has this hash approved.
    pub fn approve(&self, hash: &str) -> Result<String, EditError> {
        self.hashes("approvedMcpServers", |approved| add(approved, hash))
    }

    /// Returns the file's text with the approval of this hash taken back.
    pub fn withdraw(&self, hash: &str) -> Result<String, EditError> {
        self.hashes("approvedMcpServers", |approved| approved.retain(|known| known != hash))
    }

    /// Returns the file's text with the user's decision about `approval` in it.
    pub fn decide(&self, approval: &Approval, approved: bool) -> Result<String, EditError> {
        let (yes, no, entry) = match approval {
            Approval::McpServer { hash } => ("approvedMcpServers", "declinedMcpServers", hash.clone()),
            Approval::RecurringTask { hash } => ("approvedTasks", "declinedTasks", hash.clone()),
            Approval::SetupHook { hash } => ("approvedHooks", "declinedHooks", hash.clone()),
            Approval::Project { project } => ("approvedProjects", "declinedProjects", project.to_string()),
        };
        let (list, other) = if approved { (yes, no) } else { (no, yes) };
        let text = self.hashes(list, |entries| add(entries, &entry))?;
        let decided = Edit { text: &text, ..*self };
        let file = LayerFile::read(self.layer, self.file, text.as_bytes());
        let stands =
            file.value(other).and_then(Value::as_array).is_some_and(|known| known.contains(&entry.clone().into()));
        if stands { decided.hashes(other, |entries| entries.retain(|known| *known != entry)) } else { Ok(text) }
    }

    fn hashes(&self, key: &'static str, change: impl FnOnce(&mut Vec<String>)) -> Result<String, EditError> {
        let file = LayerFile::read(self.layer, self.file, self.text.as_bytes());
        let written = file.value(key).and_then(Value::as_array).into_iter().flatten();
        let mut hashes: Vec<String> = written.filter_map(|hash| hash.as_str().map(str::to_owned)).collect();
        change(&mut hashes);
        self.set(key, &Value::from(hashes).to_string())
    }

    /// Applies `change`, unless the file cannot be read or would have an error at or above `path` that it has not now.
    fn change(&self, path: &KeyPath, change: impl FnOnce(&Tree) -> Result<(), usize>) -> Result<String, EditError> {
        let before = LayerFile::read(self.layer, self.file, self.text.as_bytes());
        if let Some(spoilt) = before.problems().iter().find(|problem| problem.trouble.spoils_the_file()) {
            return Err(broken(spoilt.clone()));
        }
        let tree = Tree::parse(self.text).map_err(|error| {
            let at = Some(Spot { line: error.line_display(), column: error.column_display() });
            let place = Place { file: self.file.display().to_string(), at };
            EditError::NotEditable { place, why: error.kind().to_string() }
        })?;
        if let Err(depth) = change(&tree) {
            return Err(self.in_the_way(&before, path.first(depth)));
        }
        let text = tree.print();
        let known: Vec<&Trouble> = before.problems().iter().map(|problem| &problem.trouble).collect();
        let after = LayerFile::read(self.layer, self.file, text.as_bytes());
        let fresh = after.problems().iter().find(|problem| {
            let touched = problem.trouble.key().is_none_or(|key| key.contains(path) || path.contains(key));
            problem.severity() == Severity::Error && touched && !known.contains(&&problem.trouble)
        });
        match fresh {
            Some(Problem { trouble: trouble @ Trouble::Missing { .. }, .. }) => {
                Err(EditError::Incomplete { layer: self.layer, trouble: Box::new(trouble.clone()) })
            }
            Some(problem) => Err(refused(problem.trouble.clone())),
            None => Ok(text),
        }
    }

    /// Returns the complaint about a value that stands where an object would have to be.
    fn in_the_way(&self, file: &LayerFile, path: KeyPath) -> EditError {
        let known = file.problems().iter().find(|problem| problem.trouble.key() == Some(&path));
        match known {
            Some(problem) => broken(problem.clone()),
            None => EditError::NotSet { path, file: self.file.display().to_string() },
        }
    }
}

/// Returns `value`, which is JSON or a plain word, as the kind that `path` takes.
fn accepted(resolved: Resolved, path: &KeyPath, value: &str) -> Result<Value, EditError> {
    let error = match check(resolved, path, value) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    let is_list = matches!(Document::new("", value).root(), Ok(Some(raw)) if is(raw, b'['));
    let meant_as_list = is_list && matches!(resolved.kind, Kind::OneOrMany);
    if !resolved.kind.is_text() || meant_as_list {
        return Err(error);
    }
    check(resolved, path, &Value::from(value).to_string())
}

/// Returns the value at `path` that `json` is. What a person writes now may not even earn a warning.
fn check(resolved: Resolved, path: &KeyPath, json: &str) -> Result<Value, EditError> {
    let document = Document::new("", json);
    let expected = Expected { kind: resolved.kind, key: resolved.key };
    let wrong = |found: &str| {
        refused(Trouble::Wrong {
            key: path.clone(),
            expected: resolved.kind.describe(),
            found: found.to_owned(),
            example: resolved.key.sample(),
        })
    };
    let Ok(Some(raw)) = document.root() else { return Err(wrong("something else")) };
    let whole = path.parts().len() == 1 && matches!(resolved.kind, Kind::Map { .. } | Kind::Object { .. });
    if is(raw, b'n') && !whole {
        return Ok(Value::Null);
    }
    let mut validator = Validator::new(&document);
    let value = validator.value(expected, raw, path);
    match (value, validator.problems.into_iter().next()) {
        (_, Some(problem)) => Err(refused(problem.trouble)),
        (None, None) => Err(wrong(shape(raw))),
        (Some(value), None) => Ok(value),
    }
}

fn add(hashes: &mut Vec<String>, hash: &str) {
    if !hashes.iter().any(|known| known == hash) {
        hashes.push(hash.to_owned());
    }
}

#[cfg(test)]
#[path = "edit_tests.rs"]
mod tests;
