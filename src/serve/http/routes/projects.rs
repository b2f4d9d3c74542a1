//! Lists projects, and shows the state and the updates of one.

use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde::{Deserialize, Serialize};

use super::super::access::Client;
use super::super::error::HttpError;
use super::super::request::{Parameters, PathParts, json};
use super::super::scope::Scope;
use super::super::sse::{self, Limits, Start};
use super::{Answer, Server, project, require};
use crate::base::ProjectId;
use crate::config::SettingRow;
use crate::engine::snapshot::Snapshot;

/// The projects that are open.
#[derive(Serialize, schemars::JsonSchema)]
pub struct OpenProjects {
    projects: Vec<ProjectName>,
}

#[derive(Serialize, schemars::JsonSchema)]
struct ProjectName {
    id: ProjectId,
    name: String,
}

/// The state of a project, and its position in the stream of updates.
#[derive(Serialize, schemars::JsonSchema)]
pub struct ProjectState {
    /// One life of the server.
    epoch: String,
    /// The number of the last update that the snapshot contains.
    seq: u64,
    snapshot: Snapshot,
}

/// The effective settings, without secrets.
#[derive(Serialize, schemars::JsonSchema)]
pub struct Config {
    pub settings: Vec<SettingRow>,
}

pub async fn list(State(shared): Server, Extension(client): Extension<Client>) -> Answer {
    require(&client, Scope::Read)?;
    let name =
        |project: &std::sync::Arc<super::OpenProject>| ProjectName { id: project.id, name: project.name.clone() };
    Ok(json(StatusCode::OK, &OpenProjects { projects: shared.projects.of(&client).map(name).collect() }))
}

pub async fn state(
    State(shared): Server,
    Extension(client): Extension<Client>,
    PathParts(name): PathParts<String>,
) -> Answer {
    let project = project(&shared, &client, &name, Scope::Read)?;
    let (snapshot, subscription) = project.stream.subscribe().await?;
    let at = subscription.position();
    Ok(json(StatusCode::OK, &ProjectState { epoch: at.epoch.0.to_string(), seq: at.seq, snapshot }))
}

pub async fn config(
    State(shared): Server,
    Extension(client): Extension<Client>,
    PathParts(name): PathParts<String>,
) -> Answer {
    let project = project(&shared, &client, &name, Scope::Read)?;
    Ok(json(StatusCode::OK, &Config { settings: project.handle.settings().await? }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct After {
    /// Like `Last-Event-ID`, for clients that cannot send headers.
    after: Option<String>,
}

pub async fn updates(
    State(shared): Server,
    Extension(client): Extension<Client>,
    PathParts(name): PathParts<String>,
    Parameters(After { after }): Parameters<After>,
    headers: HeaderMap,
) -> Answer {
    let project = project(&shared, &client, &name, Scope::Read)?;
    let invalid = || {
        HttpError::bad_request("the Last-Event-ID is not the id of an update")
            .hint("leave it out to begin with a snapshot")
    };
    let last = match headers.get("last-event-id") {
        Some(id) => Some(id.to_str().map_err(|_| invalid())?.to_owned()),
        None => after,
    };
    // A browser sends an empty id before it has received one.
    let start = match last.as_deref() {
        None | Some("") => Start::Fresh,
        Some(id) => Start::After(sse::parse_id(id).map_err(|_| invalid())?),
    };
    let limits = Limits { access: shared.access.clone(), client, closing: shared.closing.clone() };
    let events = sse::events(project.stream.clone(), start, limits);
    let mut response = Response::new(Body::from_stream(events)).into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    // Proxies that collect answers would hold updates back.
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    Ok(response)
}
