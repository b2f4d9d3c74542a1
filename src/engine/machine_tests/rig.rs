//! A disk and a driver that do at once what they are told, unless a test holds them back.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use super::*;
use crate::base::{Clock, EventId, Json, MicroUsd, ProjectId, RunId, TurnId};
use crate::config::recurring::PlanChange;
use crate::engine::command::{Draft, Outgoing, RestoredWorktree, SetAside, Start};
use crate::engine::snapshot::TaskView;
use crate::model::ask::{Approval, Ask};
use crate::model::conversation::ToolUse;
use crate::model::event::{
    AssistantText, Body, Event, Exit, InterruptReason, MessagesConsumed, RunEnded, RunStarted, StopReason, TurnEnded,
    VERSION, Verdict,
};
use crate::model::message::Delivery;
use crate::model::run::Ending;
use crate::model::usage::{Tokens, Usage};
use crate::model::{Project, event::ResumeShape};
use crate::tools::names;

/// A clock that goes on with everything that happens.
struct Steps(AtomicI64);

impl Clock for Steps {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::Relaxed))
    }
}

/// What the simulated disk does with something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mood {
    #[default]
    Takes,
    Refuses,
    /// Keeps everybody waiting.
    Sleeps,
}

/// The hash of every file of a recurring task that the rig writes.
pub const FILE_HASH: &str = "f11e";

pub struct Rig {
    pub machine: Machine,
    pub ids: IdSource,
    clock: Arc<Steps>,
    pub limits: Limits,
    pub logs: BTreeMap<TaskId, Vec<Event>>,
    pub tree: Arc<Tree>,
    pub appends: Mood,
    pub saves: Mood,
    /// What the settings say that the user approved.
    pub approvals: Approvals,
    /// What became of the files of recurring tasks.
    pub written: Vec<PlanChange>,
    /// What waits for the disk to wake up.
    held: Vec<Effect>,
    /// Everything else that the machine wanted, in order.
    pub effects: Vec<Effect>,
    commands: u64,
}

impl Rig {
    pub fn new() -> Self {
        Self::with(Limits::default())
    }

