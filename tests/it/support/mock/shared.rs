//! The mind behind a lock, and everyone who waits for it to change: gates, tests, connections.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::delivery::Delivery;
use super::http::HttpRequest;
use super::mind::{Mind, Outcome};
use super::script::Script;
use super::seen::Wire;

#[derive(Debug)]
pub struct Shared {
    mind: Mutex<Mind>,
    changes: watch::Sender<u64>,
}

impl Shared {
    pub fn new(script: Script) -> Self {
        Self { mind: Mutex::new(Mind::new(script)), changes: watch::Sender::new(0) }
    }

    pub fn read<T>(&self, look: impl FnOnce(&Mind) -> T) -> T {
        look(&self.lock())
    }

    fn change<T>(&self, act: impl FnOnce(&mut Mind) -> T) -> T {
        let result = act(&mut self.lock());
        self.changes.send_modify(|count| *count += 1);
        result
    }

    fn lock(&self) -> MutexGuard<'_, Mind> {
        // A test that panicked while it looked has left nothing half done.
        self.mind.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn admit(&self, request: &HttpRequest, wire: Wire, counting: bool) -> (Delivery, usize) {
        self.change(|mind| mind.admit(request, wire, counting))
    }

    pub fn finish(&self, record: usize, outcome: Outcome) {
        self.change(|mind| mind.finish(record, outcome));
    }

    pub fn planned_outcome(&self, record: usize) -> Outcome {
        self.read(|mind| mind.plan(record))
    }

    pub fn models(&self, request: &HttpRequest) -> Delivery {
        self.read(|mind| mind.models(request))
    }

    /// Opens a gate for good.
    pub fn open(&self, gate: &str) {
        self.change(|mind| mind.gates_open.insert(gate.to_owned()));
    }

    pub fn new_epoch(&self, conversation: &str) {
        self.change(|mind| mind.new_epoch(conversation));
    }

    pub fn take_violations(&self) -> Vec<super::Violation> {
        self.change(|mind| std::mem::take(&mut mind.violations))
    }

    pub fn forget_bodies(&self) {
        self.change(|mind| mind.records.iter_mut().for_each(|record| record.body = "".into()));
    }

    /// Forgets everything and starts over with another script.
    pub fn restart(&self, script: Script) {
        self.change(|mind| *mind = Mind::new(script));
    }

    /// Waits at a gate until it is open.
    pub async fn pass(&self, gate: &str) {
        self.change(|mind| mind.gates_reached.insert(gate.to_owned()));
        self.until(|mind| mind.gates_open.contains(gate)).await;
    }

    /// Waits until something is true of the mind.
    pub async fn until(&self, holds: impl Fn(&Mind) -> bool) {
        let mut changes = self.changes.subscribe();
        while !self.read(&holds) {
            if changes.changed().await.is_err() {
                return;
            }
        }
    }
}
