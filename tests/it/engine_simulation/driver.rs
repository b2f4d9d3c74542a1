//! Carries out what the machine wants: at some time, in some order, or not at all.

use std::sync::Arc;

use std::collections::BTreeSet;

use mxd::agent::machine::Input as RunInput;
use mxd::base::{Fault, TaskId};
use mxd::engine::command::{ArchivedWork, CommandId, RestoredWorktree};
use mxd::engine::deleted_tasks::DeletedTask;
use mxd::engine::machine::{
    CopyContinuation, DeletedTaskContinuation, Effect, HookPolicy, Input, LaunchFailure, PlanWriteContinuation,
    RemovalContinuation, RestoreContinuation, Timer,
};
use mxd::model::event::{Body, Event, TaskChanged};
use mxd::model::fork::Target;
use mxd::model::run::RunCommand;

use super::agents;
use super::disk::{Write, Writer};
use super::rules;
use super::world::World;

/// Something slow that was asked for.
pub enum Job {
    Clear(RemovalContinuation),
    Restore(RestoreContinuation),
    Recall {
        then: DeletedTaskContinuation,
        task: TaskId,
        known: BTreeSet<TaskId>,
    },
    /// The file of a recurring task.
    WriteDown(PlanWriteContinuation),
    Copy {
        then: CopyContinuation,
        to: TaskId,
        target: Target,
    },
}

/// A launch that has not become a run.
#[derive(Default)]
pub struct Launch {
    pub without_setup: bool,
    pub cancelled: bool,
}

