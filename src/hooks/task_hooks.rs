//! Calls the hooks of one task: builds their input, calls them all at once, records what each did, joins the answers.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::join_all;
use serde_json::{Map, Value};

use crate::base::{IdSource, RunId, known_secrets};
use crate::hooks::answer::{self, Answer, Ending};
use crate::hooks::call::{self, HookCall, Reach};
use crate::hooks::join::{Answered, Joined, join};
use crate::hooks::scripts;
use crate::hooks::set::{Hook, HookSet};
use crate::hooks::tool_view::{ToolView, views};
use crate::model::hook::{HookDecision, HookEnd, HookEvent, HookRan};
use crate::process::Environment;

/// What the hooks of a task need from the engine.
pub trait HookHost: Send + Sync {
    /// Returns the hooks that apply now. May read small files.
    fn hooks(&self) -> Arc<HookSet>;

    /// Returns the task's permission mode, in Claude Code's words.
    fn permission_mode(&self) -> String;

    /// Keeps the record of a hook that ran.
    fn record(&self, ran: HookRan);

    /// Shows a hook's message to the user.
    fn tell_user(&self, event: HookEvent, text: String);

    /// Gives the agent a message of a hook that nobody waited for.
    fn tell_agent(&self, event: HookEvent, text: String);
}

/// No hooks at all.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHooks;

impl HookHost for NoHooks {
    fn hooks(&self) -> Arc<HookSet> {
        Arc::default()
    }

    fn permission_mode(&self) -> String {
        String::new()
    }

    fn record(&self, _: HookRan) {}

    fn tell_user(&self, _: HookEvent, _: String) {}

    fn tell_agent(&self, _: HookEvent, _: String) {}
}

/// What is the same for all hooks of a task.
#[derive(Clone, Debug)]
pub struct HookSite {
    /// The session: the task's id.
    pub session: String,
    /// The session's log.
    pub transcript: PathBuf,
    /// The sub task's id and profile. `None` for the root.
    pub agent: Option<(String, String)>,
    /// The task as its own fields: number, title.
    pub task: Value,
    pub reach: Reach,
    /// The file in which hooks leave variables for the agent's commands.
    pub env_file: Option<PathBuf>,
    pub ids: IdSource,
}

/// An event that calls hooks.
#[derive(Clone, Debug)]
pub struct Firing {
    pub event: HookEvent,
    /// What matchers look at. Empty: only hooks without a matcher.
    pub names: Vec<String>,
    /// The input beside the common fields.
    pub fields: Map<String, Value>,
}

impl Firing {
    /// `name` is what matchers look at; `fields` must be an object.
    pub fn new(event: HookEvent, name: &str, fields: Value) -> Self {
        let fields = match fields {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        Self { event, names: vec![name.to_owned()], fields }
    }
}

/// A tool call that hooks are called about.
#[derive(Clone, Copy, Debug)]
pub struct ToolCall<'a> {
    /// The model's id of the call.
    pub id: &'a str,
    /// The wire name.
    pub name: &'a str,
    pub input: &'a Value,
    /// The folder of the agent's shell.
    pub cwd: &'a Path,
}

/// The hooks of one task.
#[derive(Clone)]
pub struct TaskHooks {
    host: Arc<dyn HookHost>,
    site: Arc<HookSite>,
}

impl TaskHooks {
    pub fn new(host: Arc<dyn HookHost>, site: HookSite) -> Self {
        Self { host, site: Arc::new(site) }
    }

    /// Returns no hooks, for tools that no task calls.
    pub fn none(ids: IdSource) -> Self {
        let reach = Reach {
            cwd: PathBuf::new(),
            project_dir: PathBuf::new(),
            environment: Environment::new(),
            records: None,
            spill: None,
        };
        let site = HookSite {
            session: String::new(),
            transcript: PathBuf::new(),
            agent: None,
            task: Value::Null,
            reach,
            env_file: None,
            ids,
        };
        Self::new(Arc::new(NoHooks), site)
    }

    /// Returns true if an event has hooks.
    pub fn has(&self, event: HookEvent) -> bool {
        self.host.hooks().has(event)
    }

    /// Calls the hooks of an event, and returns their joined answers.
    pub async fn fire(&self, firing: Firing) -> Joined {
        let set = self.host.hooks();
        let hooks = set.matching(firing.event, &firing.names);
        let calls = hooks.into_iter().map(|hook| (hook, firing.fields.clone()));
        self.call_all(&set, firing.event, None, calls.collect()).await
    }

    /// Calls the hooks of an event about a tool call. `more` are fields of this event. Also returns the view of the
    /// call, if it is one.
    pub async fn fire_call(&self, event: HookEvent, call: ToolCall<'_>, more: Value) -> (Joined, Option<ToolView>) {
        let set = self.host.hooks();
        if !set.has(event) {
            return (Joined::default(), None);
        }
        let views = views(call.name, call.input, call.cwd);
        let mut calls: Vec<(&Hook, Map<String, Value>)> = Vec::new();
        for view in &views {
            let mut fields = Map::new();
            fields.insert("tool_name".to_owned(), view.tool_name.clone().into());
            fields.insert("mxd_tool".to_owned(), view.own_name.clone().into());
            fields.insert("tool_input".to_owned(), view.input.clone().into());
            fields.insert("tool_use_id".to_owned(), call.id.into());
            if let Value::Object(more) = &more {
                fields.extend(more.clone());
            }
            let matching = set.matching_call(event, view, &self.site.reach.cwd, call.cwd);
            calls.extend(matching.into_iter().map(|hook| (hook, fields.clone())));
        }
        let joined = self.call_all(&set, event, Some(call.id), calls).await;
        (joined, views.into_iter().next())
    }

