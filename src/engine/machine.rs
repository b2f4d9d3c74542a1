//! What the orchestrator does next, as a pure function: `step(&mut self, now, input) -> Vec<Effect>`.
//!
//! No runtime, no clock, no disk, no git. Invariants: at most one run per task, because a slot is taken in the same step
//! that decides to launch; nothing that others can see happens before the tree or the event that says so is on the
//! disk; every completion reaches the task above exactly once, because the message that carries it has an id that
//! follows from the event that ended the run; a task that waits has a reason with a name.

mod approvals;
mod approving;
mod asking;
mod authority;
mod booting;
mod budget;
mod capability;
mod commands;
mod completing;
mod delivering;
mod editing;
mod ending;
mod io;
mod job;
mod looking;
mod reviewing;
mod rewinding;
mod rounds;
mod running;
mod saving;
mod slot;
mod stopping;
mod task_limit;
mod task_messages;
mod tree_queries;
mod working;

use std::collections::{BTreeMap, BTreeSet};

pub use approvals::Approvals;
pub use approving::Decision;
pub use editing::{Clearing, Copying, Recalling, Restoring};
pub use io::{
    AccountOrder, BranchFate, Effect, EffectId, Ground, Hook, Input, LaunchFailure, LaunchOrder, Limits, Place, Timer,
    Unapproved,
};
pub use job::{Foreseen, GoBack, Job, LandResult, Preparation, UndoneLanding, Went, Worked};
pub use saving::WritingDown;

use crate::base::{AskId, Fault, IdSource, MessageId, MicroUsd, TaskId, Timestamp};
use crate::engine::command::{CommandId, Outcome};
use crate::engine::profiles::Profiles;
use crate::engine::snapshot::Retry;
use crate::model::fold::SessionState;
use crate::model::live::{Activity, Live};
use crate::model::message::{Message, Source};
use crate::model::task::{Status, TaskNode};
use crate::model::tree::Tree;
use capability::BackendFacts;
use commands::Origin;
use delivering::{Later, Plan, Withdrawal};
use saving::Saves;
use slot::{Completion, Disk, Holds, Slot, Words};

/// How long a request may be without a word before its row says so.
const SILENCE: std::time::Duration = std::time::Duration::from_secs(60);

/// The orchestrator of one project.
#[derive(Debug)]
pub struct Machine {
    ids: IdSource,
    limits: Limits,
    ground: Ground,
    profiles: Profiles,
    backend: BackendFacts,
    tree: Tree,
    lives: BTreeMap<TaskId, Life>,
    saves: Saves,
    /// How many effects that begin work outside of the machine are not answered yet.
    under_way: usize,
    /// Continuations of appends.
    pending: BTreeMap<EffectId, Pending>,
    /// How messages that are on their way to a session are to be handed over.
    plans: BTreeMap<MessageId, Plan>,
    /// Completions on their way to the task above: the message, and whose it is.
    completions: BTreeMap<MessageId, TaskId>,
    /// Asks whose answer is on its way to the disk.
    answering: BTreeSet<AskId>,
    /// What the user allowed and declined.
    approvals: Approvals,
    /// Asks for an approval that are on their way to the disk.
    approving: BTreeSet<AskId>,
    /// Tasks that cannot start before the user has decided about a setup hook, by the hook's hash.
    waiting_for_hook: BTreeMap<String, BTreeSet<TaskId>>,
    /// Questions about tool servers that are raised, or on their way to the disk.
    server_asks: BTreeSet<AskId>,
    /// Changes that wait for runs to end.
    deferred: Vec<editing::Deferred>,
    /// Tasks whose sessions have a queued merge that was not started yet.
    merge_queue: BTreeSet<TaskId>,
    /// Recurring tasks that come round at times of their own, and not only when they are sent a message.
    timed: BTreeSet<TaskId>,
    /// Tasks that wait for a slot, in the order they will get one.
    queue: Vec<TaskId>,
    /// What was spent since the start, also by tasks that are gone.
    spent: MicroUsd,
    quitting: bool,
    ended: bool,
    numbers: u64,
    changed: BTreeSet<TaskId>,
    removed: Vec<TaskId>,
    out: Vec<Effect>,
}

/// What is known of a task besides its node.
#[derive(Debug, Default)]
struct Life {
    state: SessionState,
    slot: Slot,
    /// What keeps a run from beginning.
    holds: Holds,
    /// How far the end of its last run has come.
    completion: Completion,
    activity: Activity,
    since: Option<Timestamp>,
    retry: Option<Retry>,
    words: Words,
    /// How far a launch has come.
    step: Option<String>,
    model: Option<String>,
    disk: Disk,
    diff: Option<crate::engine::snapshot::DiffStat>,
    drift: Option<crate::engine::review::Drift>,
    clashes: Vec<crate::engine::review::Clash>,
    /// The message that begins it, until the disk has taken it.
    first_message: Option<Box<(Message, Plan)>>,
    /// What the person said while it was being stopped.
    later: Vec<Later>,
    /// What the person takes back. It is known to be taken back, or too late, when the session says so.
    to_withdraw: Vec<Withdrawal>,
    /// How many tasks its agent has created in this turn.
    created: u32,
    /// That its agent wants more tasks than the limits allow is on the way to the disk as an Ask.
    asks_for_tasks: bool,
}

