//! Sends a message to a task, and waits for the reply if the client asks for it.

use std::time::Duration;

use axum::extract::{Extension, Request, State};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};

use super::super::access::Client;
use super::super::error::HttpError;
use super::super::peer::Peer;
use super::super::projects::OpenProject;
use super::super::request::{self, MAX_BODY, Parameters, PathParts, json};
use super::super::scope::Scope;
use super::commands::{Done, Once, carry_out};
use super::{Answer, Server, project};
use crate::base::{Fault, MessageId, TaskId};
use crate::engine::command::{Command, Outcome, Outgoing};
use crate::model::Image;
use crate::model::ask::AskMode;
use crate::model::message::Delivery;
use crate::serve::stream::Subscription;
use crate::serve::wait::{End, TurnWatch};

/// How long to wait for a reply, in seconds.
const DEFAULT_TIMEOUT: u64 = 60;
const MAX_TIMEOUT: u64 = 600;
/// How many events are read to find the reply to a message that was sent earlier.
const PAGE: usize = 200;

/// A message to a task.
#[derive(Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MessageRequest {
    text: String,
    #[serde(default)]
    mode: Delivery,
    #[serde(default)]
    images: Vec<Image>,
}

/// The message was sent.
#[derive(Serialize, schemars::JsonSchema)]
pub struct Sent {
    message: MessageId,
    /// The task had no run, so one was started to read it.
    wakes: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wait {
    wait: Option<For>,
    timeout: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum For {
    Turn,
}

pub async fn send(
    State(shared): Server,
    Extension(client): Extension<Client>,
    Extension(peer): Extension<Peer>,
    PathParts((name, task)): PathParts<(String, String)>,
    Parameters(Wait { wait, timeout }): Parameters<Wait>,
    request: Request,
) -> Answer {
    let project = project(&shared, &client, &name, Scope::Send)?;
    let timeout = timeout.unwrap_or(DEFAULT_TIMEOUT);
    if !(1..=MAX_TIMEOUT).contains(&timeout) {
        return Err(HttpError::bad_request(format!("timeout must be from 1 to {MAX_TIMEOUT} seconds")));
    }
    peer.check_may_change(&shared.home).await?;
    let once = Once::of(&client, &request)?;
    let body = request::read_body(request, MAX_BODY).await?;
    let MessageRequest { text, mode, images } = request::parse(&body)?;
    let task = project.task(&task).await?;
    // Begun before the message is sent, so that no update about it is missed.
    let updates = match wait {
        Some(For::Turn) => Some(project.stream.subscribe().await?.1),
        None => None,
    };
    let command = Command::Send { task, message: Outgoing { text, images, ..Outgoing::default() }, mode };
    let done = carry_out(project.clone(), once.map(|once| once.with(&body)), command).await?;
    let (message, wakes) = match done.outcome() {
        Ok(Outcome::Sent { message, wakes }) => (message, wakes),
        Ok(other) => return Err(Fault::internal(format!("a message led to {other:?}")).into()),
        Err(refusal) => return Ok(*refusal),
    };
    let sent = Sent { message, wakes };
    let Some(updates) = updates else { return Ok(done.mark(json(StatusCode::ACCEPTED, &sent))) };
    let waiting = Waiting { project: &project, task, message, is_repeat: done.is_repeat };
    match tokio::time::timeout(Duration::from_secs(timeout), waiting.end(updates)).await {
        Err(_) => Ok(done.mark(json(StatusCode::ACCEPTED, &sent))),
        Ok(end) => answer(&done, message, end?),
    }
}

fn answer(done: &Done, message: MessageId, end: End) -> Answer {
    match end {
        End::Reply(reply) => Ok(done.mark(json(StatusCode::OK, &reply))),
        End::Asks(ask) => Err(HttpError::waiting(message, Some(*ask))),
        End::Withdrawn => Err(HttpError::conflict("the message was withdrawn before the agent read it")),
        End::Gone => Err(HttpError::conflict("the task or its engine ended before it replied")),
        End::Lost => Err(Fault::environment("too many updates at once; the reply was missed")
            .hint("read the transcript: the message was sent")
            .into()),
    }
}

struct Waiting<'a> {
    project: &'a OpenProject,
    task: TaskId,
    message: MessageId,
    /// The message was sent by an earlier request.
    is_repeat: bool,
}

impl Waiting<'_> {
    async fn end(&self, mut updates: Subscription) -> Result<End, HttpError> {
        let mut watch = TurnWatch::new(self.task, self.message);
        let mut last = None;
        if self.is_repeat {
            let page = self.project.handle.page(self.task, None, PAGE).await?;
            last = page.events.last().map(|event| event.id);
            // The events before the message are about other turns.
            let events = page.events.iter().skip_while(|event| event.id.ulid() < self.message.ulid());
            if let Some(end) = events.into_iter().find_map(|event| watch.on_event(event)) {
                return Ok(end);
            }
        } else if let Some(ask) = self.open_ask().await? {
            return Ok(End::Asks(Box::new(ask)));
        }
        loop {
            let Ok(batch) = updates.next().await else { return Ok(End::Lost) };
            let news = batch.iter().filter(|numbered| match &*numbered.update {
                crate::engine::update::Update::Event { event, .. } => last.is_none_or(|last| event.id > last),
                _ => true,
            });
            if let Some(end) = news.into_iter().find_map(|numbered| watch.on_update(&numbered.update)) {
                return Ok(end);
            }
        }
    }

    /// Returns the question that keeps the task from reading the message.
    async fn open_ask(&self) -> Result<Option<crate::model::Ask>, Fault> {
        let open = self.project.handle.asks().await?.rows;
        let mut asks = open.into_iter().filter(|row| row.task == self.task && row.ask.mode == AskMode::Blocks);
        Ok(asks.next().map(|row| row.ask))
    }
}
