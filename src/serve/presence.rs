//! The list of attached clients. Each is listed until it drops its [`Attached`].

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::base::{Clock as _, SystemClock};
use crate::engine::Handle;
use crate::model::{ClientKind, ClientView};

/// The clients of one engine, which shows them to all of its clients.
pub struct Presence {
    handle: Handle,
    listed: Mutex<Listed>,
}

#[derive(Default)]
struct Listed {
    last_number: u64,
    clients: Vec<Listing>,
}

struct Listing {
    view: ClientView,
    /// The streams of one HTTP token are one client: a program may open any number of them.
    connections: usize,
}

/// A client that is listed. Dropped when it leaves.
pub struct Attached {
    presence: Arc<Presence>,
    number: u64,
}

impl Presence {
    pub fn new(handle: Handle) -> Arc<Self> {
        Arc::new(Self { handle, listed: Mutex::default() })
    }

    /// Lists a client, unless it is one that comes and goes.
    pub fn attach(self: &Arc<Self>, kind: ClientKind, name: &str) -> Option<Attached> {
        if kind == ClientKind::Command {
            return None;
        }
        let mut listed = self.lock();
        let is_same =
            |client: &&mut Listing| kind == ClientKind::Http && client.view.kind == kind && client.view.name == name;
        let number = if let Some(known) = listed.clients.iter_mut().find(is_same) {
            known.connections += 1;
            known.view.number
        } else {
            listed.last_number += 1;
            let number = listed.last_number;
            let view = ClientView { number, kind, name: name.to_owned(), since: SystemClock.now() };
            listed.clients.push(Listing { view, connections: 1 });
            self.publish(&listed);
            number
        };
        Some(Attached { presence: Arc::clone(self), number })
    }

    fn leave(&self, number: u64) {
        let mut listed = self.lock();
        let Some(at) = listed.clients.iter().position(|client| client.view.number == number) else { return };
        listed.clients[at].connections -= 1;
        if listed.clients[at].connections == 0 {
            listed.clients.remove(at);
            self.publish(&listed);
        }
    }

    /// Called under the lock, so that the engine gets the lists in order.
    fn publish(&self, listed: &Listed) {
        self.handle.set_clients(listed.clients.iter().map(|client| client.view.clone()).collect());
    }

    fn lock(&self) -> MutexGuard<'_, Listed> {
        self.listed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        self.presence.leave(self.number);
    }
}

#[cfg(test)]
#[path = "presence_tests.rs"]
mod tests;
