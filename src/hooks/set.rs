//! The hooks that apply now, and which of them an event calls.

use std::path::Path;
use std::time::Duration;

use crate::config::HookDefinition;
use crate::config::Layer;
use crate::config::hooks::{HookHandler, Matcher, OnFailure};
use crate::hooks::condition;
use crate::hooks::tool_view::ToolView;
use crate::model::hook::HookEvent;

/// A hook that can be called.
#[derive(Clone, Debug)]
pub struct Hook {
    pub event: HookEvent,
    pub matcher: Matcher,
    pub handler: HookHandler,
    pub layer: Layer,
    pub timeout: Duration,
    pub on_failure: OnFailure,
    /// For a repository's hook: its definition, and the hash that the user approved. Checked again at each call.
    pub approval: Option<(Box<HookDefinition>, String)>,
}

impl Hook {
    /// Returns the hook of a definition, or the reason why it cannot run.
    pub fn new(definition: &HookDefinition, approval: Option<String>) -> Result<Self, String> {
        let event = definition.event.ok_or_else(|| format!("there is no hook event {}", definition.event_name))?;
        if let Some(why) = definition.handler.unsupported() {
            return Err(why);
        }
        let matcher = Matcher::parse(definition.matcher.as_deref().unwrap_or_default());
        Ok(Self {
            event,
            matcher: matcher.map_err(|error| error.to_string())?,
            handler: definition.handler.clone(),
            layer: definition.layer,
            timeout: definition.handler.timeout(event),
            on_failure: definition.handler.on_failure(event),
            approval: approval.map(|hash| (Box::new(definition.clone()), hash)),
        })
    }
}

/// Which addresses hooks may call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HttpPolicy {
    /// Patterns with `*`. `None` allows all.
    pub allowed: Option<Vec<String>>,
}

impl HttpPolicy {
    pub fn allows(&self, url: &str) -> bool {
        self.allowed.as_ref().is_none_or(|patterns| patterns.iter().any(|pattern| matches_wildcard(pattern, url)))
    }
}

/// Returns true if `text` matches `pattern`, in which `*` stands for anything.
fn matches_wildcard(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    let mut rest = rest;
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// The hooks that apply now, in order of definition.
#[derive(Clone, Debug, Default)]
pub struct HookSet {
    pub hooks: Vec<Hook>,
    pub http: HttpPolicy,
}

impl HookSet {
    pub fn has(&self, event: HookEvent) -> bool {
        self.hooks.iter().any(|hook| hook.event == event)
    }

    /// Returns the hooks for an event that is called `names`. Equal ones are called once.
    pub fn matching(&self, event: HookEvent, names: &[String]) -> Vec<&Hook> {
        Self::unique(self.hooks.iter().filter(|hook| hook.event == event && hook.matcher.matches(names)))
    }

    /// Returns the hooks for an event about a tool call.
    pub fn matching_call(&self, event: HookEvent, view: &ToolView, root: &Path, cwd: &Path) -> Vec<&Hook> {
        let places = condition::places(root, cwd);
        let wants = |hook: &&Hook| {
            hook.event == event
                && hook.matcher.matches(&view.names)
                && hook.handler.condition.as_ref().is_none_or(|rule| condition::may_match(rule, view, &places))
        };
        Self::unique(self.hooks.iter().filter(wants))
    }

    fn unique<'h>(matching: impl Iterator<Item = &'h Hook>) -> Vec<&'h Hook> {
        let mut unique: Vec<&Hook> = Vec::new();
        for hook in matching {
            if !unique.iter().any(|known| known.handler.is_same_call(&hook.handler)) {
                unique.push(hook);
            }
        }
        unique
    }
}

#[cfg(test)]
#[path = "set_tests.rs"]
mod tests;
