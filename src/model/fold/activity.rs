//! The time and the type of the last event.

use serde::{Deserialize, Serialize};

use crate::base::Timestamp;
use crate::model::event::Event;

/// The last event of a session, for lists.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LastActivity {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// The stored name of the event's type.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
}

impl LastActivity {
    pub fn on_event(&mut self, event: &Event) {
        self.at = Some(event.ts);
        event.body.kind().clone_into(&mut self.kind);
    }
}
