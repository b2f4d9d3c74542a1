//! A tool call as hooks see it: with the names and fields of Claude Code where it has them, beside our own.
//!
//! A call that reads several files is several views, so that a guard of one file sees each of them.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::model::tool_names::{self as names, OWN};

/// One view of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolView {
    /// What matchers look at: the name in Claude Code, and ours.
    pub names: Vec<String>,
    /// The name in Claude Code, or ours if it has none.
    pub tool_name: String,
    /// Our name.
    pub own_name: String,
    pub input: Map<String, Value>,
    /// The view is only a part of the call, so it cannot be replaced.
    pub is_part: bool,
}

/// The fields of a tool: the name in Claude Code, and ours.
type Fields = &'static [(&'static str, &'static str)];

/// Returns the name of a tool in Claude Code, and its fields that have another name there.
fn counterpart(tool: &str) -> Option<(&'static str, Fields)> {
    match tool {
        names::BASH => Some(("Bash", &[("run_in_background", "background")])),
        names::READ_FILE => Some(("Read", &[])),
        names::WRITE_FILE => Some(("Write", &[("file_path", "path")])),
        names::EDIT_FILE => Some(("Edit", &[("file_path", "path")])),
        names::LIST_FILES => Some(("Glob", &[])),
        names::SEARCH => Some(("Grep", &[])),
        names::CREATE_TASK => {
            Some(("Task", &[("description", "title"), ("prompt", "description"), ("subagent_type", "profile")]))
        }
        _ => None,
    }
}

/// Returns the views of a call. `wire` is the tool's wire name, `cwd` the folder of the agent's shell.
pub fn views(wire: &str, input: &Value, cwd: &Path) -> Vec<ToolView> {
    let own = match names::split(wire) {
        Some((OWN, tool)) => tool,
        _ => wire,
    };
    let Some((name, _)) = counterpart(own) else {
        let fields = input.as_object().cloned().unwrap_or_default();
        return vec![view(own, own, fields)];
    };
    if own != names::READ_FILE {
        return vec![view(own, name, with_foreign_fields(own, input, cwd))];
    }
    let files = input["files"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_part = files.len() > 1;
    let of_file = |file: &Value| {
        let mut fields = file.as_object().cloned().unwrap_or_default();
        fields.insert("files".to_owned(), json!([file]));
        if let Some(path) = file["path"].as_str() {
            fields.insert("file_path".to_owned(), absolute(path, cwd));
        }
        ToolView { is_part, ..view(own, name, fields) }
    };
    files.iter().map(of_file).collect()
}

fn view(own: &str, name: &str, input: Map<String, Value>) -> ToolView {
    let mut names = vec![name.to_owned()];
    if own != name {
        names.push(own.to_owned());
    }
    // The tool of earlier versions for several edits.
    if own == names::EDIT_FILE && input.get("edits").and_then(Value::as_array).is_some_and(|edits| edits.len() > 1) {
        names.push("MultiEdit".to_owned());
    }
    ToolView { names, tool_name: name.to_owned(), own_name: own.to_owned(), input, is_part: false }
}

fn absolute(path: &str, cwd: &Path) -> Value {
    cwd.join(path).to_string_lossy().into()
}

/// Returns the fields of a call with those of Claude Code added.
fn with_foreign_fields(own: &str, input: &Value, cwd: &Path) -> Map<String, Value> {
    let mut fields = input.as_object().cloned().unwrap_or_default();
    let path = fields.get("path").and_then(Value::as_str).map(str::to_owned);
    match own {
        names::WRITE_FILE | names::EDIT_FILE => {
            if let Some(path) = path {
                fields.insert("file_path".to_owned(), absolute(&path, cwd));
            }
            if let Some(first) = input["edits"].get(0).and_then(Value::as_object) {
                // Our field names are those of Claude Code here.
                fields.extend(first.iter().map(|(name, value)| (name.clone(), value.clone())));
            }
        }
        names::BASH => {
            if let Some(background) = input.get("background") {
                fields.insert("run_in_background".to_owned(), background.clone());
            }
        }
        names::LIST_FILES => {
            let globs = input["globs"].as_array().into_iter().flatten();
            let pattern = globs.filter_map(Value::as_str).find(|glob| !glob.starts_with('!')).unwrap_or("**/*");
            fields.insert("pattern".to_owned(), pattern.into());
        }
        names::CREATE_TASK => {
            for (foreign, ours) in [("description", "title"), ("prompt", "description"), ("subagent_type", "profile")] {
                if let Some(value) = input.get(ours) {
                    fields.insert(foreign.to_owned(), value.clone());
                }
            }
        }
        _ => {}
    }
    fields
}

/// The reason why a hook's new input cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidUpdate {
    #[error("updatedInput is no object")]
    NoObject,
    #[error("updatedInput cannot replace the input of a call that reads several files")]
    SeveralFiles,
}

