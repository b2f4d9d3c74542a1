//! The orchestrator of one project: tree, message delivery, launches, completions, Asks, budgets, merges.
//!
//! [`command`], [`query`], [`snapshot`], [`update`] and [`review`] are the boundary: plain data that front ends see.
//! [`machine`] decides without a runtime, a clock or a disk. The driver carries out its effects.

pub mod agent_port;
pub mod backend;
pub mod blobs;
pub mod command;
pub mod context;
mod cross_project;
pub mod deleted_tasks;
mod driver;
#[cfg(test)]
pub mod fake;
pub mod feed;
pub mod gc;
pub mod handle;
pub mod handover;
pub mod hooks;
pub mod include;
#[cfg(test)]
pub mod json_port;
pub mod machine;
mod model_list;
pub mod oneshot;
pub mod open;
pub mod permissions;
pub mod profiles;
pub mod projects;
pub mod queries;
pub mod query;
mod read_only;
pub mod review;
pub mod secrets;
mod session_view;
pub mod settings_files;
pub mod skills;
pub mod snapshot;
pub mod stall;
mod task_search;
pub mod tool_door;
pub mod tools;
pub mod update;
mod work_queries;

pub use driver::models;
pub use handle::{Handle, Port};
pub use open::{EngineOptions, load_tree, open};
pub use read_only::{read_only, refusal};
