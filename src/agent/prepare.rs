//! What a segment starts with, made from a worktree: the frozen configuration and the work context.
//!
//! Read anew at every segment, so that after a compaction an agent sees the memory and the guides as they are now.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;

use crate::agent::driver::Preparer;
use crate::agent::machine::Prepared;
use crate::agent::prompt::{self, Card, Guide};
use crate::base::{Clock, IdSource, MessageId};
use crate::git::repo_file;
use crate::model::event::SessionConfig;
use crate::model::message::{Message, Source};
use crate::tools::{Cwd, Registry};

/// What the project has learnt, from the top of a worktree.
const MEMORY: &str = ".mxd/memory.md";
/// The guides that repositories keep for agents. The first that exists is read; the others usually repeat it.
const GUIDES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];
/// No guide is read further than this: a link to a device or a huge file must not fill the memory.
const READ_BYTES: u64 = 1 << 20;

/// The tools of a segment.
#[derive(Clone)]
pub struct Tools {
    pub registry: Arc<Registry>,
    /// What the agent should know about them: which are missing, and why.
    pub notes: Vec<String>,
}

/// Where the tools of a new segment come from. A segment that has begun keeps those it was promised.
pub trait Toolbox: Send + Sync {
    /// Returns the tools as they are now.
    fn open(&self) -> BoxFuture<'_, Tools>;
}

/// Makes segments for one task in one worktree.
pub struct WorktreePreparer {
    pub card: Card,
    pub worktree: PathBuf,
    /// What every segment's configuration is, but for the tools, and for the model the person may choose meanwhile.
    pub config: SessionConfig,
    pub toolbox: Arc<dyn Toolbox>,
    /// Something that has to be said once more with each segment.
    pub notes: Vec<String>,
    /// Where the agent's shell stands, which a summary may not say.
    pub cwd: Arc<Cwd>,
    /// The tools of the last segment that was made here.
    pub tools: Mutex<Option<Tools>>,
    pub ids: IdSource,
    pub clock: Arc<dyn Clock>,
}

impl Preparer for WorktreePreparer {
    fn prepare(&self, config: bool, context: bool, model: Option<String>) -> BoxFuture<'_, Prepared> {
        Box::pin(async move {
            let config = if config { Some(self.configure(model).await) } else { None };
            let work_context = if context { Some(self.work_context().await) } else { None };
            Prepared { config, work_context }
        })
    }

    fn tools(&self) -> Option<Arc<Registry>> {
        self.last_tools().as_ref().map(|tools| Arc::clone(&tools.registry))
    }
}

impl WorktreePreparer {
    fn last_tools(&self) -> MutexGuard<'_, Option<Tools>> {
        self.tools.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn configure(&self, model: Option<String>) -> SessionConfig {
        let tools = self.toolbox.open().await;
        let mut config = SessionConfig { tools: tools.registry.specs(), ..self.config.clone() };
        config.model = model.unwrap_or(config.model);
        *self.last_tools() = Some(tools);
        config
    }

    async fn work_context(&self) -> Message {
        let worktree = self.worktree.clone();
        let read = tokio::task::spawn_blocking(move || {
            let mut refused = Vec::new();
            let guide = GUIDES.iter().find_map(|name| read_guide(&worktree, name, &mut refused));
            (read_guide(&worktree, MEMORY, &mut refused), guide, refused)
        });
        let (memory, guide, refused) = read.await.unwrap_or_default();
        let mut body = prompt::work_context(&self.card, memory.as_ref(), guide.as_slice());
        let of_tools = self.last_tools().as_ref().map(|tools| tools.notes.clone()).unwrap_or_default();
        for note in self.notes.iter().chain(&refused).chain(&of_tools).chain(&self.cwd.notice()) {
            body.push_str("\n\n");
            body.push_str(note);
        }
        Message::new(MessageId::fresh(&self.ids), self.clock.now(), Source::WorkContext, body)
    }
}

/// Returns a text of the worktree. One that is refused is reported in `refused` and passed over.
fn read_guide(worktree: &Path, name: &str, refused: &mut Vec<String>) -> Option<Guide> {
    let bytes = match repo_file::read_start(worktree, Path::new(name), READ_BYTES) {
        Ok(bytes) => bytes?,
        Err(error) => {
            refused.push(format!("[{error}]"));
            return None;
        }
    };
    let text = String::from_utf8_lossy(&bytes).into_owned();
    (!text.trim().is_empty()).then(|| Guide { name: name.to_owned(), text })
}

#[cfg(test)]
#[path = "prepare_tests.rs"]
mod tests;