impl World {
    pub fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Append { ticket, task, bodies } => {
                self.disk.queue.push_back(Write { task, by: Writer::Engine(ticket), bodies, unless: None });
            }
            Effect::SendOnce { ticket, task, message, .. } => {
                self.tally.count("completions redone");
                let unless = Some(message.id);
                let bodies = vec![(*message).into()];
                self.disk.queue.push_back(Write { task, by: Writer::Engine(ticket), bodies, unless });
            }
            Effect::SaveTree { ticket, tree } => {
                assert!(self.saving.is_none(), "seed {}: two saves of the tree at once", self.seed);
                self.saving = Some((ticket, tree));
            }
            Effect::Launch(order) => {
                rules::check_launch(self, &order);
                self.tally.count("launches");
                let launch =
                    Launch { without_setup: order.hook == HookPolicy::Skip || order.place.is_none(), cancelled: false };
                self.launches.insert(order.node.id, launch);
            }
            Effect::CancelLaunch { task } => {
                if let Some(launch) = self.launches.get_mut(&task) {
                    launch.cancelled = true;
                }
            }
            Effect::SendToRun { task, command } => self.tell(task, command),
            Effect::Notify(_) => {}
            Effect::RemoveWorktree { then, .. } => self.jobs.push(Job::Clear(then)),
            Effect::RestoreWorktree { then, .. } => self.jobs.push(Job::Restore(then)),
            Effect::ReadDeletedTask { task, known, then } => self.jobs.push(Job::Recall { then, task, known }),
            Effect::WritePlan { then, .. } => self.jobs.push(Job::WriteDown(then)),
            Effect::SaveRules(change) => self.inbox.push_back(Input::RulesSaved { change, result: Ok(()) }),
            // No rule decides anything here.
            Effect::JudgeCalls(_) => self.inbox.push_back(Input::CallsJudged(Vec::new())),
            Effect::JudgeIfChanged | Effect::SetPolicies(_) => {}
            Effect::SaveDecision(_) | Effect::DiscardEnvelope { .. } => {
                panic!("seed {}: nothing needs approval here", self.seed)
            }
            Effect::CopyConversation { from, to, title, description, then } => {
                self.jobs.push(Job::Copy { then, to, target: Target { source: from, title, description } });
            }
            // Nobody here asks for it: what becomes of work is tested on real repositories.
            Effect::RunJob { .. } => panic!("seed {}: a job that nobody asked for", self.seed),
            // No rule changes here, and it would ring for ever.
            Effect::SetTimer { timer: Timer::Rules, .. } => {}
            Effect::SetTimer { timer, at } => self.timers.push((at, timer)),
            Effect::Reply { id, result } => match self.requests.remove(&id) {
                Some(task) => self.respond(task, id, result.map(drop)),
                None => rules::replied(self, id, &result),
            },
            Effect::Ended => {
                let nobody = self.runs.is_empty() && self.launches.is_empty();
                assert!(nobody, "seed {}: ended with somebody at work", self.seed);
                self.ended = true;
            }
        }
    }

    /// Answers an agent, if it still waits.
    pub fn respond(&mut self, task: TaskId, id: CommandId, result: Result<(), Fault>) {
        if result.is_err() {
            self.tally.count("requests refused");
        }
        if let Some(run) = self.runs.get_mut(&task) {
            run.respond(id, result);
        }
    }

    /// Says a word to a run, if there is one to hear it.
    fn tell(&mut self, task: TaskId, word: RunCommand) {
        if let Some(run) = self.runs.get_mut(&task) {
            run.mailbox.push_back(word);
        }
    }

    fn fails(&mut self, percent: usize) -> bool {
        !self.calm && self.dice.chance(percent)
    }

    pub fn write(&mut self) {
        if self.fails(2) {
            return self.refuse_write();
        }
        let Some((write, events)) = self.disk.write_one(&self.ids, self.now()) else { return };
        for event in &events {
            match &event.body {
                Body::Message(_) => self.tally.count("messages"),
                Body::MessagesWithdrawn(_) => self.tally.count("withdrawn"),
                Body::AskRaised(_) => self.tally.count("asks"),
                Body::AskAnswered(answered) => rules::answered(self, write.task, answered),
                _ => {}
            }
            self.inbox.push_back(Input::Observed { task: write.task, event: Arc::new(event.clone()) });
        }
        let run = self.runs.get_mut(&write.task);
        match write.by {
            Writer::Engine(ticket) => self.acks.push(Input::Appended { ticket }),
            Writer::Run { run: by, ticket } => {
                if let Some(run) = run.filter(|run| run.id == by) {
                    run.saving -= 1;
                    run.saved.push_back(RunInput::Saved { ticket, events: events.into_iter().map(Arc::new).collect() });
                }
            }
            Writer::Process { run: by } => {
                if let Some(run) = run.filter(|run| run.id == by) {
                    run.saving -= 1;
                    run.saved.extend(events.into_iter().map(|event| RunInput::Delivered { event: Arc::new(event) }));
                }
            }
        }
    }

    /// The disk does not take an append. A run whose append is lost loses all that come after it.
    fn refuse_write(&mut self) {
        let Some(write) = self.disk.queue.pop_front() else { return };
        self.tally.count("appends refused");
        let reason = "the disk is full".to_owned();
        match write.by {
            Writer::Engine(ticket) => self.acks.push(Input::AppendFailed { ticket, fault: Fault::environment(reason) }),
            Writer::Run { run: by, .. } | Writer::Process { run: by } => {
                self.disk.queue.retain(
                    |write| !matches!(write.by, Writer::Run { run, .. } | Writer::Process { run } if run == by),
                );
                if let Some(run) = self.runs.get_mut(&write.task).filter(|run| run.id == by) {
                    run.saving = 0;
                    run.saved.push_back(RunInput::SaveFailed { reason });
                }
            }
        }
    }

    pub fn save_tree(&mut self) {
        let Some((ticket, tree)) = self.saving.take() else { return };
        if self.fails(5) {
            self.tally.count("tree saves refused");
            return self
                .inbox
                .push_back(Input::TreeSaveFailed { ticket, fault: Fault::environment("the disk is full") });
        }
        self.durable = tree;
        self.inbox.push_back(Input::TreeSaved { ticket });
    }

    pub fn launch_goes_on(&mut self) {
        let tasks: Vec<TaskId> = self.launches.keys().copied().collect();
        let task = self.dice.pick(&tasks).unwrap();
        let launch = &self.launches[&task];
        let (cancelled, may_fail) = (launch.cancelled, !launch.without_setup);
        if cancelled && self.dice.chance(80) {
            self.tally.count("launches cancelled");
            return self.launch_fails(task, LaunchFailure::Cancelled);
        }
        match self.dice.draw(100) {
            0..=4 if !self.calm => {
                self.tally.count("launches refused");
                self.launch_fails(task, LaunchFailure::Refused(mxd::base::Fault::config("no model is set up")));
            }
            5..=9 if !self.calm && may_fail => {
                self.tally.count("setup hooks failed");
                let (exit, output) = ("exited with 1".to_owned(), "npm: not found".to_owned());
                self.launch_fails(task, LaunchFailure::SetupHook { exit, output });
            }
            10..=29 => self.inbox.push_back(Input::Launching { task, step: "setting up".to_owned() }),
            30 if !self.calm => {
                self.launches.remove(&task);
                self.inbox.push_back(Input::Launched { task, model: "test".to_owned() });
                self.leaving.push((task, Err(Fault::environment("the log cannot be read"))));
            }
            _ => {
                self.launches.remove(&task);
                self.inbox.push_back(Input::Launched { task, model: "test".to_owned() });
                self.start_run(task);
            }
        }
    }

    fn launch_fails(&mut self, task: TaskId, failure: LaunchFailure) {
        self.launches.remove(&task);
        self.inbox.push_back(Input::LaunchFailed { task, failure });
    }

    /// Returns what sessions remember of a task and of what was below it, as the engine's driver reads it.
    fn recall(&mut self, task: TaskId, mut known: BTreeSet<TaskId>) -> Vec<DeletedTask> {
        let (mut found, mut left) = (Vec::new(), vec![task]);
        while let Some(next) = left.pop() {
            let node = |event: &Event| match &event.body {
                Body::TaskChanged(TaskChanged::Set { node }) if node.id == next => Some((**node).clone()),
                _ => None,
            };
            let Some(node) = self.disk.log(next).iter().rev().find_map(node) else { continue };
            if !known.insert(next) {
                continue;
            }
            left.extend(node.children.iter().rev());
            self.tally.count("revived");
            self.spent.insert(next, self.disk.own(next).iter().map(agents::cost).sum());
            found.push(DeletedTask { node, state: self.disk.state(next) });
        }
        found
    }

    pub fn finish_job(&mut self) {
        let at = self.dice.draw(self.jobs.len());
        let job = self.jobs.swap_remove(at);
        let fails = self.fails(8);
        match job {
            Job::Clear(then) => {
                let result = if fails { Err(Fault::environment("git said no")) } else { Ok(ArchivedWork::default()) };
                self.inbox.push_back(Input::WorktreeRemoved { then, result });
            }
            Job::Restore(then) => {
                let result = if fails { Err(Fault::environment("git said no")) } else { Ok(RestoredWorktree::Clean) };
                self.inbox.push_back(Input::WorktreeRestored { then, result });
            }
            Job::WriteDown(then) => {
                let result = if fails { Err(Fault::environment("the disk is full")) } else { Ok(None) };
                self.inbox.push_back(Input::PlanWritten { then, result });
            }
            Job::Recall { then, task, known } => {
                let result = if fails {
                    Err(Fault::environment("the log cannot be read"))
                } else {
                    Ok(self.recall(task, known))
                };
                self.inbox.push_back(Input::DeletedTaskRead { then, result });
            }
            Job::Copy { then, to, target } => {
                let copied = if fails { Err("no") } else { self.disk.copy(&self.ids, self.now(), to, &target) };
                let result = copied.map_err(Fault::environment).map(|events| {
                    self.tally.count("forked");
                    let count = events.len();
                    let observed = |event| Input::Observed { task: to, event: Arc::new(event) };
                    self.inbox.extend(events.into_iter().map(observed));
                    count
                });
                self.inbox.push_back(Input::ConversationCopied { then, result });
            }
        }
    }
}
