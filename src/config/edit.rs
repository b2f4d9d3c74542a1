//! Edits of a settings file, as text in and text out.
//!
//! The rest of the file stays unchanged: order, comments, whitespace, unknown keys, duplicate keys and the format of
//! numbers. New values are validated like those of a file that is read. A file that cannot be parsed is never
//! rewritten.

mod tree;

use std::path::Path;

use serde_json::Value;

use crate::base::Fault;
use crate::config::document::{Document, shape};
use crate::config::key_path::{InvalidPath, KeyPath};
use crate::config::layer::Layer;
use crate::config::problem::{FileLocation, Position, Problem, ProblemKind, Severity};
use crate::config::read::{self, LayerFile};
use crate::config::table::{self, Kind, PathError, ResolvedKey};
use crate::config::validate::{Expected, Validator, is};
use crate::model::ask::Approval;
use crate::permit::List;
use tree::Tree;

/// A file to edit.
#[derive(Clone, Copy, Debug)]
pub struct SettingsEdit<'a> {
    pub layer: Layer,
    /// The path, for messages.
    pub file: &'a Path,
    /// The current content. Empty if the file does not exist.
    pub text: &'a str,
}

/// The reason why an edit is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    #[error(transparent)]
    Path(#[from] InvalidPath),
    #[error(transparent)]
    UnknownPath(#[from] PathError),
    /// The user must fix the file first.
    #[error("{0}")]
    Broken(Box<Problem>),
    /// The reader accepts the file, but the syntax tree parser does not.
    #[error("{place}: mxd cannot edit this file: {why}")]
    NotEditable { place: FileLocation, why: String },
    /// The new value is invalid.
    #[error("{0}")]
    Refused(Box<ProblemKind>),
    /// The new value needs another field beside it.
    #[error("{trouble}")]
    Incomplete { layer: Layer, trouble: Box<ProblemKind> },
    #[error("{path} is not set in {file}")]
    NotSet { path: KeyPath, file: String },
}

impl From<EditError> for Fault {
    fn from(error: EditError) -> Self {
        match error {
            EditError::Path(error) => Self::user(error.to_string())
                .hint("put a name that contains a dot in double quotes, for example: 'models.\"gpt-4.1\".window'"),
            EditError::UnknownPath(error) => error.into(),
            EditError::Broken(problem) => (*problem).into(),
            EditError::NotEditable { .. } => Self::config(sentence(&error)).hint("edit it by hand"),
            EditError::Refused(_) => Self::user(sentence(&error)).hint("nothing changed"),
            EditError::Incomplete { layer, ref trouble } => {
                let fault = Self::user(sentence(&error));
                match &**trouble {
                    // In the same file: fields of other files do not count.
                    ProblemKind::Missing { key, field, .. } => {
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

fn refused(trouble: ProblemKind) -> EditError {
    EditError::Refused(Box::new(trouble))
}

fn broken(problem: Problem) -> EditError {
    EditError::Broken(Box::new(problem))
}

fn sentence(error: &EditError) -> String {
    crate::base::sanitize::line(&error.to_string()).into_owned()
}

impl SettingsEdit<'_> {
    /// Returns the file's text with `path` set to `value`: JSON, or plain text where a string is expected.
    pub fn set(&self, path: &str, value: &str) -> Result<String, EditError> {
        let path: KeyPath = path.parse()?;
        let resolved = table::resolve(&path)?;
        if let Some(trouble) = table::find(path.key()).and_then(|key| read::wrong_layer(key, &path, self.layer)) {
            return Err(refused(trouble));
        }
        let value = parse_value(resolved, &path, value)?;
        self.change(&path, |tree| tree.set(path.parts(), value))
    }

    /// Returns the file's text without `path`, which may be an unknown key.
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

    /// Returns the file's text with the server entry of this hash approved.
    pub fn approve(&self, hash: &str) -> Result<String, EditError> {
        self.edit_list("approvedMcpServers", |approved| add(approved, hash))
    }

    /// Returns the file's text with the lifecycle hook of this hash approved.
    pub fn approve_hook(&self, hash: &str) -> Result<String, EditError> {
        self.edit_list("approvedLifecycleHooks", |approved| add(approved, hash))
    }

    /// Returns the file's text without the approval of this hash.
    pub fn withdraw(&self, hash: &str) -> Result<String, EditError> {
        self.edit_list("approvedMcpServers", |approved| approved.retain(|known| known != hash))
    }

    /// Returns the file's text with the user's decision about `approval`.
    pub fn decide(&self, approval: &Approval, approved: bool) -> Result<String, EditError> {
        let (yes, no, entry) = match approval {
            Approval::McpServer { hash } => ("approvedMcpServers", "declinedMcpServers", hash.clone()),
            Approval::RecurringTask { hash } => ("approvedTasks", "declinedTasks", hash.clone()),
            Approval::SetupHook { hash } => ("approvedHooks", "declinedHooks", hash.clone()),
            Approval::Project { project } => ("approvedProjects", "declinedProjects", project.to_string()),
        };
        let (list, other) = if approved { (yes, no) } else { (no, yes) };
        let text = self.edit_list(list, |entries| add(entries, &entry))?;
        let decided = SettingsEdit { text: &text, ..*self };
        let file = LayerFile::read(self.layer, self.file, text.as_bytes());
        let is_in_other =
            file.value(other).and_then(Value::as_array).is_some_and(|known| known.contains(&entry.clone().into()));
        if is_in_other { decided.edit_list(other, |entries| entries.retain(|known| *known != entry)) } else { Ok(text) }
    }

    /// Returns the file's text with a permission rule added to a list.
    pub fn add_rule(&self, list: List, rule: &str) -> Result<String, EditError> {
        let mut rules = self.rules(list);
        add(&mut rules, rule);
        self.set(&format!("permissions.{list}"), &Value::from(rules).to_string())
    }

    /// Returns the file's text without a permission rule.
    pub fn remove_rule(&self, list: List, rule: &str) -> Result<String, EditError> {
        let mut rules = self.rules(list);
        rules.retain(|known| known != rule);
        self.set(&format!("permissions.{list}"), &Value::from(rules).to_string())
    }

    fn rules(&self, list: List) -> Vec<String> {
        let file = LayerFile::read(self.layer, self.file, self.text.as_bytes());
        file.rule_texts(list).map(str::to_owned).collect()
    }

    fn edit_list(&self, key: &'static str, change: impl FnOnce(&mut Vec<String>)) -> Result<String, EditError> {
        let file = LayerFile::read(self.layer, self.file, self.text.as_bytes());
        let written = file.value(key).and_then(Value::as_array).into_iter().flatten();
        let mut hashes: Vec<String> = written.filter_map(|hash| hash.as_str().map(str::to_owned)).collect();
        change(&mut hashes);
        self.set(key, &Value::from(hashes).to_string())
    }

    /// Applies `change`. Fails if the file cannot be parsed, or if the change causes a new error at or above `path`.
    fn change(&self, path: &KeyPath, change: impl FnOnce(&Tree) -> Result<(), usize>) -> Result<String, EditError> {
        let before = LayerFile::read(self.layer, self.file, self.text.as_bytes());
        if let Some(unparseable) = before.problems().iter().find(|problem| problem.kind.is_unparseable()) {
            return Err(broken(unparseable.clone()));
        }
        let tree = Tree::parse(self.text).map_err(|error| {
            let at = Some(Position { line: error.line_display(), column: error.column_display() });
            let place = FileLocation { file: self.file.display().to_string(), at };
            EditError::NotEditable { place, why: error.kind().to_string() }
        })?;
        if let Err(depth) = change(&tree) {
            return Err(self.not_an_object(&before, path.first(depth)));
        }
        let text = tree.print();
        let known: Vec<&ProblemKind> = before.problems().iter().map(|problem| &problem.kind).collect();
        let after = LayerFile::read(self.layer, self.file, text.as_bytes());
        let fresh = after.problems().iter().find(|problem| {
            let touched = problem.kind.key().is_none_or(|key| key.contains(path) || path.contains(key));
            problem.severity() == Severity::Error && touched && !known.contains(&&problem.kind)
        });
        match fresh {
            Some(Problem { kind: trouble @ ProblemKind::Missing { .. }, .. }) => {
                Err(EditError::Incomplete { layer: self.layer, trouble: Box::new(trouble.clone()) })
            }
            Some(problem) => Err(refused(problem.kind.clone())),
            None => Ok(text),
        }
    }

    /// Returns the error for a value where an object is needed.
    fn not_an_object(&self, file: &LayerFile, path: KeyPath) -> EditError {
        let known = file.problems().iter().find(|problem| problem.kind.key() == Some(&path));
        match known {
            Some(problem) => broken(problem.clone()),
            None => EditError::NotSet { path, file: self.file.display().to_string() },
        }
    }
}

/// Parses `value`, which is JSON or plain text, as the kind that `path` expects.
fn parse_value(resolved: ResolvedKey, path: &KeyPath, value: &str) -> Result<Value, EditError> {
    let error = match check_value(resolved, path, value) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    let is_list = matches!(Document::new("", value).root(), Ok(Some(raw)) if is(raw, b'['));
    let is_intended_list = is_list && matches!(resolved.kind, Kind::OneOrMany);
    if !resolved.kind.is_text() || is_intended_list {
        return Err(error);
    }
    check_value(resolved, path, &Value::from(value).to_string())
}

/// Parses and validates `json` as the value of `path`. Warnings are errors here.
fn check_value(resolved: ResolvedKey, path: &KeyPath, json: &str) -> Result<Value, EditError> {
    let document = Document::new("", json);
    let expected = Expected { kind: resolved.kind, key: resolved.key };
    let wrong = |found: &str| {
        refused(ProblemKind::Wrong {
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
        (_, Some(problem)) => Err(refused(problem.kind)),
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
