//! The interface of front ends to an engine: commands and queries in, a snapshot and its updates out.
//!
//! A [`Handle`] does not reveal where the engine runs. [`Local`] reaches an engine in this process; another [`Port`]
//! may use a connection. Everything that crosses a port is plain data.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::sync::{mpsc, oneshot, watch};

use crate::base::{EventId, Fault, MessageId, TaskId, TurnId};
use crate::config::SettingRow;
use crate::engine::command::{Actor, Command, Outcome};
use crate::engine::driver::Incoming;
use crate::engine::feed::{SnapshotSlot, Watcher};
use crate::engine::queries::Queries;
use crate::engine::query::{
    AskRow, CostRow, CostsBy, List, ModelOffer, ModelSource, Page, ProjectEntry, Query, QueryAnswer, TaskRow,
    TaskSummary, expect_answer,
};
use crate::engine::review::{
    DiffRequest, MergePreview, MergeTarget, ReviewMarks, RewindPreview, RewindScope, TaskDiff, TurnView,
};
use crate::engine::snapshot::Snapshot;
use crate::engine::update::EngineEnd;
use crate::engine::work_queries::TaskLocation;
use crate::model::content::BlobId;
use crate::model::search::{SearchQuery, SearchResults};
use crate::model::{ClientView, TaskNode};

/// A connection to an engine.
pub trait Port: Send + Sync {
    fn command(&self, command: Command) -> BoxFuture<'_, Result<Outcome, Fault>>;
    fn query(&self, query: Query) -> BoxFuture<'_, Result<QueryAnswer, Fault>>;
    /// Reads a whole session of any length, oldest events first.
    fn session(&self, task: TaskId) -> Pages;
    /// Returns the current state, and a watcher for all later changes.
    fn subscribe(&self) -> BoxFuture<'_, Result<(Snapshot, Watcher), Fault>>;
    /// Adds the current state to the queue of a watcher, at the position where it is current.
    fn add_snapshot(&self, slot: SnapshotSlot) -> BoxFuture<'_, Result<(), Fault>>;
    /// Tells the engine who is attached. Only an engine in this process lists them.
    fn set_clients(&self, _clients: Vec<ClientView>) {}
    /// Ends an engine of this process, with all its agents. Leaves the engine of another process to itself.
    fn leave(&self) -> BoxFuture<'_, ()> {
        async move {
            // Fails if the engine has ended already.
            let _ = self.command(Command::Quit).await;
            self.ended().await;
        }
        .boxed()
    }
    /// Waits until the engine has ended.
    fn ended(&self) -> BoxFuture<'_, EngineEnd>;
}

/// The pages of a session. An error is the last item. Pages are read as fast as the receiver takes them.
pub type Pages = mpsc::Receiver<Result<Page, Fault>>;

/// A handle to a running engine. Clones reach the same one.
#[derive(Clone)]
pub struct Handle(Arc<dyn Port>);

impl Handle {
    pub fn new(port: impl Port + 'static) -> Self {
        Self(Arc::new(port))
    }

    /// Executes a command and returns its outcome.
    pub async fn command(&self, command: Command) -> Result<Outcome, Fault> {
        self.0.command(command).await
    }

    pub async fn query(&self, query: Query) -> Result<QueryAnswer, Fault> {
        self.0.query(query).await
    }

    /// Returns the current state, and a watcher for all later changes.
    pub async fn subscribe(&self) -> Result<(Snapshot, Watcher), Fault> {
        self.0.subscribe().await
    }

    /// Adds the current state to the queue of a watcher, at the position where it is current.
    pub async fn add_snapshot(&self, watcher: &Watcher) -> Result<(), Fault> {
        self.0.add_snapshot(watcher.snapshots()).await
    }

    pub async fn page(&self, task: TaskId, before: Option<EventId>, count: usize) -> Result<Page, Fault> {
        expect_answer!(self.query(Query::Page { task, before, count }).await?, Page)
    }

    pub fn session(&self, task: TaskId) -> Pages {
        self.0.session(task)
    }

    /// Returns bytes of a session's file, starting at `from`. Empty at the end of the file.
    pub async fn raw_session(&self, task: TaskId, from: u64) -> Result<Vec<u8>, Fault> {
        expect_answer!(self.query(Query::RawSession { task, from }).await?, RawSession).map(|bytes| bytes.0)
    }

    pub async fn message(&self, task: TaskId, message: MessageId) -> Result<String, Fault> {
        expect_answer!(self.query(Query::Message { task, message }).await?, Message)
    }

    pub async fn blob(&self, blob: BlobId) -> Result<Vec<u8>, Fault> {
        expect_answer!(self.query(Query::Blob { blob }).await?, Blob).map(|bytes| bytes.0)
    }

    pub async fn diff(&self, task: TaskId, request: DiffRequest) -> Result<TaskDiff, Fault> {
        expect_answer!(self.query(Query::Diff { task, request }).await?, Diff).map(|diff| *diff)
    }

    pub async fn patch(&self, task: TaskId, request: DiffRequest) -> Result<Vec<u8>, Fault> {
        expect_answer!(self.query(Query::Patch { task, request }).await?, Patch).map(|bytes| bytes.0)
    }

    pub async fn turns(&self, task: TaskId) -> Result<Vec<TurnView>, Fault> {
        expect_answer!(self.query(Query::Turns { task }).await?, Turns)
    }

    pub async fn merge_preview(&self, task: TaskId, into: MergeTarget) -> Result<MergePreview, Fault> {
        expect_answer!(self.query(Query::MergePreview { task, into }).await?, MergePreview).map(|preview| *preview)
    }

