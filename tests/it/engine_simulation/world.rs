//! The world around one orchestrator: it plays the driver, and everything that a driver deals with.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use mxd::base::{Clock, IdSource, MessageId, MicroUsd, ProjectId, TaskId, Timestamp};
use mxd::engine::command::{Command, CommandId};
use mxd::engine::machine::{Approvals, EffectId, EngineLimits, Input, Machine, ProjectEnv, Timer};
use mxd::engine::query::TreeQuery;
use mxd::model::ask::Approval;
use mxd::model::run::Ending;
use mxd::model::task::TaskNode;
use mxd::model::tree::Tree;
use mxd::model::{AskKind, Project};

use super::agents::{self, Run};
use super::dice::Dice;
use super::disk::Disk;
use super::driver::{Job, Launch};
use super::rules;
use super::tally::Tally;

const START: i64 = 1_800_000_000_000;

/// Set `MXD_SIM_TRACE` to see what the machine is told and what it wants.
static TRACED: LazyLock<bool> = LazyLock::new(|| std::env::var_os("MXD_SIM_TRACE").is_some());

/// A clock that the world moves.
struct Hand(AtomicI64);

impl Clock for Hand {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::Relaxed))
    }
}

pub struct World {
    pub seed: u64,
    pub dice: Dice,
    pub ids: IdSource,
    clock: Arc<Hand>,
    pub limits: EngineLimits,
    pub ground: ProjectEnv,
    pub disk: Disk,
    pub durable: Arc<Tree>,
    pub machine: Machine,
    /// What the machine will be told, in this order.
    pub inbox: VecDeque<Input>,
    /// Acknowledgements that have not reached the inbox.
    pub acks: Vec<Input>,
    pub saving: Option<(EffectId, Arc<Tree>)>,
    pub launches: BTreeMap<TaskId, Launch>,
    pub runs: BTreeMap<TaskId, Run>,
    /// Runs that are over, of which the machine has not heard.
    pub leaving: Vec<(TaskId, Result<Ending, mxd::base::Fault>)>,
    pub jobs: Vec<Job>,
    pub timers: Vec<(Timestamp, Timer)>,
    /// How many commands and queries there were.
    pub numbers: u64,
    pub commands: BTreeMap<CommandId, Command>,
    pub requests: BTreeMap<CommandId, TaskId>,
    /// What agents want to know of the tree.
    pub queries: VecDeque<(TaskId, CommandId, TreeQuery)>,
    /// Tasks that the user stopped, and to which nothing was said since.
    pub halted: BTreeSet<TaskId>,
    /// How often each task was stopped; and how often it had been when the user sent it a message.
    pub stops: BTreeMap<TaskId, u32>,
    pub said: BTreeMap<CommandId, u32>,
    pub spoken: BTreeMap<MessageId, u32>,
    /// What the machine has been told of costs.
    pub spent: BTreeMap<TaskId, MicroUsd>,
    pub spent_since_boot: MicroUsd,
    /// The project whose messages are let through.
    pub there: ProjectId,
    pub quitting: bool,
    pub ended: bool,
    /// The world stops causing trouble and lets everything finish.
    pub calm: bool,
    pub tally: Tally,
}

