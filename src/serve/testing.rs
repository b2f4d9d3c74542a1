//! A port for tests: it records commands and publishes what the test sends to its feed.

use std::sync::{Arc, Mutex};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::sync::{Notify, mpsc, watch};

use crate::base::{Fault, IdSource, ProjectId, SystemClock, TaskId, Timestamp};
use crate::engine::command::{Command, Outcome};
use crate::engine::feed::{Feed, SnapshotSlot, Watcher};
use crate::engine::handle::{Pages, Port};
use crate::engine::query::{Page, Query, QueryAnswer};
use crate::engine::snapshot::{ProjectView, Snapshot, TaskView};
use crate::engine::update::EngineEnd;
use crate::model::event::Event;
use crate::model::live_turn::LiveTurns;
use crate::model::task::TaskNode;
use crate::model::{ClientView, Project};

#[derive(Clone)]
pub struct FakePort {
    pub feed: Arc<Feed>,
    pub commands: Arc<Mutex<Vec<Command>>>,
    /// Commands wait for a permit of this, if it is set.
    pub gate: Option<Arc<Notify>>,
    pub snapshot: Snapshot,
    /// The events of every session.
    pub events: Arc<Mutex<Vec<Event>>>,
    pub ended: watch::Sender<bool>,
    /// The last list of attached clients.
    pub clients: Arc<Mutex<Vec<ClientView>>>,
}

impl Default for FakePort {
    fn default() -> Self {
        let ids = IdSource::new(Arc::new(SystemClock));
        let root = TaskView::of(TaskNode::new(TaskId::fresh(&ids), "root", "engineer", Timestamp::EPOCH));
        let project = Project {
            id: ProjectId::fresh(&ids),
            name: "calc".to_owned(),
            path: "/calc".into(),
            base_branch: "main".to_owned(),
            created_at: Timestamp::EPOCH,
            former: Vec::new(),
            extra: serde_json::Map::new(),
        };
        let snapshot = Snapshot {
            project: ProjectView::of(&project, 4),
            root: root.node.id,
            tasks: vec![root],
            quiet: true,
            live: LiveTurns::default(),
            clients: Vec::new(),
        };
        let (ended, _) = watch::channel(false);
        Self {
            feed: Arc::default(),
            commands: Arc::default(),
            gate: None,
            snapshot,
            events: Arc::default(),
            ended,
            clients: Arc::default(),
        }
    }
}

impl Port for FakePort {
    fn command(&self, command: Command) -> BoxFuture<'_, Result<Outcome, Fault>> {
        async move {
            let is_quit = command == Command::Quit;
            self.commands.lock().unwrap().push(command);
            if let Some(gate) = &self.gate {
                gate.notified().await;
            }
            self.ended.send_if_modified(|ended| std::mem::replace(ended, is_quit) != is_quit);
            Ok(Outcome::Done)
        }
        .boxed()
    }

    fn query(&self, query: Query) -> BoxFuture<'_, Result<QueryAnswer, Fault>> {
        async move {
            match query {
                Query::Page { before, count, .. } => {
                    let all = self.events.lock().unwrap();
                    let end = all.iter().position(|event| Some(event.id) == before).unwrap_or(all.len());
                    let start = end.saturating_sub(count);
                    let events = all[start..end].to_vec();
                    Ok(QueryAnswer::Page(Page { events, more: start > 0, damaged: false }))
                }
                Query::Find { .. } => Ok(QueryAnswer::Find(self.snapshot.root)),
                Query::Files { words, .. } => Ok(QueryAnswer::Files(vec![words])),
                _ => Err(Fault::user("the fake knows no more")),
            }
        }
        .boxed()
    }

    fn session(&self, _task: TaskId) -> Pages {
        let (sender, pages) = mpsc::channel(1);
        tokio::spawn(async move {
            for number in 0..3 {
                let page = Page { events: Vec::new(), more: false, damaged: number == 2 };
                let _ = sender.send(Ok(page)).await;
            }
        });
        pages
    }

    fn subscribe(&self) -> BoxFuture<'_, Result<(Snapshot, Watcher), Fault>> {
        async { Ok((self.snapshot.clone(), self.feed.watch())) }.boxed()
    }

    fn add_snapshot(&self, slot: SnapshotSlot) -> BoxFuture<'_, Result<(), Fault>> {
        slot.add(self.snapshot.clone());
        async { Ok(()) }.boxed()
    }

    fn set_clients(&self, clients: Vec<ClientView>) {
        *self.clients.lock().unwrap() = clients;
    }

    fn ended(&self) -> BoxFuture<'_, EngineEnd> {
        let mut ended = self.ended.subscribe();
        async move {
            drop(ended.wait_for(|ended| *ended).await);
            EngineEnd::Quit
        }
        .boxed()
    }
}
