//! The ctx of a session that the launch of the next run depends on.

use std::path::Path;
use std::sync::Arc;

use crate::agent::conversation::Conversation;
use crate::engine::backend::RunSession;
use crate::model::event::{Body, SessionConfig};
use crate::model::stated_cwd;
use crate::store::StoreError;

#[derive(Default)]
pub(super) struct PriorSession {
    /// The agent has received its task brief, so later notes must be sent as messages.
    pub(super) has_brief: bool,
    /// The agent knows its current working directory.
    pub(super) knows_folder: bool,
    /// The configuration of the current segment. It applies until the segment ends, even if the settings have changed.
    pub(super) config: Option<Arc<SessionConfig>>,
}

impl PriorSession {
    pub(super) async fn read(session: &RunSession, folder: &Path) -> Result<Self, StoreError> {
        let events = session.events().await?;
        let stated = events.iter().rev().find_map(|event| match &event.body {
            Body::Message(message) => stated_cwd::of(message),
            _ => None,
        });
        let knows_folder = stated == Some(&folder.display().to_string());
        let conversation = Conversation::replay(&events);
        let has_brief = conversation.last_role().is_some();
        Ok(Self { has_brief, knows_folder, config: conversation.config().cloned() })
    }
}
