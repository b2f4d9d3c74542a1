//! Git access. The only module that knows the layout of a repository.
//!
//! Reads go through libgit2. The `git` program runs where its exact behaviour matters, through `program`. The module
//! knows task ids and nothing else about tasks. Entry points:
//!
//! - [`discover::RepoLocation`]: the repository of a folder and its base branch.
//! - [`commit::commit_files`]: a commit as the user.
//! - [`branch`]: names of a task's branch and worktree.
//! - [`Worktrees`]: `open`, `create`, `remove`, `restore`, `stray`, `tidy`, `empty_trash`, `unlock_index`, `checkout`.
//! - [`status`]: `dirty`, `diffstat`, `drift` of a [`Checkout`].
//! - [`include::copy`]: ignored files that a new worktree gets.
//! - [`Worktrees`] also has `take_snapshot`, `snapshots`, `restore_snapshot`, `prune_snapshots` (see [`snapshot`]);
//!   `preview`, `merge`, `undo_merge`, `recover_merges` (see [`merge`]); `break_locks` for locks left by a killed
//!   process; and `repair_torn_writes` for half-written files after a power loss (see [`power_loss`]).
//! - [`diff`]: `between`, `since_base`; [`conflict_scan::ConflictScanner`]: which live branches would conflict.
//! - [`health`]: git's version, the user's identity, stale locks.
//! - [`repo_file`]: reads and creates the files of a repository that Matrix uses; refuses links and devices.
//! - [`hooks::folders`]: where git would find hooks among the files of a checkout.
//! - [`shadow::Shadow`]: the repository that an agent in a sandbox sees in place of the real one.
//! - [`AgentGit`]: git settings in the environment of agent processes.

pub mod agent_env;
mod anchor;
pub mod branch;
pub mod clone;
pub mod commit;
mod conflict;
pub mod conflict_scan;
pub(crate) mod crash_points;
pub mod diff;
mod dir;
pub mod discover;
mod entry;
mod error;
mod exec_settings;
mod filters;
pub mod health;
pub mod hooks;
pub mod include;
mod index;
pub mod init;
mod library;
mod locks;
pub mod merge;
pub mod power_loss;
mod program;
mod refs;
mod remotes;
pub mod repo_file;
mod review_marks;
pub mod shadow;
pub mod snapshot;
mod snapshot_cache;
mod stat_fingerprint;
pub mod status;
pub mod tree;
mod tree_capture;
mod tree_update;
pub mod union;
#[cfg_attr(not(target_os = "linux"), path = "git/watch_unsupported.rs")]
mod watch;
pub mod worktree;
mod worktree_diagnosis;
mod worktree_files;

pub use agent_env::AgentGit;
pub use entry::Head;
pub use error::Error;
pub use program::Checkout;
pub use remotes::remote_addresses;
pub use tree_capture::LeftOut;
pub use worktree::{
    BranchFate, BranchStart, OwnedWorktree, RecreateReason, Removal, RemovalOutcome, RestoreOutcome, SnapshotCounts,
    Stray, Uncommitted, WorktreeSpec, WorktreeState, Worktrees,
};
