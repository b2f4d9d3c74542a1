//! The routes. Each checks the scope of its client, reads its request and passes it to the engine.

mod asks;
mod blobs;
mod commands;
mod logins;
mod messages;
mod projects;

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{Method, StatusCode, Uri};
use axum::middleware;
use axum::response::Response;
use axum::routing::{get, post};
use serde::Serialize;

use super::access::Client;
use super::error::HttpError;
use super::projects::OpenProject;
use super::request::json;
use super::scope::Scope;
use super::{Shared, guard, openapi, page};
use crate::base::Fault;
use crate::serve::place::program_version;

type Answer = Result<Response, HttpError>;
type Server = State<Arc<Shared>>;

pub(super) use commands::{CommandAnswer, QueryReply};
pub(super) use logins::{Link, LinkRequest, Me, Session};
pub(super) use messages::{MessageRequest, Sent};
pub(super) use projects::{Config, OpenProjects, ProjectState};

/// Whether the server runs.
#[derive(Serialize, schemars::JsonSchema)]
pub(super) struct Health {
    ok: bool,
    /// The version of mxd.
    version: &'static str,
}

/// Returns the routes behind the guard.
pub(super) fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/", get(page::html))
        .route("/page.js", get(page::script))
        .route("/page.css", get(page::style))
        .route("/v1/health", get(health))
        .route("/v1/openapi.json", get(document))
        .route("/v1/me", get(logins::me))
        .route("/v1/session", post(logins::log_in).delete(logins::log_out))
        .route("/v1/links", post(logins::link))
        .route("/v1/projects", get(projects::list))
        .route("/v1/projects/{project}", get(projects::state))
        .route("/v1/projects/{project}/updates", get(projects::updates))
        .route("/v1/projects/{project}/config", get(projects::config))
        .route("/v1/projects/{project}/asks", get(asks::list))
        .route("/v1/projects/{project}/commands", post(commands::command))
        .route("/v1/projects/{project}/queries", post(commands::query))
        .route("/v1/projects/{project}/blobs/{blob}", get(blobs::blob))
        .route("/v1/projects/{project}/tasks/{task}/messages", post(messages::send))
        .route("/v1/asks/{ask}", post(asks::answer))
        .fallback(no_such_path)
        .method_not_allowed_fallback(wrong_method)
        .layer(middleware::from_fn_with_state(Arc::clone(&shared), guard::check))
        .with_state(shared)
}

async fn health() -> Response {
    json(StatusCode::OK, &Health { ok: true, version: program_version() })
}

async fn document() -> Response {
    json(StatusCode::OK, &openapi::document())
}

async fn no_such_path(uri: Uri) -> HttpError {
    HttpError::not_found(format!("there is nothing at {}", uri.path().escape_debug()))
        .hint("/v1/openapi.json describes every path")
}

async fn wrong_method(method: Method, uri: Uri) -> HttpError {
    let message = format!("{} is not possible at {}", method.as_str().escape_debug(), uri.path().escape_debug());
    HttpError::new(StatusCode::METHOD_NOT_ALLOWED, Fault::user(message)).hint("/v1/openapi.json describes every path")
}

/// Refuses a client whose token does not have a scope.
fn require(client: &Client, scope: Scope) -> Result<(), HttpError> {
    if client.may(scope) {
        return Ok(());
    }
    Err(HttpError::forbidden(format!(
        "this needs the scope {scope}, which the token \"{}\" does not have",
        client.name
    ))
    .hint(format!("`mxd serve token new NAME --scope {scope}` makes one that has it")))
}

/// Returns the project that a request names, if its client may do this there.
fn project(shared: &Shared, client: &Client, name: &str, scope: Scope) -> Result<Arc<OpenProject>, HttpError> {
    require(client, scope)?;
    shared.projects.find(client, name)
}
