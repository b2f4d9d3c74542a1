//! Permission Asks: answers that save rules, and waiting calls that a new rule or mode decides.
//!
//! A rule is in the settings before the answer is in the session. The calls that wait in any task are judged again
//! whenever a rule or a mode may have changed; those that are decided now are answered by the rule.

use std::sync::Arc;

use crate::base::{AskId, Fault, TaskId, Timestamp};
use crate::engine::command::{CommandId, Outcome};
use crate::engine::machine::{AppendContinuation, Effect, Machine, Timer};
use crate::engine::permissions::{TaskPolicies, TaskPolicy};
use crate::engine::update::{Level, Notice};
use crate::model::ask::{AnsweredBy, ChoiceId, Chosen, PermissionRequest, Subject};
use crate::model::event::{AskAnswered, Body, Grant, Granted, PermissionCause, PermissionNote};
use crate::model::message::MessageSource;
use crate::model::{Answer, Ask};
use crate::permit::{List, Rule, Source};

/// How often the settings are looked at while calls wait, in case a rule was changed elsewhere.
const LOOK_AGAIN: std::time::Duration = std::time::Duration::from_secs(1);

const INTERRUPTED: &str = "The user interrupted you. What you were doing stopped where it was.";

/// Rules that are being saved for an answer.
#[derive(Debug)]
pub struct RuleChange {
    pub list: List,
    pub rules: Vec<String>,
    task: TaskId,
    ask: AskId,
    answer: Answer,
    command: CommandId,
}

/// What the driver knows of the permissions of the tasks.
#[derive(Debug, Default)]
pub(super) struct PolicyState {
    published: Arc<TaskPolicies>,
    /// Something that they are made of has changed since.
    stale: bool,
}

/// A call that waits for the user.
#[derive(Debug)]
pub struct WaitingCall {
    pub task: TaskId,
    pub ask: AskId,
    pub request: PermissionRequest,
}

/// What a rule or a mode says about a waiting call now.
#[derive(Debug)]
pub struct JudgedCall {
    pub task: TaskId,
    pub ask: AskId,
    pub note: PermissionNote,
}

impl Machine {
    /// Answers the Ask of a held call. Rules are saved first, so that the session never records a rule that does not
    /// exist.
    pub(super) fn answer_permission(
        &mut self,
        now: Timestamp,
        command: CommandId,
        task: TaskId,
        ask: &Ask,
        answer: Answer,
    ) -> Result<(), Fault> {
        let list = match ask.choice_of(&answer) {
            Some(ChoiceId::Project) => List::Allow,
            Some(ChoiceId::Never) => List::Deny,
            Some(ChoiceId::ThisTask) => {
                let grant = Grant::Calls { rules: answer.rules.clone() };
                let bodies = vec![Granted { ask: ask.id, grant }.into(), AskAnswered { id: ask.id, answer }.into()];
                self.answering.insert(ask.id);
                let then = AppendContinuation::Answer { task, ask: ask.id, command: Some(command) };
                self.append(task, bodies, then);
                return Ok(());
            }
            _ => {
                self.record_answer(now, task, ask, answer, Some(command));
                return Ok(());
            }
        };
        for rule in &answer.rules {
            Rule::parse(rule, list, Source::Local)
                .map_err(|error| Fault::user(error.to_string()).hint("correct the rule, or allow the call once"))?;
        }
        self.answering.insert(ask.id);
        let change = RuleChange { list, rules: answer.rules.clone(), task, ask: ask.id, answer, command };
        self.out.push(Effect::SaveRules(Box::new(change)));
        Ok(())
    }

    pub(super) fn on_rules_saved(&mut self, change: RuleChange, result: Result<(), Fault>) {
        let RuleChange { task, ask, answer, command, .. } = change;
        if let Err(fault) = result {
            self.answering.remove(&ask);
            return self.out.push(Effect::Reply { id: command, result: Err(fault) });
        }
        let answered = AskAnswered { id: ask, answer };
        self.append(task, vec![answered.into()], AppendContinuation::Answer { task, ask, command: Some(command) });
        self.judge_waiting_calls();
    }

    /// Returns the open permission Asks of all tasks.
    fn waiting_calls(&self) -> impl Iterator<Item = WaitingCall> {
        self.runtimes.iter().flat_map(|(task, runtime)| {
            let asks = runtime.state.asks.iter().filter(|ask| !self.answering.contains(&ask.id));
            asks.filter_map(|ask| match &ask.subject {
                Subject::Permission(request) if ask.held_call().is_some() => {
                    Some(WaitingCall { task: *task, ask: ask.id, request: request.as_ref().clone() })
                }
                _ => None,
            })
        })
    }

