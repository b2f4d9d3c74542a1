//! The other projects of this machine, for the root's tools.

use std::path::PathBuf;

use futures::future::BoxFuture;

use crate::base::ProjectId;

/// Another project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherProject {
    pub id: ProjectId,
    pub name: String,
    pub path: PathBuf,
    /// Whether a process has it open. If so, it reads messages at once.
    pub is_open: bool,
}

/// Lists other projects and sends messages to them.
pub trait Projects: Send + Sync + 'static {
    /// Returns all projects but this one.
    fn list(&self) -> Vec<OtherProject>;

    /// Sends a message to the root of another project, which `project` names. Returns the reply for the agent.
    fn send<'a>(&'a self, project: &'a str, message: &'a str) -> BoxFuture<'a, Result<String, String>>;
}
