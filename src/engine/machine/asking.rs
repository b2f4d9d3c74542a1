//! Asks: raising those that are the engine's own, and carrying answers to where they are waited for.

use std::sync::Arc;

use crate::base::{AskId, EventId, Fault, MessageId, TaskId, Timestamp};
use crate::engine::command::CommandId;
use crate::engine::machine::delivering::Plan;
use crate::engine::machine::running::Place;
use crate::engine::machine::{Effect, Hook, Life, Machine, Pending, Timer};
use crate::model::ask::{AnsweredBy, AskMode, Choice, ChoiceId, Given, LaunchProblem, Subject};
use crate::model::event::{AskAnswered, AskWithdrawn, Body, Event, Exit, InterruptReason, RunEnded, Verdict};
use crate::model::fold::Decision;
use crate::model::message::Source;
use crate::model::task::{ResultRound, Status};
use crate::model::{Answer, Ask, AskKind};

/// What the task above is told of one whose worktree the user gave up.
const GIVEN_UP: &str = "Its worktree could not be set up, and the person left it at that.";

const RETRY: (ChoiceId, &str) = (ChoiceId::Retry, "Try again");
const LEAVE: (ChoiceId, &str) = (ChoiceId::Leave, "Leave it");

/// Returns what the user decided to do with the setup hook.
pub(super) fn hook(decision: &Decision) -> Hook {
    match decision.ask.chosen(&decision.answer) {
        Some(ChoiceId::SkipHook) => Hook::Skip,
        Some(ChoiceId::RunEditedHook) => Hook::RunEdited,
        _ => Hook::Run,
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

    /// Asks whether a task is to be tried again that `failed`, and tells the task above of it: nobody waits for a dead
    /// task. The id of what is told follows from the question, so that it is told once.
    pub(super) fn give_up_until_answered(&mut self, now: Timestamp, task: TaskId, failed: &str, fault: Fault) {
        let title = self.tree.get(task).map(|node| node.title.clone()).unwrap_or_default();
        let question = format!("\"{title}\" {failed}. Try again?");
        let detail = fault.to_string();
        let problem = LaunchProblem { failed: failed.to_owned(), reason: fault.message, hints: fault.hints };
        let told = told(&problem);
        let ask = self.new_ask(Subject::LaunchFailed(problem), question, detail, &[RETRY, LEAVE]);
        let id = failure_id(ask.id);
        self.append(task, vec![ask.into()], Pending::Question(task));
        if self.is_settled_below(task) {
            self.announce(now, task, Verdict::Failed, told, id);
        }
    }

    /// Tells the task above of a failure that was asked about before a crash, or while it was being moved, unless it was
    /// told.
    pub(super) fn tell_of_failure(&mut self, now: Timestamp, task: TaskId) {
        let Some(node) = self.tree.get(task).filter(|node| node.status == Status::InProgress) else { return };
        let free = |life: &&Life| !life.completion.is_under_way() && !life.slot.has_run();
        let Some(life) = self.lives.get(&task).filter(free).filter(|_| self.is_settled_below(task)) else { return };
        let failure = |ask: &Ask| match &ask.subject {
            Subject::LaunchFailed(problem) => Some((ask.id, told(problem))),
            _ => None,
        };
        let Some((ask, why)) = life.state.asks.iter().find_map(failure) else { return };
        let since = i64::try_from(ask.ulid().timestamp_ms()).unwrap_or(i64::MAX);
        let recorded = |round: &ResultRound| round.verdict == Verdict::Failed && round.at.as_millis() >= since;
        if node.parent.is_none() || node.results.iter().any(recorded) {
            return;
        }
        self.announce_once(now, task, Verdict::Failed, why, failure_id(ask), EventId::from_ulid(ask.ulid()));
    }

    pub(super) fn ask_about_setup(&mut self, task: TaskId, exit: &str, output: &str) {
        let question = format!("The setup hook of this worktree {exit}. What now?");
        let path = ".mxd/hooks/setup_worktree.sh";
        let detail = format!(
            "{output}\n\nTo change it, edit {path} in your checkout and choose the second answer; commit it, so that new \
             worktrees have it, too."
        );
        let edited = (ChoiceId::RunEditedHook, "I have edited it: run it from my checkout");
        let choices = [RETRY, edited, (ChoiceId::SkipHook, "Go on without it"), LEAVE];
        let ask = self.new_ask(Subject::SetupHook, question, detail, &choices);
        self.append(task, vec![ask.into()], Pending::Question(task));
    }

    /// Takes note of an Ask, whoever raised it.
    pub(super) fn asked(&mut self, task: TaskId, ask: &Ask) {
        if let (Some(at), Some(_)) = (ask.deadline, &ask.default) {
            self.out.push(Effect::Wake { timer: Timer::AskDeadline { task, ask: ask.id }, at });
        }
    }

    /// Returns an Ask that has no answer yet, not even one that is on its way to the disk.
    pub(super) fn pending_ask(&self, task: TaskId, ask: AskId) -> Option<&Ask> {
        self.lives.get(&task)?.state.asks.get(ask).filter(|ask| !self.answering.contains(&ask.id))
    }

    pub(super) fn answer(
        &mut self,
        now: Timestamp,
        command: CommandId,
        task: TaskId,
        id: AskId,
        given: Given,
    ) -> Result<(), Fault> {
        self.node(task)?;
        let Some(ask) = self.pending_ask(task, id).cloned() else {
            return Err(Fault::user("this question has been answered, or no longer stands")
                .hint("`mxd asks` lists what is open"));
        };
        let answer = read(&ask, given)?;
        if ask.kind() == AskKind::Review {
            return self.answer_review(now, command, task, &ask, answer);
        }
        if ask.kind() == AskKind::McpApproval {
            return self.decide(command, task, &ask, answer);
        }
        if ask.kind() == AskKind::Approval {
            return self.answer_approval(command, task, &ask, answer);
        }
        // Nobody reads these words: a "no" must not be taken for a "try again".
        if matches!(ask.kind(), AskKind::LaunchFailed | AskKind::SetupHook | AskKind::TaskLimit)
            && answer.choice.is_none()
        {
            return Err(one_of_its_choices(&ask));
        }
        if ask.kind() == AskKind::TaskLimit {
            self.answer_task_limit(now, command, task, &ask, answer);
            return Ok(());
        }
        self.record_answer(now, task, &ask, answer, Some(command));
        Ok(())
    }

    fn record_answer(&mut self, now: Timestamp, task: TaskId, ask: &Ask, answer: Answer, command: Option<CommandId>) {
        let id = ask.id;
        self.answering.insert(id);
        let then = Pending::Answer { task, ask: id, command };
        let answered: Body = AskAnswered { id, answer: answer.clone() }.into();
        match ask.kind() {
            // The agent reads it as a message, so nothing else is left to be acted on.
            AskKind::Clarify => {
                let defaulted = answer.by == AnsweredBy::Timeout;
                let from = Source::ClarifyResponse { ask: id, question: ask.question.clone(), defaulted };
                let message = self.message(now, from, answer.text);
                let acted_on = AskWithdrawn { id, reason: "the answer was sent to the agent".to_owned() }.into();
                let plan = Plan { line: Place::First, ..Plan::default() };
                self.deliver_with(task, vec![answered, acted_on], message, plan, then);
            }
            AskKind::LaunchFailed | AskKind::SetupHook if ask.chosen(&answer) == Some(&ChoiceId::Leave) => {
                let acted_on = AskWithdrawn { id, reason: "the person left it as it is".to_owned() }.into();
                // What it was to do is not done at the next start either. A launch that failed was told above at once;
                // a hook that failed is told now, and the words say so also after a crash.
                let result = if ask.kind() == AskKind::SetupHook { GIVEN_UP.to_owned() } else { String::new() };
                let ended = RunEnded { result, ..RunEnded::from(Exit::Interrupted(InterruptReason::Stopped)) }.into();
                self.append(task, vec![answered, acted_on, ended], then);
            }
            AskKind::LaunchFailed
            | AskKind::SetupHook
            | AskKind::Permission
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
            | AskKind::Review => self.append(task, vec![answered], then),
        }
    }

    /// An answer is on the disk: whoever waits for it goes on.
    pub(super) fn ask_answered(&mut self, now: Timestamp, task: TaskId, answered: &AskAnswered, event: &Arc<Event>) {
        if self.lives.get(&task).is_some_and(|life| life.slot.has_run()) {
            return self.hear(task, event);
        }
        let Some(life) = self.lives.get(&task) else { return };
        let Some(decision) = life.state.decisions.iter().find(|decision| decision.ask.id == answered.id) else {
            return;
        };
        // Work that was looked at counts, and what was approved is in the settings; nobody has to be woken for that.
        if matches!(decision.ask.kind(), AskKind::Review | AskKind::McpApproval | AskKind::Approval) {
            return;
        }
        if decision.ask.chosen(&decision.answer) != Some(&ChoiceId::Leave) {
            self.wake(now, task, Place::First);
        }
    }

    /// Nobody answered in time: the default does.
    pub(super) fn deadline(&mut self, now: Timestamp, task: TaskId, id: AskId) {
        let Some(ask) = self.pending_ask(task, id).cloned() else { return };
        let Some(answer) = ask.default.clone().and_then(|default| ask.answer(default, AnsweredBy::Timeout)) else {
            return;
        };
        self.record_answer(now, task, &ask, answer, None);
    }
}

/// Returns the id of the message that tells of a failure: always the same for the same question.
fn failure_id(ask: AskId) -> MessageId {
    MessageId::from_ulid(ask.ulid())
}

/// Returns what the task above is told of a failed launch. Hints are for the user, who is asked.
fn told(problem: &LaunchProblem) -> String {
    format!("It {}: {}", problem.failed, problem.reason)
}

/// Says that words of one's own are no answer to a question, and what is.
pub(super) fn one_of_its_choices(ask: &Ask) -> Fault {
    let fault = Fault::user("this question is answered with one of its choices");
    let choices = ask.choices.iter().zip(1..);
    choices.fold(fault, |fault, (choice, number)| fault.hint(format!("{number}: {}", choice.label)))
}

/// Returns what was given as an answer to an Ask. A choice that was written out is that choice.
fn read(ask: &Ask, given: Given) -> Result<Answer, Fault> {
    let given = match given {
        Given::Text(text) if text.trim().is_empty() => return Err(Fault::user("the answer is empty")),
        Given::Text(text) => match ask.choice_written(&text) {
            Some(choice) => Given::Choice(choice.id.clone()),
            None => Given::Text(text),
        },
        Given::Choice(id) => Given::Choice(id),
    };
    let missing = match &given {
        Given::Choice(ChoiceId::Option(at)) => (at + 1).to_string(),
        Given::Choice(id) => format!("\"{id}\""),
        Given::Text(_) => String::new(),
    };
    ask.answer(given, AnsweredBy::Person)
        .ok_or_else(|| Fault::user(format!("there is no choice {missing}: the question has {}", ask.choices.len())))
}
