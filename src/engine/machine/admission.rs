//! Admission: who does a task, decided before anything of it is dispatched. Nothing stands in for a profile that was
//! chosen, and no model is called for a task that nobody has.

use crate::base::{Fault, TaskId, Timestamp, text};
use crate::config::profile::split_name;
use crate::engine::command::{Actor, CommandId, TaskDraft};
use crate::engine::machine::asks::{LEAVE, RETRY};
use crate::engine::machine::commands::Origin;
use crate::engine::machine::handover::HandoverRequest;
use crate::engine::machine::{AppendContinuation, Machine, TaskRuntime};
use crate::engine::profiles::Profiles;
use crate::model::ask::{Choice, ChoiceId, LaunchProblem, Subject};
use crate::model::live::Activity;
use crate::model::task::TaskNode;
use crate::model::{Answer, Ask, AskKind};

/// How many profiles a question offers.
const OFFERED: usize = 40;
const OFFER_CHARS: usize = 100;

/// What has to happen before a task is dispatched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// It has a profile. The launch checks the file.
    Run,
    /// It gets this profile first.
    Bind(String),
    /// The user has to choose. `Some` is why what is selected cannot be used.
    NeedsProfile(Option<LaunchProblem>),
    /// It only groups other tasks.
    Never,
}

/// Decides about `node`, where `chosen` is what the user or a hand-over chose for it and `above` is the profile of the
/// task above.
pub(super) fn admit(node: &TaskNode, chosen: Option<&str>, above: Option<&str>, profiles: &Profiles) -> Admission {
    if node.is_folder() {
        return Admission::Never;
    }
    let bind = match (chosen, &node.profile) {
        (Some(chosen), Some(profile)) if chosen == profile => return Admission::Run,
        (Some(chosen), _) => profiles.choose(chosen).map(|profile| Some(profile.full_name())),
        (None, Some(_)) => return Admission::Run,
        (None, None) => profiles.of_new_task(None, above),
    };
    match bind {
        Ok(Some(profile)) => Admission::Bind(profile),
        Ok(None) => Admission::NeedsProfile(None),
        Err(fault) => Admission::NeedsProfile(Some(problem_of(fault))),
    }
}

pub(super) fn problem_of(fault: Fault) -> LaunchProblem {
    LaunchProblem { failed: "could not be started".to_owned(), reason: fault.message, hints: fault.hints }
}

/// Returns a name that means exactly the profile with this full name.
pub(super) fn exact_name(full: &str) -> String {
    match split_name(full) {
        (Some(_), _) => full.to_owned(),
        (None, name) => format!("builtin:{name}"),
    }
}

impl TaskRuntime {
    /// Returns what was chosen for the task and is perhaps not in the tree yet: by a hand-over, or by an answer.
    fn chosen_profile(&self) -> Option<String> {
        let answered = self.state.decisions.iter().rev().filter(|decision| decision.ask.kind() == AskKind::Bind);
        let mut answered = answered.filter_map(|decision| match decision.ask.choice_of(&decision.answer) {
            Some(ChoiceId::Profile(name)) => Some(name.clone()),
            _ => None,
        });
        answered.next().or_else(|| self.state.handed_to.as_deref().map(exact_name))
    }
}

impl Machine {
    pub(super) fn admission(&self, task: TaskId) -> Admission {
        let Some(node) = self.tree.get(task) else { return Admission::Never };
        let chosen = self.runtimes.get(&task).and_then(TaskRuntime::chosen_profile);
        admit(node, chosen.as_deref(), self.profile_above(node), &self.profiles)
    }

    fn profile_above(&self, node: &TaskNode) -> Option<&str> {
        self.tree.get(node.parent?)?.profile.as_deref()
    }

    /// Returns true if the user has to choose a profile before the task can start.
    pub(super) fn needs_profile(&self, task: TaskId) -> bool {
        matches!(self.admission(task), Admission::NeedsProfile(_))
    }

