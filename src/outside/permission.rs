//! Permission requests of a program, and answers to them.
//!
//! An option is chosen by its kind: ids and order differ between programs. "Always" is never chosen: it would become a
//! rule in the user's own configuration of the program and outlive the task.

use serde_json::{Value, json};

use super::update::{CallUpdate, text};

/// A request for permission.
#[derive(Clone, Debug, PartialEq)]
pub struct PermissionRequest {
    /// The program's id of the request.
    pub id: Value,
    pub call: CallUpdate,
    pub options: Vec<PermissionOption>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermissionOption {
    pub id: String,
    pub kind: OptionKind,
    pub name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionKind {
    AllowOnce,
    AllowAlways,
    RejectOnce,
    RejectAlways,
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PermissionAnswer {
    Allow,
    Reject,
    /// The turn is being cancelled.
    Cancel,
}

impl PermissionRequest {
    /// Reads a request. Missing parts are empty.
    pub fn read(id: Value, params: &Value) -> Self {
        let call = params.get("toolCall").and_then(CallUpdate::read).unwrap_or_default();
        let options = params.get("options").and_then(Value::as_array).into_iter().flatten();
        let option = |option: &Value| {
            let kind = match option.get("kind").and_then(Value::as_str) {
                Some("allow_once") => OptionKind::AllowOnce,
                Some("allow_always") => OptionKind::AllowAlways,
                Some("reject_once") => OptionKind::RejectOnce,
                Some("reject_always") => OptionKind::RejectAlways,
                Some(_) | None => OptionKind::Other,
            };
            let id = text(option, "optionId")?;
            Some(PermissionOption { name: text(option, "name").unwrap_or_else(|| id.clone()), id, kind })
        };
        Self { id, call, options: options.filter_map(option).collect() }
    }

    /// Returns the result that gives an answer. A request without a fitting option is cancelled: nothing is allowed that
    /// nobody allowed.
    pub fn result(&self, answer: PermissionAnswer) -> Value {
        let kinds: &[OptionKind] = match answer {
            PermissionAnswer::Allow => &[OptionKind::AllowOnce, OptionKind::AllowAlways],
            PermissionAnswer::Reject => &[OptionKind::RejectOnce, OptionKind::RejectAlways],
            PermissionAnswer::Cancel => &[],
        };
        let chosen = kinds.iter().find_map(|kind| self.options.iter().find(|option| option.kind == *kind));
        match chosen {
            Some(option) => json!({"outcome": {"outcome": "selected", "optionId": option.id}}),
            None => json!({"outcome": {"outcome": "cancelled"}}),
        }
    }

    /// Returns true if the program lets the request be allowed.
    pub fn can_allow(&self) -> bool {
        self.options.iter().any(|option| matches!(option.kind, OptionKind::AllowOnce | OptionKind::AllowAlways))
    }
}

#[cfg(test)]
#[path = "permission_tests.rs"]
mod tests;
