//! The way to an engine: commands and queries in, a snapshot and its updates out.
//!
//! A [`Handle`] does not say where the engine is. [`Local`] reaches one in this process; another [`Port`] may reach one
//! over a connection. Everything that passes is plain data.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::sync::{mpsc, oneshot, watch};

use crate::base::{EventId, Fault, MessageId, TaskId, TurnId};
use crate::config::SettingRow;
use crate::engine::command::{Actor, Command, Outcome};
use crate::engine::driver::Incoming;
use crate::engine::feed::Watcher;
use crate::engine::queries::Queries;
use crate::engine::query::{
    Answer, AskRow, CostRow, CostsBy, List, ModelOffer, ModelSource, Page, ProjectEntry, Query, TaskRow, TaskSummary,
    expect_answer,
};
use crate::engine::reading::Spot;
use crate::engine::review::{DiffWish, Extent, Goal, MergePreview, RewindPreview, Seen, TaskDiff, TurnView};
use crate::engine::snapshot::Snapshot;
use crate::model::TaskNode;
use crate::model::content::BlobId;
use crate::model::search::{Found, Question};

/// A connection to an engine.
pub trait Port: Send + Sync {
    fn command(&self, command: Command) -> BoxFuture<'_, Result<Outcome, Fault>>;
    fn query(&self, query: Query) -> BoxFuture<'_, Result<Answer, Fault>>;
    /// Reads a whole session, oldest events first. Unlike [`Query::Page`] it can be of any length.
    fn session(&self, task: TaskId) -> Pages;
    /// Returns the present state, and a watcher that gets everything that changes from then on.
    fn look(&self) -> BoxFuture<'_, Result<(Snapshot, Watcher), Fault>>;
    /// Waits until the engine has ended.
    fn ended(&self) -> BoxFuture<'_, ()>;
}

/// The pages of a session on their way; a fault is the last of them. They are read as fast as they are taken.
pub type Pages = mpsc::Receiver<Result<Page, Fault>>;

/// A running engine, as a front end has it. Clones reach the same one.
#[derive(Clone)]
pub struct Handle(Arc<dyn Port>);

impl Handle {
    pub fn new(port: impl Port + 'static) -> Self {
        Self(Arc::new(port))
    }

    /// Carries out a command. The answer says what it came to, or why nothing was done.
    pub async fn command(&self, command: Command) -> Result<Outcome, Fault> {
        self.0.command(command).await
    }

    pub async fn query(&self, query: Query) -> Result<Answer, Fault> {
        self.0.query(query).await
    }

    /// Returns the present state, and everything that changes from then on.
    pub async fn look(&self) -> Result<(Snapshot, Watcher), Fault> {
        self.0.look().await
    }

    pub async fn page(&self, task: TaskId, before: Option<EventId>, count: usize) -> Result<Page, Fault> {
        expect_answer!(self.query(Query::Page { task, before, count }).await?, Page)
    }

    pub fn session(&self, task: TaskId) -> Pages {
        self.0.session(task)
    }

    /// Returns bytes of a session's file from a place on. Empty: that is its end.
    pub async fn raw_session(&self, task: TaskId, from: u64) -> Result<Vec<u8>, Fault> {
        expect_answer!(self.query(Query::RawSession { task, from }).await?, RawSession).map(|bytes| bytes.0)
    }

    pub async fn message(&self, task: TaskId, message: MessageId) -> Result<String, Fault> {
        expect_answer!(self.query(Query::Message { task, message }).await?, Message)
    }

    pub async fn blob(&self, blob: BlobId) -> Result<Vec<u8>, Fault> {
        expect_answer!(self.query(Query::Blob { blob }).await?, Blob).map(|bytes| bytes.0)
    }

    pub async fn diff(&self, task: TaskId, wish: DiffWish) -> Result<TaskDiff, Fault> {
        expect_answer!(self.query(Query::Diff { task, wish }).await?, Diff).map(|diff| *diff)
    }

