//! What a segment starts with, made from a worktree: the frozen configuration and the work context.
//!
//! Read anew at every segment, so that after a compaction an agent sees the memory and the guides as they are now.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::future::BoxFuture;

use crate::agent::driver::Preparer;
use crate::agent::machine::Prepared;
use crate::agent::prompt::{self, Card, Guide};
use crate::base::{Clock, IdSource, MessageId};
use crate::model::event::SessionConfig;
use crate::model::message::{Message, Source};

/// What the project has learnt, from the top of a worktree.
const MEMORY: &str = ".mxd/memory.md";
/// The guides that repositories keep for agents. The first that exists is read; the others usually repeat it.
const GUIDES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];
/// No guide is read further than this: a link to a device or a huge file must not fill the memory.
const READ_BYTES: u64 = 1 << 20;

/// Makes segments for one task in one worktree.
pub struct WorktreePreparer {
    pub card: Card,
    pub worktree: PathBuf,
    /// What every segment's configuration is, but for the model the person may choose meanwhile.
    pub config: SessionConfig,
    /// Something that has to be said once more with each segment: which tools are missing, and why.
    pub notes: Vec<String>,
    pub ids: IdSource,
    pub clock: Arc<dyn Clock>,
}

impl Preparer for WorktreePreparer {
    fn prepare(&self, config: bool, context: bool, model: Option<String>) -> BoxFuture<'_, Prepared> {
        Box::pin(async move {
            let config = config.then(|| {
                let mut config = self.config.clone();
                config.model = model.unwrap_or(config.model);
                config
            });
            let work_context = if context { Some(self.work_context().await) } else { None };
            Prepared { config, work_context }
        })
    }
}

impl WorktreePreparer {
    async fn work_context(&self) -> Message {
        let worktree = self.worktree.clone();
        let read = tokio::task::spawn_blocking(move || {
            let guide = GUIDES.iter().find_map(|name| read_guide(&worktree, name));
            (read_guide(&worktree, MEMORY), guide)
        });
        let (memory, guide) = read.await.unwrap_or_default();
        let mut body = prompt::work_context(&self.card, memory.as_ref(), guide.as_slice());
        for note in &self.notes {
            body.push_str("\n\n");
            body.push_str(note);
        }
        Message {
            id: MessageId::fresh(&self.ids),
            from: Source::WorkContext,
            body,
            images: Vec::new(),
            at: self.clock.now(),
        }
    }
}

/// Returns a text of the worktree. What cannot be read as text is passed over: it is no guide.
fn read_guide(worktree: &Path, name: &str) -> Option<Guide> {
    // A link must not lead the model to a file that the repository does not have.
    let path = std::fs::canonicalize(worktree.join(name)).ok()?;
    if !path.starts_with(std::fs::canonicalize(worktree).ok()?) {
        return None;
    }
    let file = std::fs::File::open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(READ_BYTES).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    (!text.trim().is_empty()).then(|| Guide { name: name.to_owned(), text })
}

#[cfg(test)]
#[path = "prepare_tests.rs"]
mod tests;
