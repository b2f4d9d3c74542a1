//! What was being written when the program ended, kept beside the tree. Losing it loses nothing that was said.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::base::TaskId;

#[derive(Default, Serialize, Deserialize)]
pub(super) struct Drafts {
    pub(super) drafts: Vec<(TaskId, String)>,
}

pub(super) fn load(path: &Path) -> Vec<(TaskId, String)> {
    let kept: Option<Drafts> = std::fs::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    kept.unwrap_or_default().drafts
}
