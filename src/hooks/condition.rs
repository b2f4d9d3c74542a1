//! The condition of a hook, `if`: one permission rule that the call has to match.
//!
//! A condition saves a call of the hook, it is no guard: whatever is not certain calls the hook.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::hooks::tool_view::ToolView;
use crate::model::tool_names as names;
use crate::permit::shell;
use crate::permit::{Call, List, Places, Rule, Rules, Source, Subject};

/// Returns false if the call certainly does not match the rule.
pub(super) fn may_match(rule: &str, view: &ToolView, places: &Places) -> bool {
    let Ok(rule) = Rule::parse(rule, List::Deny, Source::Local) else { return true };
    let path = view.input.get("file_path").or(view.input.get("path")).and_then(Value::as_str);
    let paths: Vec<PathBuf> = path.map(|path| places.resolve(path)).into_iter().collect();
    let script;
    let subject = match view.own_name.as_str() {
        names::BASH => {
            script = shell::parse(view.input.get("command").and_then(Value::as_str).unwrap_or_default());
            if script.opaque.is_some() {
                return true;
            }
            Subject::Command { script: &script }
        }
        names::READ_FILE | names::SEARCH | names::LIST_FILES => Subject::Reads { paths },
        names::EDIT_FILE | names::WRITE_FILE => Subject::Edits { paths },
        _ => Subject::External,
    };
    let call = Call { tool: &view.own_name, subject };
    Rules(vec![rule]).may_deny(&call, places)
}

/// Returns the places for a call in `cwd`.
pub(super) fn places(root: &Path, cwd: &Path) -> Places {
    Places { root: root.to_owned(), cwd: cwd.to_owned(), home: std::env::home_dir() }
}

#[cfg(test)]
#[path = "condition_tests.rs"]
mod tests;
