//! Git, as far as Matrix needs it. The only room that knows what a repository looks like.
//!
//! Reading goes through libgit2. Nothing here knows what a task is.

pub mod branch;
pub mod commit;
pub mod place;
