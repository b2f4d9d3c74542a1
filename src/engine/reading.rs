//! Reading a task's work: differences, turns, what a merge or a rewind would do. Changes nothing that anybody works with,
//! needs no engine, and runs off the machine's thread.

mod edits;
mod history;
mod previews;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use history::{History, Moment};

use tokio::sync::OnceCell;

use crate::base::{Fault, TaskId, TurnId};
use crate::engine::review::{DiffWish, Range, Receipt, Seen, TaskDiff, TurnView};
use crate::git::diff::{self, End, Wish};
use crate::git::{Checkout, Error, Worktrees};
use crate::model::{Project, Tree};
use crate::store::{Sessions, StoreError};

/// Where a task works and where its work goes, as the tree has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    pub task: TaskId,
    /// Nothing: it is put away, or has not begun. The root's is the person's own checkout.
    pub worktree: Option<PathBuf>,
    pub branch: Option<String>,
    /// The branch of the task above, or the project's base.
    pub above: String,
    /// The project's base branch.
    pub base: String,
    pub is_root: bool,
    /// What checks its work.
    pub verify: Option<String>,
    pub receipt: Option<Receipt>,
}

/// Reads the work of a project's tasks.
#[derive(Clone)]
pub struct Reader {
    pub(in crate::engine) worktrees: Worktrees,
    pub(in crate::engine) sessions: Sessions,
    /// Whether states of files may be taken where snapshots are: only one process may.
    captures: bool,
}

impl Spot {
    /// Returns where a task works, as a tree has it. `verify`: what checks the project's work.
    pub fn of(
        tree: &Tree,
        task: TaskId,
        project: &Project,
        verify: Option<&str>,
        receipt: Option<Receipt>,
    ) -> Option<Self> {
        let (node, base, is_root) = (tree.get(task)?, project.base_branch.clone(), task == tree.root_id());
        let above = tree.ancestors(task).find_map(|above| above.branch.clone());
        Some(Self {
            task,
            worktree: if is_root { Some(project.path.clone()) } else { node.worktree.clone() },
            branch: if is_root { Some(base.clone()) } else { node.branch.clone() },
            above: above.unwrap_or_else(|| base.clone()),
            base,
            is_root,
            verify: node.verify.clone().or_else(|| verify.map(str::to_owned)),
            receipt,
        })
    }
}

/// A [`Reader`], or what it takes to have one: sessions can be read where git cannot be used, so the repository is only opened
/// for a query that needs it.
#[derive(Clone)]
pub enum LazyReader {
    Open(Arc<Reader>),
    OnDemand(Arc<OnDemand>),
}

/// A reader that may look while another process works, once somebody needs it.
pub struct OnDemand {
    project: PathBuf,
    worktrees: PathBuf,
    sessions: Sessions,
    reader: OnceCell<Reader>,
}

impl LazyReader {
    pub(in crate::engine) fn on_demand(project: &Path, worktrees: &Path, sessions: &Sessions) -> Self {
        let (project, worktrees, sessions) = (project.to_owned(), worktrees.to_owned(), sessions.clone());
        Self::OnDemand(Arc::new(OnDemand { project, worktrees, sessions, reader: OnceCell::new() }))
    }

    pub(in crate::engine) async fn get(&self) -> Result<&Reader, Fault> {
        match self {
            Self::Open(reader) => Ok(reader),
            Self::OnDemand(this) => {
                let open = || async {
                    let worktrees = Worktrees::open(&this.project, &this.worktrees, None).await?;
                    Ok(Reader { worktrees, sessions: this.sessions.clone(), captures: false })
                };
                this.reader.get_or_try_init(open).await
            }
        }
    }
}

/// What a range stands for.
struct Ends {
    checkout: Checkout,
    old: End,
    new: End,
    /// What the two are called.
    names: (String, String),
    /// The state of the files on the new side.
    state: Option<String>,
}

impl From<DiffWish> for Wish {
    fn from(wish: DiffWish) -> Self {
        Self { whitespace: wish.whitespace, context: wish.context, only: wish.only, ..Self::default() }
    }
}

impl Reader {
    /// A reader in the process that has the project.
    pub(in crate::engine) fn new(worktrees: Worktrees, sessions: Sessions) -> Self {
        Self { worktrees, sessions, captures: true }
    }

    /// Returns the turns of a task's conversation, oldest first.
    pub async fn turns(&self, task: TaskId) -> Result<Vec<TurnView>, Fault> {
        Ok(self.history(task).await?.turns)
    }

    pub async fn history(&self, task: TaskId) -> Result<History, Fault> {
        let sessions = self.sessions.clone();
        let read = tokio::task::spawn_blocking(move || History::read(&sessions, task));
        Ok(read.await.unwrap_or(Err(StoreError::Closed))?)
    }

    pub async fn diff(&self, spot: &Spot, wish: DiffWish) -> Result<TaskDiff, Fault> {
        let Ends { checkout, old, new, names, state } = self.ends(spot, wish.range).await?;
        let range = wish.range;
        let made = diff::between(&checkout, &old, &new, &wish.into()).await.map_err(not_kept)?;
        Ok(TaskDiff { task: spot.task, range, old: names.0, new: names.1, diff: made, state })
    }

