//! Everything that is asked of the engine, in its order. A new task is bound to a profile as it is at that moment, so the
//! profiles are read before one is made, aside; whatever is asked meanwhile waits behind it.

use std::collections::VecDeque;

use tokio::sync::oneshot;

use super::{Driver, Incoming};
use crate::base::Fault;
use crate::engine::agent_port::{AgentCall, AgentRequest};
use crate::engine::command::{Actor, Command, CommandId, Outcome};
use crate::engine::machine::Input;
use crate::engine::profiles::Profiles;
use crate::engine::query::{TreeAnswer, TreeQuery};
use crate::engine::update::Update;

/// Something that is asked, and where the answer goes.
#[expect(clippy::large_enum_variant, reason = "the queue is short, and mostly of commands")]
pub(super) enum Asked {
    Command { actor: Actor, command: Command, answer: oneshot::Sender<Result<Outcome, Fault>> },
    Query { query: TreeQuery, answer: oneshot::Sender<Result<TreeAnswer, Fault>> },
}

impl Asked {
    fn makes_task(&self) -> bool {
        matches!(self, Self::Command { command: Command::Create { .. }, .. })
    }
}

impl From<AgentRequest> for Asked {
    fn from(request: AgentRequest) -> Self {
        let actor = Actor::Agent(request.task);
        match request.call {
            AgentCall::Command { command, answer } => Self::Command { actor, command, answer },
            AgentCall::Query { query, answer } => Self::Query { query, answer },
        }
    }
}

/// What waits, in its order.
#[derive(Default)]
pub(super) struct Asking {
    waiting: VecDeque<Asked>,
    profiles: Reading,
}

/// How it stands with the profiles for the first that waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Reading {
    #[default]
    Unread,
    UnderWay,
    Read,
}

impl Driver {
    pub(super) fn asked(&mut self, asked: Asked) {
        self.asking.waiting.push_back(asked);
        self.answer_what_waits();
    }

    pub(super) fn profiles_read(&mut self, profiles: Option<Profiles>) {
        self.asking.profiles = Reading::Read;
        if profiles.is_some_and(|profiles| self.machine.set_profiles(profiles)) {
            self.parts.feed.tell(&Update::Project { project: Box::new(self.machine.project()) });
        }
        self.answer_what_waits();
    }

    fn answer_what_waits(&mut self) {
        while let Some(first) = self.asking.waiting.front() {
            match self.asking.profiles {
                Reading::UnderWay => return,
                Reading::Unread if first.makes_task() => return self.read_profiles(),
                Reading::Unread | Reading::Read => {}
            }
            self.asking.profiles = Reading::Unread;
            match self.asking.waiting.pop_front() {
                Some(Asked::Command { actor, command, answer }) => {
                    self.numbers += 1;
                    let id = CommandId(self.numbers);
                    self.replies.insert(id, answer);
                    self.step(Input::Command { id, actor, command });
                }
                Some(Asked::Query { query, answer }) => drop(answer.send(self.machine.query(&query))),
                None => return,
            }
        }
    }

    fn read_profiles(&mut self) {
        self.asking.profiles = Reading::UnderWay;
        let parts = std::sync::Arc::clone(&self.parts);
        tokio::spawn(async move {
            let reader = std::sync::Arc::clone(&parts);
            let read = tokio::task::spawn_blocking(move || reader.profiles()).await;
            let _ = parts.incoming.send(Incoming::Profiles(read.ok()));
        });
    }
}
