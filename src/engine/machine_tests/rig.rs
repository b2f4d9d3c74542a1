//! A fake disk and driver that carry out effects at once, unless a test blocks or fails them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use super::*;
use crate::base::{Clock, EventId, Json, MicroUsd, ProjectId, RunId, TurnId};
use crate::config::recurring::PlanChange;
use crate::engine::command::{ArchivedWork, Outgoing, RestoredWorktree, TaskDraft, TaskStart};
use crate::engine::snapshot::TaskView;
use crate::model::ask::{Approval, Ask};
use crate::model::conversation::ToolUse;
use crate::model::event::{
    AssistantText, Body, Event, Exit, InterruptReason, MessagesConsumed, RunEnded, RunStarted, StopReason, ToolResult,
    TurnEnded, VERSION, Verdict,
};
use crate::model::message::Delivery;
use crate::model::run::Ending;
use crate::model::usage::{Tokens, Usage};
use crate::model::{Project, event::ResumeShape};
use crate::tools::names;

/// A clock that advances with every input.
struct StepClock(AtomicI64);

impl Clock for StepClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::Relaxed))
    }
}

/// How the fake disk handles writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DiskMode {
    #[default]
    Accepts,
    Fails,
    /// Holds every write until the test releases it.
    Blocks,
}

/// The hash of every file of a recurring task that the rig writes.
pub const FILE_HASH: &str = "f11e";

pub struct Rig {
    pub machine: Machine,
    pub ids: IdSource,
    clock: Arc<StepClock>,
    pub limits: EngineLimits,
    pub logs: BTreeMap<TaskId, Vec<Event>>,
    pub tree: Arc<Tree>,
    pub appends: DiskMode,
    pub saves: DiskMode,
    /// The approvals in the settings.
    pub approvals: Approvals,
    /// The changes to the files of recurring tasks.
    pub written: Vec<PlanChange>,
    /// The permission rules that were saved.
    pub rules: Vec<(crate::permit::List, Vec<String>)>,
    /// Blocked writes.
    held: Vec<Effect>,
    /// All other effects, in order.
    pub effects: Vec<Effect>,
    commands: u64,
    /// The setting `profile`.
    selection: String,
}

impl Rig {
    pub fn new() -> Self {
        Self::with(EngineLimits::default())
    }

    pub fn with(limits: EngineLimits) -> Self {
        let clock = Arc::new(StepClock(AtomicI64::new(1_800_000_000_000)));
        let ids = IdSource::seeded(clock.clone(), 7);
        let root = TaskNode::new(TaskId::fresh(&ids), "Root", "orchestrator", clock.now());
        let tree = Tree::new(root);
        let mut rig = Self {
            machine: machine(&tree, &limits, &ids, &Approvals::default()),
            approvals: Approvals::default(),
            ids,
            clock,
            limits,
            logs: BTreeMap::new(),
            tree: Arc::new(tree),
            appends: DiskMode::Accepts,
            saves: DiskMode::Accepts,
            written: Vec::new(),
            rules: Vec::new(),
            held: Vec::new(),
            effects: Vec::new(),
            commands: 0,
            selection: "engineer".to_owned(),
        };
        rig.boot();
        rig
    }

    fn boot(&mut self) {
        let sessions = self.tree.all().map(|node| (node.id, SessionState::replay(self.active(node.id)))).collect();
        self.feed(Input::Boot { sessions });
    }

    /// Simulates a crash and a restart from what is on disk.
    pub fn crash(&mut self) {
        self.held.clear();
        self.effects.clear();
        (self.appends, self.saves) = (DiskMode::Accepts, DiskMode::Accepts);
        self.machine = machine(&self.tree, &self.limits, &self.ids, &self.approvals);
        self.machine.set_profiles(Profiles::built_in().with_selection(&self.selection));
        self.boot();
    }

    /// Selects the profile of new tasks.
    pub fn select(&mut self, setting: &str) {
        setting.clone_into(&mut self.selection);
        self.machine.set_profiles(Profiles::built_in().with_selection(setting));
    }

    /// Answers the jobs that read a note for a hand-over.
    pub fn notes_done(&mut self) -> usize {
        let is_note =
            |effect: &Effect| matches!(effect, Effect::RunJob { job, .. } if matches!(**job, Job::Handover { .. }));
        let mut done = 0;
        while let Some(at) = self.effects.iter().position(is_note) {
            let Effect::RunJob { job, .. } = self.effects.remove(at) else { continue };
            let Job::Handover { then, .. } = *job else { continue };
            let note = SessionNote { text: "what was done".to_owned(), ..SessionNote::default() };
            self.feed(Input::JobDone(Box::new(JobOutcome::HandoverNoted { then, result: Ok(note) })));
            done += 1;
        }
        done
    }

    pub fn root(&self) -> TaskId {
        self.machine.tree().root_id()
    }