    /// Judges the waiting calls again: a rule or a mode may decide them now.
    pub(super) fn judge_waiting_calls(&mut self) {
        let calls: Vec<WaitingCall> = self.waiting_calls().collect();
        if !calls.is_empty() {
            self.out.push(Effect::JudgeCalls(calls));
        }
    }

    /// Judges a call that has just been held: the rules may have changed since it was judged.
    pub(super) fn on_call_held(&mut self, now: Timestamp, task: TaskId, ask: &Ask) {
        if let Subject::Permission(request) = &ask.subject
            && ask.held_call().is_some()
        {
            let call = WaitingCall { task, ask: ask.id, request: request.as_ref().clone() };
            self.out.push(Effect::JudgeCalls(vec![call]));
            self.out.push(Effect::SetTimer { timer: Timer::Rules, at: now.later(LOOK_AGAIN) });
        }
    }

    /// Looks again whether a rule was changed by another program, while calls wait.
    pub(super) fn on_rules_timer(&mut self, now: Timestamp) {
        if self.waiting_calls().next().is_some() {
            self.out.push(Effect::JudgeIfChanged);
            self.out.push(Effect::SetTimer { timer: Timer::Rules, at: now.later(LOOK_AGAIN) });
        }
    }

    /// Answers the waiting calls that are decided now.
    pub(super) fn on_calls_judged(&mut self, now: Timestamp, judged: Vec<JudgedCall>) {
        let mut allowed = 0;
        let mut refused = 0;
        let mut by: Option<PermissionCause> = None;
        for JudgedCall { task, ask: id, note } in judged {
            let Some(ask) = self.pending_ask(task, id).cloned() else { continue };
            let choice = if note.granted { ChoiceId::Once } else { ChoiceId::No };
            let count = if note.granted { &mut allowed } else { &mut refused };
            *count += 1;
            let answer = Answer {
                text: note.by.to_string(),
                choice: Some(Chosen::Id(choice)),
                by: AnsweredBy::Rule,
                rules: Vec::new(),
                cause: Some(note.by.clone()),
                client: None,
            };
            by.get_or_insert(note.by);
            self.record_answer(now, task, &ask, answer, None);
        }
        let Some(by) = by else { return };
        let count = |count: usize, what: &str| match count {
            0 => None,
            1 => Some(format!("1 waiting call {what}")),
            count => Some(format!("{count} waiting calls {what}")),
        };
        let parts: Vec<String> = [count(allowed, "allowed"), count(refused, "refused")].into_iter().flatten().collect();
        let text = format!("{}: {by}", parts.join(", "));
        self.out.push(Effect::Notify(Notice { level: Level::Info, text, task: None }));
    }

    /// Ends the holds of a task without a run, because the user interrupted it. Returns false if nothing is held.
    pub(super) fn interrupt_held_calls(&mut self, now: Timestamp, command: CommandId, task: TaskId) -> bool {
        let Some(runtime) = self.runtimes.get(&task).filter(|runtime| !runtime.slot.has_run()) else { return false };
        let mut bodies = runtime.state.end_holds("the user interrupted the agent", NOT_RUN);
        if bodies.is_empty() {
            return false;
        }
        self.queue.retain(|queued| *queued != task);
        bodies.push(Body::from(self.message(now, MessageSource::Interrupt, INTERRUPTED)));
        let then = AppendContinuation::Reply(command, Outcome::Done);
        self.append(task, bodies, then);
        true
    }

    /// Marks the permissions of the tasks as changed.
    pub(super) fn policies_changed(&mut self) {
        self.policies.stale = true;
    }

    /// Makes changed permissions of tasks count, and judges the waiting calls by them.
    pub(super) fn publish_policies(&mut self) {
        if !std::mem::take(&mut self.policies.stale) {
            return;
        }
        let policies = Arc::new(self.task_policies());
        if policies != self.policies.published {
            self.policies.published = Arc::clone(&policies);
            self.out.push(Effect::SetPolicies(policies));
            self.judge_waiting_calls();
        }
    }

    fn task_policies(&self) -> TaskPolicies {
        let policy = |task: TaskId| {
            let node = self.tree.get(task)?;
            let rules = self.state(task).map(|state| state.grants.calls.iter().cloned().collect()).unwrap_or_default();
            Some((task, TaskPolicy { modes: self.permission_modes(node), rules }))
        };
        self.tree.all().filter_map(|node| policy(node.id)).collect()
    }
}

const NOT_RUN: &str = "Not run: the user interrupted you while it waited for permission.";
