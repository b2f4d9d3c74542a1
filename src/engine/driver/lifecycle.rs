//! Calls lifecycle hooks for what happens in the engine: sessions that begin and end, messages and tasks that are about
//! to be accepted, merges, worktrees, questions, budgets.
//!
//! Hooks that can refuse run before the command reaches the machine, in the order of the commands. The others run
//! beside everything else, and nothing waits for them.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _};
use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;

use super::command_queue::EngineRequest;
use super::{Driver, EngineContext, Incoming};
use crate::base::{Fault, MessageId, TaskId};
use crate::engine::command::{Actor, Command};
use crate::engine::hooks::HookedTask;
use crate::engine::machine::{LaunchFailure, LaunchOrder};
use crate::engine::update::{Level, Notice, Update};
use crate::hooks::{Firing, Joined, TaskHooks};
use crate::model::ask::AskKind;
use crate::model::event::{Body, CompactMarker, DoneNotified, Event, Exit, InterruptReason, Verdict};
use crate::model::hook::HookEvent;
use crate::model::message::{HookMessage, Message, MessageSource};
use crate::model::work::Work;
use crate::model::{Ask, SessionState};

/// How long hooks in progress may take when the program quits, and those for `SessionEnd` after them.
const END_LIMIT: Duration = Duration::from_secs(5);

/// The sessions that have begun in this process, so that each begins and ends once.
#[derive(Default)]
pub(in crate::engine) struct BegunSessions {
    tasks: Mutex<BTreeSet<TaskId>>,
    /// Calls of hooks that nothing else waits for.
    calls: TaskTracker,
}

impl BegunSessions {
    /// Returns true if the session had not begun.
    fn begin(&self, task: TaskId) -> bool {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).insert(task)
    }

    /// Returns true if the session had begun.
    fn end(&self, task: TaskId) -> bool {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).remove(&task)
    }

    fn has(&self, task: TaskId) -> bool {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).contains(&task)
    }
}

/// A request that hooks judge before the machine gets it.
pub(super) struct HookedRequest {
    request: EngineRequest,
    firing: Firing,
    hooks: TaskHooks,
    task: TaskId,
}

/// Judges requests one after the other, so that their order stays.
pub(super) fn start_judge(ctx: &Arc<EngineContext>) -> mpsc::UnboundedSender<HookedRequest> {
    let (sender, mut requests) = mpsc::unbounded_channel::<HookedRequest>();
    let ctx = Arc::clone(ctx);
    tokio::spawn(async move {
        while let Some(HookedRequest { request, firing, hooks, task }) = requests.recv().await {
            let event = firing.event;
            let joined = hooks.fire(firing).await;
            if let Some(why) = refusal(&joined) {
                request.refuse(Fault::user(format!("a {event} hook refused it: {why}")));
                continue;
            }
            add_context(&ctx, task, event, &joined).await;
            let _ = ctx.incoming.send(Incoming::Judged(request));
        }
    });
    sender
}

/// Returns the reason why hooks refuse what is about to happen, or `None` if they do not.
fn refusal(joined: &Joined) -> Option<String> {
    joined.stop.clone().or_else(|| joined.is_blocked.then(|| joined.reason.clone()))
}

/// Gives the agent the context of hooks, with its next message.
async fn add_context(ctx: &EngineContext, task: TaskId, event: HookEvent, joined: &Joined) {
    let context = joined.context();
    if context.is_empty() {
        return;
    }
    let from = MessageSource::Hook { event, effect: HookMessage::Context };
    let message = Message::new(MessageId::fresh(&ctx.ids), ctx.clock.now(), from, context);
    if let Err(error) = ctx.store.submit(task, None, vec![message.into()]).await {
        tracing::warn!(%task, %error, "the context of a lifecycle hook could not be saved");
    }
}

impl Driver {
    /// Returns the task that hooks are called for. It may be gone from the tree.
    pub(super) fn hooked_task(&self, task: TaskId) -> HookedTask {
        self.machine.tree().get(task).map_or_else(|| HookedTask::unnamed(task), HookedTask::from)
    }

