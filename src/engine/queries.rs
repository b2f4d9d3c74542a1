//! Answers the queries of front ends from the disk and the repository, outside of the engine's loop. Changes nothing.

mod list;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use tokio::sync::mpsc;

use crate::base::fuzzy::{Fuzzy, Names};
use crate::base::{Clock, EventId, Fault, MessageId, TaskId};
use crate::config::paths::{Home, ProjectFolder};
use crate::config::{SettingRow, Settings};
use crate::engine::deleted_tasks;
use crate::engine::handle::Pages;
use crate::engine::model_list;
use crate::engine::query::{Bytes, Page, ProjectEntry, Query, QueryAnswer};
use crate::engine::settings_files::SettingsFiles;
use crate::engine::work_queries::{LazyReader, TaskLocation};
use crate::model::content::BlobId;
use crate::model::search::{SearchQuery, SearchResults};
use crate::model::{Body, Project, TaskNode, Tree};
use crate::search::Search;
use crate::store::chain::Damage;
use crate::store::registry::Registry;
use crate::store::scan::CHUNK;
use crate::store::tree_file::TreeFile;
use crate::store::{Blobs, EngineLock, RealDisk, Sessions, StateCache, StoreError};

/// How many files are considered when completing a path.
const MAX_FILES: usize = 50_000;
/// How many events are read at once.
const PAGE: usize = 500;

/// The sources of the answers.
#[derive(Clone)]
pub struct Queries {
    pub home: Home,
    pub project: Project,
    pub settings: Settings,
    pub clock: Arc<dyn Clock>,
    pub reader: LazyReader,
    pub sessions: Sessions,
    pub blobs: Blobs,
}

impl Queries {
    /// Answers a query. `location` is required for queries about a task's worktree.
    pub async fn answer(&self, query: Query, location: Option<TaskLocation>) -> Result<QueryAnswer, Fault> {
        let location =
            || location.as_ref().ok_or_else(|| Fault::internal("a query about a task came without its location"));
        Ok(match query {
            Query::Page { task, before, count } => {
                let sessions = self.sessions.clone();
                QueryAnswer::Page(blocking(move || page(&sessions, task, before, count)).await?)
            }
            Query::Message { task, message } => {
                let sessions = self.sessions.clone();
                let found = blocking(move || find_message(&sessions, task, message)).await?;
                QueryAnswer::Message(found.ok_or_else(|| Fault::user("the message is no longer in the session"))?)
            }
            Query::RawSession { task, from } => {
                let path = self.sessions.path(task);
                QueryAnswer::RawSession(Bytes(blocking(move || Ok(read_raw(&path, from)?)).await?))
            }
            Query::Blob { blob } => {
                let blobs = self.blobs.clone();
                QueryAnswer::Blob(Bytes(blocking(move || read_blob(&blobs, &blob)).await?))
            }
            Query::Diff { request, .. } => {
                QueryAnswer::Diff(Box::new(self.reader.get().await?.diff(location()?, request).await?))
            }
            Query::Patch { request, .. } => {
                QueryAnswer::Patch(Bytes(self.reader.get().await?.patch(location()?, request).await?))
            }
            Query::Turns { task } => QueryAnswer::Turns(self.reader.get().await?.turns(task).await?),
            Query::MergePreview { into, .. } => {
                QueryAnswer::MergePreview(Box::new(self.reader.get().await?.merge_preview(location()?, into).await?))
            }
            Query::RewindPreview { to, extent, .. } => QueryAnswer::RewindPreview(Box::new(
                self.reader.get().await?.rewind_preview(location()?, to, extent).await?,
            )),
            Query::Seen { task } => QueryAnswer::Seen(self.reader.get().await?.seen(task).await?),
            Query::Files { words, limit, .. } => {
                let worktree = location()?.worktree.clone().filter(|path| path.exists());
                let folder = worktree.unwrap_or_else(|| self.project.path.clone());
                QueryAnswer::Files(blocking(move || Ok(matching_files(&folder, &words, limit))).await?)
            }
            Query::Search { question } => {
                QueryAnswer::Search(self.run_blocking(move |queries| queries.search(&question)).await?)
            }
            Query::Find { name } => QueryAnswer::Find(self.run_blocking(move |queries| queries.find(&name)).await?),
            Query::Tasks => QueryAnswer::Tasks(self.run_blocking(Self::task_list).await?),
            Query::Summary { task } => {
                QueryAnswer::Summary(Box::new(self.run_blocking(move |queries| queries.summary(task)).await?))
            }
            Query::Asks => QueryAnswer::Asks(self.run_blocking(Self::asks).await?),
            Query::Costs { by } => QueryAnswer::Costs(self.run_blocking(move |queries| queries.costs(by)).await?),
            Query::DeletedTasks => QueryAnswer::DeletedTasks(self.run_blocking(Self::deleted_tasks).await?),
            Query::Models { from } => {
                QueryAnswer::Models(model_list::models(&self.settings, from, Arc::clone(&self.clock)).await)
            }
            Query::Settings => QueryAnswer::Settings(self.run_blocking(Self::setting_rows).await?),
            Query::Projects => {
                let home = self.home.clone();
                QueryAnswer::Projects(blocking(move || projects(&home)).await?)
            }
            Query::Tree(_) => return Err(Fault::internal("a query about the tree did not reach the engine's loop")),
        })
    }

