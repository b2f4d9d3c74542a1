//! Asks of the engine, and delivery of answers to the tasks that wait for them.

use std::sync::Arc;

use crate::base::{AskId, EventId, Fault, MessageId, TaskId, Timestamp};
use crate::engine::command::CommandId;
use crate::engine::machine::delivery::DeliveryPlan;
use crate::engine::machine::scheduler::QueuePosition;
use crate::engine::machine::{AppendContinuation, Effect, HookPolicy, Machine, Origin, TaskRuntime, Timer};
use crate::model::ask::{AnsweredBy, AskMode, AskReply, Choice, ChoiceId, LaunchProblem, Subject};
use crate::model::event::{AskAnswered, AskWithdrawn, Body, Event, Exit, InterruptReason, RunEnded, Verdict};
use crate::model::fold::Decision;
use crate::model::message::MessageSource;
use crate::model::task::{Status, TaskResult};
use crate::model::{Answer, Ask, AskKind};

/// The result that the parent gets for a task whose worktree setup the user abandoned.
const SETUP_ABANDONED: &str = "Its worktree could not be set up, and the user chose not to retry.";

/// What a task did whose run could not start.
pub(super) const NOT_STARTED: &str = "could not be started";

pub(super) const RETRY: (ChoiceId, &str) = (ChoiceId::Retry, "Try again");
pub(super) const LEAVE: (ChoiceId, &str) = (ChoiceId::Leave, "Leave it");

pub(super) fn hook_policy(decision: &Decision) -> HookPolicy {
    match decision.ask.choice_of(&decision.answer) {
        Some(ChoiceId::SkipHook) => HookPolicy::Skip,
        Some(ChoiceId::RunEditedHook) => HookPolicy::RunEdited,
        _ => HookPolicy::Run,
    }
}

impl Machine {
    pub(super) fn new_ask(
        &self,
        subject: Subject,
        question: String,
        detail: String,
        choices: &[(ChoiceId, &str)],
    ) -> Ask {
        Ask {
            id: AskId::fresh(&self.ids),
            subject,
            question,
            detail,
            choices: choices.iter().map(|(id, label)| Choice::new(id.clone(), *label)).collect(),
            default: None,
            mode: AskMode::Blocks,
            deadline: None,
            tool_call: None,
        }
    }

    /// Asks whether to retry a task that `failed`, and reports the failure to the parent, which would otherwise wait
    /// forever. The id of the message is derived from the Ask, so it is sent once.
    pub(super) fn ask_to_retry(&mut self, now: Timestamp, task: TaskId, failed: &str, fault: Fault) {
        let title = self.tree.get(task).map(|node| node.title.clone()).unwrap_or_default();
        let question = format!("\"{title}\" {failed}. Try again?");
        let detail = fault.to_string();
        let problem = LaunchProblem { failed: failed.to_owned(), reason: fault.message, hints: fault.hints };
        let report = launch_problem_text(&problem);
        let ask = self.new_ask(Subject::LaunchFailed(problem), question, detail, &[RETRY, LEAVE]);
        let id = failure_id(ask.id);
        self.append(task, vec![ask.into()], AppendContinuation::Question(task));
        if self.is_parent_saved(task) {
            self.notify_parent(now, task, Verdict::Failed, report, id);
        }
    }

    /// Asks which model to use in place of an unknown one. A root fails nothing by that; the parent of a subtask is told, as of
    /// any failed launch.
    pub(super) fn ask_for_model(&mut self, now: Timestamp, task: TaskId, fault: Fault, models: Vec<String>) {
        let title = self.tree.get(task).map(|node| node.title.clone()).unwrap_or_default();
        let question = format!("\"{title}\" cannot start: its model is unknown. Which one should it use?");
        let detail = fault.to_string();
        let problem = LaunchProblem { failed: NOT_STARTED.to_owned(), reason: fault.message, hints: fault.hints };
        let report = launch_problem_text(&problem);
        let mut ask = self.new_ask(Subject::LaunchFailed(problem), question, detail, &[RETRY, LEAVE]);
        let named = models.into_iter().map(|name| Choice::new(ChoiceId::Model(name.clone()), format!("Use {name}")));
        ask.choices.splice(0..0, named);
        let id = failure_id(ask.id);
        self.append(task, vec![ask.into()], AppendContinuation::Question(task));
        let has_parent = self.tree.get(task).is_some_and(|node| node.parent.is_some());
        if has_parent && self.is_parent_saved(task) {
            self.notify_parent(now, task, Verdict::Failed, report, id);
        }
    }