    /// Passes a request to the machine, after the hooks for it.
    pub(super) fn on_unjudged_request(&mut self, request: EngineRequest) {
        let Some((task, firing)) = request.command().and_then(|(actor, command)| firing_for(actor, command)) else {
            return self.on_request(request);
        };
        let Some(hooked) = self.machine.tree().get(task).map(HookedTask::from) else { return self.on_request(request) };
        if !self.ctx.hooks.current().has(firing.event) {
            return self.on_request(request);
        }
        let hooks = self.ctx.task_hooks(&hooked, None);
        let _ = self.judge.send(HookedRequest { request, firing, hooks, task });
    }

    /// Calls the hooks for an event of a session.
    pub(super) fn call_hooks_after(&self, task: TaskId, event: &Event) {
        let firings = firings_after(event);
        let ends = matches!(&event.body, Body::RunEnded(ended) if end_reason(&ended.exit).is_some());
        if firings.is_empty() && !ends {
            return;
        }
        let set = self.ctx.hooks.current();
        let Some(hooked) = self.machine.tree().get(task).map(HookedTask::from) else { return };
        let mut firings: Vec<Firing> = firings.into_iter().filter(|firing| set.has(firing.event)).collect();
        if let Body::RunEnded(ended) = &event.body
            && let Some(reason) = end_reason(&ended.exit)
            && self.ctx.begun_sessions.end(task)
        {
            firings.push(Firing::new(HookEvent::SessionEnd, reason, json!({ "reason": reason })));
        }
        if firings.is_empty() {
            return;
        }
        let (ctx, hooks) = (Arc::clone(&self.ctx), self.ctx.task_hooks(&hooked, None));
        self.ctx.begun_sessions.calls.spawn(async move {
            for firing in firings {
                let event = firing.event;
                let joined = hooks.fire(firing).await;
                add_context(&ctx, task, event, &joined).await;
            }
        });
    }

    /// Waits for the hooks that were called, and calls those for the sessions that are still open, at the end of the
    /// program.
    pub(super) fn end_sessions(&self) -> BoxFuture<'static, ()> {
        let ctx = Arc::clone(&self.ctx);
        let has_hooks = ctx.hooks.current().has(HookEvent::SessionEnd);
        let begun = self.machine.tree().all().filter(|node| has_hooks && ctx.begun_sessions.has(node.id));
        let open: Vec<HookedTask> = begun.map(HookedTask::from).collect();
        async move {
            let calls = &ctx.begun_sessions.calls;
            calls.close();
            let _ = tokio::time::timeout(END_LIMIT, calls.wait()).await;
            let ends = open.iter().map(|task| {
                let hooks = ctx.task_hooks(task, None);
                let fields = json!({ "reason": "prompt_input_exit" });
                async move { hooks.fire(Firing::new(HookEvent::SessionEnd, "prompt_input_exit", fields)).await }
            });
            let _ = tokio::time::timeout(END_LIMIT, futures::future::join_all(ends)).await;
        }
        .boxed()
    }
}

/// Returns the event of a command that hooks can refuse, and the task whose hooks are called.
fn firing_for(actor: Actor, command: &Command) -> Option<(TaskId, Firing)> {
    match command {
        Command::Send { task, message, .. } if actor == Actor::User => {
            let fields = json!({ "prompt": message.text, "source": "user" });
            Some((*task, Firing::new(HookEvent::UserPromptSubmit, "", fields)))
        }
        Command::Create { parent, draft, .. } => {
            let fields = json!({
                "task_subject": draft.title,
                "task_description": draft.description,
                "parent_task_id": parent,
                "agent_type": draft.profile,
            });
            Some((*parent, Firing::new(HookEvent::TaskCreated, "", fields)))
        }
        _ => None,
    }
}

fn notification(kind: &str, title: &str, message: &str) -> Firing {
    let fields = json!({ "notification_type": kind, "title": title, "message": message });
    Firing::new(HookEvent::Notification, kind, fields)
}