    /// Reads a whole session page by page.
    pub fn session(&self, task: TaskId) -> Pages {
        let (sender, pages) = mpsc::channel(1);
        let sessions = self.sessions.clone();
        tokio::task::spawn_blocking(move || {
            let mut events = Vec::new();
            let read = sessions.stream_chain(task, |event| {
                events.push(event);
                if events.len() == PAGE {
                    let events = std::mem::take(&mut events);
                    // If the receiver is gone, the rest is read in vain, but the loop ends.
                    let _ = sender.blocking_send(Ok(Page { events, more: false, damaged: false }));
                }
            });
            let last = read.map(|damage| Page { events, more: false, damaged: damage != Damage::default() });
            let _ = sender.blocking_send(last.map_err(Fault::from));
        });
        pages
    }

    /// Runs `work` on a blocking thread.
    async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        let queries = self.clone();
        blocking(move || work(&queries)).await
    }

    /// Returns the location of a task according to the tree file.
    pub async fn location(&self, task: TaskId) -> Result<TaskLocation, Fault> {
        self.run_blocking(move |queries| {
            // A session that cannot be read has no valid check result.
            let receipt =
                queries.state_cache().summary(&queries.sessions, task).ok().and_then(|it| it.state.work.receipt);
            let verify = queries.settings.verify.as_deref();
            let tree = queries.tree()?.tree;
            let location = tree.and_then(|tree| TaskLocation::of(&tree, task, &queries.project, verify, receipt));
            location.ok_or_else(|| Fault::user(format!("task {task} is no longer in the tree")))
        })
        .await
    }

    pub fn folder(&self) -> ProjectFolder {
        self.home.project(self.project.id)
    }

    /// Returns the settings files of the project.
    pub fn settings_files(&self) -> SettingsFiles {
        let (home, repository) = (self.home.clone(), Some(self.project.path.clone()));
        SettingsFiles { home, repository, project: Some(self.project.id) }
    }

    fn setting_rows(&self) -> Result<Vec<SettingRow>, Fault> {
        Ok(self.settings_files().merged()?.list().iter().map(SettingRow::from).collect())
    }

    fn search(&self, question: &SearchQuery) -> Result<SearchResults, Fault> {
        let folder = self.folder();
        let search = Search {
            sessions: self.sessions.clone(),
            blobs: self.blobs.clone(),
            index: folder.search(),
            lock: folder.search_lock(),
        };
        // Without a tree file, the search still works but has no titles. A search below a task needs the tree.
        let mut file = TreeFile::new(Arc::new(RealDisk), folder.tree());
        let tree = match question.below {
            Some(_) => self.tree()?.tree,
            None => file.load()?.map(|loaded| loaded.tree),
        };
        Ok(search.find(tree.as_ref(), question)?)
    }

    fn deleted_tasks(&self) -> Result<Vec<TaskNode>, Fault> {
        let known: BTreeSet<TaskId> = self.tree()?.tree.iter().flat_map(Tree::all).map(|node| node.id).collect();
        Ok(deleted_tasks::list(&self.sessions, &known)?)
    }
}

fn page(sessions: &Sessions, task: TaskId, before: Option<EventId>, count: usize) -> Result<Page, Fault> {
    let page = match before {
        None => sessions.last_page(task, count)?,
        Some(event) => sessions.page_before(task, sessions.cursor_before(task, event)?, count)?,
    };
    Ok(Page { more: page.older.is_some(), events: page.events, damaged: page.damage != Damage::default() })
}

/// Returns up to [`CHUNK`] bytes of a file. Empty if the file does not exist.
fn read_raw(path: &Path, from: u64) -> Result<Vec<u8>, StoreError> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(StoreError::io("open", path)(error)),
    };
    let mut bytes = Vec::new();
    let read = file.seek(SeekFrom::Start(from)).and_then(|_| file.take(CHUNK as u64).read_to_end(&mut bytes));
    read.map_err(StoreError::io("read", path))?;
    Ok(bytes)
}

/// Returns the text of a message. Searches from the end, because recent messages are requested most.
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
        .take(MAX_FILES)
        .filter_map(|entry| relative(entry.path()))
        .collect();
    let hits = Fuzzy::new(Names::Paths).rank(words, paths.iter().map(String::as_str), limit);
    hits.into_iter().map(|hit| paths[hit.index].clone()).collect()
}

/// Returns the projects of a data folder, with what waits for the user. Reads files.
pub fn projects(home: &Home) -> Result<Vec<ProjectEntry>, Fault> {
    let entry = |project: Project| {
        let folder = home.project(project.id);
        ProjectEntry {
            id: project.id,
            name: project.name,
            path: project.path.display().to_string(),
            open: EngineLock::holder(&folder.lock()).is_ok_and(|holder| holder.is_some()),
            waiting: open_asks(&folder),
        }
    };
    Ok(Registry::new(Arc::new(RealDisk), home.projects()).list()?.into_iter().map(entry).collect())
}

/// Returns the number of open questions of a project, as far as its files can be read.
fn open_asks(folder: &ProjectFolder) -> usize {
    let Ok(Some(loaded)) = TreeFile::new(Arc::new(RealDisk), folder.tree()).load() else { return 0 };
    let sessions = Sessions::new(Arc::new(RealDisk), folder.sessions());
    let mut cache = StateCache::load(Arc::new(RealDisk), folder.digests());
    let count = |task| cache.summary(&sessions, task).map_or(0, |summary| summary.state.asks.len());
    loaded.tree.all().map(|node| node.id).map(count).sum()
}

/// Runs `work` on a blocking thread.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, Fault> + Send + 'static) -> Result<T, Fault> {
    tokio::task::spawn_blocking(work).await.map_err(|error| Fault::internal(error.to_string()))?
}

/// Reads a blob. A name that nothing has is the caller's mistake, not the machine's.
fn read_blob(blobs: &Blobs, blob: &BlobId) -> Result<Vec<u8>, Fault> {
    blobs.read(blob).map_err(|error| match &error {
        StoreError::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
            Fault::user(format!("nothing is stored as {blob}"))
        }
        _ => error.into(),
    })
}