    /// Reports a failed launch to the parent, unless it was reported: after a crash, or after the task was moved.
    pub(super) fn report_launch_failure(&mut self, now: Timestamp, task: TaskId) {
        let Some(node) = self.tree.get(task).filter(|node| node.status == Status::InProgress) else { return };
        let is_free = |runtime: &&TaskRuntime| !runtime.completion.is_under_way() && !runtime.slot.has_run();
        let Some(runtime) = self.runtimes.get(&task).filter(is_free).filter(|_| self.is_parent_saved(task)) else {
            return;
        };
        let failure = |ask: &Ask| match &ask.subject {
            Subject::LaunchFailed(problem) => Some((ask.id, launch_problem_text(problem))),
            _ => None,
        };
        let Some((ask, why)) = runtime.state.asks.iter().find_map(failure) else { return };
        let since = i64::try_from(ask.ulid().timestamp_ms()).unwrap_or(i64::MAX);
        let recorded = |result: &TaskResult| result.verdict == Verdict::Failed && result.at.as_millis() >= since;
        if node.parent.is_none() || node.results.iter().any(recorded) {
            return;
        }
        self.notify_parent_once(now, task, Verdict::Failed, why, failure_id(ask), EventId::from_ulid(ask.ulid()));
    }

    pub(super) fn ask_about_setup(&mut self, task: TaskId, exit: &str, output: &str) {
        let question = format!("The setup hook of this worktree {exit}. What now?");
        let path = ".mxd/hooks/setup_worktree.sh";
        let detail = format!(
            "{output}\n\nTo change it, edit {path} in your checkout and choose the second answer. Commit it, so that new \
             worktrees have it, too."
        );
        let edited = (ChoiceId::RunEditedHook, "Run the edited one from my checkout");
        let choices = [RETRY, edited, (ChoiceId::SkipHook, "Continue without it"), LEAVE];
        let ask = self.new_ask(Subject::SetupHook, question, detail, &choices);
        self.append(task, vec![ask.into()], AppendContinuation::Question(task));
    }

    /// Sets the timer of an Ask with a deadline and a default.
    pub(super) fn on_ask_raised(&mut self, task: TaskId, ask: &Ask) {
        if let (Some(at), Some(_)) = (ask.deadline, &ask.default) {
            self.out.push(Effect::SetTimer { timer: Timer::AskDeadline { task, ask: ask.id }, at });
        }
    }

    /// Returns an open Ask, unless its answer is being written.
    pub(super) fn pending_ask(&self, task: TaskId, ask: AskId) -> Option<&Ask> {
        self.runtimes.get(&task)?.state.asks.get(ask).filter(|ask| !self.answering.contains(&ask.id))
    }