/// Returns the events that follow from an event of a session.
fn firings_after(event: &Event) -> Vec<Firing> {
    match &event.body {
        Body::TurnEnded(end) => {
            let stop = serde_json::to_value(&end.stop).unwrap_or_default();
            vec![Firing::new(HookEvent::TurnEnd, "", json!({ "turn_id": end.turn, "stop_reason": stop }))]
        }
        Body::CompactMarker(CompactMarker { summary, .. }) => {
            let compacted = Firing::new(HookEvent::PostCompact, "", json!({ "compact_summary": summary }));
            vec![compacted, Firing::new(HookEvent::SessionStart, "compact", json!({ "source": "compact" }))]
        }
        Body::AskRaised(ask) => {
            let kind = ask_kind(ask);
            let fields = json!({
                "ask_id": ask.id,
                "ask_kind": kind,
                "question": ask.question,
                "detail": ask.detail,
                "choices": ask.choices.iter().map(|choice| &choice.label).collect::<Vec<_>>(),
            });
            let needs = if ask.kind() == AskKind::Permission { "permission_prompt" } else { "agent_needs_input" };
            vec![Firing::new(HookEvent::AskRaised, &kind, fields), notification(needs, "mxd", &ask.question)]
        }
        Body::AskAnswered(answered) => {
            let by = serde_json::to_value(answered.answer.by).unwrap_or_default();
            let fields = json!({ "ask_id": answered.id, "answer": answered.answer.text, "answered_by": by });
            vec![Firing::new(HookEvent::AskAnswered, "", fields)]
        }
        Body::BudgetWarning(warning) => {
            let fields = json!({
                "scope": warning.scope,
                "spent_micro_usd": warning.spent,
                "limit_micro_usd": warning.limit,
            });
            let said = format!("{} of the budget of {} is spent", warning.spent, warning.limit);
            vec![Firing::new(HookEvent::BudgetWarned, "", fields), notification("budget", "mxd", &said)]
        }
        Body::DoneNotified(DoneNotified { verdict, result }) => {
            let how = if *verdict == Verdict::Passed { "passed" } else { "failed" };
            vec![notification("agent_completed", &format!("task {how}"), result)]
        }
        Body::Work(Work::Merged { merge }) => {
            let fields = json!({
                "target": merge.target,
                "strategy": merge.how,
                "from_commit": merge.from,
                "to_commit": merge.to,
            });
            let said = format!("merged into {}", merge.target);
            vec![Firing::new(HookEvent::MergeAfter, &merge.target, fields), notification("merge", "mxd", &said)]
        }
        _ => Vec::new(),
    }
}

/// Returns the stored word for the kind of an Ask.
fn ask_kind(ask: &Ask) -> String {
    let stored = serde_json::to_value(&ask.subject).unwrap_or_default();
    stored["kind"].as_str().unwrap_or_default().to_owned()
}

/// Returns the reason of a session's end, or `None` if the session goes on with the next run.
fn end_reason(exit: &Exit) -> Option<&'static str> {
    match exit {
        Exit::DonePassed | Exit::DoneFailed => Some("other"),
        Exit::Interrupted(InterruptReason::Stopped | InterruptReason::TaskGone) => Some("clear"),
        Exit::Interrupted(_) => None,
    }
}

/// Calls the hooks for a session that begins. Returns notes for an agent whose conversation starts now; an agent with a
/// conversation gets them as a message.
pub(super) async fn begin_session(ctx: &Arc<EngineContext>, order: &LaunchOrder, model: Option<&str>) -> Vec<String> {
    let task = order.node.id;
    let set = ctx.hooks.current();
    if !ctx.begun_sessions.begin(task) || !(set.has(HookEvent::SessionStart) || set.has(HookEvent::SubagentStart)) {
        return Vec::new();
    }
    let sessions = ctx.store.sessions().clone();
    let read = tokio::task::spawn_blocking(move || sessions.active(task)).await;
    let events = read.ok().and_then(Result::ok).map(|active| active.events).unwrap_or_default();
    let is_fork = events.iter().any(|event| matches!(event.body, Body::ForkMarker(_)));
    let has_turns = SessionState::replay(&events).turns.ended > 0;
    let source = match (is_fork, has_turns) {
        (_, true) => "resume",
        (true, false) => "fork",
        (false, false) => "startup",
    };
    let hooks = ctx.task_hooks(&HookedTask::from(&order.node), None);
    let mut joined = vec![
        hooks.fire(Firing::new(HookEvent::SessionStart, source, json!({ "source": source, "model": model }))).await,
    ];
    if source != "resume" && order.place.is_some() {
        let profile = order.node.profile.as_deref().unwrap_or_default();
        joined.push(hooks.fire(Firing::new(HookEvent::SubagentStart, profile, json!({}))).await);
    }
    if source == "startup" {
        return joined.iter().map(Joined::context).filter(|context| !context.is_empty()).collect();
    }
    for (joined, event) in joined.iter().zip([HookEvent::SessionStart, HookEvent::SubagentStart]) {
        add_context(ctx, task, event, joined).await;
    }
    Vec::new()
}