impl Life {
    /// Tells whether nothing will happen here by itself. An agent that sleeps and is alive waits for a process of its own,
    /// or is about to leave: both are followed by something, unless it waits for the person as well. A question that
    /// answers itself is no reason to stop waiting for it, and neither is a disk that may be written again.
    fn is_quiet(&self) -> bool {
        let asks = &self.state.asks;
        let rests = !self.slot.has_run() || (self.slot.is_asleep() && !asks.is_empty());
        rests && !self.disk.is_tried_again() && !asks.iter().any(|ask| ask.deadline.is_some() && ask.default.is_some())
    }
}

/// The continuation of an append: it runs when the append is on the disk or has failed.
#[derive(Debug)]
enum Pending {
    Nothing,
    /// A letter of another project.
    Letter(MessageId),
    Reply(CommandId, Outcome),
    /// The first message of a new task: whatever becomes of it, the task is there.
    Begin {
        task: TaskId,
        origin: Origin,
    },
    /// A completion: if it cannot be told now, it is tried again.
    Completion(TaskId),
    /// The marker that says that it was told. As well.
    Marker(TaskId),
    /// A question without which nobody would look at the task again. As well.
    Question(TaskId),
    /// That the person stopped it. As well.
    Halt(TaskId),
    /// An answer, of the person or of the time that has passed.
    Answer {
        task: TaskId,
        ask: AskId,
        command: Option<CommandId>,
    },
    Withdrawal(TaskId, CommandId),
    Edit(Box<editing::Keeping>),
    /// What was done with a task's work.
    Work(Box<working::Kept>),
    /// A question about something that needs the user's approval.
    Approval(AskId),
    /// A question about more tasks, and what the agent is told meanwhile.
    TaskLimit(TaskId, CommandId, Fault),
}

impl Machine {
    pub fn new(tree: Tree, ground: Ground, limits: Limits, ids: IdSource) -> Self {
        let approvals = ground.approvals.clone();
        Self {
            ids,
            limits,
            profiles: Profiles::built_in(),
            backend: BackendFacts::default(),
            saves: Saves::new(&tree),
            tree,
            ground,
            lives: BTreeMap::new(),
            under_way: 0,
            pending: BTreeMap::new(),
            plans: BTreeMap::new(),
            completions: BTreeMap::new(),
            answering: BTreeSet::new(),
            approvals,
            approving: BTreeSet::new(),
            waiting_for_hook: BTreeMap::new(),
            server_asks: BTreeSet::new(),
            deferred: Vec::new(),
            merge_queue: BTreeSet::new(),
            timed: BTreeSet::new(),
            queue: Vec::new(),
            spent: MicroUsd::ZERO,
            quitting: false,
            ended: false,
            numbers: 0,
            changed: BTreeSet::new(),
            removed: Vec::new(),
            out: Vec::new(),
        }
    }

    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Returns what a session adds up to.
    pub fn state(&self, task: TaskId) -> Option<&SessionState> {
        self.lives.get(&task).map(|life| &life.state)
    }

    /// Tells whether nothing happens any more before somebody says something.
    pub fn is_quiet(&self) -> bool {
        self.queue.is_empty()
            && self.saves.is_idle()
            && self.pending.is_empty()
            && self.under_way == 0
            && self.completions.is_empty()
            && self.deferred.is_empty()
            && self.lives.values().all(Life::is_quiet)
    }

    /// Takes one input and returns what is to be done about it, in order.
    pub fn step(&mut self, now: Timestamp, input: Input) -> Vec<Effect> {
        self.under_way = self.under_way.saturating_sub(usize::from(input.ends_work()));
        self.take(now, input);
        self.make_deferred(now);
        self.start_queued_merges(now);
        self.save_if_needed();
        self.under_way += self.out.iter().filter(|effect| effect.begins_work()).count();
        self.end_if_over();
        std::mem::take(&mut self.out)
    }

    /// Returns the tasks that look different since this was last asked, and those that are gone.
    pub fn take_changes(&mut self) -> (BTreeSet<TaskId>, Vec<TaskId>) {
        (std::mem::take(&mut self.changed), std::mem::take(&mut self.removed))
    }

