//! Full-text search over titles, descriptions, results, messages and transcripts of all tasks of a project.
//!
//! Owns one derived file, the index. It can be deleted at any time: a damaged, foreign or newer index is silently
//! rebuilt, and where it cannot be written the search uses an index in memory. Sessions are only read, so searching
//! works while another process owns the project.

mod excerpt;
mod extract;
mod index;
mod query;
mod refresh;
mod tokenize;

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use crate::base::Fault;
use crate::model::search::{SearchQuery, SearchResults};
use crate::model::tree::Tree;
use crate::store::{Blobs, Sessions, StoreError};

use index::{Index, IndexError};

#[derive(Clone)]
pub struct Search {
    pub sessions: Sessions,
    pub blobs: Blobs,
    /// The file of the index.
    pub index: PathBuf,
    /// A lock file held by every user of the index. It is never removed.
    pub lock: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("Cannot use the search index: {0}")]
    Index(String),
}

impl From<SearchError> for Fault {
    fn from(error: SearchError) -> Self {
        match error {
            SearchError::Store(error) => error.into(),
            SearchError::Index(_) => {
                Self::internal(error.to_string()).hint("delete the index; `mxd search` rebuilds it")
            }
        }
    }
}

impl Search {
    /// Updates the index and searches it. `tree` is the current tree of the project, if there is one.
    pub fn find(&self, tree: Option<&Tree>, query: &SearchQuery) -> Result<SearchResults, SearchError> {
        match self.on_disk(tree, query) {
            Err(IndexError::Damaged(reason)) => {
                tracing::info!(%reason, "rebuilding the search index");
                if let Err(error) = self.discard() {
                    tracing::warn!(%error, "cannot remove the search index");
                    return self.in_memory(tree, query);
                }
                match self.on_disk(tree, query) {
                    Err(IndexError::Damaged(reason) | IndexError::Unusable(reason)) => {
                        tracing::warn!(%reason, "cannot create the search index; searching in memory");
                        self.in_memory(tree, query)
                    }
                    Err(IndexError::Store(error)) => Err(error.into()),
                    Ok(found) => Ok(found),
                }
            }
            Err(IndexError::Unusable(reason)) => {
                tracing::warn!(%reason, "cannot write the search index; searching in memory");
                self.in_memory(tree, query)
            }
            Err(IndexError::Store(error)) => Err(error.into()),
            Ok(found) => Ok(found),
        }
    }

    /// Searches with the index on disk under a shared lock. A connection never outlives the lock, so that the file is
    /// removed only while no process has it open.
    fn on_disk(&self, tree: Option<&Tree>, query: &SearchQuery) -> Result<SearchResults, IndexError> {
        let lock = self.open_lock().map_err(|error| IndexError::Unusable(error.to_string()))?;
        lock.lock_shared().map_err(|error| IndexError::Unusable(error.to_string()))?;
        let mut index = Index::open(&self.index)?;
        self.search(&mut index, tree, query)
    }

    fn in_memory(&self, tree: Option<&Tree>, query: &SearchQuery) -> Result<SearchResults, SearchError> {
        let made = Index::in_memory().and_then(|mut index| self.search(&mut index, tree, query));
        made.map_err(|trouble| match trouble {
            IndexError::Store(error) => error.into(),
            IndexError::Damaged(reason) | IndexError::Unusable(reason) => SearchError::Index(reason),
        })
    }

    fn search(&self, index: &mut Index, tree: Option<&Tree>, query: &SearchQuery) -> Result<SearchResults, IndexError> {
        refresh::refresh(index, &self.sessions, &self.blobs, tree)?;
        let parsed = tokenize::ParsedQuery::new(&query.words);
        let places = query::hit_locations(index, tree, query, &parsed)?;
        excerpt::read_hits(places, &self.sessions, &self.blobs, tree, query, &parsed)
    }

    /// Removes the index under an exclusive lock.
    fn discard(&self) -> std::io::Result<()> {
        let lock = self.open_lock()?;
        lock.lock()?;
        for ending in ["", "-wal", "-shm", "-journal"] {
            let mut path = self.index.clone().into_os_string();
            path.push(ending);
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    // There is a directory in place of the file.
                    std::fs::remove_dir_all(&path).map_err(|_| error)?;
                }
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }

    fn open_lock(&self) -> std::io::Result<File> {
        OpenOptions::new().create(true).write(true).truncate(false).mode(0o600).open(&self.lock)
    }
}

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