/// Calls the hooks for a new worktree. Any failure fails the launch.
pub(super) async fn on_worktree_created(
    ctx: &Arc<EngineContext>,
    order: &LaunchOrder,
    path: &Path,
) -> Result<(), LaunchFailure> {
    if !ctx.hooks.current().has(HookEvent::WorktreeCreate) {
        return Ok(());
    }
    let hooks = ctx.task_hooks(&HookedTask::from(&order.node), None);
    let name = order.place.as_ref().map(|place| place.branch.clone()).unwrap_or_default();
    let fields = json!({ "name": name, "worktree_path": path });
    let joined = hooks.fire(Firing::new(HookEvent::WorktreeCreate, &name, fields)).await;
    let failed = joined.failures.first().map(|(hook, why)| format!("the hook {hook} failed: {why}"));
    if let Some(why) = refusal(&joined).or(failed) {
        let fault = Fault::user(format!("a WorktreeCreate hook refused the worktree: {why}"));
        return Err(LaunchFailure::Refused(fault.hint("`mxd hooks list` shows the hooks and their files")));
    }
    if let Some(other) = joined.path.filter(|other| Path::new(other) != path) {
        let text = format!(
            "A WorktreeCreate hook names the worktree {other}. It is ignored: mxd keeps its worktrees itself, this one in {}.",
            path.display()
        );
        let notice = Notice { level: Level::Warning, text, task: Some(order.node.id) };
        ctx.feed.publish(&Update::Notice { notice });
    }
    Ok(())
}

/// Calls the hooks for a worktree that is about to be removed.
pub(super) async fn before_worktree_removed(ctx: &Arc<EngineContext>, task: &HookedTask, path: &Path) {
    if !ctx.hooks.current().has(HookEvent::WorktreeRemove) {
        return;
    }
    let hooks = ctx.task_hooks(task, None);
    hooks.fire(Firing::new(HookEvent::WorktreeRemove, "", json!({ "worktree_path": path }))).await;
}

/// Calls the hooks for a merge that is about to happen. Returns the reason why it must not.
pub(super) async fn before_merge(
    ctx: &Arc<EngineContext>,
    task: &HookedTask,
    branch: &str,
    target: &str,
    commit: &str,
) -> Option<String> {
    if !ctx.hooks.current().has(HookEvent::MergeBefore) {
        return None;
    }
    let fields = json!({ "branch": branch, "target": target, "commit": commit });
    let joined = ctx.task_hooks(task, None).fire(Firing::new(HookEvent::MergeBefore, target, fields)).await;
    refusal(&joined)
}

/// Calls the hooks for a task that its agent declares done. Returns the reason why it is not.
pub(super) async fn before_done(
    hooks: &TaskHooks,
    is_root: bool,
    profile: &str,
    verdict: Verdict,
    active: bool,
) -> Option<String> {
    let status = if verdict == Verdict::Passed { "passed" } else { "failed" };
    let fields = json!({ "stop_hook_active": active, "done_status": status });
    let mut events = vec![(HookEvent::Stop, "")];
    if !is_root {
        events.push((HookEvent::SubagentStop, profile));
        events.push((HookEvent::TaskCompleted, ""));
    }
    for (event, name) in events {
        if !hooks.has(event) {
            continue;
        }
        let joined = hooks.fire(Firing::new(event, name, fields.clone())).await;
        // Whoever ends the turn does not want the agent to go on.
        if joined.is_blocked && joined.stop.is_none() {
            return Some(format!("a {event} hook objects: {}", joined.reason));
        }
    }
    None
}

#[cfg(test)]
#[path = "lifecycle_tests.rs"]
mod tests;