    pub(super) fn answer(
        &mut self,
        now: Timestamp,
        command: CommandId,
        task: TaskId,
        id: AskId,
        given: AskReply,
        by: Option<String>,
    ) -> Result<(), Fault> {
        self.node(task)?;
        let Some(ask) = self.pending_ask(task, id).cloned() else {
            return Err(
                Fault::user("this question was already answered or withdrawn").hint("`mxd asks` lists open questions")
            );
        };
        let answer = Answer { client: by, ..parse_reply(&ask, given)? };
        if ask.kind() == AskKind::Review {
            return self.answer_review(now, command, task, &ask, answer);
        }
        if ask.kind() == AskKind::McpApproval {
            return self.answer_server_approval(command, task, &ask, answer);
        }
        if ask.kind() == AskKind::Approval {
            return self.answer_approval(command, task, &ask, answer);
        }
        if ask.kind() == AskKind::Plan {
            self.answer_plan(now, command, task, &ask, answer);
            return Ok(());
        }
        if ask.kind() == AskKind::Permission {
            return self.answer_permission(now, command, task, &ask, answer);
        }
        // No model reads a free-text answer to these: a "no" must not count as a retry.
        if matches!(ask.kind(), AskKind::LaunchFailed | AskKind::SetupHook | AskKind::TaskLimit | AskKind::Bind)
            && answer.choice.is_none()
        {
            return Err(not_a_choice(&ask));
        }
        let same = self.asks_of_group(task, &ask);
        let profile = match ask.choice_of(&answer) {
            Some(ChoiceId::Profile(profile)) => Some(profile.clone()),
            _ => None,
        };
        // One answer counts for all tasks of an auth group that cannot be used.
        for (other, ask) in same {
            let chosen = ask.choice_of(&answer).cloned();
            let Some(answer) = chosen.and_then(|id| ask.answer(AskReply::Choice(id), AnsweredBy::User)) else {
                continue;
            };
            match &profile {
                Some(profile) => {
                    if let Err(fault) = self.answer_with_profile(now, None, other, &ask, answer, profile) {
                        self.refuse(Origin::ENGINE, fault);
                    }
                }
                None => self.record_answer(now, other, &ask, answer, None),
            }
        }
        if let Some(profile) = profile {
            return self.answer_with_profile(now, Some(command), task, &ask, answer, &profile);
        }
        if ask.kind() == AskKind::TaskLimit {
            self.answer_task_limit(now, command, task, &ask, answer);
            return Ok(());
        }
        self.record_answer(now, task, &ask, answer, Some(command));
        Ok(())
    }

    /// Returns the open questions of other tasks about the auth group that `ask` is about.
    fn asks_of_group(&self, task: TaskId, ask: &Ask) -> Vec<(TaskId, Ask)> {
        let Some(group) = ask.failed_group() else { return Vec::new() };
        let others = self.runtimes.iter().filter(|(other, _)| **other != task);
        let open = others.flat_map(|(other, runtime)| runtime.state.asks.iter().map(move |ask| (*other, ask)));
        let same = open.filter(|(_, ask)| ask.failed_group() == Some(group) && !self.answering.contains(&ask.id));
        same.map(|(other, ask)| (other, ask.clone())).collect()
    }

    /// Returns the task whose older question about the same auth group stands for one of `task`.
    pub(super) fn asked_by(&self, task: TaskId, ask: &Ask) -> Option<TaskId> {
        let same = self.asks_of_group(task, ask).into_iter().filter(|(_, other)| other.id < ask.id);
        same.min_by_key(|(_, other)| other.id).map(|(other, _)| other)
    }

    pub(super) fn record_answer(
        &mut self,
        now: Timestamp,
        task: TaskId,
        ask: &Ask,
        answer: Answer,
        command: Option<CommandId>,
    ) {
        let id = ask.id;
        self.answering.insert(id);
        let then = AppendContinuation::Answer { task, ask: id, command };
        let answered: Body = AskAnswered { id, answer: answer.clone() }.into();
        match ask.kind() {
            // The agent gets the answer as a message, so the Ask needs no further action.
            AskKind::Clarify => {
                let defaulted = answer.by == AnsweredBy::Timeout;
                let from = MessageSource::ClarifyResponse { ask: id, question: ask.question.clone(), defaulted };
                let message = self.message(now, from, answer.text);
                let acted_on = AskWithdrawn { id, reason: "the answer was sent to the agent".to_owned() }.into();
                let plan = DeliveryPlan { position: QueuePosition::First, ..DeliveryPlan::default() };
                self.deliver_with(task, vec![answered, acted_on], message, plan, then);
            }
            AskKind::LaunchFailed | AskKind::SetupHook | AskKind::Bind
                if ask.choice_of(&answer) == Some(&ChoiceId::Leave) =>
            {
                let acted_on = AskWithdrawn { id, reason: "the user chose not to retry".to_owned() }.into();
                // A restart does not start it either. A failed launch was reported to the parent at once; a failed hook
                // is reported now, by the result of this end.
                let result = if ask.kind() == AskKind::SetupHook { SETUP_ABANDONED.to_owned() } else { String::new() };
                let ended = RunEnded { result, ..RunEnded::from(Exit::Interrupted(InterruptReason::Stopped)) }.into();
                self.append(task, vec![answered, acted_on, ended], then);
            }
            AskKind::LaunchFailed
            | AskKind::SetupHook
            | AskKind::Permission
            | AskKind::Plan
            | AskKind::RetriesExhausted
            | AskKind::Budget
            | AskKind::Loop
            | AskKind::TurnLimit
            | AskKind::ModelStopped
            | AskKind::CompactionFailed
            | AskKind::CheckFailed
            | AskKind::McpApproval
            | AskKind::TaskLimit
            | AskKind::Approval
            | AskKind::Bind
            | AskKind::Review => self.append(task, vec![answered], then),
        }
    }