impl World {
    pub fn new(seed: u64) -> Self {
        let clock = Arc::new(Hand(AtomicI64::new(START)));
        let ids = IdSource::seeded(clock.clone(), seed);
        let now = clock.now();
        let mut dice = Dice::new(seed);
        let limits = EngineLimits {
            max_depth: 3,
            max_tasks: if dice.chance(30) { 8 } else { 200 },
            max_tasks_per_turn: if dice.chance(30) { 1 } else { 20 },
            max_running: u32::try_from(1 + dice.draw(4)).unwrap(),
            clarify_timeout: dice.chance(60).then_some(Duration::from_secs(60)),
            budget: dice.chance(30).then_some(MicroUsd(500)),
            project_budget: dice.chance(30).then_some(MicroUsd(5_000)),
            ..EngineLimits::default()
        };
        let project = Project {
            id: ProjectId::fresh(&ids),
            name: "here".to_owned(),
            path: "/here".into(),
            base_branch: "main".to_owned(),
            created_at: now,
            former: Vec::new(),
            extra: serde_json::Map::new(),
        };
        let there = ProjectId::fresh(&ids);
        let mut approvals = Approvals::default();
        approvals.decide(Approval::Project { project: there }, true);
        let ground = ProjectEnv {
            project,
            worktrees: "/there".into(),
            model: None,
            servers: Vec::new(),
            approvals,
            changed_tools: Vec::new(),
            modes: mxd::engine::machine::ModeSettings::default(),
        };
        let tree = Tree::new(TaskNode::new(TaskId::fresh(&ids), "Root", "orchestrator", now));
        let machine = Machine::new(tree.clone(), ground.clone(), limits.clone(), ids.clone());
        let mut world = Self {
            seed,
            there,
            dice,
            clock,
            limits,
            ground,
            disk: Disk::new(seed),
            durable: Arc::new(tree),
            machine,
            ids,
            inbox: VecDeque::new(),
            acks: Vec::new(),
            saving: None,
            launches: BTreeMap::new(),
            runs: BTreeMap::new(),
            leaving: Vec::new(),
            jobs: Vec::new(),
            timers: Vec::new(),
            numbers: 0,
            queries: VecDeque::new(),
            commands: BTreeMap::new(),
            requests: BTreeMap::new(),
            halted: BTreeSet::new(),
            stops: BTreeMap::new(),
            said: BTreeMap::new(),
            spoken: BTreeMap::new(),
            spent: BTreeMap::new(),
            spent_since_boot: MicroUsd::ZERO,
            quitting: false,
            ended: false,
            calm: false,
            tally: Tally::default(),
        };
        world.boot();
        let root = world.machine.tree().root_id();
        world.say(root);
        world
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn wait_until(&self, at: Timestamp) {
        self.clock.0.fetch_max(at.as_millis(), Ordering::Relaxed);
    }

    /// Does one thing that could happen now.
    pub fn step(&mut self) {
        self.tally.count("steps");
        match self.dice.draw(100) {
            0 => self.crash(),
            1..=9 => self.wish(),
            _ => {
                if !self.progress() && !self.ring(false) {
                    self.wish();
                }
            }
        }
        if self.ended {
            self.restart();
        }
    }

    /// Lets everything finish.
    pub fn settle(&mut self) {
        self.calm = true;
        self.quiesce();
        rules::check_quiet(self);
        // Nothing is owed, so a restart starts nothing, but a root that could not start: what kept it may be gone.
        let root = self.machine.tree().root_id();
        let state = self.machine.state(root);
        let kept = state.is_some_and(|state| state.asks.iter().any(|ask| ask.kind() == AskKind::LaunchFailed));
        self.restart();
        let begun: Vec<TaskId> = self.launches.keys().copied().filter(|task| !(kept && *task == root)).collect();
        let seed = self.seed;
        assert!(begun.is_empty(), "seed {seed}: a restart of a quiet tree starts {begun:?}\n{}", rules::describe(self));
        self.quiesce();
        rules::check_quiet(self);
        self.look_after_everything();
        rules::check_finished(self);
    }

    /// Lets what is under way finish.
    pub fn quiesce(&mut self) {
        for _ in 0..30_000 {
            if self.ended {
                self.restart();
            }
            if !self.progress() && !self.ring(true) {
                return;
            }
        }
        panic!("seed {}: still busy\n{}", self.seed, rules::describe(self));
    }

    pub fn feed(&mut self, input: Input) {
        self.clock.0.fetch_add(1, Ordering::Relaxed);
        rules::before(self, &input);
        self.trace("in ", &input);
        let effects = self.machine.step(self.now(), input);
        effects.iter().for_each(|effect| self.trace("out", effect));
        for effect in effects {
            self.perform(effect);
        }
        rules::after(self);
    }

    /// Shows what the machine is told and what it wants, where a failure is looked into.
    fn trace(&self, way: &str, what: &dyn std::fmt::Debug) {
        if *TRACED {
            let shown: String = format!("{what:?}").chars().take(400).collect();
            println!("{} {way} {shown}", self.now());
        }
    }

    pub fn is_launching(&self, task: TaskId) -> bool {
        self.launches.contains_key(&task)
    }

    /// Tells how many agents are at work, or will be in a moment.
    pub fn at_work(&self) -> usize {
        self.launches.len() + self.runs.values().filter(|run| !run.is_asleep()).count()
    }

    /// Tells how many agents went on by themselves after they had slept: nobody can keep them from that.
    pub fn woken_in_place(&self) -> usize {
        self.runs.values().filter(|run| run.has_slept && !run.is_asleep()).count()
    }

    /// Takes one thing that is under way a step further. Tells whether there was one.
    pub fn progress(&mut self) -> bool {
        let runs: Vec<TaskId> = self.runs.iter().filter(|(_, run)| run.can_step()).map(|(task, _)| *task).collect();
        let weights = [
            5 * usize::from(!self.inbox.is_empty()),
            3 * usize::from(!self.disk.queue.is_empty()),
            2 * usize::from(!self.acks.is_empty()),
            usize::from(self.saving.is_some()),
            usize::from(!self.launches.is_empty()),
            2 * runs.len(),
            usize::from(!self.leaving.is_empty()),
            usize::from(!self.jobs.is_empty()),
            // As in the driver: what has happened comes first.
            5 * usize::from(self.inbox.is_empty() && !self.queries.is_empty()),
        ];
        let total: usize = weights.iter().sum();
        if total == 0 {
            return false;
        }
        let mut at = self.dice.draw(total);
        let which = weights.iter().position(|weight| {
            let here = at < *weight;
            at = at.wrapping_sub(*weight);
            here
        });
        match which.unwrap() {
            0 => {
                let input = self.inbox.pop_front().unwrap();
                self.feed(input);
            }
            1 => self.write(),
            2 => {
                let at = self.dice.draw(self.acks.len());
                let ack = self.acks.swap_remove(at);
                self.inbox.push_back(ack);
            }
            3 => self.save_tree(),
            4 => self.launch_goes_on(),
            5 => {
                let task = self.dice.pick(&runs).unwrap();
                self.step_run(task);
            }
            6 => {
                let at = self.dice.draw(self.leaving.len());
                let (task, ending) = self.leaving.swap_remove(at);
                self.inbox.push_back(Input::RunOver { task, ending });
            }
            7 => self.finish_job(),
            _ => self.answer_query(),
        }
        true
    }

    /// Lets time pass until a timer rings. Tells whether there was one.
    fn ring(&mut self, earliest: bool) -> bool {
        let next = self.timers.iter().enumerate().min_by_key(|(_, (at, _))| *at).map(|(at, _)| at);
        let Some(next) = next else { return false };
        let which = if earliest { next } else { self.dice.draw(self.timers.len()) };
        let (at, timer) = self.timers.swap_remove(which);
        self.wait_until(at);
        self.inbox.push_back(Input::Timer { timer });
        true
    }

    /// The process dies. What had reached the disk stays; what was on its way may have.
    fn crash(&mut self) {
        self.tally.count("crashes");
        while !self.disk.queue.is_empty() && self.dice.chance(50) {
            self.disk.write_one(&self.ids, self.clock.now());
        }
        if let Some((_, tree)) = self.saving.take_if(|_| self.dice.chance(50)) {
            self.durable = tree;
        }
        self.disk.queue.clear();
        self.commands.clear();
        self.requests.clear();
        self.begin_anew();
    }

    /// The process ended as it should, and is started again.
    fn restart(&mut self) {
        while self.disk.write_one(&self.ids, self.clock.now()).is_some() {}
        if self.ended {
            self.tally.count("quits");
            // Whoever waited for something slow is told by the end of the process.
            self.commands.clear();
            self.requests.clear();
        }
        self.begin_anew();
    }

    fn begin_anew(&mut self) {
        self.saving = None;
        self.inbox.clear();
        self.queries.clear();
        self.acks.clear();
        self.launches.clear();
        self.runs.clear();
        self.leaving.clear();
        self.jobs.clear();
        self.timers.clear();
        (self.quitting, self.ended) = (false, false);
        // A stop that no session says anything of is forgotten.
        let disk = &self.disk;
        self.halted.retain(|task| rules::ends_with_a_stop(disk.log(*task)));
        let tree = Tree::clone(&self.durable);
        self.machine = Machine::new(tree, self.ground.clone(), self.limits.clone(), self.ids.clone());
        self.boot();
    }

    fn boot(&mut self) {
        let sessions: Vec<_> = self.durable.all().map(|node| (node.id, self.disk.state(node.id))).collect();
        let cost = |task: TaskId| self.disk.own(task).iter().map(agents::cost).sum();
        self.spent = sessions.iter().map(|(task, _)| (*task, cost(*task))).collect();
        self.spent_since_boot = MicroUsd::ZERO;
        self.feed(Input::Boot { sessions });
    }
}
