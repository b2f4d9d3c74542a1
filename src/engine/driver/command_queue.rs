//! Queues requests to the engine and keeps their order. A task gets its profile as they are at that moment, so
//! the driver reads the profile files before it creates one. Requests that arrive meanwhile wait.

use std::collections::VecDeque;

use tokio::sync::oneshot;

use super::{Driver, Incoming};
use crate::base::Fault;
use crate::engine::agent_port::{AgentCall, AgentRequest};
use crate::engine::command::{Actor, Command, CommandId, Outcome};
use crate::engine::machine::{Input, Machine};
use crate::engine::profiles::Profiles;
use crate::engine::query::{TreeAnswer, TreeQuery};
use crate::engine::update::Update;

/// A command or query, with the channel for the answer.
#[expect(clippy::large_enum_variant, reason = "the queue is short, and mostly of commands")]
pub(in crate::engine) enum EngineRequest {
    Command { actor: Actor, command: Command, answer: oneshot::Sender<Result<Outcome, Fault>> },
    Query { query: TreeQuery, answer: oneshot::Sender<Result<TreeAnswer, Fault>> },
}

impl EngineRequest {
    /// Returns the command with its actor. `None` for a query.
    pub(super) fn command(&self) -> Option<(Actor, &Command)> {
        match self {
            Self::Command { actor, command, .. } => Some((*actor, command)),
            Self::Query { .. } => None,
        }
    }

    /// Answers the request with a fault.
    pub(super) fn refuse(self, fault: Fault) {
        match self {
            Self::Command { answer, .. } => drop(answer.send(Err(fault))),
            Self::Query { answer, .. } => drop(answer.send(Err(fault))),
        }
    }

    /// Returns true if what it does depends on the profiles as they are now.
    fn needs_profiles(&self, machine: &Machine) -> bool {
        let Self::Command { command, .. } = self else { return false };
        match command {
            Command::Create { .. } | Command::Fork { .. } | Command::HandOverTask { .. } => true,
            Command::Send { task, .. } | Command::Resume { task } | Command::Answer { task, .. } => {
                machine.is_unbound(*task)
            }
            Command::Message { to, .. } => machine.is_unbound(*to),
            _ => false,
        }
    }
}

impl From<AgentRequest> for EngineRequest {
    fn from(request: AgentRequest) -> Self {
        let actor = Actor::Agent(request.task);
        match request.call {
            AgentCall::Command { command, answer } => Self::Command { actor, command, answer },
            AgentCall::Query { query, answer } => Self::Query { query, answer },
        }
    }
}

#[derive(Default)]
pub(super) struct RequestQueue {
    waiting: VecDeque<EngineRequest>,
    profiles: ProfilesState,
}

/// Whether the profiles were read for the first request in the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ProfilesState {
    #[default]
    Unread,
    Reading,
    Read,
}

impl Driver {
    pub(super) fn on_request(&mut self, request: EngineRequest) {
        self.requests.waiting.push_back(request);
        self.drain_requests();
    }

    pub(super) fn on_profiles_read(&mut self, profiles: Option<Profiles>) {
        self.requests.profiles = ProfilesState::Read;
        profiles.into_iter().for_each(|profiles| self.use_profiles(profiles));
        self.drain_requests();
    }

    pub(super) fn use_profiles(&mut self, profiles: Profiles) {
        if self.machine.set_profiles(profiles) {
            self.ctx.feed.publish(&Update::Project { project: Box::new(self.machine.project()) });
        }
    }

    fn drain_requests(&mut self) {
        while let Some(first) = self.requests.waiting.front() {
            match self.requests.profiles {
                ProfilesState::Reading => return,
                ProfilesState::Unread if first.needs_profiles(&self.machine) => return self.read_profiles(),
                ProfilesState::Unread | ProfilesState::Read => {}
            }
            self.requests.profiles = ProfilesState::Unread;
            match self.requests.waiting.pop_front() {
                Some(EngineRequest::Command { actor, command, answer }) => {
                    self.last_command += 1;
                    let id = CommandId(self.last_command);
                    self.replies.insert(id, answer);
                    self.step(Input::Command { id, actor, command });
                }
                Some(EngineRequest::Query { query, answer }) => drop(answer.send(self.machine.query(&query))),
                None => return,
            }
        }
    }

    fn read_profiles(&mut self) {
        self.requests.profiles = ProfilesState::Reading;
        let ctx = std::sync::Arc::clone(&self.ctx);
        tokio::spawn(async move {
            let reader = std::sync::Arc::clone(&ctx);
            let read = tokio::task::spawn_blocking(move || reader.profiles()).await;
            let _ = ctx.incoming.send(Incoming::Profiles(read.ok()));
        });
    }
}
