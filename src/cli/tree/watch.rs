//! `mxd tree --watch`: prints the tree again when it changes.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use crate::base::TaskId;
use crate::cli::console::{Console, Failure};
use crate::cli::open_read_only::Viewer;
use crate::engine::update::Update;

/// How long changes are collected before the tree is printed.
const PAUSE: Duration = Duration::from_millis(200);
/// Goes to the first line and clears the screen.
const CLEAR: &[u8] = b"\x1b[H\x1b[2J";

/// A task that is gone.
#[derive(Serialize)]
struct Removed {
    removed: TaskId,
}

/// Runs until it is interrupted.
pub fn run(console: &mut Console, viewer: &Viewer, json: bool) -> Result<(), Failure> {
    let mut watcher = viewer.ask(async |handle| Ok(handle.subscribe().await?.1))?;
    let mut printed: BTreeMap<TaskId, String> = BTreeMap::new();
    let mut is_first = true;
    loop {
        let rows = viewer.list(console, async |handle| handle.tasks().await)?;
        let mut now = BTreeMap::new();
        for row in &rows {
            // A row that cannot be encoded fails when it is printed.
            now.insert(row.node.id, serde_json::to_string(row).unwrap_or_default());
        }
        if json {
            for row in rows.iter().filter(|row| printed.get(&row.node.id) != now.get(&row.node.id)) {
                console.json(row)?;
            }
            for removed in printed.keys().filter(|task| !now.contains_key(task)) {
                console.json(&Removed { removed: *removed })?;
            }
        } else if is_first || now != printed {
            if console.is_terminal() {
                console.bytes(CLEAR)?;
            } else if !is_first {
                console.line("")?;
            }
            super::print(console, &rows, false)?;
        }
        console.finish()?;
        (printed, is_first) = (now, false);
        if viewer.ask(async |_| Ok(changed(&mut watcher).await))? {
            watcher = viewer.ask(async |handle| Ok(handle.subscribe().await?.1))?;
        }
    }
}

/// Waits until the tree may have changed. Returns true if a new watcher is needed.
async fn changed(watcher: &mut crate::engine::feed::Watcher) -> bool {
    let mut is_lost = loop {
        match watcher.next().await {
            Update::Task { .. } | Update::Removed { .. } | Update::Project { .. } => break false,
            Update::Resync | Update::Moved | Update::Ended => break true,
            Update::Event { .. }
            | Update::Live { .. }
            | Update::Notice { .. }
            | Update::Clients { .. }
            | Update::Quiet => {}
        }
    };
    tokio::time::sleep(PAUSE).await;
    while let Some(update) = watcher.try_next() {
        is_lost |= matches!(update, Update::Resync | Update::Moved | Update::Ended);
    }
    is_lost
}