    pub fn with(limits: Limits) -> Self {
        let clock = Arc::new(Steps(AtomicI64::new(1_800_000_000_000)));
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
            appends: Mood::Takes,
            saves: Mood::Takes,
            written: Vec::new(),
            held: Vec::new(),
            effects: Vec::new(),
            commands: 0,
        };
        rig.boot();
        rig
    }

    fn boot(&mut self) {
        let sessions = self.tree.all().map(|node| (node.id, SessionState::replay(self.active(node.id)))).collect();
        self.feed(Input::Boot { sessions });
    }

    /// The process dies and is started again on what the disk has.
    pub fn crash(&mut self) {
        self.held.clear();
        self.effects.clear();
        (self.appends, self.saves) = (Mood::Takes, Mood::Takes);
        self.machine = machine(&self.tree, &self.limits, &self.ids, &self.approvals);
        self.boot();
    }

    pub fn root(&self) -> TaskId {
        self.machine.tree().root_id()
    }

    pub fn log(&self, task: TaskId) -> &[Event] {
        self.logs.get(&task).map_or(&[], Vec::as_slice)
    }

    fn active(&self, task: TaskId) -> &[Event] {
        let log = self.log(task);
        &log[log.iter().rposition(|event| matches!(event.body, Body::HeadMoved(_))).unwrap_or(0)..]
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
            Effect::Append { .. } | Effect::SendOnce { .. } if self.appends == Mood::Sleeps => self.held.push(effect),
            Effect::SaveTree { .. } if self.saves == Mood::Sleeps => self.held.push(effect),
            Effect::Append { ticket, .. } | Effect::SendOnce { ticket, .. } if self.appends == Mood::Refuses => {
                inputs.push_back(Input::AppendFailed { ticket, fault });
            }
            Effect::SaveTree { ticket, .. } if self.saves == Mood::Refuses => {
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
            Effect::WriteDown { change, then } => {
                self.written.push(change);
                self.approvals.decide(Approval::RecurringTask { hash: FILE_HASH.to_owned() }, true);
                inputs.push_back(Input::WrittenDown { then, result: Ok(Some(FILE_HASH.to_owned())) });
            }
            other => self.effects.push(other),
        }
    }

    /// Returns how much waits for the disk.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// The disk wakes up and does what it was told, in order.
    pub fn wake_disk(&mut self) {
        self.deal_with_held(Mood::Takes);
    }

    /// Lets the disk refuse everything that it was told.
    pub fn refuse_held(&mut self) {
        self.deal_with_held(Mood::Refuses);
        (self.appends, self.saves) = (Mood::Takes, Mood::Takes);
    }

    fn deal_with_held(&mut self, mood: Mood) {
        (self.appends, self.saves) = (mood, mood);
        for effect in std::mem::take(&mut self.held) {
            let mut inputs = VecDeque::new();
            self.perform(effect, &mut inputs);
            inputs.into_iter().for_each(|input| self.feed(input));
        }
    }

    /// Lets the disk do the first thing it was told, and no more.
    pub fn wake_disk_once(&mut self) -> bool {
        self.release(|_| true)
    }

    /// Lets the disk do the first thing of a kind. Tells whether there was one.
    pub fn release(&mut self, is: impl Fn(&Effect) -> bool) -> bool {
        let Some(at) = self.held.iter().position(is) else { return false };
        let effect = self.held.remove(at);
        let moods = (self.appends, self.saves);
        (self.appends, self.saves) = (Mood::Takes, Mood::Takes);
        let mut inputs = VecDeque::new();
        self.perform(effect, &mut inputs);
        (self.appends, self.saves) = moods;
        inputs.into_iter().for_each(|input| self.feed(input));
        true
    }

    fn write(&mut self, task: TaskId, run: Option<RunId>, bodies: Vec<Body>) -> Vec<Input> {
        let mut inputs = Vec::new();
        for mut body in bodies {
            if let Body::HeadMoved(moved) = &mut body {
                *moved.carry = SessionState::replay(self.active(task)).moved_to(&SessionState::default());
            }
            let id = EventId::fresh(&self.ids);
            let event = Event { v: VERSION, id, parent: None, ts: self.clock.now(), run, batch: None, body };
            self.logs.entry(task).or_default().push(event.clone());
            inputs.push(Input::Observed { task, event: Arc::new(event) });
        }
        inputs
    }

    /// A run writes into its session.
    pub fn run_writes(&mut self, task: TaskId, bodies: Vec<Body>) {
        let run = Some(RunId::fresh(&self.ids));
        for input in self.write(task, run, bodies) {
            self.feed(input);
        }
    }

    /// Gives a command as the user. Returns what came of it, if that is known by now.
    pub fn command(&mut self, command: Command) -> Option<Result<Outcome, Fault>> {
        self.give(Actor::User, command)
    }

    /// Gives a command as the agent of a task.
    pub fn ask(&mut self, task: TaskId, command: Command) -> Option<Result<Outcome, Fault>> {
        self.give(Actor::Agent(task), command)
    }

    fn give(&mut self, actor: Actor, command: Command) -> Option<Result<Outcome, Fault>> {
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
        let message = Outgoing { text: text.to_owned(), images: Vec::new() };
        self.command(Command::Send { task, message, mode: Delivery::Steer })
    }

    pub fn answer(&mut self, task: TaskId, choice: usize) -> Option<Result<Outcome, Fault>> {
        let ask = self.view(task).asks[0].clone();
        self.command(Command::Answer { task, ask: ask.id, reply: ask.numbered(choice + 1) })
    }

    /// Makes a task that nobody has spoken to.
    pub fn make(&mut self, parent: TaskId, title: &str) -> TaskId {
        let draft = Draft { title: title.to_owned(), ..Draft::default() };
        match self.command(Command::Create { parent, before: None, draft, start: Start::Later }) {
            Some(Ok(Outcome::Created { task, .. })) => task,
            other => panic!("not made: {other:?}"),
        }
    }

    /// Makes a task whose agent has had a turn and sleeps.
    pub fn make_asleep(&mut self, parent: TaskId, title: &str) -> TaskId {
        let task = self.make_busy(parent, title);
        self.rest(task);
        task
    }

    /// Makes a task whose agent is at work.
    pub fn make_busy(&mut self, parent: TaskId, title: &str) -> TaskId {
        let task = self.make(parent, title);
        self.send(task, "begin");
        self.start(task);
        task
    }

    /// The launch of a task becomes a run, which takes in what was said and has a turn.
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
        let started = RunStarted { shape: ResumeShape::Fresh, profile: "p".to_owned(), model: "m".to_owned() };
        let turn = TurnId::fresh(&self.ids);
        self.run_writes(
            task,
            vec![
                started.into(),
                MessagesConsumed { ids }.into(),
                AssistantText { text: "Well.".to_owned() }.into(),
                usage.into(),
                TurnEnded { turn, stop: StopReason::EndTurn }.into(),
            ],
        );
    }

    pub fn rest(&mut self, task: TaskId) {
        self.feed(Input::RunOver { task, ending: Ok(Ending::Resting) });
    }

    /// The run of a task writes that it is over, and is.
    pub fn exit(&mut self, task: TaskId, exit: &Exit) {
        self.declare(task, exit);
        self.feed(Input::RunOver { task, ending: Ok(Ending::Exited(exit.clone())) });
    }

    /// The run of a task writes that it is over.
    pub fn declare(&mut self, task: TaskId, exit: &Exit) {
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

    pub fn stopped(&mut self, task: TaskId) {
        self.exit(task, &Exit::Interrupted(InterruptReason::Stopped));
    }

    pub fn view(&self, task: TaskId) -> TaskView {
        self.machine.view(task).unwrap()
    }

    pub fn status(&self, task: TaskId) -> Status {
        self.view(task).node.status
    }

    pub fn messages(&self, task: TaskId) -> Vec<Message> {
        let said = |event: &Event| match &event.body {
            Body::Message(message) => Some(message.clone()),
            _ => None,
        };
        self.log(task).iter().filter_map(said).collect()
    }

    /// Returns what a task was told of how the one below it ended.
    pub fn completions(&self, task: TaskId) -> Vec<(TaskId, Verdict)> {
        let told = |message: Message| match message.from {
            Source::TaskComplete { task, verdict, .. } => Some((task, verdict)),
            _ => None,
        };
        self.messages(task).into_iter().filter_map(told).collect()
    }

    pub fn count(&self, task: TaskId, kind: &str) -> usize {
        self.log(task).iter().filter(|event| event.body.kind() == kind).count()
    }

    /// Returns who was launched, in order.
    pub fn launched(&self) -> Vec<TaskId> {
        self.orders().iter().map(|order| order.node.id).collect()
    }

    pub fn orders(&self) -> Vec<&LaunchOrder> {
        self.effects
            .iter()
            .filter_map(|effect| if let Effect::Launch(order) = effect { Some(&**order) } else { None })
            .collect()
    }

    /// The worktree that is being put away or brought back is, or is not. Tells whose it was.
    pub fn worktree_done(&mut self, result: Result<(), Fault>) -> TaskId {
        let found =
            self.effects.iter().rposition(|effect| matches!(effect, Effect::Clear { .. } | Effect::Restore { .. }));
        match self.effects.remove(found.expect("a worktree is waited for")) {
            Effect::Clear { then, task, .. } => {
                self.feed(Input::Cleared { then, result: result.map(|()| SetAside::default()) });
                task
            }
            Effect::Restore { then, task, .. } => {
                self.feed(Input::Restored { then, result: result.map(|()| RestoredWorktree::Clean) });
                task
            }
            other => panic!("{other:?}"),
        }
    }

    /// Lets time pass.
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

/// A command that makes a task that nobody has spoken to.
pub fn new_task(parent: TaskId) -> Command {
    let draft = Draft { title: "New".to_owned(), ..Draft::default() };
    Command::Create { parent, before: None, draft, start: Start::Later }
}

fn machine(tree: &Tree, limits: &Limits, ids: &IdSource, approvals: &Approvals) -> Machine {
    let project = Project {
        id: ProjectId::fresh(ids),
        name: "here".to_owned(),
        path: "/here".into(),
        base_branch: "main".to_owned(),
        created_at: Timestamp::EPOCH,
        former: Vec::new(),
        extra: serde_json::Map::new(),
    };
    let ground = Ground {
        project,
        worktrees: "/worktrees".into(),
        model: None,
        servers: Vec::new(),
        approvals: approvals.clone(),
        changed_tools: Vec::new(),
    };
    Machine::new(tree.clone(), ground, limits.clone(), ids.clone())
}
