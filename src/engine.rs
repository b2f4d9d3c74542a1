//! The orchestrator of one project: the tree, delivery, launches, completions, Asks, budgets.
//!
//! [`command`], [`snapshot`], [`update`] and [`review`] are the boundary: plain data, all that a screen or another front end sees.
//! [`machine`] decides, without a runtime, a clock or a disk; the driver carries out what it decides.

pub mod agent_port;
pub mod backend;
pub mod blobs;
pub mod command;
mod driver;
pub mod feed;
pub mod handle;
#[cfg(test)]
pub mod json_port;
pub mod leftovers;
pub mod machine;
mod model_list;
pub mod open;
mod post;
pub mod profiles;
pub mod projects;
pub mod queries;
pub mod query;
mod read_only;
mod reading;
pub mod recall;
pub mod review;
pub mod secrets;
pub mod settings_files;
pub mod snapshot;
#[cfg(test)]
pub mod staged;
pub mod stall;
mod task_search;
pub mod tools;
pub mod update;

pub use driver::models;
pub use handle::{Handle, Port};
pub use open::{Options, load_tree, open};
pub use read_only::{read_only, refusal};
