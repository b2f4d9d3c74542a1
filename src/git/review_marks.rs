//! Review marks of a task: the tree that the user last reviewed, stored as a commit under `refs/mxd/seen/<task-id>`,
//! with the ids of the seen hunks in its message. One per task; a later review replaces it.

use git2::{Oid, Signature};

use super::error::{Error, blocking};
use super::program::MXD_IDENTITY;
use super::refs;
use super::worktree::Worktrees;
use crate::base::TaskId;

const SEEN: &str = "refs/mxd/seen/";
const HUNK: &str = "Hunk: ";
/// The most hunks stored; the oldest are dropped.
const MAX_HUNKS: usize = 10_000;

impl Worktrees {
    /// Returns the tree that was last reviewed and the seen hunks, or `None` if there was no review.
    pub async fn review_marks(&self, task: TaskId) -> Result<Option<(String, Vec<String>)>, Error> {
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

    /// Stores the reviewed tree and the seen hunks.
    pub async fn save_review_marks(&self, task: TaskId, tree: &str, hunks: Vec<String>) -> Result<(), Error> {
        let (main, tree) = (self.main().clone(), tree.to_owned());
        blocking(move || {
            let repository = main.open()?;
            let failed = Error::read(&main.path);
            let missing = |_| Error::NoCommit(tree.clone());
            let tree = Oid::from_str(&tree).and_then(|id| repository.find_tree(id)).map_err(missing)?;
            let author = Signature::now(MXD_IDENTITY.0, MXD_IDENTITY.1).map_err(&failed)?;
            let mut message = format!("mxd: seen of task {task}\n\n");
            let is_name = |hunk: &&String| hunk.bytes().all(|byte| byte.is_ascii_alphanumeric());
            for hunk in hunks.iter().skip(hunks.len().saturating_sub(MAX_HUNKS)).filter(is_name) {
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
