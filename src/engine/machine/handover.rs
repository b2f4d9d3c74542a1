//! Hand-over: a task gets another profile. Its run ends, a note is made from the session, and one append retires the
//! conversation and leaves the note for the next agent. The tree follows; after a crash in between, the task's profile
//! is the one in its session.

use crate::base::{AskId, Fault, TaskId, Timestamp};
use crate::engine::command::Outcome;
use crate::engine::handover::opening;
use crate::engine::machine::commands::Origin;
use crate::engine::machine::delivery::DeliveryPlan;
use crate::engine::machine::edits::DeferredChange;
use crate::engine::machine::slot::Hold;
use crate::engine::machine::tree_save::SaveContinuation;
use crate::engine::machine::work::WorkContinuation;
use crate::engine::machine::{AppendContinuation, Job, Machine};
use crate::model::ask::Answer;
use crate::model::event::{AskAnswered, AskWithdrawn, Body, HandedOver, HandoverFacts, NoteAuthor};
use crate::model::message::{MessageSource, TreeAction};
use crate::model::{Ask, AskKind};

/// A hand-over that was requested.
#[derive(Clone, Debug)]
pub(super) struct HandoverRequest {
    pub(super) origin: Origin,
    pub(super) task: TaskId,
    /// The full name of the new profile.
    pub(super) to: String,
    /// What the giver wrote for the next agent.
    pub(super) note: Option<String>,
    /// The question that the hand-over answers.
    pub(super) answered: Option<(AskId, Answer)>,
}

/// A hand-over whose note is being made.
#[derive(Clone, Debug)]
pub struct PendingHandover(pub(super) HandoverRequest);

/// What the driver read from a task's session and worktree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionNote {
    pub text: String,
    pub facts: HandoverFacts,
}

impl Machine {
    pub(super) fn hand_over_task(
        &mut self,
        now: Timestamp,
        origin: Origin,
        task: TaskId,
        to: &str,
        note: Option<String>,
    ) -> Result<(), Fault> {
        self.node(task)?;
        let to = self.profiles.choose(to)?.full_name();
        let note = note.map(|note| note.trim().to_owned()).filter(|note| !note.is_empty());
        self.start_handover(now, HandoverRequest { origin, task, to, note, answered: None })
    }

    pub(super) fn start_handover(&mut self, now: Timestamp, request: HandoverRequest) -> Result<(), Fault> {
        let (task, origin) = (request.task, request.origin);
        let node = self.node(task)?;
        if node.is_folder() {
            return Err(Fault::user(format!(
                "{} only groups other tasks: no agent works on it",
                self.task_label(task)
            )));
        }
        if node.profile.as_ref() == Some(&request.to) {
            return Err(Fault::user(format!("{} has the profile {} already", self.task_label(task), request.to)));
        }
        if self.defer(origin, task, DeferredChange::HandOver(Box::new(request.clone()))) {
            return Ok(());
        }
        self.check_idle(task, "handed over")?;
        if self.state(task).is_some_and(|state| state.turns.last_role.is_some()) {
            let location = self.location_of(task)?;
            self.start_job(task, Job::Handover { location, then: PendingHandover(request) });
            return Ok(());
        }
        // There is no conversation to retire.
        self.runtime(task).holds.add(Hold::Change);
        let bodies = self.settle_asks(&request);
        if bodies.is_empty() {
            self.finish_handover(now, request);
        } else {
            self.append_handover(request, bodies);
        }
        Ok(())
    }

    /// Records the hand-over: from here on, the old conversation is out of reach.
    pub(super) fn on_handover_note(
        &mut self,
        now: Timestamp,
        PendingHandover(request): PendingHandover,
        note: Result<SessionNote, Fault>,
    ) {
        let SessionNote { text, mut facts } = match note {
            Ok(note) => note,
            Err(fault) => return self.finish_work(now, request.origin.command, request.task, Err(fault)),
        };
        let task = request.task;
        if let Some(state) = self.state(task) {
            facts.unread = state.messages.iter().count();
            facts.cost = state.usage.cost();
        }
        let mut bodies = self.settle_asks(&request);
        let settled = bodies.iter().filter(|body| matches!(body, Body::AskWithdrawn(_))).count();
        facts.open_asks = self.state(task).map_or(0, |state| state.asks.iter().count()).saturating_sub(settled);
        let from = self.tree.get(task).and_then(|node| node.profile.clone());
        let (author, text) = match request.note.clone() {
            Some(note) => (NoteAuthor::Giver, note),
            None => (NoteAuthor::Session, text),
        };
        let body = opening(from.as_deref(), author, &text, &facts);
        let message = self.message(now, MessageSource::Handover { from: from.clone() }, body);
        self.delivery_plans.insert(message.id, DeliveryPlan::default());
        let by = request.origin.actor.editor();
        let handed = HandedOver { from, to: request.to.clone(), by, author, facts, carry: Box::default() };
        bodies.push(handed.into());
        bodies.push(message.into());
        self.append_handover(request, bodies);
    }

