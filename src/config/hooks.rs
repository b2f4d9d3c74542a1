//! Lifecycle hooks as written in settings files, in Claude Code's form: events, groups with a matcher, handlers.
//!
//! Reads the form and says where each hook comes from. Whether a hook may run, and running it, is not decided here.

mod matcher;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub use matcher::{InvalidMatcher, Matcher};

use crate::config::key_path::KeyPath;
use crate::config::layer::Layer;
use crate::config::problem::FileLocation;
use crate::config::read::LayerFile;
use crate::config::trust;
use crate::model::hook::HookEvent;

/// How long a hook may take, where its entry does not say.
const TIMEOUT: Duration = Duration::from_mins(1);
/// The same before a message of the user.
const PROMPT_TIMEOUT: Duration = Duration::from_secs(30);
/// The longest time that an entry can ask for.
const MAX_TIMEOUT: Duration = Duration::from_hours(24);

/// Hooks of one event that share a matcher.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HookGroup {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matcher: Option<String>,
    pub hooks: Vec<HookHandler>,
}

/// What a hook calls, and how.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HookHandler {
    #[serde(rename = "type")]
    pub kind: HandlerKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The arguments of the program `command`, which is then started without a shell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shell: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headers: Option<BTreeMap<String, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_env_vars: Option<Vec<String>>,
    /// A permission rule that the call has to match.
    #[serde(rename = "if", skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// In seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_failure: Option<OnFailure>,
    #[serde(rename = "async", skip_serializing_if = "Option::is_none")]
    pub is_async: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub async_rewake: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HandlerKind {
    #[default]
    Command,
    Http,
    /// Read for compatibility. It does not run.
    McpTool,
    Prompt,
    Agent,
}

/// What happens if a hook fails or takes too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    Continue,
    Block,
}

impl OnFailure {
    /// Returns what counts if the entry does not say. A guard that cannot be asked must not be passed.
    fn default_for(event: HookEvent) -> Self {
        match event {
            HookEvent::PreToolUse | HookEvent::MergeBefore => Self::Block,
            _ => Self::Continue,
        }
    }
}

impl HookHandler {
    /// Returns the command line or the address, as written.
    pub fn label(&self) -> String {
        match self.kind {
            HandlerKind::Command => {
                let mut label = self.command.clone().unwrap_or_default();
                for argument in self.args.iter().flatten() {
                    label.push(' ');
                    label.push_str(argument);
                }
                label
            }
            HandlerKind::Http => self.url.clone().unwrap_or_default(),
            HandlerKind::McpTool => "mcp_tool".to_owned(),
            HandlerKind::Prompt | HandlerKind::Agent => self.prompt.clone().unwrap_or_default(),
        }
    }

    /// Returns the reason why the handler cannot run, or `None` if it can.
    pub fn unsupported(&self) -> Option<String> {
        match self.kind {
            HandlerKind::McpTool => Some("hooks of the type mcp_tool do not run".to_owned()),
            HandlerKind::Prompt | HandlerKind::Agent => {
                Some("hooks of the types prompt and agent do not run: they would cost money unasked".to_owned())
            }
            HandlerKind::Command => {
                let shell = self.shell.as_deref().filter(|shell| !matches!(*shell, "bash" | "sh"));
                shell.map(|shell| format!("the shell {shell} is not supported"))
            }
            HandlerKind::Http => None,
        }
    }

    /// Returns true if nothing waits for the hook.
    pub fn is_background(&self) -> bool {
        self.is_async == Some(true) || self.async_rewake == Some(true)
    }

    pub fn timeout(&self, event: HookEvent) -> Duration {
        let default = if event == HookEvent::UserPromptSubmit { PROMPT_TIMEOUT } else { TIMEOUT };
        let stated = self.timeout.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        stated.unwrap_or(default).min(MAX_TIMEOUT)
    }

    pub fn on_failure(&self, event: HookEvent) -> OnFailure {
        self.on_failure.unwrap_or_else(|| OnFailure::default_for(event))
    }

    /// Returns true if calling both would do the same thing twice.
    pub fn is_same_call(&self, other: &Self) -> bool {
        self.kind == other.kind
            && self.command == other.command
            && self.args == other.args
            && self.shell == other.shell
            && self.url == other.url
            && self.headers == other.headers
            && self.condition == other.condition
    }
}

/// One hook of a settings file.
#[derive(Clone, Debug, PartialEq)]
pub struct HookDefinition {
    /// `None` for a name that is no event of this version.
    pub event: Option<HookEvent>,
    /// As written.
    pub event_name: String,
    pub matcher: Option<String>,
    pub handler: HookHandler,
    pub layer: Layer,
    /// The file, and where its event is in it.
    pub place: FileLocation,
}

impl HookDefinition {
    /// Returns the BLAKE3 hash, in hex, of what an approval covers: event, matcher, handler and the scripts that it
    /// names, by name and content.
    pub fn approval_hash(&self, scripts: &[(String, Vec<u8>)]) -> String {
        let scripts: BTreeMap<&str, String> =
            scripts.iter().map(|(name, content)| (name.as_str(), blake3::hash(content).to_hex().to_string())).collect();
        trust::hash(&json!({
            "event": self.event_name,
            "matcher": self.matcher,
            "handler": serde_json::to_value(&self.handler).unwrap_or(Value::Null),
            "scripts": scripts,
        }))
    }
}

impl fmt::Display for HookDefinition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.event_name)?;
        match self.matcher.as_deref().filter(|matcher| !matcher.is_empty()) {
            Some(matcher) => write!(f, " ({matcher}): {}", self.handler.label()),
            None => write!(f, ": {}", self.handler.label()),
        }
    }
}

/// Returns the hooks of the files, in the order of the files and as written.
pub fn definitions(files: &[LayerFile]) -> Vec<HookDefinition> {
    let mut found = Vec::new();
    for file in files {
        let events = file.value("hooks").and_then(Value::as_object).into_iter().flatten();
        for (name, groups) in events {
            let groups: Vec<HookGroup> = serde_json::from_value(without_nulls(groups)).unwrap_or_default();
            for group in groups {
                for handler in group.hooks {
                    found.push(HookDefinition {
                        event: name.parse().ok(),
                        event_name: name.clone(),
                        matcher: group.matcher.clone(),
                        handler,
                        layer: file.layer,
                        place: file.place(&KeyPath::top("hooks").child(name)),
                    });
                }
            }
        }
    }
    found
}

/// Returns a value without its null fields, which mean the default.
pub(super) fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(entries) => {
            let present = entries.iter().filter(|(_, value)| !value.is_null());
            Value::Object(present.map(|(name, value)| (name.clone(), without_nulls(value))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(without_nulls).collect()),
        other => other.clone(),
    }
}

#[cfg(test)]
#[path = "hooks_tests.rs"]
mod tests;
