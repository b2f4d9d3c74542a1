//! Prepares a segment from a worktree: the frozen configuration and the work context.
//!
//! Files are read again for each segment, so that after a compaction the agent sees the current memory and guides.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;

use crate::agent::driver::Preparer;
use crate::agent::machine::Prepared;
use crate::agent::prompt::{self, Guide, TaskBrief};
use crate::base::{Clock, IdSource, MessageId};
use crate::git::repo_file;
use crate::model::event::SessionConfig;
use crate::model::message::{Message, MessageSource};
use crate::tools::{Cwd, Registry};

/// The project's memory, relative to the worktree.
const MEMORY: &str = ".mxd/memory.md";
/// Files with instructions for agents. One that repeats another is left out.
const GUIDES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];
/// Maximum number of bytes to read from a guide, in case it is huge or a link to a device.
const READ_BYTES: u64 = 1 << 20;

/// The tools of a segment.
#[derive(Clone)]
pub struct SegmentTools {
    pub registry: Arc<Registry>,
    /// Notes for the agent, for example which tools are missing and why.
    pub notes: Vec<String>,
}

/// Source of the tools of a new segment. A segment keeps its tools until it ends.
pub trait ToolSource: Send + Sync {
    /// Returns the current tools.
    fn open(&self) -> BoxFuture<'_, SegmentTools>;
}

/// Prepares the segments of one task in one worktree.
pub struct WorktreePreparer {
    pub brief: TaskBrief,
    pub worktree: PathBuf,
    /// The configuration of each segment, except its tools and a model that the user chooses later.
    pub config: SessionConfig,
    pub tool_source: Arc<dyn ToolSource>,
    /// Notes to repeat in each segment.
    pub notes: Vec<String>,
    /// The working directory of the agent's shell, which a summary may omit.
    pub cwd: Arc<Cwd>,
    /// The tools of the last segment.
    pub tools: Mutex<Option<SegmentTools>>,
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
    fn last_tools(&self) -> MutexGuard<'_, Option<SegmentTools>> {
        self.tools.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn configure(&self, model: Option<String>) -> SessionConfig {
        let tools = self.tool_source.open().await;
        let mut config = SessionConfig { tools: tools.registry.specs(), ..self.config.clone() };
        config.model = model.unwrap_or(config.model);
        *self.last_tools() = Some(tools);
        config
    }

    async fn work_context(&self) -> Message {
        let worktree = self.worktree.clone();
        let read = tokio::task::spawn_blocking(move || {
            let mut refused = Vec::new();
            let mut guides: Vec<Guide> = Vec::new();
            for guide in GUIDES.iter().filter_map(|name| read_guide(&worktree, name, &mut refused)) {
                if !guides.iter().any(|other| other.text.trim() == guide.text.trim()) {
                    guides.push(guide);
                }
            }
            (read_guide(&worktree, MEMORY, &mut refused), guides, refused)
        });
        let (memory, guides, refused) = read.await.unwrap_or_default();
        let mut body = prompt::work_context(&self.brief, memory.as_ref(), &guides);
        let tool_notes = self.last_tools().as_ref().map(|tools| tools.notes.clone()).unwrap_or_default();
        for note in self.notes.iter().chain(&refused).chain(&tool_notes).chain(&self.cwd.notice()) {
            body.push_str("\n\n");
            body.push_str(note);
        }
        Message::new(MessageId::fresh(&self.ids), self.clock.now(), MessageSource::WorkContext, body)
    }
}

/// Reads a guide from the worktree. Returns `None` if it does not exist, is blank or cannot be read; read errors are
/// added to `refused`.
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
#[path = "segment_tests.rs"]
mod tests;
