//! What a repository or another project wants and only the user can allow: setup hooks, changed recurring tasks, messages.
//!
//! Each is asked about once. The id of the Ask follows from what it is about, so that a restart asks nothing twice and a
//! changed file asks anew; the local settings keep the answer. Tool servers are asked about in `approving`.

use std::collections::BTreeSet;

use serde_json::json;

use crate::base::{AskId, Fault, ProjectId, TaskId, Timestamp, text};
use crate::config::Settings;
use crate::config::recurring::Facts;
use crate::config::trust;
use crate::engine::command::CommandId;
use crate::engine::machine::approving::{Answered, Decision};
use crate::engine::machine::asking::one_of_its_choices;
use crate::engine::machine::editing::checked_title;
use crate::engine::machine::running::Place;
use crate::engine::machine::{Effect, Machine, Pending};
use crate::engine::update::Level;
use crate::model::ask::{Approval, AskMode, ChoiceId, Subject};
use crate::model::event::{AskWithdrawn, Body};
use crate::model::message::Message;
use crate::model::task::{Recurring, TaskNode};
use crate::model::{Answer, Ask};

/// How much of a script or of a message an Ask shows.
const SHOWN_BYTES: usize = 4_000;

/// What the user has decided.
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

    /// Returns what the user decided about `what`. `None` if they have not been asked.
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

    /// Tells whether no recurring task was ever approved here, as in projects of earlier versions.
    fn knows_no_recurring_task(&self) -> bool {
        !self.approved.iter().any(|approval| matches!(approval, Approval::RecurringTask { .. }))
    }
}

/// Returns the id of the Ask about `what`. It has no time of its own: it is older than everything.
fn ask_id(what: &Approval) -> AskId {
    let hash = trust::hash(&json!(what));
    let bits = hash.get(..32).and_then(|digits| u128::from_str_radix(digits, 16).ok()).unwrap_or_default();
    AskId::from_ulid((bits >> 8).into())
}

impl Machine {
    /// Asks about `what`, unless that is asked already.
    fn ask_approval(&mut self, task: TaskId, what: Approval, question: String, detail: String, labels: [&str; 2]) {
        let id = ask_id(&what);
        let is_open = self.lives.get(&task).is_some_and(|life| life.state.asks.get(id).is_some());
        if is_open || !self.approving.insert(id) {
            return;
        }
        let [approve, decline] = labels;
        let choices = [(ChoiceId::Approve, approve), (ChoiceId::Decline, decline)];
        let ask = self.new_ask(Subject::Approval { approval: what }, question, detail, &choices);
        let ask = Ask { id, mode: AskMode::Continues, ..ask };
        self.append(task, vec![ask.into()], Pending::Approval(id));
    }

    /// Writes the answer into the settings first: what the session says is then already so.
    pub(super) fn answer_approval(
        &mut self,
        command: CommandId,
        task: TaskId,
        ask: &Ask,
        answer: Answer,
    ) -> Result<(), Fault> {
        let (Subject::Approval { approval }, Some(choice)) = (&ask.subject, ask.chosen(&answer)) else {
            return Err(one_of_its_choices(ask));
        };
        let (approval, approved) = (approval.clone(), *choice == ChoiceId::Approve);
        self.answering.insert(ask.id);
        let answered = Some(Answered { ask: ask.id, answer, command });
        let decision = Decision { task, approval, approved, answered };
        self.out.push(Effect::Decide(Box::new(decision)));
        Ok(())
    }

    /// The settings have a decision: whoever waited for it goes on.
    pub(super) fn approval_decided(&mut self, now: Timestamp, approval: Approval, approved: bool) {
        if let Approval::SetupHook { hash } = &approval {
            let waiting = self.waiting_for_hook.remove(hash).unwrap_or_default();
            self.approvals.decide(approval, approved);
            waiting.into_iter().for_each(|task| self.wake(now, task, Place::First));
        } else {
            self.approvals.decide(approval, approved);
        }
    }

    /// Asks whether the setup hook of new worktrees may run, once for all tasks that wait for that.
    pub(super) fn ask_about_hook(&mut self, task: TaskId, hash: String, script: &str) {
        self.waiting_for_hook.entry(hash.clone()).or_default().insert(task);
        let question = "The repository has a setup hook for new worktrees. Run it?".to_owned();
        let detail = format!(
            ".mxd/hooks/setup_worktree.sh:\n\n{}\n\nIt runs as you do, outside of any sandbox, in every new worktree. A \
             change of the file asks again.",
            shown(script)
        );
        let root = self.tree.root_id();
        self.ask_approval(root, Approval::SetupHook { hash }, question, detail, ["Run it", "Go on without it"]);
    }