    fn take(&mut self, now: Timestamp, input: Input) {
        match input {
            Input::Boot { sessions } => self.boot(now, sessions),
            Input::Command { id, actor, command } => self.command(now, id, actor, command),
            Input::Observed { task, event } => self.observed(now, task, &event),
            Input::Appended { ticket } => self.appended(now, ticket),
            Input::AppendFailed { ticket, fault } => self.append_failed(now, ticket, &fault.message),
            Input::TreeSaved { ticket } => self.tree_saved(now, ticket),
            Input::TreeSaveFailed { ticket, fault } => self.tree_save_failed(now, ticket, &fault.message),
            Input::Live { task, live } => self.live(now, task, live),
            Input::Launching { task, step } => self.launching(task, step),
            Input::Launched { task, model } => self.launched(task, model),
            Input::LaunchFailed { task, failure } => self.launch_failed(now, task, failure),
            Input::RunOver { task, ending } => self.run_over(now, task, ending),
            Input::Cleared { then, result } => self.cleared(now, then, result),
            Input::Restored { then, result } => self.worktree_restored(now, then, result),
            Input::Copied { then, result } => self.copied(now, then, result),
            Input::Worked(worked) => self.worked(now, *worked),
            Input::Decided { decision, result } => self.decided(now, *decision, result),
            Input::ToolsChanged { changes } => {
                self.ground.changed_tools = changes;
                self.ask_about_servers();
            }
            Input::Recalled { then, result } => self.recalled(now, then, result),
            Input::Timer { timer } => self.rang(now, timer),
            Input::Round { task, facts, session } => self.round(now, task, &facts, *session),
            Input::WrittenDown { then, result } => self.written_down(now, then, result),
            Input::FromProject { project, name, message, body } => {
                let from = Source::CrossProject { project, name: name.clone() };
                self.letter(project, &name, Message::new(message, now, from, body));
            }
        }
    }

    /// Takes a letter into the root's session.
    fn take_letter(&mut self, message: Message) {
        self.plans.insert(message.id, Plan::default());
        let ticket = self.number();
        self.pending.insert(ticket, Pending::Letter(message.id));
        let since = crate::base::EventId::from_ulid(message.id.ulid());
        self.out.push(Effect::SendOnce { ticket, task: self.tree.root_id(), message: Box::new(message), since });
    }

    fn number(&mut self) -> EffectId {
        self.numbers += 1;
        EffectId(self.numbers)
    }

    fn life(&mut self, task: TaskId) -> &mut Life {
        self.changed.insert(task);
        self.lives.entry(task).or_default()
    }

    fn node(&self, task: TaskId) -> Result<&TaskNode, Fault> {
        self.tree.get(task).ok_or_else(|| {
            Fault::user(format!("there is no task {task} in this project")).hint("`mxd tree` lists the tasks")
        })
    }

    fn status(&self, task: TaskId) -> Option<Status> {
        self.tree.get(task).map(|node| node.status)
    }

    fn message(&self, now: Timestamp, from: Source, body: impl Into<String>) -> Message {
        Message::new(MessageId::fresh(&self.ids), now, from, body)
    }

    /// Takes note of what a run shows of itself.
    fn live(&mut self, now: Timestamp, task: TaskId, live: Live) {
        self.word_came(now, task);
        match live {
            Live::Activity { activity } => self.active(now, task, activity),
            Live::Retry { attempt, of, until, reason } => {
                self.life(task).retry = Some(Retry { attempt, of, until, reason });
                self.active(now, task, Activity::Retrying);
            }
            Live::TextDelta { .. } | Live::ThinkingDelta { .. } | Live::CallDelta { .. } => {
                self.active(now, task, Activity::Streaming);
            }
            Live::OutputChunk { .. } | Live::ProcessOutput { .. } | Live::Discarded => {}
        }
    }

    /// Something came from a run: it is not silent.
    fn word_came(&mut self, now: Timestamp, task: TaskId) {
        let Some(life) = self.lives.get_mut(&task) else { return };
        if matches!(std::mem::replace(&mut life.words, Words::Last(now)), Words::Silent(_)) {
            self.changed.insert(task);
        }
    }

    /// A while has passed since a request began: if no word came since, that is said; else it is looked at again.
    fn look_for_words(&mut self, now: Timestamp, task: TaskId) {
        let Some(life) = self.lives.get_mut(&task) else { return };
        let asks = matches!(life.activity, Activity::Thinking | Activity::Streaming | Activity::Compacting);
        let Some(word) = life.words.last().filter(|_| asks && life.slot.has_run()) else { return };
        if now.since(word) >= SILENCE {
            life.words = Words::Silent(word);
            self.changed.insert(task);
        } else {
            self.out.push(Effect::Wake { timer: Timer::Silence { task }, at: word.later(SILENCE) });
        }
    }

    fn active(&mut self, now: Timestamp, task: TaskId, activity: Activity) {
        if self.lives.get(&task).is_some_and(|life| life.activity == activity) {
            return;
        }
        let life = self.life(task);
        life.activity = activity;
        life.since = Some(now);
        if activity != Activity::Retrying {
            life.retry = None;
        }
        if matches!(activity, Activity::Thinking | Activity::Compacting) {
            self.out.push(Effect::Wake { timer: Timer::Silence { task }, at: now.later(SILENCE) });
        }
        let life = self.life(task);
        let asleep = matches!(activity, Activity::Idle | Activity::Waiting);
        if let Slot::Running { asleep: was, .. } = &mut life.slot {
            *was = asleep;
        }
        if asleep {
            self.admit(now);
        }
    }
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
mod under_way;
