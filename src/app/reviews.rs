//! What was said in reviews and not yet sent when the program ended, kept beside the tree.

use std::path::Path;

use crate::ui::review::Notes;

pub(super) fn load(path: &Path) -> Notes {
    std::fs::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}
