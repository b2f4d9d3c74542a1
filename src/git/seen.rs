//! What the person has seen of a task's work: the state that was looked at, kept as a commit of ours under
//! `refs/mxd/seen/<task-id>`, with the names of the hunks in its message. One per task; the next look replaces it.

use git2::{Oid, Signature};

use super::error::{Error, blocking};
use super::program::OURSELVES;
use super::refs;
use super::worktree::Worktrees;
use crate::base::TaskId;

const SEEN: &str = "refs/mxd/seen/";
const HUNK: &str = "Hunk: ";
/// How many hunks are remembered, the latest first to stay.
const MOST: usize = 10_000;

impl Worktrees {
    /// Returns the state that was last looked at, and the hunks.
    pub async fn seen(&self, task: TaskId) -> Result<Option<(String, Vec<String>)>, Error> {
        let main = self.main().clone();
        blocking(move || {
            let repository = main.open()?;
            let Some(id) = refs::target(&repository, &format!("{SEEN}{task}"))? else { return Ok(None) };
            let commit = repository.find_commit(id).map_err(Error::read(&main.path))?;
            let message = String::from_utf8_lossy(commit.message_raw_bytes()).into_owned();
            let hunks = message.lines().filter_map(|line| line.strip_prefix(HUNK)).map(str::to_owned).collect();
            Ok(Some((commit.tree_id().to_string(), hunks)))
        })
        .await
    }

    /// Remembers what was looked at.
    pub async fn note_seen(&self, task: TaskId, tree: &str, hunks: Vec<String>) -> Result<(), Error> {
        let (main, tree) = (self.main().clone(), tree.to_owned());
        blocking(move || {
            let repository = main.open()?;
            let failed = Error::read(&main.path);
            let missing = |_| Error::NoCommit(tree.clone());
            let tree = Oid::from_str(&tree).and_then(|id| repository.find_tree(id)).map_err(missing)?;
            let author = Signature::now(OURSELVES.0, OURSELVES.1).map_err(&failed)?;
            let mut message = format!("mxd: seen of task {task}\n\n");
            let is_name = |hunk: &&String| hunk.bytes().all(|byte| byte.is_ascii_alphanumeric());
            for hunk in hunks.iter().skip(hunks.len().saturating_sub(MOST)).filter(is_name) {
                message.push_str(HUNK);
                message.push_str(hunk);
                message.push('\n');
            }
            let commit = repository.commit(None, &author, &author, &message, &tree, &[]).map_err(&failed)?;
            let name = format!("{SEEN}{task}");
            refs::swap(&repository, &name, refs::target(&repository, &name)?, commit, "mxd: seen")
        })
        .await
    }
}