    /// Returns true if the profiles on disk decide what a command to this task does.
    pub fn is_unbound(&self, task: TaskId) -> bool {
        self.tree.get(task).is_some_and(|node| node.profile.is_none())
            || self.runtimes.get(&task).is_some_and(|runtime| runtime.open_bind_ask().is_some())
    }

    /// Returns the profile of a new task. `None` if the user has to choose one first.
    pub(super) fn profile_of_new_task(&self, parent: TaskId, draft: &TaskDraft) -> Result<Option<String>, Fault> {
        let above = self.tree.get(parent).and_then(|above| above.profile.as_deref());
        self.profiles.of_new_task(draft.profile.as_deref(), above)
    }

    /// Returns how deep tasks may be below `task`: by the settings, and by the profiles above them.
    pub(super) fn deepest_below(&self, task: TaskId) -> usize {
        let own = |node: &TaskNode| {
            let profile = self.profiles.by_full_name(node.profile.as_deref()?).ok()?;
            Some(self.tree.depth(node.id) + profile.profile.max_depth? as usize)
        };
        let chain = self.tree.get(task).into_iter().chain(self.tree.ancestors(task));
        chain.filter_map(own).fold(self.limits.max_depth as usize, usize::min)
    }

    /// Asks the user who does the task, once. Its messages stay.
    pub(super) fn ask_for_profile(&mut self, task: TaskId, problem: Option<LaunchProblem>) {
        let runtime = self.runtime(task);
        runtime.activity = Activity::Waiting;
        if runtime.is_asking_for_profile || runtime.open_bind_ask().is_some() {
            return;
        }
        runtime.is_asking_for_profile = true;
        let title = self.tree.get(task).map(|node| node.title.clone()).unwrap_or_default();
        let (question, detail) = match &problem {
            None => {
                (format!("Who does \"{title}\"?"), "Nothing was sent to a model. Its messages are kept.".to_owned())
            }
            Some(problem) => {
                let hints = problem.hints.iter().map(|hint| format!("  hint: {hint}"));
                let lines: Vec<String> = std::iter::once(problem.reason.clone()).chain(hints).collect();
                (format!("\"{title}\" {}. Who does it?", problem.failed), lines.join("\n"))
            }
        };
        let mut choices: Vec<(ChoiceId, String)> = problem.iter().map(|_| (RETRY.0, RETRY.1.to_owned())).collect();
        for view in self.profiles.views().into_iter().take(OFFERED) {
            let label = text::headline(&format!("{}: {}", view.name, view.description), OFFER_CHARS);
            choices.push((ChoiceId::Profile(view.name), label));
        }
        choices.push((LEAVE.0, LEAVE.1.to_owned()));
        let ask = self.new_ask(Subject::Bind { problem }, question, detail, &[]);
        let choices = choices.into_iter().map(|(id, label)| Choice::new(id, label)).collect();
        self.append(task, vec![Ask { choices, ..ask }.into()], AppendContinuation::Question(task));
    }

    /// Gives the task to the profile that the user chose. A task with a conversation is handed over.
    pub(super) fn answer_with_profile(
        &mut self,
        now: Timestamp,
        command: Option<CommandId>,
        task: TaskId,
        ask: &Ask,
        answer: Answer,
        profile: &str,
    ) -> Result<(), Fault> {
        let to = self.profiles.choose(profile)?.full_name();
        let has_conversation = self.state(task).is_some_and(|state| state.turns.last_role.is_some());
        if ask.kind() == AskKind::Bind && !(has_conversation && self.node(task)?.profile.is_some()) {
            self.record_answer(now, task, ask, answer, command);
            return Ok(());
        }
        let origin = Origin { actor: Actor::User, command };
        let request = HandoverRequest { origin, task, to, note: None, answered: Some((ask.id, answer)) };
        self.start_handover(now, request)
    }
}

impl TaskRuntime {
    pub(super) fn open_bind_ask(&self) -> Option<&Ask> {
        self.state.asks.iter().find(|ask| ask.kind() == AskKind::Bind)
    }
}

#[cfg(test)]
#[path = "admission_tests.rs"]
mod tests;
