//! Carries out commands, each once per `Idempotency-Key`, and answers queries.

use std::sync::Arc;

use axum::extract::{Extension, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde::{Deserialize, Serialize};

use super::super::access::Client;
use super::super::error::HttpError;
use super::super::idempotency::{Begin, Key, StoredAnswer};
use super::super::peer::Peer;
use super::super::projects::OpenProject;
use super::super::request::{self, MAX_BODY, MAX_COMMAND, PathParts, json, raw_json};
use super::super::scope::{self, Scope};
use super::{Answer, Server, project, require};
use crate::base::{Fault, known_secrets};
use crate::engine::command::{Command, Outcome};
use crate::engine::query::{Bytes, Query, QueryAnswer};
use crate::serve::repeat;

/// The header with which a client marks a request that it may send again.
const KEY_HEADER: &str = "idempotency-key";
const MAX_KEY: usize = 200;
/// Says that an answer is the first outcome of an earlier request.
const REPEATED: &str = "idempotency-replayed";

/// The outcome of a command.
#[derive(Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CommandAnswer {
    pub outcome: Outcome,
}

/// The answer to a query.
#[derive(Serialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct QueryReply(QueryAnswer);

pub async fn command(
    State(shared): Server,
    Extension(client): Extension<Client>,
    Extension(peer): Extension<Peer>,
    PathParts(name): PathParts<String>,
    request: Request,
) -> Answer {
    // The scope is checked again when the command is known.
    let project = shared.projects.find(&client, &name)?;
    peer.check_may_change(&shared.home).await?;
    let once = Once::of(&client, &request)?;
    let body = request::read_body(request, MAX_COMMAND).await?;
    let command = request::parse::<Command>(&body)?.signed(&client.shown_name());
    require(&client, scope::of_command(&command))?;
    let done = carry_out(project, once.map(|once| once.with(&body)), command).await?;
    Ok(done.into_response())
}

pub async fn query(
    State(shared): Server,
    Extension(client): Extension<Client>,
    PathParts(name): PathParts<String>,
    request: Request,
) -> Answer {
    let project = project(&shared, &client, &name, Scope::Read)?;
    let query: Query = request::read_json(request, MAX_BODY).await?;
    let mut answer = project.handle.query(query).await?;
    mask_bytes(&mut answer);
    Ok(json(StatusCode::OK, &QueryReply(answer)))
}

/// Masks known secrets in bytes, which are base64 in the answer and would be missed there.
fn mask_bytes(answer: &mut QueryAnswer) {
    if let QueryAnswer::RawSession(Bytes(bytes)) | QueryAnswer::Blob(Bytes(bytes)) | QueryAnswer::Patch(Bytes(bytes)) =
        answer
    {
        known_secrets::known().blank(bytes);
    }
}

/// What identifies a request that may be repeated.
pub struct Once {
    key: Key,
    /// The path, which is part of what must be the same.
    path: String,
}

/// A request that may be repeated, with a hash of its content.
#[derive(Clone, Copy)]
pub struct Repeatable {
    key: Key,
    request: blake3::Hash,
}

impl Once {
    /// Returns what identifies a request, or `None` if it has no key.
    pub fn of(client: &Client, request: &Request) -> Result<Option<Self>, HttpError> {
        let key = key_of(request.headers())?;
        let path = request.uri().path().to_owned();
        Ok(key.map(|key| Self { key: Key::new(client.token, key), path }))
    }

    pub fn with(self, body: &[u8]) -> Repeatable {
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.path.as_bytes()).update(b"\0").update(body);
        Repeatable { key: self.key, request: hasher.finalize() }
    }
}

fn key_of(headers: &HeaderMap) -> Result<Option<&str>, HttpError> {
    let mut keys = headers.get_all(KEY_HEADER).iter();
    let Some(key) = keys.next() else { return Ok(None) };
    let is_visible = |key: &&str| !key.is_empty() && key.len() <= MAX_KEY && key.bytes().all(|b| b.is_ascii_graphic());
    let key = key.to_str().ok().filter(is_visible).filter(|_| keys.next().is_none());
    key.map(Some).ok_or_else(|| {
        HttpError::bad_request(format!("the Idempotency-Key must be one of up to {MAX_KEY} visible ASCII characters"))
    })
}

/// The answer to a command, and whether it is a repeated one.
pub struct Done {
    pub answer: StoredAnswer,
    pub is_repeat: bool,
}

