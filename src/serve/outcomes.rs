//! Remembers the outcomes of the last commands of each client, so that a command that is sent again after a cut
//! connection is carried out once.
//!
//! A command runs to its end even if its client is gone. Memory is bounded: a client tells which outcomes it has got,
//! and the clients that were silent for longest are forgotten.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared};

use super::protocol::{ClientId, RequestId};
use crate::base::Fault;
use crate::engine::command::Outcome;

/// How many clients are remembered.
const MAX_CLIENTS: usize = 256;
/// How many outcomes of one client are remembered.
const MAX_OUTCOMES: usize = 1000;

/// A command that runs or has ended. Every clone gets its outcome.
pub type PendingOutcome = Shared<BoxFuture<'static, Result<Outcome, Fault>>>;

#[derive(Default)]
pub struct Outcomes {
    clients: Mutex<Clients>,
}

#[derive(Default)]
struct Clients {
    by_id: HashMap<ClientId, ClientOutcomes>,
    /// Counts commands, to find the clients that were silent for longest.
    clock: u64,
}

#[derive(Default)]
struct ClientOutcomes {
    by_number: BTreeMap<RequestId, PendingOutcome>,
    /// Outcomes of lower numbers are not remembered any more.
    forgotten_below: RequestId,
    used: u64,
}

impl Outcomes {
    /// Returns the outcome of a command. Starts it if it is new: `start` is called, and its future polled once, before
    /// this returns, so commands keep their order. Must be called inside a runtime.
    pub fn run(
        &self,
        client: ClientId,
        number: RequestId,
        answered_below: RequestId,
        start: impl FnOnce() -> BoxFuture<'static, Result<Outcome, Fault>>,
    ) -> PendingOutcome {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        clients.clock += 1;
        let used = clients.clock;
        if !clients.by_id.contains_key(&client) {
            clients.make_room();
        }
        let known = clients.by_id.entry(client).or_default();
        known.used = used;
        known.forget_below(answered_below);
        if let Some(pending) = known.by_number.get(&number) {
            return pending.clone();
        }
        if number < known.forgotten_below {
            let fault = Fault::user(format!("command {number} was answered before and its outcome is forgotten"));
            return futures::future::ready(Err(fault)).boxed().shared();
        }
        let pending = start().shared();
        known.by_number.insert(number, pending.clone());
        if known.by_number.len() > MAX_OUTCOMES
            && let Some(first) = known.by_number.keys().next().copied()
        {
            known.forget_below(first + 1);
        }
        drop(clients);
        if pending.clone().now_or_never().is_none() {
            tokio::spawn(pending.clone());
        }
        pending
    }
}

impl Clients {
    fn make_room(&mut self) {
        if self.by_id.len() < MAX_CLIENTS {
            return;
        }
        let oldest = self.by_id.iter().min_by_key(|(_, client)| client.used).map(|(id, _)| *id);
        if let Some(oldest) = oldest {
            self.by_id.remove(&oldest);
        }
    }
}

impl ClientOutcomes {
    fn forget_below(&mut self, number: RequestId) {
        if number > self.forgotten_below {
            self.forgotten_below = number;
            self.by_number = self.by_number.split_off(&number);
        }
    }
}

/// The outcomes of a server, shared by its connections.
pub type SharedOutcomes = Arc<Outcomes>;

#[cfg(test)]
#[path = "outcomes_tests.rs"]
mod tests;