    /// Delivers an answer that is on disk.
    pub(super) fn on_ask_answered(&mut self, now: Timestamp, task: TaskId, answered: &AskAnswered, event: &Arc<Event>) {
        if self.runtimes.get(&task).is_some_and(|runtime| runtime.slot.has_run()) {
            return self.forward_to_run(task, event);
        }
        let Some(runtime) = self.runtimes.get(&task) else { return };
        if runtime.state.held_calls.has_released() {
            return self.wake(now, task, QueuePosition::First);
        }
        let Some(decision) = runtime.state.decisions.iter().find(|decision| decision.ask.id == answered.id) else {
            return;
        };
        // Approvals are handled where they are recorded. They wake no task.
        if matches!(decision.ask.kind(), AskKind::Review | AskKind::McpApproval | AskKind::Approval) {
            return;
        }
        if decision.ask.choice_of(&decision.answer) != Some(&ChoiceId::Leave) {
            self.wake(now, task, QueuePosition::First);
        }
    }

    /// Answers an Ask with its default at the deadline.
    pub(super) fn on_ask_deadline(&mut self, now: Timestamp, task: TaskId, id: AskId) {
        let Some(ask) = self.pending_ask(task, id).cloned() else { return };
        let Some(answer) = ask.default.clone().and_then(|default| ask.answer(default, AnsweredBy::Timeout)) else {
            return;
        };
        self.record_answer(now, task, &ask, answer, None);
    }
}

/// Returns the id of the message that reports a failure: always the same for the same Ask.
fn failure_id(ask: AskId) -> MessageId {
    MessageId::from_ulid(ask.ulid())
}

/// Returns the report of a failed launch to the parent. Hints are for the user.
fn launch_problem_text(problem: &LaunchProblem) -> String {
    format!("It {}: {}", problem.failed, problem.reason)
}

/// Returns the refusal of an answer that is not one of the choices.
pub(super) fn not_a_choice(ask: &Ask) -> Fault {
    let fault = Fault::user("answer this question with one of its choices");
    let choices = ask.choices.iter().zip(1..);
    choices.fold(fault, |fault, (choice, number)| fault.hint(format!("{number}: {}", choice.label)))
}

/// Returns the answer that saves rules, or approves an edited plan.
fn special_answer(ask: &Ask, given: AskReply) -> Result<Answer, Fault> {
    ask.answer(given, AnsweredBy::User).ok_or_else(|| {
        Fault::user("this question takes neither rules nor a plan").hint("`mxd asks` shows what it asks")
    })
}

/// Returns the answer for a reply. Free text that equals a choice's label is that choice.
fn parse_reply(ask: &Ask, given: AskReply) -> Result<Answer, Fault> {
    let given = match given {
        AskReply::Text(text) if text.trim().is_empty() => return Err(Fault::user("the answer is empty")),
        AskReply::Text(text) => match ask.choice_by_label(&text) {
            Some(choice) => AskReply::Choice(choice.id.clone()),
            None => AskReply::Text(text),
        },
        AskReply::Choice(id) => AskReply::Choice(id),
        given @ (AskReply::Rules(_) | AskReply::Plan(_)) => given,
    };
    let missing = match &given {
        AskReply::Choice(ChoiceId::Option(at)) => (at + 1).to_string(),
        AskReply::Choice(id) => format!("\"{id}\""),
        AskReply::Rules(_) | AskReply::Plan(_) => return special_answer(ask, given),
        AskReply::Text(_) => String::new(),
    };
    ask.answer(given, AnsweredBy::User)
        .ok_or_else(|| Fault::user(format!("there is no choice {missing}: the question has {}", ask.choices.len())))
}
