//! Approvals by the user: setup hooks, changed recurring tasks, messages from other projects.
//!
//! The user is asked about each once. The id of the Ask is derived from its subject, so a restart does not ask twice
//! and a changed file asks again. The local settings keep the answer. MCP servers are in `server_approvals`.

use std::collections::BTreeSet;

use serde_json::json;

use crate::base::{AskId, Fault, ProjectId, TaskId, Timestamp, text};
use crate::config::Settings;
use crate::config::recurring::PlanFacts;
use crate::config::trust;
use crate::engine::command::CommandId;
use crate::engine::machine::asks::not_a_choice;
use crate::engine::machine::edits::checked_title;
use crate::engine::machine::scheduler::QueuePosition;
use crate::engine::machine::server_approvals::{AnsweredAsk, ApprovalDecision};
use crate::engine::machine::{AppendContinuation, Effect, Machine};
use crate::engine::update::Level;
use crate::model::ask::{Approval, AskMode, ChoiceId, Subject};
use crate::model::event::{AskWithdrawn, Body};
use crate::model::message::Message;
use crate::model::task::{Recurring, TaskNode};
use crate::model::{Answer, Ask};

/// Maximum number of bytes of a script or message in an Ask.
const SHOWN_BYTES: usize = 4_000;

/// The decisions of the user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Approvals {
    approved: BTreeSet<Approval>,
    declined: BTreeSet<Approval>,
}

impl Approvals {
    pub fn new(settings: &Settings) -> Self {
        let hooks = |hashes: &[String]| hashes.iter().map(|hash| Approval::SetupHook { hash: hash.clone() }).collect();
        let tasks =
            |hashes: &[String]| hashes.iter().map(|hash| Approval::RecurringTask { hash: hash.clone() }).collect();
        let projects = |ids: &[String]| {
            let ids = ids.iter().filter_map(|id| id.parse::<ProjectId>().ok());
            ids.map(|project| Approval::Project { project }).collect()
        };
        let all = |hook: &[String], task: &[String], project: &[String]| {
            let lists: [Vec<Approval>; 3] = [hooks(hook), tasks(task), projects(project)];
            lists.into_iter().flatten().collect()
        };
        Self {
            approved: all(&settings.approved_hooks, &settings.approved_tasks, &settings.approved_projects),
            declined: all(&settings.declined_hooks, &settings.declined_tasks, &settings.declined_projects),
        }
    }

    /// Returns the decision about `what`, or `None` if there is none yet.
    pub fn decision(&self, what: &Approval) -> Option<bool> {
        if self.approved.contains(what) {
            return Some(true);
        }
        self.declined.contains(what).then_some(false)
    }

    pub fn decide(&mut self, what: Approval, approved: bool) {
        let (to, from) =
            if approved { (&mut self.approved, &mut self.declined) } else { (&mut self.declined, &mut self.approved) };
        from.remove(&what);
        to.insert(what);
    }

    /// Returns true if no recurring task was ever approved here, as in projects of earlier versions.
    fn has_no_approved_recurring_task(&self) -> bool {
        !self.approved.iter().any(|approval| matches!(approval, Approval::RecurringTask { .. }))
    }
}

/// Returns the id of the Ask about `what`. Its timestamp part is arbitrary.
fn ask_id(what: &Approval) -> AskId {
    let hash = trust::hash(&json!(what));
    let bits = hash.get(..32).and_then(|digits| u128::from_str_radix(digits, 16).ok()).unwrap_or_default();
    AskId::from_ulid((bits >> 8).into())
}

impl Machine {
    /// Asks about `what`, unless that Ask is open.
    fn ask_approval(&mut self, task: TaskId, what: Approval, question: String, detail: String, labels: [&str; 2]) {
        let id = ask_id(&what);
        let is_open = self.runtimes.get(&task).is_some_and(|runtime| runtime.state.asks.get(id).is_some());
        if is_open || !self.approving.insert(id) {
            return;
        }
        let [approve, decline] = labels;
        let choices = [(ChoiceId::Approve, approve), (ChoiceId::Decline, decline)];
        let ask = self.new_ask(Subject::Approval { approval: what }, question, detail, &choices);
        let ask = Ask { id, mode: AskMode::Continues, ..ask };
        self.append(task, vec![ask.into()], AppendContinuation::Approval(id));
    }

    /// Saves the answer to the settings first, so that the session never records an answer that is not in effect.
    pub(super) fn answer_approval(
        &mut self,
        command: CommandId,
        task: TaskId,
        ask: &Ask,
        answer: Answer,
    ) -> Result<(), Fault> {
        let (Subject::Approval { approval }, Some(choice)) = (&ask.subject, ask.choice_of(&answer)) else {
            return Err(not_a_choice(ask));
        };
        let (approval, approved) = (approval.clone(), *choice == ChoiceId::Approve);
        self.answering.insert(ask.id);
        let answered = Some(AnsweredAsk { ask: ask.id, answer, command });
        let decision = ApprovalDecision { task, approval, approved, answered };
        self.out.push(Effect::SaveDecision(Box::new(decision)));
        Ok(())
    }

    /// Applies a saved decision and wakes the tasks that waited for it.
    pub(super) fn on_approval_decided(&mut self, now: Timestamp, approval: Approval, approved: bool) {
        if let Approval::SetupHook { hash } = &approval {
            let waiting = self.waiting_for_hook.remove(hash).unwrap_or_default();
            self.approvals.decide(approval, approved);
            waiting.into_iter().for_each(|task| self.wake(now, task, QueuePosition::First));
        } else {
            self.approvals.decide(approval, approved);
        }
    }

