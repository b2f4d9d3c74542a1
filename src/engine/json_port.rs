//! A port for tests that sends everything through JSON, like a connection between processes.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::mpsc;

use crate::base::{Fault, TaskId};
use crate::engine::command::{Command, Outcome};
use crate::engine::feed::{Feed, SnapshotSlot, Watcher};
use crate::engine::handle::{Handle, Pages, Port};
use crate::engine::query::{Query, QueryAnswer};
use crate::engine::snapshot::Snapshot;
use crate::engine::update::{EngineEnd, Update};

pub struct JsonPort(pub Handle);

/// Serialises a value and reads it back.
pub fn through_json<T: Serialize + DeserializeOwned>(value: &T) -> T {
    let bytes = serde_json::to_vec(value).unwrap();
    serde_json::from_slice(&bytes).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&bytes)))
}

impl Port for JsonPort {
    fn command(&self, command: Command) -> BoxFuture<'_, Result<Outcome, Fault>> {
        async move { through_json(&self.0.command(through_json(&command)).await) }.boxed()
    }

    fn query(&self, query: Query) -> BoxFuture<'_, Result<QueryAnswer, Fault>> {
        async move { through_json(&self.0.query(through_json(&query)).await) }.boxed()
    }

    fn session(&self, task: TaskId) -> Pages {
        let mut pages = self.0.session(through_json(&task));
        let (sender, copies) = mpsc::channel(1);
        tokio::spawn(async move {
            while let Some(page) = pages.recv().await {
                let _ = sender.send(through_json(&page)).await;
            }
        });
        copies
    }

    fn subscribe(&self) -> BoxFuture<'_, Result<(Snapshot, Watcher), Fault>> {
        async move {
            let (snapshot, mut watcher) = self.0.subscribe().await?;
            let feed = Feed::default();
            let copy = feed.watch();
            tokio::spawn(async move {
                loop {
                    let update = watcher.next().await;
                    let ended = matches!(update, Update::Ended);
                    feed.publish(&through_json(&update));
                    if ended {
                        break;
                    }
                }
            });
            Ok((through_json(&snapshot), copy))
        }
        .boxed()
    }

    fn add_snapshot(&self, _slot: SnapshotSlot) -> BoxFuture<'_, Result<(), Fault>> {
        // The watcher here is a copy, whose queue the engine does not see.
        async { Err(Fault::internal("the test port adds no snapshots")) }.boxed()
    }

    fn ended(&self) -> BoxFuture<'_, EngineEnd> {
        self.0.ended().boxed()
    }
}
