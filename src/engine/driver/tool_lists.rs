//! Stores the tool lists of MCP servers: the accepted tools, and changes that wait for the user's decision.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use crate::engine::driver::Incoming;
use crate::engine::machine::Input;
use crate::model::ToolSpec;
use crate::store::files::VersionedFile;
use crate::store::{RealDisk, StoreError};
use crate::tools::mcp::{KnownTools, ToolChange, ToolLists};

const VERSION: u64 = 1;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Format {
    version: u64,
    servers: BTreeMap<String, KnownTools>,
}

/// The known tools of every server.
pub(in crate::engine) struct ToolListFile {
    file: VersionedFile,
    known: Mutex<BTreeMap<String, KnownTools>>,
    incoming: mpsc::UnboundedSender<Incoming>,
}

impl std::fmt::Debug for ToolListFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolListFile").field("path", &self.file.path()).finish_non_exhaustive()
    }
}

impl ToolListFile {
    /// Reads the file, if it exists. If it cannot be read, starts with empty lists and never overwrites it.
    pub(in crate::engine) fn load(path: PathBuf, incoming: mpsc::UnboundedSender<Incoming>) -> Self {
        let file = VersionedFile::new(Arc::new(RealDisk), path, VERSION);
        let read = file.load::<Format>().unwrap_or_else(|error| {
            tracing::warn!(%error, "the accepted lists of tools cannot be read");
            None
        });
        Self { file, known: Mutex::new(read.unwrap_or_default().servers), incoming }
    }

    /// Returns the pending changes of the servers in `names`.
    pub(in crate::engine) fn changes(&self, names: &[String]) -> Vec<ToolChange> {
        changes(&self.locked()).into_iter().filter(|change| names.contains(&change.server)).collect()
    }

    /// Applies the user's decision about the list with this hash. Returns true if there is such a list.
    pub(in crate::engine) fn decide(&self, hash: &str, approved: bool) -> Result<bool, StoreError> {
        let mut known = self.locked();
        let mut after = known.clone();
        let found = after.iter_mut().any(|(server, tools)| tools.decide(server, hash, approved));
        if found {
            self.save(&after)?;
            *known = after;
        }
        Ok(found)
    }

    fn locked(&self) -> MutexGuard<'_, BTreeMap<String, KnownTools>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn save(&self, known: &BTreeMap<String, KnownTools>) -> Result<(), StoreError> {
        self.file.save(&Format { version: VERSION, servers: known.clone() })
    }
}

impl ToolLists for ToolListFile {
    fn review(&self, server: &str, entry: &str, offered: Vec<ToolSpec>) -> Vec<ToolSpec> {
        let mut known = self.locked();
        let changed = match known.get_mut(server) {
            Some(tools) if tools.entry == entry => tools.offer(server, offered),
            Some(_) | None => {
                known.insert(server.to_owned(), KnownTools::first(entry, offered));
                true
            }
        };
        if changed {
            if let Err(error) = self.save(&known) {
                // The new list applies until the project is closed. The next start compares with the saved one.
                tracing::warn!(server, %error, "the list of a server's tools could not be saved");
            }
            let _ = self.incoming.send(Incoming::Input(Input::ToolsChanged { changes: changes(&known) }));
        }
        known.get(server).map(|tools| tools.accepted.clone()).unwrap_or_default()
    }
}

fn changes(known: &BTreeMap<String, KnownTools>) -> Vec<ToolChange> {
    known.iter().filter_map(|(server, tools)| tools.change(server)).collect()
}
