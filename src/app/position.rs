//! Where the user was on the screen, stored beside the tree.

use std::path::Path;

use crate::ui::position::ScreenPosition;

pub(super) fn load(path: &Path) -> ScreenPosition {
    std::fs::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}
