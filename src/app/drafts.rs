//! What was being written when the program ended, kept beside the tree. Losing it loses nothing that was said.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::base::TaskId;
use crate::store::RealDisk;
use crate::store::replace::replace;

#[derive(Default, Serialize, Deserialize)]
struct Format {
    drafts: Vec<(TaskId, String)>,
}

pub(super) fn load(path: &Path) -> Vec<(TaskId, String)> {
    let format: Option<Format> = std::fs::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    format.unwrap_or_default().drafts
}

pub(super) fn save(path: &Path, drafts: Vec<(TaskId, String)>) {
    let saved = serde_json::to_vec(&Format { drafts }).map_err(|error| error.to_string());
    let saved = saved.and_then(|bytes| replace(&RealDisk, path, &bytes).map_err(|error| error.to_string()));
    if let Err(error) = saved {
        tracing::warn!(error, "drafts could not be kept");
    }
}
