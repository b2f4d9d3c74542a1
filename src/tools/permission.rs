//! The gate that asks the rules and the mode of [`crate::permit`] about each call.
//!
//! Understands the input of each built-in tool as a command, as paths, or as something that concerns only tasks. A call
//! that needs the user's permission is held: the Ask has everything that is needed to judge it again.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::{BoxFuture, FutureExt as _};
use serde_json::Value;

use crate::base::{Json, diff};
use crate::model::ask::{PermissionRequest, RequestedAction};
use crate::model::event::{PermissionCause, PermissionNote};
use crate::permit::{
    Bypass, Call, Decision, HookVerdict, Mode, Places, Policy, Reason, Rules, Sandbox, Subject, Verdict, decide, shell,
    suggest,
};
use crate::tools::bound;
use crate::tools::cwd::Cwd;
use crate::tools::fence::real_path;
use crate::tools::gate::{Gate, GateRequest, Permission};
use crate::tools::hooks::HookOpinion;
use crate::tools::names;
use crate::tools::replay;

/// The largest file whose change is shown, and the most bytes of the diff.
const LARGEST_SHOWN: u64 = 1 << 20;
const DIFF_BYTES: usize = 8_000;
const DIFF_TIME: Duration = Duration::from_millis(200);
/// The most characters of the input of another tool that are shown.
const INPUT_BYTES: usize = 4_000;

/// The rules and the mode that apply now.
#[derive(Clone, Debug)]
pub struct ActivePolicy {
    pub mode: Mode,
    pub bypass: Bypass,
    pub rules: Arc<Rules>,
    pub sandbox: Sandbox,
}

impl ActivePolicy {
    /// Returns the policy with another mode, if there is one.
    #[must_use]
    pub fn with_mode(self, mode: Option<Mode>) -> Self {
        match mode {
            Some(mode) => Self { mode: self.bypass.limit(mode), ..self },
            None => self,
        }
    }
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
    fn check<'a>(&'a self, request: GateRequest<'a>) -> BoxFuture<'a, Permission> {
        let tool = request.name.to_owned();
        let input = request.call.input.clone();
        let places = Places { root: self.root.clone(), cwd: self.cwd.get(), home: self.home.clone() };
        let source = Arc::clone(&self.source);
        let hook = request.hook.clone();
        async move {
            // Links are followed, and settings may have changed.
            let judged = tokio::task::spawn_blocking(move || check(&tool, &input, &places, &hook, source.as_ref()));
            judged.await.unwrap_or_else(|error| Permission::Denied {
                reason: format!("the permission check failed: {error}"),
                note: None,
            })
        }
        .boxed()
    }
}

fn check(wire: &str, input: &Json, places: &Places, hook: &HookOpinion, source: &dyn PolicySource) -> Permission {
    let active = source.current();
    let tool = match names::split(wire) {
        Some((names::OWN, tool)) => tool,
        _ => wire,
    };
    let action = action(tool, input, places);
    let decision = judge(tool, &action, places, &active, &hook.verdict);
    let reason = decision.reason.clone();
    match permission(decision, hook) {
        Ok(permission) => permission,
        Err(cause) => Permission::Held(Box::new(request(tool, action, input, places, cause, &reason))),
    }
}

/// Understands the input of a tool.
fn action(tool: &str, input: &Json, places: &Places) -> RequestedAction {
    let input: Value = input.read().unwrap_or_default();
    match tool {
        names::BASH => RequestedAction::Command { command: input["command"].as_str().unwrap_or_default().to_owned() },
        names::READ_FILE => {
            let files = input["files"].as_array().into_iter().flatten();
            RequestedAction::Read { paths: paths(files.filter_map(|file| file["path"].as_str()), places) }
        }
        names::SEARCH | names::LIST_FILES => {
            let folder = input["path"].as_str().unwrap_or(".");
            // A rule for what is in the folder counts, too.
            let inside = format!("{}/any", folder.trim_end_matches('/'));
            RequestedAction::Read { paths: paths([folder, &inside].into_iter(), places) }
        }
        names::EDIT_FILE | names::WRITE_FILE => {
            let paths = paths(input["path"].as_str().into_iter(), places);
            RequestedAction::Edit { paths, diff: String::new() }
        }
        tool if names::ALL.contains(&tool) => {
            RequestedAction::Coordinate { reads_only: is_harmless(tool), input: String::new() }
        }
        _ => RequestedAction::External { input: String::new() },
    }
}

/// Decides about a call, also about one that has been held since the rules were different.
pub fn judge(
    tool: &str,
    action: &RequestedAction,
    places: &Places,
    active: &ActivePolicy,
    hook: &HookVerdict,
) -> Decision {
    with_call(tool, action, |call| {
        let policy = Policy {
            mode: active.mode,
            rules: Arc::clone(&active.rules),
            sandbox: active.sandbox,
            places: places.clone(),
        };
        decide(call, hook, &policy)
    })
}

