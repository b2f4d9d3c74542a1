//! Answers a front end's [`Query`] from the disk and the repository, beside the engine's loop. Changes nothing.

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
use crate::engine::handle::Pages;
use crate::engine::model_list;
use crate::engine::query::{Answer, Bytes, Page, ProjectEntry, Query};
use crate::engine::reading::{LazyReader, Spot};
use crate::engine::recall;
use crate::engine::settings_files::SettingsFiles;
use crate::model::search::{Found, Question};
use crate::model::{Body, Project, TaskNode, Tree};
use crate::search::Search;
use crate::store::chain::Damage;
use crate::store::registry::Registry;
use crate::store::scan::CHUNK;
use crate::store::tree_file::TreeFile;
use crate::store::{Blobs, EngineLock, RealDisk, Sessions, StoreError};

/// How many files are considered when a path is completed.
const MOST_FILES: usize = 50_000;
/// How many events are read at once: when a message is looked for, and of a whole session.
const PAGE: usize = 500;

/// Everything that queries are answered from.
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
            Query::RawSession { task, from } => {
                let path = self.sessions.path(task);
                Answer::RawSession(Bytes(blocking(move || Ok(raw(&path, from)?)).await?))
            }
            Query::Blob { blob } => {
                let blobs = self.blobs.clone();
                Answer::Blob(Bytes(blocking(move || Ok(blobs.read(&blob)?)).await?))
            }
            Query::Diff { wish, .. } => Answer::Diff(Box::new(self.reader.get().await?.diff(spot()?, wish).await?)),
            Query::Patch { wish, .. } => Answer::Patch(Bytes(self.reader.get().await?.patch(spot()?, wish).await?)),
            Query::Turns { task } => Answer::Turns(self.reader.get().await?.turns(task).await?),
            Query::MergePreview { into, .. } => {
                Answer::MergePreview(Box::new(self.reader.get().await?.merge_preview(spot()?, into).await?))
            }
            Query::RewindPreview { to, extent, .. } => {
                Answer::RewindPreview(Box::new(self.reader.get().await?.rewind_preview(spot()?, to, extent).await?))
            }
            Query::Seen { task } => Answer::Seen(self.reader.get().await?.seen(task).await?),
            Query::Files { words, limit, .. } => {
                let worktree = spot()?.worktree.clone().filter(|path| path.exists());
                let folder = worktree.unwrap_or_else(|| self.project.path.clone());
                Answer::Files(blocking(move || Ok(matching_files(&folder, &words, limit))).await?)
            }
            Query::Search { question } => Answer::Search(self.aside(move |queries| queries.search(&question)).await?),
            Query::Find { name } => Answer::Find(self.aside(move |queries| queries.find(&name)).await?),
            Query::Tasks => Answer::Tasks(self.aside(Self::task_list).await?),
            Query::Summary { task } => {
                Answer::Summary(Box::new(self.aside(move |queries| queries.summary(task)).await?))
            }
            Query::Asks => Answer::Asks(self.aside(Self::asks).await?),
            Query::Costs { by } => Answer::Costs(self.aside(move |queries| queries.costs(by)).await?),
            Query::DeletedTasks => Answer::DeletedTasks(self.aside(Self::deleted_tasks).await?),
            Query::Models { from } => {
                Answer::Models(model_list::models(&self.settings, from, Arc::clone(&self.clock)).await)
            }
            Query::Settings => Answer::Settings(self.aside(Self::setting_rows).await?),
            Query::Projects => {
                let home = self.home.clone();
                Answer::Projects(blocking(move || projects(&home)).await?)
            }
            Query::Tree(_) => return Err(Fault::internal("a query about the tree did not reach the engine's loop")),
        })
    }

    /// Reads a whole session beside its task's agent, a page at a time.
    pub fn session(&self, task: TaskId) -> Pages {
        let (sender, pages) = mpsc::channel(1);
        let sessions = self.sessions.clone();
        tokio::task::spawn_blocking(move || {
            let mut events = Vec::new();
            let read = sessions.stream_chain(task, |event| {
                events.push(event);
                if events.len() == PAGE {
                    let events = std::mem::take(&mut events);
                    // Nobody takes them any more: the rest is read for nothing, which ends by itself.
                    let _ = sender.blocking_send(Ok(Page { events, more: false, damaged: false }));
                }
            });
            let last = read.map(|damage| Page { events, more: false, damaged: damage != Damage::default() });
            let _ = sender.blocking_send(last.map_err(Fault::from));
        });
        pages
    }

    /// Does work that waits for the disk on a thread where it may.
    async fn aside<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        let queries = self.clone();
        blocking(move || work(&queries)).await
    }

    /// Returns where a task works, as the disk has it.
    pub async fn spot(&self, task: TaskId) -> Result<Spot, Fault> {
        self.aside(move |queries| {
            // A session that cannot be read has no receipt that counts.
            let receipt = queries.digests().summary(&queries.sessions, task).ok().and_then(|it| it.state.work.receipt);
            let verify = queries.settings.verify.as_deref();
            let tree = queries.tree()?.tree;
            let spot = tree.and_then(|tree| Spot::of(&tree, task, &queries.project, verify, receipt));
            spot.ok_or_else(|| Fault::user(format!("task {task} is not in the tree any more")))
        })
        .await
    }

    /// Returns the folder of the project's own files.
    pub fn folder(&self) -> ProjectFolder {
        self.home.project(self.project.id)
    }

    /// Returns the files that hold the project's settings.
    pub fn settings_files(&self) -> SettingsFiles {
        let (home, repository) = (self.home.clone(), Some(self.project.path.clone()));
        SettingsFiles { home, repository, project: Some(self.project.id) }
    }

    fn setting_rows(&self) -> Result<Vec<SettingRow>, Fault> {
        Ok(self.settings_files().merged()?.list().iter().map(SettingRow::from).collect())
    }

    fn search(&self, question: &Question) -> Result<Found, Fault> {
        let folder = self.folder();
        let search = Search {
            sessions: self.sessions.clone(),
            blobs: self.blobs.clone(),
            index: folder.search(),
            lock: folder.search_lock(),
        };
        // Where the tree's file went missing, everything is found all the same, without titles. What is below a task is
        // not known then.
        let mut file = TreeFile::new(Arc::new(RealDisk), folder.tree());
        let tree = match question.below {
            Some(_) => self.tree()?.tree,
            None => file.load()?.map(|loaded| loaded.tree),
        };
        Ok(search.find(tree.as_ref(), question)?)
    }

    fn deleted_tasks(&self) -> Result<Vec<TaskNode>, Fault> {
        let known: BTreeSet<TaskId> = self.tree()?.tree.iter().flat_map(Tree::all).map(|node| node.id).collect();
        Ok(recall::deleted(&self.sessions, &known)?)
    }
}

fn page(sessions: &Sessions, task: TaskId, before: Option<EventId>, count: usize) -> Result<Page, Fault> {
    let page = match before {
        None => sessions.last_page(task, count)?,
        Some(event) => sessions.page_before(task, sessions.cursor_before(task, event)?, count)?,
    };
    Ok(Page { more: page.older.is_some(), events: page.events, damaged: page.damage != Damage::default() })
}

/// Returns up to [`CHUNK`] bytes of a file. A task without events has none.
fn raw(path: &Path, from: u64) -> Result<Vec<u8>, StoreError> {
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
