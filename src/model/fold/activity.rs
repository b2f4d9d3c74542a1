//! When something last happened, and what.

use serde::{Deserialize, Serialize};

use crate::base::Timestamp;
use crate::model::event::Event;

/// The last event of a session, as a row of a list shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LastActivity {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// The event's type, as on disk.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
}

impl LastActivity {
    pub fn seen(&mut self, event: &Event) {
        self.at = Some(event.ts);
        event.body.kind().clone_into(&mut self.kind);
    }
}
