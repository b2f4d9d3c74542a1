//! The simulated disk: a log per session, written in one order by one writer, and what must hold of every line.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use mxd::base::{AskId, EventId, IdSource, MessageId, RunId, TaskId, Timestamp};
use mxd::engine::machine::EffectId;
use mxd::model::event::{Body, Event, VERSION};
use mxd::model::fold::SessionState;
use mxd::model::fork::Target;
use mxd::model::message::Message;

/// Who waits for an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    Engine(EffectId),
    /// A run: which of all, and its own number for the append.
    Run {
        run: RunId,
        ticket: u64,
    },
    /// A process that a run had started has ended.
    Process {
        run: RunId,
    },
}

/// An append that is on its way.
#[derive(Debug)]
pub struct Write {
    pub task: TaskId,
    pub by: Writer,
    pub bodies: Vec<Body>,
    /// Not if the session has this message already.
    pub unless: Option<MessageId>,
}

#[derive(Default)]
pub struct Disk {
    seed: u64,
    pub logs: BTreeMap<TaskId, Vec<Event>>,
    /// Where in a log its own events begin: those before were copied from another.
    pub copied: BTreeMap<TaskId, usize>,
    pub queue: VecDeque<Write>,
    consumed: BTreeSet<MessageId>,
    withdrawn: BTreeSet<MessageId>,
    sent: BTreeSet<MessageId>,
    answered: BTreeSet<AskId>,
}

impl Disk {
    pub fn new(seed: u64) -> Self {
        Self { seed, ..Self::default() }
    }

    pub fn log(&self, task: TaskId) -> &[Event] {
        self.logs.get(&task).map_or(&[], Vec::as_slice)
    }

    /// Returns what happened in a session itself.
    pub fn own(&self, task: TaskId) -> &[Event] {
        &self.log(task)[self.copied.get(&task).copied().unwrap_or(0)..]
    }

    /// Returns the active part of a log. The only thing in this world that cuts one is a reset.
    pub fn active(&self, task: TaskId) -> &[Event] {
        let log = self.log(task);
        let from = log.iter().rposition(|event| matches!(event.body, Body::HeadMoved(_))).unwrap_or(0);
        &log[from..]
    }

    pub fn state(&self, task: TaskId) -> SessionState {
        SessionState::replay(self.active(task))
    }

    /// Carries the oldest append out. Returns it with what was written.
    pub fn write_one(&mut self, ids: &IdSource, now: Timestamp) -> Option<(Write, Vec<Event>)> {
        let mut write = self.queue.pop_front()?;
        if write.unless.is_some_and(|id| self.has_message(write.task, id)) {
            return Some((write, Vec::new()));
        }
        let run = match write.by {
            Writer::Engine(_) => None,
            Writer::Run { run, .. } | Writer::Process { run } => Some(run),
        };
        let bodies = std::mem::take(&mut write.bodies);
        let events = bodies.into_iter().map(|body| self.stamp(ids, now, write.task, run, body)).collect();
        Some((write, events))
    }

    pub fn has_message(&self, task: TaskId, id: MessageId) -> bool {
        self.log(task).iter().any(|event| matches!(&event.body, Body::Message(message) if message.id == id))
    }

    fn stamp(&mut self, ids: &IdSource, ts: Timestamp, task: TaskId, run: Option<RunId>, mut body: Body) -> Event {
        if let Body::HeadMoved(moved) = &mut body {
            assert!(moved.to.is_none(), "seed {}: only the start is moved to", self.seed);
            *moved.carry = self.state(task).moved_to(&SessionState::default());
        }
        let parent = self.log(task).last().map(|event| event.id);
        let event = Event { v: VERSION, id: EventId::fresh(ids), parent, ts, run, batch: None, body };
        self.check(task, &event);
        self.logs.entry(task).or_default().push(event.clone());
        event
    }

    /// Copies a conversation, as the store does: the same events, none of them its own.
    pub fn copy(
        &mut self,
        ids: &IdSource,
        ts: Timestamp,
        to: TaskId,
        target: &Target,
    ) -> Result<Vec<Event>, &'static str> {
        if !self.log(to).iter().all(|event| matches!(event.body, Body::TaskChanged(_))) {
            return Err("the session is not empty");
        }
        let mut events = self.active(target.source).to_vec();
        let closing = target.closing(&events);
        events.iter_mut().for_each(|event| event.run = None);
        let mut parent = events.last().map(|event| event.id);
        for body in closing {
            let event = Event { v: VERSION, id: EventId::fresh(ids), parent, ts, run: None, batch: None, body };
            parent = Some(event.id);
            events.push(event);
        }
        let log = self.logs.entry(to).or_default();
        log.extend(events.iter().cloned());
        self.copied.insert(to, log.len());
        Ok(events)
    }

    /// What must hold of every event that reaches the disk.
    fn check(&mut self, task: TaskId, event: &Event) {
        let seed = self.seed;
        match &event.body {
            Body::Message(Message { id, .. }) => {
                assert!(self.sent.insert(*id), "seed {seed}: message {id} was sent twice: {:?}", event.body);
            }
            Body::MessagesConsumed(consumed) => {
                for id in &consumed.ids {
                    assert!(self.consumed.insert(*id), "seed {seed}: message {id} was consumed twice");
                    let taken_back = self.withdrawn.contains(id);
                    assert!(!taken_back, "seed {seed}: message {id} was consumed after it was withdrawn");
                    assert!(self.has_message(task, *id), "seed {seed}: message {id} was consumed by another task");
                }
            }
            Body::MessagesWithdrawn(withdrawn) => {
                for id in &withdrawn.ids {
                    assert!(
                        !self.consumed.contains(id),
                        "seed {seed}: message {id} was withdrawn after it was consumed"
                    );
                    self.withdrawn.insert(*id);
                }
            }
            Body::AskRaised(ask) => {
                assert!(!self.answered.contains(&ask.id), "seed {seed}: {} is asked again after its answer", ask.id);
            }
            Body::AskAnswered(answered) => {
                let first = self.answered.insert(answered.id);
                assert!(first, "seed {seed}: {} was answered twice", answered.id);
            }
            _ => {}
        }
    }

    pub fn is_settled(&self, message: MessageId) -> bool {
        self.consumed.contains(&message) || self.withdrawn.contains(&message)
    }

    pub fn was_answered(&self, ask: AskId) -> bool {
        self.answered.contains(&ask)
    }

    /// Returns the last lines of a log, for whoever has to find out why.
    pub fn tail(&self, task: TaskId) -> String {
        let log = self.log(task);
        let shown = log[log.len().saturating_sub(16)..].iter();
        let line = |event: &Event| format!("{} {:.160}", event.id.short(), format!("{:?}", event.body));
        shown.map(line).collect::<Vec<_>>().join("\n")
    }
}
