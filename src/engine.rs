//! The orchestrator of one project: the tree, delivery, launches, completions, Asks, budgets.
//!
//! [`command`], [`snapshot`] and [`update`] are the boundary: plain data, all that a screen or another front end sees.

pub mod command;
pub mod snapshot;
pub mod update;
