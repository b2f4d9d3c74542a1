//! Reads a task's work: diffs, turns, and previews of merges and rewinds. Changes nothing visible, needs no engine,
//! and runs outside of the machine's task.

mod edits;
mod history;
mod previews;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use history::{History, RewindPoint};

use tokio::sync::OnceCell;

use crate::base::{Fault, TaskId, TurnId};
use crate::engine::review::{CheckResult, DiffRange, DiffRequest, ReviewMarks, TaskDiff, TurnView};
use crate::git::diff::{self, DiffEndpoint, DiffSettings};
use crate::git::{Checkout, Error, Worktrees};
use crate::model::{Project, Tree};
use crate::store::{Sessions, StoreError};

/// Where a task works and which branches its work goes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskLocation {
    pub task: TaskId,
    /// `None` if the worktree is archived or not created yet. The root's is the user's checkout.
    pub worktree: Option<PathBuf>,
    pub branch: Option<String>,
    /// The parent task's branch, or the project's base branch.
    pub parent_branch: String,
    pub base: String,
    pub is_root: bool,
    /// The verify command.
    pub verify: Option<String>,
    pub receipt: Option<CheckResult>,
}

/// Reads the work of a project's tasks.
#[derive(Clone)]
pub struct WorkReader {
    pub(in crate::engine) worktrees: Worktrees,
    pub(in crate::engine) sessions: Sessions,
    /// Whether file states may be saved like snapshots. Only the process that holds the project may.
    may_capture: bool,
}

impl TaskLocation {
    /// Returns the location of a task. `verify` is the project's verify command.
    pub fn of(
        tree: &Tree,
        task: TaskId,
        project: &Project,
        verify: Option<&str>,
        receipt: Option<CheckResult>,
    ) -> Option<Self> {
        let (node, base, is_root) = (tree.get(task)?, project.base_branch.clone(), task == tree.root_id());
        let parent_branch = tree.ancestors(task).find_map(|ancestor| ancestor.branch.clone());
        Some(Self {
            task,
            worktree: if is_root { Some(project.path.clone()) } else { node.worktree.clone() },
            branch: if is_root { Some(base.clone()) } else { node.branch.clone() },
            parent_branch: parent_branch.unwrap_or_else(|| base.clone()),
            base,
            is_root,
            verify: node.verify.clone().or_else(|| verify.map(str::to_owned)),
            receipt,
        })
    }
}

/// A [`WorkReader`] that may be opened on first use. Sessions can be read without git, so the repository is opened
/// only for queries that need it.
#[derive(Clone)]
pub enum LazyReader {
    Open(Arc<WorkReader>),
    OnDemand(Arc<OnDemandReader>),
}

/// Opens a reader on first use. It may read while another process has the project open.
pub struct OnDemandReader {
    project: PathBuf,
    worktrees: PathBuf,
    sessions: Sessions,
    reader: OnceCell<WorkReader>,
}

impl LazyReader {
    pub(in crate::engine) fn on_demand(project: &Path, worktrees: &Path, sessions: &Sessions) -> Self {
        let (project, worktrees, sessions) = (project.to_owned(), worktrees.to_owned(), sessions.clone());
        Self::OnDemand(Arc::new(OnDemandReader { project, worktrees, sessions, reader: OnceCell::new() }))
    }

    pub(in crate::engine) async fn get(&self) -> Result<&WorkReader, Fault> {
        match self {
            Self::Open(reader) => Ok(reader),
            Self::OnDemand(this) => {
                let open = || async {
                    let worktrees = Worktrees::open(&this.project, &this.worktrees, None).await?;
                    Ok(WorkReader { worktrees, sessions: this.sessions.clone(), may_capture: false })
                };
                this.reader.get_or_try_init(open).await
            }
        }
    }
}

/// The two sides of a diff.
struct DiffEnds {
    checkout: Checkout,
    old: DiffEndpoint,
    new: DiffEndpoint,
    /// The display names of the sides.
    names: (String, String),
    /// The tree of the new side.
    state: Option<String>,
}

