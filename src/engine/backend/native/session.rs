//! What the session of a task says to the launch of its next run.

use std::path::Path;
use std::sync::Arc;

use crate::agent::conversation::Conversation;
use crate::engine::backend::RunSession;
use crate::model::event::{Body, SessionConfig};
use crate::model::told_folder;
use crate::store::StoreError;

/// What a session has that a launch goes by.
#[derive(Default)]
pub(super) struct Begun {
    /// The agent has its card already: what it should know has to be said to it.
    pub(super) has_card: bool,
    /// The agent was told the folder that it works in.
    pub(super) knows_folder: bool,
    /// What the present segment began with. It keeps to that, whatever there is by now.
    pub(super) config: Option<Arc<SessionConfig>>,
}

impl Begun {
    pub(super) async fn read(session: &RunSession, folder: &Path) -> Result<Self, StoreError> {
        let events = session.events().await?;
        let told = events.iter().rev().find_map(|event| match &event.body {
            Body::Message(message) => told_folder::of(message),
            _ => None,
        });
        let knows_folder = told == Some(&folder.display().to_string());
        let conversation = Conversation::replay(&events);
        let has_card = conversation.last_role().is_some();
        Ok(Self { has_card, knows_folder, config: conversation.config().cloned() })
    }
}
