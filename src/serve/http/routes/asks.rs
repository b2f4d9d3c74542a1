//! Lists open questions and answers one.

use axum::extract::{Extension, Request, State};
use axum::http::StatusCode;

use super::super::access::Client;
use super::super::error::HttpError;
use super::super::peer::Peer;
use super::super::request::{self, MAX_BODY, PathParts, json};
use super::super::scope::Scope;
use super::commands::{Once, carry_out, finished};
use super::{Answer, Server, project, require};
use crate::base::AskId;
use crate::engine::command::Command;
use crate::model::ask::AskReply;

pub async fn list(
    State(shared): Server,
    Extension(client): Extension<Client>,
    PathParts(name): PathParts<String>,
) -> Answer {
    let project = project(&shared, &client, &name, Scope::Read)?;
    Ok(json(StatusCode::OK, &project.handle.asks().await?))
}

pub async fn answer(
    State(shared): Server,
    Extension(client): Extension<Client>,
    Extension(peer): Extension<Peer>,
    PathParts(ask): PathParts<String>,
    request: Request,
) -> Answer {
    require(&client, Scope::Answer)?;
    let ask: AskId = ask.parse().map_err(|_| HttpError::bad_request("the id of a question has 26 characters"))?;
    peer.check_may_change(&shared.home).await?;
    let once = Once::of(&client, &request)?;
    let body = request::read_body(request, MAX_BODY).await?;
    let reply: AskReply = request::parse(&body)?;
    let once = once.map(|once| once.with(&body));
    for project in shared.projects.of(&client) {
        // A repeated answer finds its question closed by the first one.
        if let Some(done) = finished(project, once) {
            return Ok(done.into_response());
        }
        let open = project.handle.asks().await?.rows;
        let Some(row) = open.into_iter().find(|row| row.ask.id == ask) else { continue };
        let command = Command::Answer { task: row.task, ask, reply, by: Some(client.shown_name()) };
        return Ok(carry_out(project.clone(), once, command).await?.into_response());
    }
    Err(HttpError::not_found("no open question has this id; it may have been answered or withdrawn")
        .hint("GET /v1/projects/{project}/asks lists the open ones"))
}