    /// Returns a difference as a patch, whole and with every byte as it is.
    pub async fn patch(&self, spot: &Spot, wish: DiffWish) -> Result<Vec<u8>, Fault> {
        let Ends { checkout, old, new, .. } = self.ends(spot, wish.range).await?;
        diff::patch(&checkout, &old, &new, &wish.into()).await.map_err(not_kept)
    }

    async fn ends(&self, spot: &Spot, range: Range) -> Result<Ends, Fault> {
        let (checkout, now) = self.place(spot).await?;
        let state = match (&spot.worktree, &now) {
            // What was looked at is kept as it was before it was looked at: nothing counts as seen that was not there.
            (Some(path), End::Worktree) if self.captures => self.worktrees.state(path).await.ok(),
            (_, _) => None,
        };
        let (old, new, names) = match range {
            Range::Base => {
                let from = match &now {
                    End::Worktree => diff::left(&checkout, None, &spot.above).await?,
                    End::Commit(_) | End::Tree(_) | End::Empty => {
                        diff::left(&checkout, spot.branch.as_deref(), &spot.above).await?
                    }
                };
                (End::Commit(from), now, (spot.above.clone(), "now".to_owned()))
            }
            Range::Turn { turn } => {
                let history = self.history(spot.task).await?;
                let (before, after) = history.around(turn)?;
                (tree(before), tree(after), ("before".to_owned(), format!("turn {}", history.number(turn)?)))
            }
            Range::Edit { turn, number } => {
                let (before, after) = self.around_edit(spot, &checkout, turn, number).await?;
                let turn = self.history(spot.task).await?.number(turn)?;
                (tree(before), tree(after), ("before".to_owned(), format!("edit {number} of turn {turn}")))
            }
            Range::Between { from, to } => {
                let history = self.history(spot.task).await?;
                let names = (format!("turn {}", history.number(from)?), format!("turn {}", history.number(to)?));
                (tree(history.state_after(Some(from))?), tree(history.state_after(Some(to))?), names)
            }
            Range::Since { turn } => {
                let history = self.history(spot.task).await?;
                let name = format!("turn {}", history.number(turn)?);
                (tree(history.state_after(Some(turn))?), self.as_kept(&checkout, now).await?, (name, "now".to_owned()))
            }
            Range::Look => match self.seen(spot.task).await?.state {
                Some(seen) => {
                    let now = self.as_kept(&checkout, now).await?;
                    (End::Tree(seen), now, ("your last look".to_owned(), "now".to_owned()))
                }
                None => {
                    let from = diff::left(&checkout, spot.branch.as_deref(), &spot.above).await?;
                    (End::Commit(from), now, (spot.above.clone(), "now".to_owned()))
                }
            },
        };
        Ok(Ends { checkout, old, new, names, state })
    }

    /// Returns what the person has seen of a task's work.
    pub async fn seen(&self, task: TaskId) -> Result<Seen, Fault> {
        let found = self.worktrees.seen(task).await?;
        Ok(found.map_or_else(Seen::default, |(state, hunks)| Seen { state: Some(state), hunks }))
    }

    /// Remembers what the person has seen of a task's work.
    pub async fn mark_seen(&self, task: TaskId, seen: Seen) -> Result<(), Fault> {
        let Some(state) = seen.state else { return Err(Fault::user("nothing was looked at that could be remembered")) };
        Ok(self.worktrees.note_seen(task, &state, seen.hunks).await?)
    }

    /// Returns where a task's files are to be looked at, and what of it is its present state.
    async fn place(&self, spot: &Spot) -> Result<(Checkout, End), Fault> {
        if let Some(path) = spot.worktree.as_ref().filter(|path| path.is_dir()) {
            return Ok((self.worktrees.checkout(path).await?, End::Worktree));
        }
        match &spot.branch {
            Some(branch) => Ok((self.worktrees.main().clone(), End::Commit(branch.clone()))),
            None => Err(Fault::user("nothing to compare yet: the task gets its branch when it begins")),
        }
    }

    /// Returns the present state in the form that snapshots have: with the bytes as they lie on the disk.
    async fn as_kept(&self, checkout: &Checkout, now: End) -> Result<End, Fault> {
        match now {
            End::Worktree if self.captures => Ok(End::Tree(self.worktrees.state(&checkout.path).await?)),
            End::Worktree => Ok(End::Tree(self.worktrees.state_aside(&checkout.path).await?)),
            End::Commit(_) | End::Tree(_) | End::Empty => Ok(now),
        }
    }
}

fn tree(state: String) -> End {
    End::Tree(state)
}

/// Says of a tree that is gone what that means.
fn not_kept(error: Error) -> Fault {
    match error {
        Error::NoCommit(_) => Fault::user("the files of that turn are no longer kept")
            .hint("the last 100 states of a task are kept; choose a later turn"),
        error => error.into(),
    }
}

/// Returns the fault for a turn that a conversation does not have.
fn no_turn(turn: TurnId) -> Fault {
    Fault::user(format!("there is no turn {turn} in this conversation"))
        .hint("`mxd rewind TASK --list` lists the turns")
}
