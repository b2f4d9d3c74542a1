//! What was said in reviews and not yet sent when the program ended, kept beside the tree.

use std::path::Path;

use crate::store::RealDisk;
use crate::store::replace::replace;
use crate::ui::review::Notes;

pub(super) fn load(path: &Path) -> Notes {
    std::fs::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

pub(super) fn save(path: &Path, notes: &Notes) {
    let saved = serde_json::to_vec(notes).map_err(|error| error.to_string());
    let saved = saved.and_then(|bytes| replace(&RealDisk, path, &bytes).map_err(|error| error.to_string()));
    if let Err(error) = saved {
        tracing::warn!(error, "comments could not be kept");
    }
}