    pub async fn patch(&self, task: TaskId, wish: DiffWish) -> Result<Vec<u8>, Fault> {
        expect_answer!(self.query(Query::Patch { task, wish }).await?, Patch).map(|bytes| bytes.0)
    }

    pub async fn turns(&self, task: TaskId) -> Result<Vec<TurnView>, Fault> {
        expect_answer!(self.query(Query::Turns { task }).await?, Turns)
    }

    pub async fn merge_preview(&self, task: TaskId, into: Goal) -> Result<MergePreview, Fault> {
        expect_answer!(self.query(Query::MergePreview { task, into }).await?, MergePreview).map(|preview| *preview)
    }

    pub async fn rewind_preview(
        &self,
        task: TaskId,
        to: Option<TurnId>,
        extent: Extent,
    ) -> Result<RewindPreview, Fault> {
        let answer = self.query(Query::RewindPreview { task, to, extent }).await?;
        expect_answer!(answer, RewindPreview).map(|preview| *preview)
    }

    pub async fn seen(&self, task: TaskId) -> Result<Seen, Fault> {
        expect_answer!(self.query(Query::Seen { task }).await?, Seen)
    }

    pub async fn files(&self, task: TaskId, words: String, limit: usize) -> Result<Vec<String>, Fault> {
        expect_answer!(self.query(Query::Files { task, words, limit }).await?, Files)
    }

    pub async fn search(&self, question: Question) -> Result<Found, Fault> {
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

    /// Stops all agents, saves everything, and waits until the engine has ended.
    pub async fn quit(&self) {
        // An engine that has ended already has nothing to answer.
        let _ = self.command(Command::Quit).await;
        self.ended().await;
    }

    /// Waits until the engine has ended.
    pub async fn ended(&self) {
        self.0.ended().await;
    }
}

/// The port of an engine in this process.
pub struct Local {
    pub(in crate::engine) incoming: mpsc::UnboundedSender<Incoming>,
    pub(in crate::engine) queries: Queries,
    pub(in crate::engine) over: watch::Receiver<bool>,
}

impl Local {
    /// Sends something to the driver that it answers.
    async fn ask<T>(&self, question: impl FnOnce(oneshot::Sender<T>) -> Incoming) -> Result<T, Fault> {
        let (answer, result) = oneshot::channel();
        self.incoming.send(question(answer)).map_err(|_| has_ended())?;
        result.await.map_err(|_| has_ended())
    }

    async fn spot(&self, task: TaskId) -> Result<Spot, Fault> {
        self.ask(|answer| Incoming::Spot { task, answer }).await?
    }
}

impl Port for Local {
    fn command(&self, command: Command) -> BoxFuture<'_, Result<Outcome, Fault>> {
        // A front end acts for the user.
        let actor = Actor::User;
        async move { self.ask(|answer| Incoming::Command { actor, command, answer }).await? }.boxed()
    }

    fn query(&self, query: Query) -> BoxFuture<'_, Result<Answer, Fault>> {
        async move {
            if let Query::Tree(query) = query {
                return self.ask(|answer| Incoming::Query { query, answer }).await?.map(Answer::Tree);
            }
            let spot = match query.worktree_of() {
                Some(task) => Some(self.spot(task).await?),
                None => None,
            };
            self.queries.answer(query, spot).await
        }
        .boxed()
    }

    fn session(&self, task: TaskId) -> Pages {
        self.queries.session(task)
    }

    fn look(&self) -> BoxFuture<'_, Result<(Snapshot, Watcher), Fault>> {
        self.ask(|answer| Incoming::Look { answer }).boxed()
    }

    fn ended(&self) -> BoxFuture<'_, ()> {
        let mut over = self.over.clone();
        async move {
            let _ = over.wait_for(|over| *over).await;
        }
        .boxed()
    }
}

fn has_ended() -> Fault {
    Fault::environment("the engine has ended")
}