    pub async fn rewind_preview(
        &self,
        task: TaskId,
        to: Option<TurnId>,
        extent: RewindScope,
    ) -> Result<RewindPreview, Fault> {
        let answer = self.query(Query::RewindPreview { task, to, extent }).await?;
        expect_answer!(answer, RewindPreview).map(|preview| *preview)
    }

    pub async fn seen(&self, task: TaskId) -> Result<ReviewMarks, Fault> {
        expect_answer!(self.query(Query::Seen { task }).await?, Seen)
    }

    pub async fn files(&self, task: TaskId, words: String, limit: usize) -> Result<Vec<String>, Fault> {
        expect_answer!(self.query(Query::Files { task, words, limit }).await?, Files)
    }

    pub async fn search(&self, question: SearchQuery) -> Result<SearchResults, Fault> {
        expect_answer!(self.query(Query::Search { question }).await?, Search)
    }

    pub async fn find(&self, name: String) -> Result<TaskId, Fault> {
        expect_answer!(self.query(Query::Find { name }).await?, Find)
    }

    pub async fn tasks(&self) -> Result<List<TaskRow>, Fault> {
        expect_answer!(self.query(Query::Tasks).await?, Tasks)
    }

    pub async fn summary(&self, task: TaskId) -> Result<TaskSummary, Fault> {
        expect_answer!(self.query(Query::Summary { task }).await?, Summary).map(|summary| *summary)
    }

    pub async fn asks(&self) -> Result<List<AskRow>, Fault> {
        expect_answer!(self.query(Query::Asks).await?, Asks)
    }

    pub async fn costs(&self, by: CostsBy) -> Result<List<CostRow>, Fault> {
        expect_answer!(self.query(Query::Costs { by }).await?, Costs)
    }

    pub async fn deleted_tasks(&self) -> Result<Vec<TaskNode>, Fault> {
        expect_answer!(self.query(Query::DeletedTasks).await?, DeletedTasks)
    }

    pub async fn models(&self, from: ModelSource) -> Result<Vec<ModelOffer>, Fault> {
        expect_answer!(self.query(Query::Models { from }).await?, Models)
    }

    pub async fn settings(&self) -> Result<Vec<SettingRow>, Fault> {
        expect_answer!(self.query(Query::Settings).await?, Settings)
    }

    pub async fn projects(&self) -> Result<Vec<ProjectEntry>, Fault> {
        expect_answer!(self.query(Query::Projects).await?, Projects)
    }

    /// Tells the engine who is attached.
    pub fn set_clients(&self, clients: Vec<ClientView>) {
        self.0.set_clients(clients);
    }

    /// Stops all agents of an engine in this process, saves everything and waits until it has ended. Leaves the engine
    /// of another process to itself.
    pub async fn quit(&self) {
        self.0.leave().await;
    }

    /// Waits until the engine has ended.
    pub async fn ended(&self) -> EngineEnd {
        self.0.ended().await
    }
}

pub struct Local {
    pub(in crate::engine) incoming: mpsc::UnboundedSender<Incoming>,
    pub(in crate::engine) queries: Queries,
    /// How the engine ended.
    pub(in crate::engine) ended: watch::Receiver<Option<EngineEnd>>,
}

impl Local {
    /// Sends a message to the driver and waits for the answer.
    async fn ask<T>(&self, question: impl FnOnce(oneshot::Sender<T>) -> Incoming) -> Result<T, Fault> {
        let (answer, result) = oneshot::channel();
        self.incoming.send(question(answer)).map_err(|_| has_ended())?;
        result.await.map_err(|_| has_ended())
    }

    async fn location(&self, task: TaskId) -> Result<TaskLocation, Fault> {
        self.ask(|answer| Incoming::Location { task, answer }).await?
    }
}

impl Port for Local {
    fn command(&self, command: Command) -> BoxFuture<'_, Result<Outcome, Fault>> {
        // A front end acts for the user.
        let actor = Actor::User;
        async move { self.ask(|answer| Incoming::Command { actor, command, answer }).await? }.boxed()
    }

    fn query(&self, query: Query) -> BoxFuture<'_, Result<QueryAnswer, Fault>> {
        async move {
            if let Query::Tree(query) = query {
                return self.ask(|answer| Incoming::Query { query, answer }).await?.map(QueryAnswer::Tree);
            }
            let location = match query.worktree_of() {
                Some(task) => Some(self.location(task).await?),
                None => None,
            };
            self.queries.answer(query, location).await
        }
        .boxed()
    }

    fn session(&self, task: TaskId) -> Pages {
        self.queries.session(task)
    }

    fn subscribe(&self) -> BoxFuture<'_, Result<(Snapshot, Watcher), Fault>> {
        self.ask(|answer| Incoming::Subscribe { answer }).boxed()
    }

    fn add_snapshot(&self, slot: SnapshotSlot) -> BoxFuture<'_, Result<(), Fault>> {
        self.ask(|answer| Incoming::AddSnapshot { slot, answer }).boxed()
    }

    fn set_clients(&self, clients: Vec<ClientView>) {
        // Fails if the engine has ended.
        let _ = self.incoming.send(Incoming::Clients(clients));
    }

    fn ended(&self) -> BoxFuture<'_, EngineEnd> {
        let mut ended = self.ended.clone();
        async move {
            let ended = ended.wait_for(Option::is_some).await.ok().and_then(|end| *end);
            // Without a value, its task was aborted.
            ended.unwrap_or(EngineEnd::Quit)
        }
        .boxed()
    }
}

fn has_ended() -> Fault {
    Fault::environment("the engine has ended")
}