/// Passes the call to `then` in the form that rules look at.
fn with_call<T>(tool: &str, action: &RequestedAction, then: impl FnOnce(&Call<'_>) -> T) -> T {
    let of = |paths: &[String]| paths.iter().map(PathBuf::from).collect();
    let script;
    let subject = match action {
        RequestedAction::Command { command } => {
            script = shell::parse(command);
            Subject::Command { script: &script }
        }
        RequestedAction::Read { paths } => Subject::Reads { paths: of(paths) },
        RequestedAction::Edit { paths, .. } => Subject::Edits { paths: of(paths) },
        RequestedAction::Network { host } => Subject::Network { host },
        RequestedAction::Coordinate { reads_only, .. } => Subject::Coordinates { reads_only: *reads_only },
        RequestedAction::External { .. } => Subject::External,
    };
    then(&Call { tool, subject })
}

/// Judges a held call again. Returns `None` if it still needs the user.
pub fn judge_again(held: &PermissionRequest, active: &ActivePolicy, home: Option<PathBuf>) -> Option<PermissionNote> {
    let places = Places { root: PathBuf::from(&held.root), cwd: PathBuf::from(&held.cwd), home };
    // What a hook asked about is not decided by other rules.
    let hook = if held.cause == PermissionCause::Hook { HookVerdict::Ask } else { HookVerdict::None };
    let Decision { verdict, reason } = judge(&held.tool, &held.action, &places, active, &hook);
    let granted = match verdict {
        Verdict::Grant => true,
        Verdict::Refuse => false,
        Verdict::Ask => return None,
    };
    Some(PermissionNote { granted, by: cause(&reason) })
}

/// Returns what the user is asked about a held call.
fn request(
    tool: &str,
    action: RequestedAction,
    input: &Json,
    places: &Places,
    cause: PermissionCause,
    reason: &Reason,
) -> PermissionRequest {
    let (exact, rules) = with_call(tool, &action, |call| (suggest::exact(call), suggest::for_project(call, places)));
    let action = match action {
        RequestedAction::Edit { paths, .. } => {
            let diff = paths.first().and_then(|path| change(tool, input, Path::new(path), places)).unwrap_or_default();
            RequestedAction::Edit { paths, diff }
        }
        RequestedAction::Coordinate { reads_only, .. } => {
            RequestedAction::Coordinate { reads_only, input: bound::text(input.as_str(), INPUT_BYTES) }
        }
        RequestedAction::External { .. } => {
            RequestedAction::External { input: bound::text(input.as_str(), INPUT_BYTES) }
        }
        other => other,
    };
    let is_decidable = matches!(reason, Reason::Undecided(_));
    PermissionRequest {
        tool: tool.to_owned(),
        action,
        cwd: places.cwd.to_string_lossy().into_owned(),
        root: places.root.to_string_lossy().into_owned(),
        cause,
        exact,
        rules: if is_decidable { rules } else { Vec::new() },
    }
}

/// Returns what a call of a file tool would change, as a diff.
fn change(tool: &str, input: &Json, path: &Path, places: &Places) -> Option<String> {
    let before = match std::fs::metadata(path) {
        Ok(file) if file.is_file() && file.len() <= LARGEST_SHOWN => Some(std::fs::read(path).ok()?),
        Ok(_) => return None,
        Err(_) => None,
    };
    let after = replay::replay(&names::wire(tool), input, before.as_deref())?;
    let before = before.unwrap_or_default();
    let name = path.strip_prefix(&places.root).unwrap_or(path).display().to_string();
    let (before, after) = (String::from_utf8_lossy(&before), String::from_utf8_lossy(&after));
    Some(bound::text(&diff::unified(&name, &before, &after, Some(Instant::now() + DIFF_TIME)), DIFF_BYTES))
}

/// Returns true for the tools that change no task: they read, end the turn, ask, or look after the agent's own
/// processes.
fn is_harmless(tool: &str) -> bool {
    names::READ_ONLY.contains(&tool)
        || [names::BACKGROUND, names::CLARIFY, names::DONE, names::SUBMIT_PLAN, names::YIELD].contains(&tool)
}

/// Returns each path as named, and as it is after following links.
fn paths<'a>(named: impl Iterator<Item = &'a str>, places: &Places) -> Vec<String> {
    let both = |text: &str| {
        let path = places.resolve(text);
        let real = real_path(Path::new(&path)).unwrap_or_else(|_| path.clone());
        let both = if real == path { vec![path] } else { vec![path, real] };
        both.into_iter().map(|path| path.to_string_lossy().into_owned())
    };
    named.flat_map(both).collect()
}

/// Returns the permission, or why the user has to decide.
fn permission(decision: Decision, hook: &HookOpinion) -> Result<Permission, PermissionCause> {
    let Decision { verdict, reason } = decision;
    let is_default = reason == Reason::Mode(Mode::Open) || reason == Reason::Coordination;
    let note = (!is_default).then(|| PermissionNote { granted: verdict == Verdict::Grant, by: cause(&reason) });
    match verdict {
        Verdict::Grant => Ok(Permission::Granted { note }),
        Verdict::Refuse if reason == Reason::Hook && !hook.reason.is_empty() => {
            Ok(Permission::Denied { reason: hook.reason.clone(), note })
        }
        Verdict::Refuse if reason == Reason::Mode(Mode::Plan) => {
            let reason =
                "in mode plan you may only read. Hand in your plan with submit_plan; once it is approved you go on \
                          with the work."
                    .to_owned();
            Ok(Permission::Denied { reason, note })
        }
        Verdict::Refuse => Ok(Permission::Denied { reason: format!("{reason}."), note }),
        Verdict::Ask => Err(cause(&reason)),
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
        Reason::Undecided(opaque) => PermissionCause::Undecided { opaque: opaque.as_ref().map(ToString::to_string) },
        Reason::WouldAsk(why) => cause(why),
    }
}

#[cfg(test)]
#[path = "permission_tests.rs"]
mod tests;
