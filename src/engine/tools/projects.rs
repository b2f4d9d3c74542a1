//! The other projects of this machine, as far as the root of one needs them.

use std::path::PathBuf;

use futures::future::BoxFuture;

use crate::base::ProjectId;

/// A project that can be spoken to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectEntry {
    pub id: ProjectId,
    pub name: String,
    pub path: PathBuf,
    /// It hears at once what is said to it.
    pub is_open: bool,
}

/// The way to other projects.
pub trait Projects: Send + Sync + 'static {
    /// Returns all but one's own.
    fn list(&self) -> Vec<ProjectEntry>;

    /// Says something to the root of the project that an agent calls `project`. Returns what the agent is to read.
    fn send<'a>(&'a self, project: &'a str, message: &'a str) -> BoxFuture<'a, Result<String, String>>;
}