    pub fn log(&self, task: TaskId) -> &[Event] {
        self.logs.get(&task).map_or(&[], Vec::as_slice)
    }

    fn active(&self, task: TaskId) -> &[Event] {
        let log = self.log(task);
        &log[log
            .iter()
            .rposition(|event| matches!(event.body, Body::HeadMoved(_) | Body::HandedOver(_)))
            .unwrap_or(0)..]
    }

    pub fn feed(&mut self, input: Input) {
        let mut inputs = VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            self.clock.0.fetch_add(1, Ordering::Relaxed);
            for effect in self.machine.step(self.clock.now(), input) {
                self.perform(effect, &mut inputs);
            }
        }
    }

    fn perform(&mut self, effect: Effect, inputs: &mut VecDeque<Input>) {
        let fault = Fault::environment("the disk is full");
        match effect {
            Effect::Append { .. } | Effect::SendOnce { .. } if self.appends == DiskMode::Blocks => {
                self.held.push(effect);
            }
            Effect::SaveTree { .. } if self.saves == DiskMode::Blocks => self.held.push(effect),
            Effect::Append { ticket, .. } | Effect::SendOnce { ticket, .. } if self.appends == DiskMode::Fails => {
                inputs.push_back(Input::AppendFailed { ticket, fault });
            }
            Effect::SaveTree { ticket, .. } if self.saves == DiskMode::Fails => {
                inputs.push_back(Input::TreeSaveFailed { ticket, fault });
            }
            Effect::Append { ticket, task, bodies } => {
                inputs.extend(self.write(task, None, bodies));
                inputs.push_back(Input::Appended { ticket });
            }
            Effect::SendOnce { ticket, task, message, .. } => {
                if self.messages(task).iter().all(|known| known.id != message.id) {
                    inputs.extend(self.write(task, None, vec![(*message).into()]));
                }
                inputs.push_back(Input::Appended { ticket });
            }
            Effect::SaveTree { ticket, tree } => {
                self.tree = tree;
                inputs.push_back(Input::TreeSaved { ticket });
            }
            Effect::WritePlan { change, then } => {
                self.written.push(change);
                self.approvals.decide(Approval::RecurringTask { hash: FILE_HASH.to_owned() }, true);
                inputs.push_back(Input::PlanWritten { then, result: Ok(Some(FILE_HASH.to_owned())) });
            }
            Effect::JudgeCalls(calls) => {
                self.effects.push(Effect::JudgeCalls(calls));
                inputs.push_back(Input::CallsJudged(Vec::new()));
            }
            Effect::SaveRules(change) => {
                self.rules.push((change.list, change.rules.clone()));
                inputs.push_back(Input::RulesSaved { change, result: Ok(()) });
            }
            other => self.effects.push(other),
        }
    }

    /// Returns the number of blocked writes.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// Completes all blocked writes in order.
    pub fn wake_disk(&mut self) {
        self.complete_held(DiskMode::Accepts);
    }

    /// Fails all blocked writes.
    pub fn refuse_held(&mut self) {
        self.complete_held(DiskMode::Fails);
        (self.appends, self.saves) = (DiskMode::Accepts, DiskMode::Accepts);
    }

    fn complete_held(&mut self, mode: DiskMode) {
        (self.appends, self.saves) = (mode, mode);
        for effect in std::mem::take(&mut self.held) {
            let mut inputs = VecDeque::new();
            self.perform(effect, &mut inputs);
            inputs.into_iter().for_each(|input| self.feed(input));
        }
    }

    /// Completes the first blocked write.
    pub fn wake_disk_once(&mut self) -> bool {
        self.release(|_| true)
    }

    /// Completes the first blocked write of a kind. Returns false if there is none.
    pub fn release(&mut self, is: impl Fn(&Effect) -> bool) -> bool {
        let Some(at) = self.held.iter().position(is) else { return false };
        let effect = self.held.remove(at);
        let modes = (self.appends, self.saves);
        (self.appends, self.saves) = (DiskMode::Accepts, DiskMode::Accepts);
        let mut inputs = VecDeque::new();
        self.perform(effect, &mut inputs);
        (self.appends, self.saves) = modes;
        inputs.into_iter().for_each(|input| self.feed(input));
        true
    }

    fn write(&mut self, task: TaskId, run: Option<RunId>, bodies: Vec<Body>) -> Vec<Input> {
        let mut inputs = Vec::new();
        for mut body in bodies {
            if let Body::HeadMoved(moved) = &mut body {
                *moved.carry = SessionState::replay(self.active(task)).moved_to(&SessionState::default());
            }
            if let Body::HandedOver(handed) = &mut body {
                *handed.carry = SessionState::replay(self.active(task));
            }
            let id = EventId::fresh(&self.ids);
            let event = Event { v: VERSION, id, parent: None, ts: self.clock.now(), run, batch: None, body };
            self.logs.entry(task).or_default().push(event.clone());
            inputs.push(Input::Observed { task, event: Arc::new(event) });
        }
        inputs
    }

    /// Writes events as a run of the task.
    pub fn run_writes(&mut self, task: TaskId, bodies: Vec<Body>) {
        let run = Some(RunId::fresh(&self.ids));
        for input in self.write(task, run, bodies) {
            self.feed(input);
        }
    }

    /// Gives a command as the user. Returns the reply, if there is one yet.
    pub fn command(&mut self, command: Command) -> Option<Result<Outcome, Fault>> {
        self.run_command(Actor::User, command)
    }

    /// Gives a command as the agent of a task.
    pub fn agent_command(&mut self, task: TaskId, command: Command) -> Option<Result<Outcome, Fault>> {
        self.run_command(Actor::Agent(task), command)
    }

    fn run_command(&mut self, actor: Actor, command: Command) -> Option<Result<Outcome, Fault>> {
        self.commands += 1;
        let id = self.last_command();
        self.feed(Input::Command { id, actor, command });
        self.reply(id)
    }

    pub fn last_command(&self) -> CommandId {
        CommandId(self.commands)
    }

    pub fn reply(&self, id: CommandId) -> Option<Result<Outcome, Fault>> {
        let mut replies = self.effects.iter().filter_map(|effect| match effect {
            Effect::Reply { id: of, result } if *of == id => Some(result.clone()),
            _ => None,
        });
        let reply = replies.next();
        assert!(replies.next().is_none(), "answered twice");
        reply
    }

    pub fn send(&mut self, task: TaskId, text: &str) -> Option<Result<Outcome, Fault>> {
        let message = Outgoing { text: text.to_owned(), ..Outgoing::default() };
        self.command(Command::Send { task, message, mode: Delivery::Steer })
    }

    pub fn answer(&mut self, task: TaskId, choice: usize) -> Option<Result<Outcome, Fault>> {
        let ask = self.view(task).asks[0].clone();
        self.command(Command::Answer { task, ask: ask.id, reply: ask.reply_with_number(choice + 1), by: None })
    }

    /// Creates a task without a message.
    pub fn make(&mut self, parent: TaskId, title: &str) -> TaskId {
        let draft = TaskDraft { title: title.to_owned(), ..TaskDraft::default() };
        match self.command(Command::Create { parent, before: None, draft, start: TaskStart::Later }) {
            Some(Ok(Outcome::Created { task, .. })) => task,
            other => panic!("not made: {other:?}"),
        }
    }

    /// Creates a task whose agent has had a turn and is idle.
    pub fn make_asleep(&mut self, parent: TaskId, title: &str) -> TaskId {
        let task = self.make_busy(parent, title);
        self.go_idle(task);
        task
    }

    /// Creates a task that the user started with a key, and whose agent is at work.
    pub fn make_started(&mut self, parent: TaskId, title: &str) -> TaskId {
        let task = self.make(parent, title);
        self.command(Command::Resume { task });
        self.start(task);
        task
    }

    /// Creates a task whose agent is at work.
    pub fn make_busy(&mut self, parent: TaskId, title: &str) -> TaskId {
        let task = self.make(parent, title);
        self.send(task, "begin");
        self.start(task);
        task
    }

    /// Turns the launch of a task into a run that reads its messages and has a turn.
    pub fn start(&mut self, task: TaskId) {
        self.feed(Input::Launched { task, model: "m".to_owned() });
        self.take_a_turn(task);
    }

    pub fn take_a_turn(&mut self, task: TaskId) {
        let ids: Vec<MessageId> = self
            .machine
            .state(task)
            .into_iter()
            .flat_map(|state| state.messages.iter())
            .map(|message| message.id)
            .collect();
        let usage = Usage {
            tokens: Tokens::default(),
            model: "m".to_owned(),
            cost: Some(MicroUsd(10)),
            context_window: 1_000,
            estimated: false,
        };
        let open = self.machine.state(task).map(|state| state.turns.open.clone()).unwrap_or_default();
        let woken = open.iter().map(|call| ToolResult::unrun(call, "woken", false).into());
        let started = RunStarted { shape: ResumeShape::Fresh, profile: "p".to_owned(), model: "m".to_owned() };
        let turn = TurnId::fresh(&self.ids);
        self.run_writes(
            task,
            [started.into()]
                .into_iter()
                .chain(woken)
                .chain([
                    MessagesConsumed { ids }.into(),
                    AssistantText { text: "Well.".to_owned() }.into(),
                    usage.into(),
                    TurnEnded { turn, stop: StopReason::EndTurn }.into(),
                ])
                .collect(),
        );
    }

    pub fn go_idle(&mut self, task: TaskId) {
        self.feed(Input::RunOver { task, ending: Ok(Ending::Idle) });
    }

    /// Writes the end of a run and ends it.
    pub fn exit(&mut self, task: TaskId, exit: &Exit) {
        self.write_exit(task, exit);
        self.feed(Input::RunOver { task, ending: Ok(Ending::Exited(exit.clone())) });
    }

    /// Writes the end of a run.
    pub fn write_exit(&mut self, task: TaskId, exit: &Exit) {
        let mut bodies = Vec::new();
        let mut ended = RunEnded::from(exit.clone());
        if !matches!(exit, Exit::Interrupted(_)) {
            ended.result = "what came of it".to_owned();
            let (call, name) = (TurnId::fresh(&self.ids).to_string(), names::wire(names::DONE));
            let input = Json::parse("{}").unwrap();
            bodies.push(ToolUse { call, name, input, malformed: None }.into());
        }
        bodies.push(ended.into());
        self.run_writes(task, bodies);
    }

    pub fn exit_stopped(&mut self, task: TaskId) {
        self.exit(task, &Exit::Interrupted(InterruptReason::Stopped));
    }

    pub fn view(&self, task: TaskId) -> TaskView {
        self.machine.view(task).unwrap()
    }

    pub fn status(&self, task: TaskId) -> Status {
        self.view(task).node.status
    }

    pub fn messages(&self, task: TaskId) -> Vec<Message> {
        let message = |event: &Event| match &event.body {
            Body::Message(message) => Some(message.clone()),
            _ => None,
        };
        self.log(task).iter().filter_map(message).collect()
    }

    /// Returns the completions that a task was notified of.
    pub fn completions(&self, task: TaskId) -> Vec<(TaskId, Verdict)> {
        let completion = |message: Message| match message.from {
            MessageSource::TaskComplete { task, verdict, .. } => Some((task, verdict)),
            _ => None,
        };
        self.messages(task).into_iter().filter_map(completion).collect()
    }

    pub fn count(&self, task: TaskId, kind: &str) -> usize {
        self.log(task).iter().filter(|event| event.body.kind() == kind).count()
    }

    /// Returns the launched tasks, in order.
    pub fn launched(&self) -> Vec<TaskId> {
        self.orders().iter().map(|order| order.node.id).collect()
    }

    pub fn orders(&self) -> Vec<&LaunchOrder> {
        self.effects
            .iter()
            .filter_map(|effect| if let Effect::Launch(order) = effect { Some(&**order) } else { None })
            .collect()
    }

    /// Answers the last removal or restoration of a worktree. Returns its task.
    pub fn worktree_done(&mut self, result: Result<(), Fault>) -> TaskId {
        let found = self
            .effects
            .iter()
            .rposition(|effect| matches!(effect, Effect::RemoveWorktree { .. } | Effect::RestoreWorktree { .. }));
        match self.effects.remove(found.expect("a worktree is waited for")) {
            Effect::RemoveWorktree { then, task, .. } => {
                self.feed(Input::WorktreeRemoved { then, result: result.map(|()| ArchivedWork::default()) });
                task
            }
            Effect::RestoreWorktree { then, task, .. } => {
                self.feed(Input::WorktreeRestored { then, result: result.map(|()| RestoredWorktree::Clean) });
                task
            }
            other => panic!("{other:?}"),
        }
    }

    /// Advances the clock.
    pub fn pass_until(&self, at: Timestamp) {
        self.clock.0.fetch_max(at.as_millis(), Ordering::Relaxed);
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub fn only_ask(&self, task: TaskId) -> Ask {
        let asks = self.view(task).asks;
        assert_eq!(asks.len(), 1, "{asks:?}");
        asks[0].clone()
    }

    pub fn count_effects(&self, is: impl Fn(&Effect) -> bool) -> usize {
        self.effects.iter().filter(|effect| is(effect)).count()
    }
}

/// Returns a command that creates a task without a message.
pub fn new_task(parent: TaskId) -> Command {
    let draft = TaskDraft { title: "New".to_owned(), ..TaskDraft::default() };
    Command::Create { parent, before: None, draft, start: TaskStart::Later }
}

fn machine(tree: &Tree, limits: &EngineLimits, ids: &IdSource, approvals: &Approvals) -> Machine {
    let project = Project {
        id: ProjectId::fresh(ids),
        name: "here".to_owned(),
        path: "/here".into(),
        base_branch: "main".to_owned(),
        created_at: Timestamp::EPOCH,
        former: Vec::new(),
        extra: serde_json::Map::new(),
    };
    let env = ProjectEnv {
        project,
        worktrees: "/worktrees".into(),
        model: None,
        servers: Vec::new(),
        approvals: approvals.clone(),
        changed_tools: Vec::new(),
        modes: ModeSettings::default(),
    };
    Machine::new(tree.clone(), env, limits.clone(), ids.clone())
}