    async fn call_all(
        &self,
        set: &HookSet,
        event: HookEvent,
        about: Option<&str>,
        calls: Vec<(&Hook, Map<String, Value>)>,
    ) -> Joined {
        if calls.is_empty() {
            return Joined::default();
        }
        let common = self.common(event);
        let calls = calls.into_iter().map(|(hook, fields)| {
            let mut input = common.clone();
            input.extend(fields);
            self.call_one(set, hook, about.map(str::to_owned), Value::Object(input).to_string())
        });
        let answers: Vec<Answered> = join_all(calls).await;
        let joined = join(event, &answers);
        for message in &joined.messages {
            self.host.tell_user(event, message.clone());
        }
        joined
    }

    /// Returns the fields that every hook gets.
    fn common(&self, event: HookEvent) -> Map<String, Value> {
        let site = &self.site;
        let mut fields = Map::new();
        fields.insert("session_id".to_owned(), site.session.clone().into());
        fields.insert("transcript_path".to_owned(), site.transcript.to_string_lossy().into());
        fields.insert("cwd".to_owned(), site.reach.cwd.to_string_lossy().into());
        fields.insert("permission_mode".to_owned(), self.host.permission_mode().into());
        fields.insert("hook_event_name".to_owned(), event.name().into());
        if let Some((id, profile)) = &site.agent {
            fields.insert("agent_id".to_owned(), id.clone().into());
            fields.insert("agent_type".to_owned(), profile.clone().into());
        }
        fields.insert("mxd_task".to_owned(), site.task.clone());
        fields
    }

    async fn call_one(&self, set: &HookSet, hook: &Hook, about: Option<String>, input: String) -> Answered {
        let started = Instant::now();
        let event = hook.event;
        let answered = |answer: Answer| Answered { hook: hook.handler.label(), on_failure: hook.on_failure, answer };
        if let Some(why) = self.refusal(set, hook) {
            let answer = answer::read(event, Ending::Failed(why));
            self.record(hook, about, &answer, started.elapsed());
            return answered(answer);
        }
        if hook.handler.is_background() {
            let (hooks, hook) = (self.clone(), hook.clone());
            tokio::spawn(async move {
                let ending = hooks.end_of(&hook, input).await;
                let answer = answer::read(hook.event, ending);
                if hook.handler.async_rewake == Some(true) && answer.exit == Some(2) {
                    hooks.host.tell_agent(hook.event, answer.response.reason.clone());
                }
                hooks.record(&hook, about, &undecided(answer), started.elapsed());
            });
            return answered(answer::read(event, Ending::Background));
        }
        let answer = answer::read(event, self.end_of(hook, input).await);
        self.record(hook, about, &answer, started.elapsed());
        answered(answer)
    }

    async fn end_of(&self, hook: &Hook, input: String) -> Ending {
        let mut variables: Vec<(&'static str, OsString)> = Vec::new();
        if matches!(hook.event, HookEvent::SessionStart | HookEvent::SubagentStart)
            && let Some(file) = &self.site.env_file
        {
            variables.push(("CLAUDE_ENV_FILE", file.into()));
        }
        call::call(HookCall {
            id: format!("hook-{}", RunId::fresh(&self.site.ids)),
            handler: &hook.handler,
            timeout: hook.timeout,
            input,
            reach: &self.site.reach,
            variables,
        })
        .await
    }

    /// Returns the reason why a hook must not be called, or `None` if it may be.
    fn refusal(&self, set: &HookSet, hook: &Hook) -> Option<String> {
        if let Some(url) = hook.handler.url.as_deref()
            && !set.http.allows(url)
        {
            return Some("its address is not in allowedHttpHookUrls".to_owned());
        }
        let (definition, approved) = hook.approval.as_ref()?;
        let Reach { cwd, project_dir, .. } = &self.site.reach;
        match scripts::read(definition, project_dir, cwd) {
            Ok(scripts) if definition.approval_hash(&scripts) == *approved => None,
            Ok(_) => Some(
                "a script that it names is not the one that you approved; approve it with `mxd hooks approve`, and name \
                 it by $CLAUDE_PROJECT_DIR"
                    .to_owned(),
            ),
            Err(error) => Some(error.to_string()),
        }
    }

    fn record(&self, hook: &Hook, call: Option<String>, answer: &Answer, took: Duration) {
        let response = &answer.response;
        self.host.record(HookRan {
            event: hook.event,
            hook: known_secrets::mask(&hook.handler.label()).into_owned(),
            ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            end: answer.end,
            exit: answer.exit,
            decision: response.decision.or(response.stop.is_some().then_some(HookDecision::Stop)),
            changed_input: response.updated_input.is_some(),
            call,
            line: known_secrets::mask(&answer.line()).into_owned(),
            suppressed: response.suppressed,
        });
    }
}

/// Returns the answer without its decision: nobody waited for it.
fn undecided(mut answer: Answer) -> Answer {
    if answer.end == HookEnd::Answered {
        answer.end = HookEnd::Background;
    }
    answer.response.decision = None;
    answer.response.stop = None;
    answer.response.updated_input = None;
    answer
}
