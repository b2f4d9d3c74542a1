//! Unsent review comments, stored beside the tree.

use std::path::Path;

use crate::ui::review::ReviewNotes;

pub(super) fn load(path: &Path) -> ReviewNotes {
    std::fs::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}
