//! Answers a front end's [`Query`] from the disk and the repository, beside the engine's loop. Changes nothing.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use crate::base::fuzzy::{Fuzzy, Names};
use crate::base::{Clock, EventId, Fault, MessageId, TaskId};
use crate::config::Settings;
use crate::config::paths::Home;
use crate::engine::model_list;
use crate::engine::query::{Answer, Bytes, Page, ProjectEntry, Query};
use crate::engine::reading::{Reader, Spot};
use crate::engine::recall;
use crate::model::search::{Found, Question};
use crate::model::{Body, Project, TaskNode, Tree};
use crate::search::Search;
use crate::store::registry::Registry;
use crate::store::tree_file::TreeFile;
use crate::store::{Blobs, EngineLock, RealDisk, Sessions};

/// How many files are considered when a path is completed.
const MOST_FILES: usize = 50_000;
/// How many events are read at once when a message is looked for.
const PAGE: usize = 500;

/// Everything that queries are answered from.
#[derive(Clone)]
pub struct Queries {
    pub home: Home,
    pub project: Project,
    pub settings: Settings,
    pub clock: Arc<dyn Clock>,
    pub reader: Reader,
    pub sessions: Sessions,
    pub blobs: Blobs,
}

impl Queries {
    /// Answers a query. `spot` is where the task that it is about works, if it is about one.
    pub async fn answer(&self, query: Query, spot: Option<Spot>) -> Result<Answer, Fault> {
        let spot = || spot.as_ref().ok_or_else(|| Fault::internal("a query about a task came without its place"));
        Ok(match query {
            Query::Page { task, before, count } => {
                let sessions = self.sessions.clone();
                Answer::Page(blocking(move || page(&sessions, task, before, count)).await?)
            }
            Query::Message { task, message } => {
                let sessions = self.sessions.clone();
                let found = blocking(move || find_message(&sessions, task, message)).await?;
                Answer::Message(found.ok_or_else(|| Fault::user("the message is not in the session any more"))?)
            }
            Query::Blob { blob } => {
                let blobs = self.blobs.clone();
                Answer::Blob(Bytes(blocking(move || Ok(blobs.read(&blob)?)).await?))
            }
            Query::Diff { wish, .. } => Answer::Diff(Box::new(self.reader.diff(spot()?, wish).await?)),
            Query::Turns { task } => Answer::Turns(self.reader.turns(task).await?),
            Query::MergePreview { into, .. } => {
                Answer::MergePreview(Box::new(self.reader.merge_preview(spot()?, into).await?))
            }
            Query::RewindPreview { to, extent, .. } => {
                Answer::RewindPreview(Box::new(self.reader.rewind_preview(spot()?, to, extent).await?))
            }
            Query::Seen { task } => Answer::Seen(self.reader.seen(task).await?),
            Query::Files { words, limit, .. } => {
                let worktree = spot()?.worktree.clone().filter(|path| path.exists());
                let folder = worktree.unwrap_or_else(|| self.project.path.clone());
                Answer::Files(blocking(move || Ok(matching_files(&folder, &words, limit))).await?)
            }
            Query::Search { question } => {
                let queries = self.clone();
                Answer::Search(blocking(move || queries.search(&question)).await?)
            }
            Query::DeletedTasks => {
                let queries = self.clone();
                Answer::DeletedTasks(blocking(move || queries.deleted_tasks()).await?)
            }
            Query::Models { from } => {
                Answer::Models(model_list::models(&self.settings, from, Arc::clone(&self.clock)).await)
            }
            Query::Projects => {
                let home = self.home.clone();
                Answer::Projects(blocking(move || projects(&home)).await?)
            }
            Query::Tree(_) => return Err(Fault::internal("a query about the tree did not reach the engine's loop")),
        })
    }

    fn tree(&self) -> Result<Option<Tree>, Fault> {
        let mut file = TreeFile::new(Arc::new(RealDisk), self.home.project(self.project.id).tree());
        Ok(file.load()?.map(|loaded| loaded.tree))
    }

    fn search(&self, question: &Question) -> Result<Found, Fault> {
        let folder = self.home.project(self.project.id);
        let search = Search {
            sessions: self.sessions.clone(),
            blobs: self.blobs.clone(),
            index: folder.search(),
            lock: folder.search_lock(),
        };
        Ok(search.find(self.tree()?.as_ref(), question)?)
    }

    fn deleted_tasks(&self) -> Result<Vec<TaskNode>, Fault> {
        let known: BTreeSet<TaskId> = self.tree()?.iter().flat_map(Tree::all).map(|node| node.id).collect();
        Ok(recall::deleted(&self.sessions, &known)?)
    }
}

fn page(sessions: &Sessions, task: TaskId, before: Option<EventId>, count: usize) -> Result<Page, Fault> {
    let page = match before {
        None => sessions.last_page(task, count)?,
        Some(event) => sessions.page_before(task, sessions.cursor_before(task, event)?, count)?,
    };
    Ok(Page { more: page.older.is_some(), events: page.events })
}

/// Returns the text of a message. Searches from the end, because recent messages are asked for most.
fn find_message(sessions: &Sessions, task: TaskId, message: MessageId) -> Result<Option<String>, Fault> {
    let mut page = sessions.last_page(task, PAGE)?;
    loop {
        let text = page.events.iter().find_map(|event| match &event.body {
            Body::Message(sent) if sent.id == message => Some(sent.body.clone()),
            _ => None,
        });
        match (text, page.older) {
            (Some(text), _) => return Ok(Some(text)),
            (None, None) => return Ok(None),
            (None, Some(older)) => page = sessions.page_before(task, older, PAGE)?,
        }
    }
}

fn matching_files(folder: &Path, words: &str, limit: usize) -> Vec<String> {
    let relative = |path: &Path| Some(path.strip_prefix(folder).ok()?.to_string_lossy().into_owned());
    let paths: Vec<String> = ignore::WalkBuilder::new(folder)
        .hidden(true)
        .build()
        .flatten()
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
        .take(MOST_FILES)
        .filter_map(|entry| relative(entry.path()))
        .collect();
    let hits = Fuzzy::new(Names::Paths).rank(words, paths.iter().map(String::as_str), limit);
    hits.into_iter().map(|hit| paths[hit.index].clone()).collect()
}

fn projects(home: &Home) -> Result<Vec<ProjectEntry>, Fault> {
    let entry = |project: Project| ProjectEntry {
        id: project.id,
        name: project.name,
        path: project.path.display().to_string(),
        open: EngineLock::holder(&home.project(project.id).lock()).is_ok_and(|holder| holder.is_some()),
    };
    Ok(Registry::new(Arc::new(RealDisk), home.projects()).list()?.into_iter().map(entry).collect())
}

/// Runs work that waits for the disk on a thread where it may.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, Fault> + Send + 'static) -> Result<T, Fault> {
    tokio::task::spawn_blocking(work).await.map_err(|error| Fault::internal(error.to_string()))?
}