    /// Tells whether a task waits until the user has decided about a setup hook.
    pub(super) fn waits_for_hook(&self, task: TaskId) -> bool {
        self.waiting_for_hook.values().any(|tasks| tasks.contains(&task))
    }

    /// Tells whether a recurring task may run as its file has it now. If nobody knows, the user is asked.
    pub(super) fn may_come_round(&mut self, task: TaskId, facts: &Facts) -> bool {
        let what = Approval::RecurringTask { hash: facts.hash.clone() };
        let Some(node) = self.tree.get(task) else { return false };
        let known = self.approvals.decision(&what);
        // Earlier versions asked about nothing: what runs there already goes on as it is.
        let is_old = known.is_none() && self.approvals.knows_no_recurring_task() && self.is_as_written(node, facts);
        if known.is_none() && !is_old {
            let (question, detail) = words_about(node, facts);
            self.withdraw_approvals(task, Some(ask_id(&what)));
            self.ask_approval(task, what, question, detail, ["Run it like this", "Do not run it"]);
            return false;
        }
        self.withdraw_approvals(task, None);
        if is_old {
            self.approvals.decide(what.clone(), true);
            let decision = Decision { task, approval: what, approved: true, answered: None };
            self.out.push(Effect::Decide(Box::new(decision)));
        }
        if known == Some(false) {
            self.say(Level::Info, task, "you declined its file as it is now, so this round is left out");
        }
        known != Some(false)
    }

    /// Takes back what was asked about a file that has changed since.
    fn withdraw_approvals(&mut self, task: TaskId, except: Option<AskId>) {
        let Some(life) = self.lives.get(&task) else { return };
        let is_about_file = |ask: &&Ask| {
            let of_file = matches!(ask.subject, Subject::Approval { approval: Approval::RecurringTask { .. } });
            of_file && Some(ask.id) != except
        };
        let stale = life.state.asks.iter().filter(is_about_file);
        let bodies: Vec<Body> = stale
            .map(|ask| AskWithdrawn { id: ask.id, reason: "the file has changed since".to_owned() }.into())
            .collect();
        if !bodies.is_empty() {
            self.append(task, bodies, Pending::Nothing);
        }
    }

    /// Tells whether a task is what its file says.
    fn is_as_written(&self, node: &TaskNode, facts: &Facts) -> bool {
        let profile = match facts.profile.as_deref() {
            None => true,
            Some(name) => self.profiles.choose(Some(name)).is_ok_and(|profile| profile.full_name() == node.profile),
        };
        profile
            && checked_title(&facts.title).is_ok_and(|title| title == node.title)
            && node.description == facts.description
            && node.recurring == facts.mode
    }

    /// Takes a letter of another project in, once: its file is seen several times before it is in the session. A project
    /// that the user has not approved is asked about; its letters wait where they are.
    pub(super) fn letter(&mut self, project: ProjectId, name: &str, message: Message) {
        if self.plans.contains_key(&message.id) {
            return;
        }
        let what = Approval::Project { project };
        match self.approvals.decision(&what) {
            Some(true) => self.take_letter(message),
            Some(false) => self.out.push(Effect::DiscardLetter { message: message.id }),
            None if self.limits.hold => {}
            None => {
                let question = format!("The project \"{name}\" sends a message to this one. Let it reach the root?");
                let detail = format!(
                    "{}\n\nNo agent reads it, and nothing is spent on it, before you allow it. The answer is for all messages of \
                     that project.",
                    shown(&message.body)
                );
                let root = self.tree.root_id();
                self.ask_approval(root, what, question, detail, ["Let its messages through", "Drop its messages"]);
            }
        }
    }
}

/// Returns the question about a changed file, and what it would run.
fn words_about(node: &TaskNode, facts: &Facts) -> (String, String) {
    let question = format!("The file of the recurring task \"{}\" has changed. Run it like this?", node.title);
    let mut lines = vec![
        format!("title: {}", facts.title),
        format!("mode: {}", if facts.mode == Recurring::Continue { "continue" } else { "reset" }),
    ];
    lines.extend(facts.profile.as_ref().map(|profile| format!("profile: {profile}")));
    lines.extend(Some(&facts.when).filter(|when| !when.is_empty()).map(|when| format!("when: {when}")));
    if let Some(wanted) = facts.budget {
        lines.push(format!("budget: {wanted} for a round, or less if you allow less"));
    }
    lines.push(format!("description:\n{}", shown(&facts.description)));
    lines.push(format!("\n.mxd/tasks/{}.json was not changed by mxd. Another change asks again.", node.id));
    (question, lines.join("\n"))
}

fn shown(words: &str) -> String {
    let beginning = text::prefix(words, SHOWN_BYTES);
    if beginning.len() < words.len() { format!("{beginning} […]") } else { words.to_owned() }
}
