//! Logs the web page in and out, and makes one-time links to it.

use axum::extract::{Extension, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde::{Deserialize, Serialize};

use super::super::access::Client;
use super::super::error::HttpError;
use super::super::peer::Peer;
use super::super::request::{self, MAX_BODY, json};
use super::super::scope::Scope;
use super::super::{Shared, page};
use super::{Answer, Server, require};
use crate::base::Secret;

/// Who the client is.
#[derive(Serialize, schemars::JsonSchema)]
pub struct Me {
    /// The name of the token.
    name: String,
    scopes: Vec<Scope>,
}

/// A login of the page. The cookie is in the header.
#[derive(Serialize, schemars::JsonSchema)]
pub struct Session {
    /// What the page sends in the header `X-Mxd-Page`, with the cookie.
    page: String,
}

#[derive(Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkRequest {
    /// The name of the token that the link logs in. Default: the token of the request. Another one needs the scope
    /// admin.
    #[serde(default)]
    token: Option<String>,
}

/// A link that opens the page once, within ten minutes.
#[derive(Serialize, schemars::JsonSchema)]
pub struct Link {
    /// The path with the ticket.
    path: String,
}

pub async fn me(Extension(client): Extension<Client>) -> Response {
    json(StatusCode::OK, &Me { scopes: client.scopes(), name: client.name })
}

pub async fn log_in(
    State(shared): Server,
    Extension(client): Extension<Client>,
    Extension(peer): Extension<Peer>,
) -> Answer {
    let login = shared.access.login(&client)?;
    let mut response = raw(StatusCode::OK, &login.page);
    response.headers_mut().insert(header::SET_COOKIE, page::cookie(login.cookie.expose(), peer.tls)?);
    Ok(response)
}

/// Returns the second half of a login. It is no value to mask: it was made for this answer.
fn raw(status: StatusCode, page: &Secret) -> Response {
    json(status, &Session { page: page.expose().to_owned() })
}

pub async fn log_out(Extension(peer): Extension<Peer>) -> Answer {
    let mut headers = HeaderMap::new();
    headers.insert(header::SET_COOKIE, page::no_cookie(peer.tls)?);
    Ok((StatusCode::NO_CONTENT, headers).into_response())
}

pub async fn link(
    State(shared): Server,
    Extension(client): Extension<Client>,
    Extension(peer): Extension<Peer>,
    request: Request,
) -> Answer {
    peer.check_may_change(&shared.home).await?;
    let LinkRequest { token } = request::read_json(request, MAX_BODY).await?;
    let token = match token {
        Some(name) if name != client.name => named(&shared, &client, &name)?,
        Some(_) | None => client,
    };
    let ticket = shared.access.ticket(token.token)?;
    Ok(json(StatusCode::OK, &Link { path: format!("/?t={}", ticket.expose()) }))
}

fn named(shared: &Shared, client: &Client, name: &str) -> Result<Client, HttpError> {
    require(client, Scope::Admin)?;
    let found = shared.access.client_with_name(name);
    found.ok_or_else(|| HttpError::not_found("there is no valid token with this name"))
}
