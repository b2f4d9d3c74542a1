//! Unsent messages and answers, stored beside the tree.

use std::path::Path;

use crate::ui::Drafts;

pub(super) fn load(path: &Path) -> Drafts {
    let stored = std::fs::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    stored.unwrap_or_default()
}
