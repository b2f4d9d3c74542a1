//! The gate that asks the rules and the mode of [`crate::permit`] about each call.
//!
//! Understands the input of each built-in tool as a command, as paths, or as something that concerns only tasks. A call
//! that would need the user's permission is refused, with the reason.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt as _};
use serde_json::Value;

use crate::model::event::{PermissionCause, PermissionNote};
use crate::permit::{
    Call, Decision, HookVerdict, Mode, Places, Policy, Reason, Rules, Sandbox, Subject, Verdict, decide, shell,
};
use crate::tools::cwd::Cwd;
use crate::tools::fence::real_path;
use crate::tools::gate::{Gate, Permission, PermissionRequest};
use crate::tools::names;

/// The rules and the mode that apply now.
#[derive(Clone, Debug)]
pub struct ActivePolicy {
    pub mode: Mode,
    pub rules: Rules,
    pub sandbox: Sandbox,
}

/// Provides the policy of a task. It may change while the task runs. May read files.
pub trait PolicySource: Send + Sync {
    fn current(&self) -> Arc<ActivePolicy>;
}

/// Decides about calls by rules and mode.
pub struct RuleGate {
    source: Arc<dyn PolicySource>,
    cwd: Arc<Cwd>,
    root: PathBuf,
    home: Option<PathBuf>,
}

impl RuleGate {
    pub fn new(source: Arc<dyn PolicySource>, cwd: Arc<Cwd>, root: PathBuf, home: Option<PathBuf>) -> Self {
        Self { source, cwd, root, home }
    }
}

impl Gate for RuleGate {
    fn check<'a>(&'a self, request: PermissionRequest<'a>) -> BoxFuture<'a, Permission> {
        let tool = request.name.to_owned();
        let input: Value = request.call.input.read().unwrap_or_default();
        let places = Places { root: self.root.clone(), cwd: self.cwd.get(), home: self.home.clone() };
        let source = Arc::clone(&self.source);
        async move {
            // Links are followed, and settings may have changed.
            let judged = tokio::task::spawn_blocking(move || judge(&tool, &input, places, source.as_ref()));
            judged.await.unwrap_or_else(|error| Permission::Denied {
                reason: format!("the permission check failed: {error}"),
                note: None,
            })
        }
        .boxed()
    }
}

fn judge(wire: &str, input: &Value, places: Places, source: &dyn PolicySource) -> Permission {
    let active = source.current();
    let script;
    let tool = match names::split(wire) {
        Some((names::OWN, tool)) => tool,
        _ => wire,
    };
    let subject = match tool {
        names::BASH => {
            script = shell::parse(input["command"].as_str().unwrap_or_default());
            Subject::Command { script: &script }
        }
        names::READ_FILE => {
            let files = input["files"].as_array().into_iter().flatten();
            Subject::Reads { paths: paths(files.filter_map(|file| file["path"].as_str()), &places) }
        }
        names::SEARCH | names::LIST_FILES => {
            let folder = input["path"].as_str().unwrap_or(".");
            // A rule for what is in the folder counts, too.
            let inside = format!("{}/any", folder.trim_end_matches('/'));
            Subject::Reads { paths: paths([folder, &inside].into_iter(), &places) }
        }
        names::EDIT_FILE | names::WRITE_FILE => {
            Subject::Edits { paths: paths(input["path"].as_str().into_iter(), &places) }
        }
        tool if names::ALL.contains(&tool) => Subject::Coordinates { reads_only: is_harmless(tool) },
        _ => Subject::External,
    };
    let policy = Policy { mode: active.mode, rules: active.rules.clone(), sandbox: active.sandbox, places };
    permission(decide(&Call { tool, subject }, &HookVerdict::None, &policy))
}

/// Returns true for the tools that change no task: they read, end the turn, ask, or look after the agent's own
/// processes.
fn is_harmless(tool: &str) -> bool {
    names::READ_ONLY.contains(&tool) || [names::BACKGROUND, names::CLARIFY, names::DONE, names::YIELD].contains(&tool)
}

/// Returns each path as named, and as it is after following links.
fn paths<'a>(named: impl Iterator<Item = &'a str>, places: &Places) -> Vec<PathBuf> {
    let both = |text: &str| {
        let path = places.resolve(text);
        let real = real_path(Path::new(&path)).unwrap_or_else(|_| path.clone());
        if real == path { vec![path] } else { vec![path, real] }
    };
    named.flat_map(both).collect()
}

fn permission(decision: Decision) -> Permission {
    let Decision { verdict, reason } = decision;
    let is_default = reason == Reason::Mode(Mode::Open) || reason == Reason::Coordination;
    let note = (!is_default).then(|| PermissionNote { granted: verdict == Verdict::Grant, by: cause(&reason) });
    match verdict {
        Verdict::Grant => Permission::Granted { note },
        Verdict::Refuse => Permission::Denied { reason: format!("{reason}."), note },
        Verdict::Ask => Permission::Denied {
            reason: format!(
                "it needs the user's permission: {reason}. Go on without it, or ask the user with clarify to allow it in \
                 their settings."
            ),
            note,
        },
    }
}

fn cause(reason: &Reason) -> PermissionCause {
    match reason {
        Reason::Hook => PermissionCause::Hook,
        Reason::Rule { list, source, rule } => PermissionCause::Rule {
            list: list.to_string(),
            source: source.to_string(),
            rule: rule.clone(),
            possibly: false,
        },
        Reason::RulePossible { source, rule } => PermissionCause::Rule {
            list: crate::permit::List::Deny.to_string(),
            source: source.to_string(),
            rule: rule.clone(),
            possibly: true,
        },
        Reason::Stop(stop) => PermissionCause::Stop { what: stop.to_string() },
        Reason::Mode(mode) => PermissionCause::Mode { mode: mode.to_string() },
        Reason::Coordination => PermissionCause::Coordination,
        Reason::ReadOnly => PermissionCause::ReadOnly,
        Reason::Sandbox => PermissionCause::Sandbox,
        Reason::Undecided(_) => PermissionCause::Undecided,
        Reason::WouldAsk(why) => cause(why),
    }
}

#[cfg(test)]
#[path = "permission_tests.rs"]
mod tests;
