//! Search over everything: titles, descriptions, results, messages and transcripts of all tasks of a project.
//!
//! Owns one derived file, the index. It is never the truth: it can be deleted at any time, what is damaged, foreign or
//! newer is made anew without a word, and where it cannot be written it is made in memory. Sessions are only read, so
//! that searching works while another process has the project.

mod ask;
mod excerpt;
mod index;
mod refresh;
mod said;
mod words;

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use crate::base::Fault;
use crate::model::search::{Found, Question};
use crate::model::tree::Tree;
use crate::store::{Blobs, Sessions, StoreError};

use index::{Index, Trouble};

/// A search over one project.
#[derive(Clone)]
pub struct Search {
    pub sessions: Sessions,
    pub blobs: Blobs,
    /// Where the index is kept.
    pub index: PathBuf,
    /// A file that everybody who uses the index holds, and that is never removed.
    pub lock: PathBuf,
}

/// Why nothing could be looked for.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the search index cannot be used: {0}")]
    Index(String),
}

impl From<SearchError> for Fault {
    fn from(error: SearchError) -> Self {
        match error {
            SearchError::Store(error) => error.into(),
            SearchError::Index(_) => {
                Self::internal(error.to_string()).hint("the index can be deleted: `mxd search` makes it anew")
            }
        }
    }
}

impl Search {
    /// Brings the index up to date and looks. `tree` is the project's as it is now, if there is one.
    pub fn find(&self, tree: Option<&Tree>, question: &Question) -> Result<Found, SearchError> {
        match self.on_disk(tree, question) {
            Err(Trouble::Damaged(reason)) => {
                tracing::info!(%reason, "the search index is made anew");
                if let Err(error) = self.discard() {
                    tracing::warn!(%error, "the search index cannot be taken away");
                    return self.in_memory(tree, question);
                }
                match self.on_disk(tree, question) {
                    Err(Trouble::Damaged(reason) | Trouble::Unusable(reason)) => {
                        tracing::warn!(%reason, "the search index cannot be made; searching without");
                        self.in_memory(tree, question)
                    }
                    Err(Trouble::Store(error)) => Err(error.into()),
                    Ok(found) => Ok(found),
                }
            }
            Err(Trouble::Unusable(reason)) => {
                tracing::warn!(%reason, "the search index cannot be written; searching without");
                self.in_memory(tree, question)
            }
            Err(Trouble::Store(error)) => Err(error.into()),
            Ok(found) => Ok(found),
        }
    }

    /// Looks with the index that is kept. Whoever uses it holds the lock together with others; a connection never
    /// outlives it, so that the file is only taken away while nobody has it open.
    fn on_disk(&self, tree: Option<&Tree>, question: &Question) -> Result<Found, Trouble> {
        let lock = self.open_lock().map_err(|error| Trouble::Unusable(error.to_string()))?;
        lock.lock_shared().map_err(|error| Trouble::Unusable(error.to_string()))?;
        let mut index = Index::open(&self.index)?;
        self.look(&mut index, tree, question)
    }

    fn in_memory(&self, tree: Option<&Tree>, question: &Question) -> Result<Found, SearchError> {
        let made = Index::in_memory().and_then(|mut index| self.look(&mut index, tree, question));
        made.map_err(|trouble| match trouble {
            Trouble::Store(error) => error.into(),
            Trouble::Damaged(reason) | Trouble::Unusable(reason) => SearchError::Index(reason),
        })
    }

    fn look(&self, index: &mut Index, tree: Option<&Tree>, question: &Question) -> Result<Found, Trouble> {
        refresh::refresh(index, &self.sessions, &self.blobs, tree)?;
        let asked = words::Asked::new(&question.words);
        let places = ask::places(index, tree, question, &asked)?;
        excerpt::found(places, &self.sessions, &self.blobs, tree, question, &asked)
    }

    /// Takes the index away, once nobody uses it.
    fn discard(&self) -> std::io::Result<()> {
        let lock = self.open_lock()?;
        lock.lock()?;
        for ending in ["", "-wal", "-shm", "-journal"] {
            let mut path = self.index.clone().into_os_string();
            path.push(ending);
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    // Somebody put a folder there.
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