impl From<DiffRequest> for DiffSettings {
    fn from(request: DiffRequest) -> Self {
        Self { whitespace: request.whitespace, context: request.context, only: request.only, ..Self::default() }
    }
}

impl WorkReader {
    /// Returns the reader of the process that has the project open.
    pub(in crate::engine) fn new(worktrees: Worktrees, sessions: Sessions) -> Self {
        Self { worktrees, sessions, may_capture: true }
    }

    /// Returns the turns of the conversation, oldest first.
    pub async fn turns(&self, task: TaskId) -> Result<Vec<TurnView>, Fault> {
        Ok(self.history(task).await?.turns)
    }

    pub async fn history(&self, task: TaskId) -> Result<History, Fault> {
        let sessions = self.sessions.clone();
        let read = tokio::task::spawn_blocking(move || History::read(&sessions, task));
        Ok(read.await.unwrap_or(Err(StoreError::Closed))?)
    }

    pub async fn diff(&self, location: &TaskLocation, request: DiffRequest) -> Result<TaskDiff, Fault> {
        let DiffEnds { checkout, old, new, names, state } = self.ends(location, request.range).await?;
        let range = request.range;
        let diff = diff::between(&checkout, &old, &new, &request.into()).await.map_err(snapshot_gone)?;
        Ok(TaskDiff { task: location.task, range, old: names.0, new: names.1, diff, state })
    }

    /// Returns a diff as a complete patch, byte for byte.
    pub async fn patch(&self, location: &TaskLocation, request: DiffRequest) -> Result<Vec<u8>, Fault> {
        let DiffEnds { checkout, old, new, .. } = self.ends(location, request.range).await?;
        diff::patch(&checkout, &old, &new, &request.into()).await.map_err(snapshot_gone)
    }

    async fn ends(&self, location: &TaskLocation, range: DiffRange) -> Result<DiffEnds, Fault> {
        let (checkout, now) = self.checkout_and_state(location).await?;
        let state = match (&location.worktree, &now) {
            // Save the state before the diff is made, so that nothing counts as reviewed that was not shown.
            (Some(path), DiffEndpoint::Worktree) if self.may_capture => self.worktrees.state(path).await.ok(),
            (_, _) => None,
        };
        let (old, new, names) = match range {
            DiffRange::Base => {
                let from = match &now {
                    DiffEndpoint::Worktree => diff::fork_point(&checkout, None, &location.parent_branch).await?,
                    DiffEndpoint::Commit(_) | DiffEndpoint::Tree(_) | DiffEndpoint::Empty => {
                        diff::fork_point(&checkout, location.branch.as_deref(), &location.parent_branch).await?
                    }
                };
                (DiffEndpoint::Commit(from), now, (location.parent_branch.clone(), "now".to_owned()))
            }
            DiffRange::Turn { turn } => {
                let history = self.history(location.task).await?;
                let (before, after) = history.states_around(turn)?;
                (tree(before), tree(after), ("before".to_owned(), format!("turn {}", history.number(turn)?)))
            }
            DiffRange::Edit { turn, number } => {
                let (before, after) = self.states_around_edit(location, &checkout, turn, number).await?;
                let turn = self.history(location.task).await?.number(turn)?;
                (tree(before), tree(after), ("before".to_owned(), format!("edit {number} of turn {turn}")))
            }
            DiffRange::Between { from, to } => {
                let history = self.history(location.task).await?;
                let names = (format!("turn {}", history.number(from)?), format!("turn {}", history.number(to)?));
                (tree(history.state_after(Some(from))?), tree(history.state_after(Some(to))?), names)
            }
            DiffRange::Since { turn } => {
                let history = self.history(location.task).await?;
                let name = format!("turn {}", history.number(turn)?);
                (tree(history.state_after(Some(turn))?), self.as_tree(&checkout, now).await?, (name, "now".to_owned()))
            }
            DiffRange::Conversation => {
                let history = self.history(location.task).await?;
                // Only the newest snapshots are kept.
                let kept = self.worktrees.snapshots(location.task).await?;
                let is_kept = |state: &String| kept.iter().any(|snapshot| snapshot.tree == *state);
                let Some(start) = history.states().find(is_kept) else {
                    return Err(Fault::user("nothing to compare yet: the conversation has no turn"));
                };
                (tree(start), self.as_tree(&checkout, now).await?, ("start".to_owned(), "now".to_owned()))
            }
            DiffRange::SinceReview => match self.seen(location.task).await?.state {
                Some(seen) => {
                    let now = self.as_tree(&checkout, now).await?;
                    (DiffEndpoint::Tree(seen), now, ("your last review".to_owned(), "now".to_owned()))
                }
                None => {
                    let from = diff::fork_point(&checkout, location.branch.as_deref(), &location.parent_branch).await?;
                    (DiffEndpoint::Commit(from), now, (location.parent_branch.clone(), "now".to_owned()))
                }
            },
        };
        Ok(DiffEnds { checkout, old, new, names, state })
    }

