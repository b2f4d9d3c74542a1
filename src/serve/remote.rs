//! A port over a connection. After a cut it connects again, sends unanswered requests again, and resumes its
//! subscriptions where they were cut.

mod link;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::sync::{mpsc, oneshot, watch};

use super::connector::Connector;
use super::protocol::{ClientId, ClientKind, Hello, VERSION, Welcome};
use crate::base::{Fault, TaskId};
use crate::engine::command::{Command, Outcome};
use crate::engine::feed::{SnapshotSlot, Watcher};
use crate::engine::handle::{Pages, Port};
use crate::engine::query::{Page, Query, QueryAnswer};
use crate::engine::snapshot::Snapshot;
use crate::engine::update::EngineEnd;
use link::Link;

/// What the port asks of its link.
enum LinkRequest {
    Command {
        command: Box<Command>,
        answer: oneshot::Sender<Result<Outcome, Fault>>,
    },
    Query {
        query: Query,
        answer: oneshot::Sender<Result<QueryAnswer, Fault>>,
    },
    Session {
        task: TaskId,
        pages: mpsc::Sender<Result<Page, Fault>>,
    },
    Subscribe {
        answer: oneshot::Sender<Result<(Snapshot, Watcher), Fault>>,
    },
    /// Leave the engine to itself.
    Detach,
}

/// A connection to the engine of another process. Dropping it leaves the engine to itself.
pub struct Remote {
    requests: mpsc::UnboundedSender<LinkRequest>,
    ended: watch::Receiver<bool>,
    welcome: Welcome,
}

impl Remote {
    /// Connects as a client of this kind and name.
    pub async fn connect(connector: impl Connector, kind: ClientKind, name: String) -> Result<Self, Fault> {
        let hello = Hello {
            version: VERSION,
            program: super::place::program_version().to_owned(),
            client: ClientId::fresh(),
            kind,
            name,
        };
        let (requests, inbox) = mpsc::unbounded_channel();
        let (ended_sender, ended) = watch::channel(false);
        let (link, welcome) = Link::open(Box::new(connector), hello, inbox).await?;
        tokio::spawn(async move {
            link.run().await;
            ended_sender.send_replace(true);
        });
        Ok(Self { requests, ended, welcome })
    }

    /// Returns what the server said about itself at the first connection.
    pub fn welcome(&self) -> &Welcome {
        &self.welcome
    }

    async fn ask<T>(&self, request: impl FnOnce(oneshot::Sender<T>) -> LinkRequest) -> Result<T, Fault> {
        let (answer, result) = oneshot::channel();
        self.requests.send(request(answer)).map_err(|_| has_ended())?;
        result.await.map_err(|_| has_ended())
    }
}

impl Port for Remote {
    fn command(&self, command: Command) -> BoxFuture<'_, Result<Outcome, Fault>> {
        async move { self.ask(|answer| LinkRequest::Command { command: Box::new(command), answer }).await? }.boxed()
    }

    fn query(&self, query: Query) -> BoxFuture<'_, Result<QueryAnswer, Fault>> {
        async move { self.ask(|answer| LinkRequest::Query { query, answer }).await? }.boxed()
    }

    fn session(&self, task: TaskId) -> Pages {
        let (pages, receiver) = mpsc::channel(3);
        // If the link has ended, the receiver has too: there are no pages.
        let _ = self.requests.send(LinkRequest::Session { task, pages });
        receiver
    }

    fn subscribe(&self) -> BoxFuture<'_, Result<(Snapshot, Watcher), Fault>> {
        async move { self.ask(|answer| LinkRequest::Subscribe { answer }).await? }.boxed()
    }

    fn add_snapshot(&self, _slot: SnapshotSlot) -> BoxFuture<'_, Result<(), Fault>> {
        async { Err(Fault::internal("a server does not serve the engine of another server")) }.boxed()
    }

    fn leave(&self) -> BoxFuture<'_, ()> {
        async move {
            // Fails if the link has ended.
            let _ = self.requests.send(LinkRequest::Detach);
            self.ended().await;
        }
        .boxed()
    }

    /// An engine that moves is followed, so it does not end here.
    fn ended(&self) -> BoxFuture<'_, EngineEnd> {
        let mut ended = self.ended.clone();
        async move {
            drop(ended.wait_for(|ended| *ended).await);
            EngineEnd::Quit
        }
        .boxed()
    }
}

fn has_ended() -> Fault {
    Fault::environment("the engine has ended")
}

#[cfg(test)]
#[path = "remote_tests.rs"]
mod tests;