    /// Asks once, for all waiting tasks, whether the setup hook may run.
    pub(super) fn ask_about_hook(&mut self, task: TaskId, hash: String, script: &str) {
        self.waiting_for_hook.entry(hash.clone()).or_default().insert(task);
        let question = "The repository has a setup hook for new worktrees. Run it?".to_owned();
        let detail = format!(
            ".mxd/hooks/setup_worktree.sh:\n\n{}\n\nIt runs as your user, outside of any sandbox, in every new worktree. If the \
             file changes, you are asked again.",
            excerpt(script)
        );
        let root = self.tree.root_id();
        self.ask_approval(root, Approval::SetupHook { hash }, question, detail, ["Run it", "Continue without it"]);
    }

    /// Returns true if a task waits for a decision about a setup hook.
    pub(super) fn waits_for_hook(&self, task: TaskId) -> bool {
        self.waiting_for_hook.values().any(|tasks| tasks.contains(&task))
    }

    /// Returns true if a recurring task may run with its current file. Asks the user if that is undecided.
    pub(super) fn may_recur(&mut self, task: TaskId, facts: &PlanFacts) -> bool {
        let what = Approval::RecurringTask { hash: facts.hash.clone() };
        let Some(node) = self.tree.get(task) else { return false };
        let decision = self.approvals.decision(&what);
        // Earlier versions had no approvals: tasks that already ran there keep running.
        let is_old =
            decision.is_none() && self.approvals.has_no_approved_recurring_task() && self.matches_file(node, facts);
        if decision.is_none() && !is_old {
            let (question, detail) = recurring_question(node, facts);
            self.withdraw_approvals(task, Some(ask_id(&what)));
            self.ask_approval(task, what, question, detail, ["Run it", "Do not run it"]);
            return false;
        }
        self.withdraw_approvals(task, None);
        if is_old {
            self.approvals.decide(what.clone(), true);
            let decision = ApprovalDecision { task, approval: what, approved: true, answered: None };
            self.out.push(Effect::SaveDecision(Box::new(decision)));
        }
        if decision == Some(false) {
            self.notify(Level::Info, task, "this run is skipped: you declined the current version of its file");
        }
        decision != Some(false)
    }

    /// Withdraws Asks about earlier versions of the file.
    fn withdraw_approvals(&mut self, task: TaskId, except: Option<AskId>) {
        let Some(runtime) = self.runtimes.get(&task) else { return };
        let is_about_file = |ask: &&Ask| {
            let of_file = matches!(ask.subject, Subject::Approval { approval: Approval::RecurringTask { .. } });
            of_file && Some(ask.id) != except
        };
        let stale = runtime.state.asks.iter().filter(is_about_file);
        let bodies: Vec<Body> =
            stale.map(|ask| AskWithdrawn { id: ask.id, reason: "the file changed since".to_owned() }.into()).collect();
        if !bodies.is_empty() {
            self.append(task, bodies, AppendContinuation::Nothing);
        }
    }

    /// Returns true if the task matches its file.
    fn matches_file(&self, node: &TaskNode, facts: &PlanFacts) -> bool {
        let profile = match facts.profile.as_deref() {
            None => true,
            Some(name) => self.profiles.choose(name).is_ok_and(|profile| Some(profile.full_name()) == node.profile),
        };
        profile
            && checked_title(&facts.title).is_ok_and(|title| title == node.title)
            && node.description == facts.description
            && node.recurring == facts.mode
    }

    /// Delivers a message from another project, once: its file is seen several times before it is in the session. If
    /// the project is not approved, asks the user and leaves the file.
    pub(super) fn on_project_message(&mut self, project: ProjectId, name: &str, message: Message) {
        if self.delivery_plans.contains_key(&message.id) {
            return;
        }
        let what = Approval::Project { project };
        match self.approvals.decision(&what) {
            Some(true) => self.deliver_project_message(message),
            Some(false) => self.out.push(Effect::DiscardEnvelope { message: message.id }),
            None if self.limits.hold => {}
            None => {
                let question = format!("The project \"{name}\" sends a message to this one. Deliver it to the root?");
                let detail = format!(
                    "{}\n\nNo agent reads it, and it costs nothing, before you allow it. The answer applies to all messages from \
                     that project.",
                    excerpt(&message.body)
                );
                let root = self.tree.root_id();
                self.ask_approval(root, what, question, detail, ["Deliver its messages", "Drop its messages"]);
            }
        }
    }
}

/// Returns the question about a changed file and its detail.
fn recurring_question(node: &TaskNode, facts: &PlanFacts) -> (String, String) {
    let question = format!("The file of the recurring task \"{}\" has changed. Run the new version?", node.title);
    let mut lines = vec![
        format!("title: {}", facts.title),
        format!("mode: {}", if facts.mode == Recurring::Continue { "continue" } else { "reset" }),
    ];
    lines.extend(facts.profile.as_ref().map(|profile| format!("profile: {profile}")));
    lines.extend(Some(&facts.when).filter(|when| !when.is_empty()).map(|when| format!("when: {when}")));
    if let Some(wanted) = facts.budget {
        lines.push(format!("budget: {wanted} per run, or your own limit if that is lower"));
    }
    lines.push(format!("description:\n{}", excerpt(&facts.description)));
    lines.push(format!(
        "\n.mxd/tasks/{}.json was changed outside of mxd. If it changes again, you are asked again.",
        node.id
    ));
    (question, lines.join("\n"))
}

fn excerpt(words: &str) -> String {
    let beginning = text::prefix(words, SHOWN_BYTES);
    if beginning.len() < words.len() { format!("{beginning} […]") } else { words.to_owned() }
}
