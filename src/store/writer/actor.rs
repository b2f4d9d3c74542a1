//! The writer's thread: executes commands, manages the open logs, forms groups.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::base::{Clock, EventId, IdSource, RunId, TaskId};
use crate::model::event::{Batch, Body, Event, VERSION};
use crate::model::fold::SessionState;
use crate::store::StoreError;
use crate::store::disk::Disk;
use crate::store::fork;
use crate::store::log::{FolderPolicy, Log};
use crate::store::session::Sessions;
use crate::store::writer::group::Group;
use crate::store::writer::save::save;
use crate::store::writer::{Answer, Command, CopyPlan, Durability, Options, Watch};

/// The number of open files. Idle sessions need none.
const MAX_OPEN: usize = 128;
/// The most commands in a group, so that the first does not wait for the last.
const MAX_GROUP: usize = 1024;
/// With [`Durability::Os`]: the longest delay before written events are synced.
const SAVE_AFTER: Duration = Duration::from_secs(1);

pub(super) struct Actor {
    disk: Arc<dyn Disk>,
    clock: Arc<dyn Clock>,
    ids: IdSource,
    sessions: Sessions,
    durability: Durability,
    watch: Watch,
    logs: BTreeMap<TaskId, OpenLog>,
    group: Group,
    uses: u64,
    /// Whether the folder of the sessions may have to be created.
    folder: FolderPolicy,
    /// The deadline for syncing the oldest unsynced write. Later writes do not move it.
    save_by: Option<Instant>,
}

/// A log and when it was last used.
pub(super) struct OpenLog {
    pub(super) log: Log,
    /// A write failed and the file has not been restored yet.
    pub(super) broken: bool,
    used: u64,
}

impl Actor {
    pub(super) fn new(options: Options, sessions: Sessions, watch: Watch) -> Self {
        let Options { disk, clock, ids, durability, .. } = options;
        let (logs, group) = (BTreeMap::new(), Group::default());
        Self {
            disk,
            clock,
            ids,
            sessions,
            durability,
            watch,
            logs,
            group,
            uses: 0,
            folder: FolderPolicy::Make,
            save_by: None,
        }
    }

    pub(super) fn run(mut self, inbox: &Receiver<Command>) {
        while let Some(first) = self.next(inbox) {
            let mut quit = self.take(first);
            for _ in 1..MAX_GROUP {
                let Ok(command) = inbox.try_recv() else { break };
                quit |= self.take(command);
            }
            self.flush();
            if quit {
                break;
            }
            self.close_idle();
        }
        self.save_all();
    }

    /// Waits for a command, or until unsynced data must be synced.
    fn next(&mut self, inbox: &Receiver<Command>) -> Option<Command> {
        if let Some(by) = self.save_by {
            let left = by.saturating_duration_since(Instant::now());
            if !left.is_zero() {
                match inbox.recv_timeout(left) {
                    Ok(command) => return Some(command),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return None,
                }
            }
            self.save_all();
        }
        inbox.recv().ok()
    }

    /// Adds a command to the group, or executes it at once. Returns true if it was the last.
    fn take(&mut self, command: Command) -> bool {
        match command {
            Command::Append { session, run, bodies, answer } => {
                if bodies.iter().any(cuts_the_chain) {
                    self.flush();
                }
                let staged = self.stage(session, run, bodies);
                self.group.add_caller(session, staged, answer);
            }
            Command::Copy { from, to, at, copy, answer } => {
                self.flush();
                self.copy(from, to, at, copy.as_ref(), answer);
            }
            Command::Repair { session, answer } => {
                self.flush();
                let _ = answer.send(self.repair(session));
            }
            Command::Quit => return true,
        }
        false
    }

    /// Restores the acknowledged content of a log after a failed write.
    fn repair(&mut self, session: TaskId) -> Result<(), StoreError> {
        let Some(open) = self.logs.get_mut(&session).filter(|open| open.broken) else { return Ok(()) };
        open.log.recover(self.disk.as_ref())?;
        open.broken = false;
        Ok(())
    }

    /// Stamps `bodies` and adds them to the group. On an error nothing is added.
    fn stage(&mut self, session: TaskId, run: Option<RunId>, bodies: Vec<Body>) -> Result<Vec<Event>, StoreError> {
        let head = self.open(session)?.log.head();
        let head = self.group.head(session).or(head);
        let of = u32::try_from(bodies.len()).unwrap_or(u32::MAX);
        let mut events: Vec<Event> = Vec::with_capacity(bodies.len());
        let mut state = None;
        for (body, number) in bodies.into_iter().zip(1..) {
            let last = events.last().map_or(head, |event| Some(event.id));
            let (parent, body) = if cuts_the_chain(&body) {
                let mut now = self.state(session)?;
                for event in &events {
                    now.apply(event);
                }
                self.carry(session, body, last, state.insert(now))?
            } else {
                (last, body)
            };
            let batch = (of > 1).then_some(Batch(number, of));
            events.push(self.stamp(parent, run, batch, body));
        }
        self.group.add(session, &events)?;
        Ok(events)
    }

    fn stamp(&self, parent: Option<EventId>, run: Option<RunId>, batch: Option<Batch>, body: Body) -> Event {
        Event { v: VERSION, id: EventId::fresh(&self.ids), parent, ts: self.clock.now(), run, batch, body }
    }