impl ToolView {
    /// Returns the input of the call that a hook's `updatedInput` means. It may have our fields, those of Claude Code, or
    /// both; where both are there, the one that the hook changed counts.
    pub fn updated(&self, updated: &Value) -> Result<Value, InvalidUpdate> {
        let updated = updated.as_object().ok_or(InvalidUpdate::NoObject)?;
        if self.is_part {
            return Err(InvalidUpdate::SeveralFiles);
        }
        let Some((_, renamed)) = counterpart(&self.own_name) else { return Ok(updated.clone().into()) };
        let changed = |name: &str| updated.get(name).filter(|value| self.input.get(name) != Some(value));
        let mut out = Map::new();
        match self.own_name.as_str() {
            names::READ_FILE => return Ok(self.updated_read(updated)),
            names::EDIT_FILE => {
                let mut edits =
                    updated.get("edits").or(self.input.get("edits")).cloned().unwrap_or_else(|| json!([{}]));
                for name in ["old_string", "new_string", "replace_all"] {
                    let is_alone = !updated.contains_key("edits");
                    if let Some(value) = changed(name).or_else(|| updated.get(name).filter(|_| is_alone)) {
                        edits[0][name] = value.clone();
                    }
                }
                out.insert("edits".to_owned(), edits);
            }
            names::LIST_FILES => {
                if let Some(pattern) = changed("pattern") {
                    out.insert("globs".to_owned(), json!([pattern]));
                }
            }
            _ => {}
        }
        // Fields whose name means something else here.
        let is_foreign = |name: &str| renamed.iter().any(|(foreign, _)| *foreign == name);
        let is_ours = |name: &str| renamed.iter().any(|(_, ours)| *ours == name);
        for (foreign, ours) in renamed {
            let value = match (changed(foreign), is_foreign(ours)) {
                (Some(value), _) => Some(value),
                // The name is also a foreign one, so its value may mean that.
                (None, true) => updated.get(*foreign),
                (None, false) => updated.get(*ours).or_else(|| updated.get(*foreign)),
            };
            if let Some(value) = value {
                out.insert((*ours).to_owned(), value.clone());
            }
        }
        let dropped: &[&str] = match self.own_name.as_str() {
            names::EDIT_FILE => &["old_string", "new_string", "replace_all", "edits"],
            names::LIST_FILES => &["pattern"],
            // What Claude Code's command tool has and ours has not.
            names::BASH => &["description", "timeout"],
            _ => &[],
        };
        for (name, value) in updated {
            let is_done = is_foreign(name) || is_ours(name) || dropped.contains(&name.as_str());
            if !is_done && !out.contains_key(name) {
                out.insert(name.clone(), value.clone());
            }
        }
        Ok(out.into())
    }

    fn updated_read(&self, updated: &Map<String, Value>) -> Value {
        let mut file = updated.get("files").and_then(|files| files.get(0)).cloned().unwrap_or_else(|| json!({}));
        let sent = |name: &str| self.input.get(name);
        for (foreign, ours) in [("file_path", "path"), ("path", "path"), ("offset", "offset"), ("limit", "limit")] {
            let is_alone = !updated.contains_key("files");
            let value = updated.get(foreign).filter(|value| is_alone || sent(foreign) != Some(value));
            if let Some(value) = value {
                file[ours] = value.clone();
            }
        }
        json!({ "files": [file] })
    }
}

#[cfg(test)]
#[path = "tool_view_tests.rs"]
mod tests;
