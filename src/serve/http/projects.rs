//! The projects that a server serves, and how requests name them.

use std::path::PathBuf;
use std::sync::Arc;

use super::access::Client;
use super::error::HttpError;
use super::idempotency::Outcomes;
use crate::base::{Clock, Fault, ProjectId, TaskId};
use crate::config::paths::Home;
use crate::engine::Handle;
use crate::serve::stream::Stream;

/// A project whose engine the server reaches. The process holds the project's lock.
pub struct HttpProject {
    pub id: ProjectId,
    pub name: String,
    pub handle: Handle,
    pub stream: Arc<Stream>,
}

/// A project with the outcomes of its requests.
pub struct OpenProject {
    pub id: ProjectId,
    pub name: String,
    pub handle: Handle,
    pub stream: Arc<Stream>,
    pub outcomes: Outcomes,
}

pub struct Projects(Vec<Arc<OpenProject>>);

impl Projects {
    pub fn open(projects: Vec<HttpProject>, home: &Home, clock: &Arc<dyn Clock>) -> Result<Self, Fault> {
        let open = |HttpProject { id, name, handle, stream }| {
            let path: PathBuf = home.project(id).http_outcomes();
            let outcomes = Outcomes::open(path, Arc::clone(clock))?;
            Ok(Arc::new(OpenProject { id, name, handle, stream, outcomes }))
        };
        projects.into_iter().map(open).collect::<Result<_, Fault>>().map(Self)
    }

    /// Returns the projects that a client may see.
    pub fn of<'a>(&'a self, client: &'a Client) -> impl Iterator<Item = &'a Arc<OpenProject>> {
        self.0.iter().filter(|project| client.reaches(project.id))
    }

    /// Returns the project with this id or name. One that the client may not see does not exist for it.
    pub fn find(&self, client: &Client, name: &str) -> Result<Arc<OpenProject>, HttpError> {
        let mut found = self.of(client).filter(|project| project.id.to_string() == name || project.name == name);
        let unknown = || {
            HttpError::not_found(format!("there is no open project \"{}\"", name.escape_debug()))
                .hint("GET /v1/projects lists them")
        };
        let project = found.next().ok_or_else(unknown)?;
        if found.next().is_some() {
            return Err(HttpError::conflict("several open projects have this name").hint("use the id of the project"));
        }
        Ok(Arc::clone(project))
    }
}

impl OpenProject {
    /// Returns the task that a request names by id, prefix or address.
    pub async fn task(&self, name: &str) -> Result<TaskId, HttpError> {
        self.handle.find(name.to_owned()).await.map_err(|fault| match fault.kind {
            crate::base::FaultKind::User => HttpError::new(axum::http::StatusCode::NOT_FOUND, fault),
            _ => fault.into(),
        })
    }
}