    /// Returns what the user has reviewed of a task's work.
    pub async fn seen(&self, task: TaskId) -> Result<ReviewMarks, Fault> {
        let found = self.worktrees.review_marks(task).await?;
        Ok(found.map_or_else(ReviewMarks::default, |(state, hunks)| ReviewMarks { state: Some(state), hunks }))
    }

    /// Saves what the user has reviewed of a task's work.
    pub async fn mark_seen(&self, task: TaskId, seen: ReviewMarks) -> Result<(), Fault> {
        let Some(state) = seen.state else { return Err(Fault::user("nothing to mark as reviewed")) };
        Ok(self.worktrees.save_review_marks(task, &state, seen.hunks).await?)
    }

    /// Returns the checkout of a task, and the endpoint that stands for its current state.
    async fn checkout_and_state(&self, location: &TaskLocation) -> Result<(Checkout, DiffEndpoint), Fault> {
        if let Some(path) = location.worktree.as_ref().filter(|path| path.is_dir()) {
            return Ok((self.worktrees.checkout(path).await?, DiffEndpoint::Worktree));
        }
        match &location.branch {
            Some(branch) => Ok((self.worktrees.main().clone(), DiffEndpoint::Commit(branch.clone()))),
            None => Err(Fault::user("nothing to compare yet: the task gets its branch when it starts")),
        }
    }

    /// Returns the current state as a tree, like snapshots: with the bytes as they are on disk.
    async fn as_tree(&self, checkout: &Checkout, now: DiffEndpoint) -> Result<DiffEndpoint, Fault> {
        match now {
            DiffEndpoint::Worktree if self.may_capture => {
                Ok(DiffEndpoint::Tree(self.worktrees.state(&checkout.path).await?))
            }
            DiffEndpoint::Worktree => Ok(DiffEndpoint::Tree(self.worktrees.state_read_only(&checkout.path).await?)),
            DiffEndpoint::Commit(_) | DiffEndpoint::Tree(_) | DiffEndpoint::Empty => Ok(now),
        }
    }
}

fn tree(state: String) -> DiffEndpoint {
    DiffEndpoint::Tree(state)
}

/// Explains that a missing tree is a pruned snapshot.
fn snapshot_gone(error: Error) -> Fault {
    match error {
        Error::NoCommit(_) => Fault::user("the snapshot of that turn was pruned")
            .hint("the last 100 snapshots of a task are kept; choose a later turn"),
        error => error.into(),
    }
}

/// Returns the error for a turn that the conversation does not have.
fn no_turn(turn: TurnId) -> Fault {
    Fault::user(format!("there is no turn {turn} in this conversation"))
        .hint("`mxd rewind TASK --list` lists the turns")
}