impl Done {
    /// Returns the outcome, or the refusal as an answer.
    pub fn outcome(&self) -> Result<Outcome, Box<Response>> {
        if self.answer.status == StatusCode::OK.as_u16()
            && let Ok(CommandAnswer { outcome }) = serde_json::from_str(self.answer.body.get())
        {
            return Ok(outcome);
        }
        Err(Box::new(self.mark(raw_json(self.status(), self.answer.body.get().to_owned()))))
    }

    pub fn into_response(self) -> Response {
        self.mark(raw_json(self.status(), self.answer.body.get().to_owned()))
    }

    pub fn mark(&self, mut response: Response) -> Response {
        if self.is_repeat {
            response.headers_mut().insert(REPEATED, axum::http::HeaderValue::from_static("true"));
        }
        response
    }

    fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

/// Returns the first outcome of a request that was finished before.
pub fn finished(project: &OpenProject, once: Option<Repeatable>) -> Option<Done> {
    let Repeatable { key, request } = once?;
    Some(Done { answer: project.outcomes.finished(key, request)?, is_repeat: true })
}

/// Carries out a command. It is carried out to its end even if the client leaves.
pub async fn carry_out(
    project: Arc<OpenProject>,
    once: Option<Repeatable>,
    command: Command,
) -> Result<Done, HttpError> {
    let work = async move {
        match once {
            Some(once) => carry_out_once(project, once, command).await,
            None => {
                let answer = encode(project.handle.command(command).await)?;
                Ok(Done { answer, is_repeat: false })
            }
        }
    };
    tokio::spawn(work).await.map_err(|_| HttpError::from(Fault::internal("the command was not carried out")))?
}

async fn carry_out_once(project: Arc<OpenProject>, once: Repeatable, command: Command) -> Result<Done, HttpError> {
    let Repeatable { key, request } = once;
    let begun = blocking(&project, move |project| project.outcomes.begin(key, request)).await?;
    let ticket = match begun {
        Begin::CarryOut(ticket) => ticket,
        Begin::Repeat(answer) => return Ok(Done { answer, is_repeat: true }),
        Begin::Wait(mut outcome) => {
            let answer = outcome.wait_for(Option::is_some).await.ok().and_then(|answer| answer.clone());
            let answer = answer.ok_or_else(|| Fault::environment("the first request with this key has failed"))?;
            return Ok(Done { answer, is_repeat: true });
        }
        Begin::Misused => {
            let fault = Fault::user("this Idempotency-Key was used for another request")
                .hint("use a new key for each request, and the same one only to repeat it");
            return Err(HttpError::new(StatusCode::UNPROCESSABLE_ENTITY, fault));
        }
    };
    let command = repeat::with_key(command, ticket.client, 0);
    let result = if ticket.was_begun {
        repeat::carry_out(&project.handle, ticket.client, command).await
    } else {
        project.handle.command(command).await
    };
    let answer = encode(result)?;
    // After a failure of the machine, a repeat looks whether it was carried out.
    if answer.status < StatusCode::INTERNAL_SERVER_ERROR.as_u16() {
        let saved = answer.clone();
        if let Err(fault) = blocking(&project, move |project| project.outcomes.finish(ticket, saved)).await {
            tracing::error!(%fault, "the outcome of a request cannot be saved");
        }
    }
    Ok(Done { answer, is_repeat: false })
}

/// Runs what writes to the disk.
async fn blocking<T: Send + 'static>(
    project: &Arc<OpenProject>,
    work: impl FnOnce(&OpenProject) -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    let project = Arc::clone(project);
    let done = tokio::task::spawn_blocking(move || work(&project)).await;
    done.map_err(|_| Fault::internal("an outcome could not be saved"))?
}

fn encode(result: Result<Outcome, Fault>) -> Result<StoredAnswer, Fault> {
    let (status, text) = match result {
        Ok(outcome) => (StatusCode::OK, serde_json::to_string(&CommandAnswer { outcome })),
        Err(fault) => {
            let error = HttpError::from(fault);
            (error.status(), serde_json::to_string(error.body()))
        }
    };
    let failed = |error: serde_json::Error| Fault::internal(error.to_string());
    let masked = known_secrets::mask(&text.map_err(failed)?).into_owned();
    let body = serde_json::value::RawValue::from_string(masked).map_err(failed)?;
    Ok(StoredAnswer { status: status.as_u16(), body: body.into() })
}
