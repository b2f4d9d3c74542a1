//! Git, as far as Matrix needs it. The only room that knows what a repository looks like.
//!
//! Reading goes through libgit2; the `git` program runs where its behaviour is the contract, through one module. Of tasks
//! this room knows their ids and nothing else. The doors:
//!
//! - [`place::Place`]: which repository a folder is in, and its base branch; [`commit::only`]: a commit in the person's name.
//! - [`branch`]: what a task's branch and worktree are called.
//! - [`Worktrees`]: `open`, `create`, `remove`, `restore`, `stray`, `tidy`, `empty_trash`, `unlock_index`, `checkout`.
//! - [`status`]: `dirty`, `diffstat`, `drift` of a [`Checkout`].
//! - [`include::copy`]: ignored files that a new worktree gets.
//! - [`Worktrees`] again: `take_snapshot`, `snapshots`, `put_back`, `prune_snapshots` (see [`snapshot`]), and `preview`,
//!   `land`, `undo_landing`, `recover_landings` (see [`merge`]); `break_locks`, what a killed process left on refs.
//!   `mend_torn`: what a loss of power left half written (see [`torn`]).
//! - [`diff`]: `between`, `since_base`; [`radar::Radar`]: which live branches would conflict.
//! - [`health`]: whether git is new enough, knows the person, and is not locked.
//! - [`repo_file`]: reads and creates files of a repository that Matrix itself uses, links and devices refused.
//! - [`hooks::folders`]: where git would find hooks among the files of a checkout.
//! - [`AgentGit`]: git in the environment of agents' processes.

pub mod agent_env;
mod anchor;
pub mod branch;
mod capture;
mod capture_changes;
pub mod commit;
mod conflict;
pub mod diff;
mod dir;
mod entry;
mod error;
mod exec_settings;
pub mod fresh;
mod glance;
pub mod health;
pub mod hooks;
pub mod include;
mod index;
mod last_kept;
mod library;
mod locks;
pub mod merge;
pub mod place;
mod program;
pub mod radar;
mod refs;
pub mod repo_file;
mod seen;
mod situation;
mod smudge;
pub mod snapshot;
pub mod status;
pub(crate) mod step;
pub mod torn;
pub mod tree;
pub mod union;
#[cfg_attr(not(target_os = "linux"), path = "git/watch_elsewhere.rs")]
mod watch;
pub mod worktree;
mod worktree_files;

pub use agent_env::AgentGit;
pub use capture::LeftOut;
pub use entry::Head;
pub use error::Error;
pub use program::Checkout;
pub use worktree::{
    BranchFate, Known, Looks, Removal, Removed, Restored, Standing, Start, Stray, Uncommitted, Wanted, Why, Worktrees,
};
