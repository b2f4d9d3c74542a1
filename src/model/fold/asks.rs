//! Open Asks, in the order in which they were raised.

use serde::{Deserialize, Serialize};

use crate::base::AskId;
use crate::model::ask::Ask;

/// Raised minus answered minus withdrawn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PendingAsks(Vec<Ask>);

impl PendingAsks {
    pub fn iter(&self) -> impl Iterator<Item = &Ask> {
        self.0.iter()
    }

    pub fn get(&self, id: AskId) -> Option<&Ask> {
        self.0.iter().find(|ask| ask.id == id)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn on_raised(&mut self, ask: &Ask) {
        match self.0.iter_mut().find(|pending| pending.id == ask.id) {
            Some(pending) => *pending = ask.clone(),
            None => self.0.push(ask.clone()),
        }
    }

    /// Removes an answered or withdrawn Ask.
    pub fn remove(&mut self, id: AskId) {
        self.0.retain(|pending| pending.id != id);
    }
}