    /// Fills in the state that an event carries across a cut of the chain, and returns its parent.
    fn carry(
        &self,
        session: TaskId,
        body: Body,
        head: Option<EventId>,
        now: &SessionState,
    ) -> Result<(Option<EventId>, Body), StoreError> {
        match body {
            Body::CompactMarker(mut marker) => {
                *marker.carry = now.clone();
                Ok((head, Body::CompactMarker(marker)))
            }
            Body::HandedOver(mut handed) => {
                *handed.carry = now.clone();
                Ok((head, Body::HandedOver(handed)))
            }
            Body::HeadMoved(mut moved) => {
                let then = match moved.to {
                    Some(event) => self.sessions.active_at(session, event)?.state(),
                    None => SessionState::default(),
                };
                moved.from = head;
                *moved.carry = now.moved_to(&then);
                Ok((moved.to, Body::HeadMoved(moved)))
            }
            body => Ok((head, body)),
        }
    }

    fn state(&self, session: TaskId) -> Result<SessionState, StoreError> {
        Ok(self.sessions.active(session)?.state())
    }

    fn copy(&mut self, from: TaskId, to: TaskId, at: Option<EventId>, plan: &dyn CopyPlan, answer: Answer) {
        let staged = self.stage_copy(from, to, at, plan);
        self.group.add_caller(to, staged, answer);
        self.flush();
    }

    fn stage_copy(
        &mut self,
        from: TaskId,
        to: TaskId,
        at: Option<EventId>,
        plan: &dyn CopyPlan,
    ) -> Result<Vec<Event>, StoreError> {
        self.repair(from)?;
        let source = fork::source(&self.sessions, from, at)?;
        // Opening removes the remains of a failed copy, which belong to no conversation.
        let head = self.open(to)?.log.head();
        fork::check_target(&self.sessions, to)?;
        let closing = plan.closing(&source.events);
        let of = u32::try_from(source.lines.len() + closing.len()).unwrap_or(u32::MAX);
        let mut lines = fork::relinked(&source, head, of)?;
        let mut events = source.events;
        fork::relink(&mut events, head, of);
        // Ids from now on sort after the copy.
        for event in &events {
            self.ids.observe(event.id.ulid());
        }
        let mut parent = events.last().map(|event| event.id);
        let first_new = u32::try_from(events.len()).unwrap_or(u32::MAX).saturating_add(1);
        for (body, number) in closing.into_iter().zip(first_new..) {
            let event = self.stamp(parent, None, Some(Batch(number, of)), body);
            crate::store::line::encode(&event, &mut lines)?;
            parent = Some(event.id);
            events.push(event);
        }
        self.group.add_lines(to, &lines, parent);
        Ok(events)
    }

    /// Returns the session's log: opened, repaired and restored as needed.
    fn open(&mut self, session: TaskId) -> Result<&mut OpenLog, StoreError> {
        self.uses += 1;
        let uses = self.uses;
        if !self.logs.contains_key(&session) {
            let log = Log::open(self.disk.as_ref(), &self.sessions.path(session), self.folder, self.clock.now())?;
            self.folder = FolderPolicy::MustExist;
            if let Some(head) = log.head() {
                self.ids.observe(head.ulid());
            }
            self.logs.insert(session, OpenLog { log, broken: false, used: uses });
        }
        self.repair(session)?;
        let open = self.logs.get_mut(&session).ok_or(StoreError::Closed)?;
        open.used = uses;
        Ok(open)
    }

    fn flush(&mut self) {
        let group = std::mem::take(&mut self.group);
        group.write(self.disk.as_ref(), &mut self.logs, self.durability, &self.watch);
        let is_unsaved = self.logs.values().any(|open| open.log.is_unsynced() && !open.broken);
        self.save_by = is_unsaved.then(|| self.save_by.unwrap_or_else(|| Instant::now() + SAVE_AFTER));
    }

    fn save_all(&mut self) {
        self.save_by = None;
        let unsaved = self.logs.iter_mut().filter(|(_, open)| open.log.is_unsynced() && !open.broken);
        let unsaved: Vec<_> = unsaved.map(|(session, open)| (*session, &mut open.log)).collect();
        for (session, error) in save(unsaved, self.disk.parallel_syncs()) {
            tracing::error!(%error, "written events could not be saved");
            // The events stay written: with this durability they were acknowledged when the system accepted them.
            if let Some(open) = self.logs.get_mut(&session) {
                open.broken = open.log.recover(self.disk.as_ref()).is_err();
            }
        }
    }

    /// Closes the least recently used files, down to the limit.
    fn close_idle(&mut self) {
        while self.logs.len() > MAX_OPEN {
            let idle = self.logs.iter().filter(|(_, open)| !open.broken && !open.log.is_unsynced());
            let Some((&oldest, _)) = idle.min_by_key(|(_, open)| open.used) else { break };
            self.logs.remove(&oldest);
        }
    }
}

/// Returns true if an event carries state across a cut of the chain, which only the writer knows exactly.
fn cuts_the_chain(body: &Body) -> bool {
    matches!(body, Body::CompactMarker(_) | Body::HeadMoved(_) | Body::HandedOver(_))
}