    fn append_handover(&mut self, request: HandoverRequest, bodies: Vec<Body>) {
        let then = WorkContinuation::Handover(PendingHandover(request));
        self.append(then.task(), bodies, AppendContinuation::Work(Box::new(then)));
    }

    /// Returns the events that end the questions of the old profile: nobody would act on their answers.
    fn settle_asks(&self, request: &HandoverRequest) -> Vec<Body> {
        let Some(runtime) = self.runtimes.get(&request.task) else { return Vec::new() };
        let reason = format!("the task was handed over to {}", request.to);
        let mut bodies: Vec<Body> = Vec::new();
        if let Some((id, answer)) = request.answered.clone() {
            bodies.push(AskAnswered { id, answer }.into());
        }
        let is_stale = |ask: &&Ask| {
            let own = ask.kind().is_raised_by_run();
            own || matches!(ask.kind(), AskKind::LaunchFailed | AskKind::Bind | AskKind::Permission | AskKind::Plan)
        };
        let answered = runtime.state.decisions.iter().map(|decision| &decision.ask);
        let stale = runtime.state.asks.iter().chain(answered).filter(is_stale);
        bodies.extend(stale.map(|ask| AskWithdrawn { id: ask.id, reason: reason.clone() }.into()));
        bodies
    }

    /// The session has the hand-over: updates the tree and replies.
    pub(super) fn finish_handover(&mut self, now: Timestamp, request: HandoverRequest) {
        let HandoverRequest { origin, task, to, .. } = request;
        let Some(node) = self.tree.get(task) else { return };
        let (from, title) = (node.profile.clone(), node.title.clone());
        let _ = self.tree.edit(task, |node| {
            node.profile = Some(to.clone());
            node.updated_at = now;
        });
        self.notify_of_edit(
            now,
            origin.actor,
            task,
            &title,
            TreeAction::Updated,
            &format!("its profile, which is now {to}"),
        );
        self.commit([task], SaveContinuation::Reply(origin, Outcome::HandedOver { task, from, to }));
        self.release_holds(now, &[task]);
    }

    /// Takes over the profiles of hand-overs that a crash separated from the tree.
    pub(super) fn follow_handovers(&mut self, now: Timestamp) {
        let handed = |(task, runtime): (&TaskId, &super::TaskRuntime)| Some((*task, runtime.state.handed_to.clone()?));
        let handed: Vec<(TaskId, String)> = self.runtimes.iter().filter_map(handed).collect();
        for (task, to) in handed {
            let edited = self.tree.edit(task, |node| {
                node.profile = Some(to);
                node.updated_at = now;
            });
            if edited.is_ok() {
                self.commit([task], SaveContinuation::Completed(task));
            }
        }
    }

    /// Refuses to return to a turn or message of a retired part.
    pub(super) fn check_not_retired(&self, task: TaskId, at: ulid::Ulid) -> Result<(), Fault> {
        let Some(part) = self.state(task).and_then(|state| state.retired.iter().find(|part| at < part.until.ulid()))
        else {
            return Ok(());
        };
        let owner = part.profile.as_deref().unwrap_or("nobody");
        let now = self.tree.get(task).and_then(|node| node.profile.as_deref()).unwrap_or("nobody");
        Err(Fault::user(format!("this part belongs to {owner} and is retired since the hand-over to {now}"))
            .hint(format!("write to {} ({now}), or fork it", self.task_label(task))))
    }

    /// Returns the profile that a turn of a task belongs to.
    pub(super) fn profile_at(&self, task: TaskId, at: Option<ulid::Ulid>) -> Option<String> {
        let retired = |at| self.state(task)?.retired.iter().find(|part| at < part.until.ulid());
        match at.and_then(retired) {
            Some(part) => part.profile.clone(),
            None => self.tree.get(task)?.profile.clone(),
        }
    }
}
