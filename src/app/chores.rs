//! What the screen wants read that neither the terminal nor the engine reads: sessions, blobs, files.

use std::io::{Read as _, Seek as _};
use std::path::PathBuf;
use std::sync::Arc;

use super::latest::Latest;
use crate::base::{EventId, Fault, MessageId, TaskId};
use crate::config::paths::ProjectFolder;
use crate::engine::Handle;
use crate::engine::review::{DiffWish, TaskDiff};
use crate::model::search::{Found, Question};
use crate::model::{BlobRef, Body, Image};
use crate::search::Search;
use crate::store::tree_file::TreeFile;
use crate::store::{RealDisk, StoreError};
use crate::text::fuzzy::{Fuzzy, Names};
use crate::tools::{Limits, picture};
use crate::ui::Msg;
use crate::ui::review::{Answer, Comparison, Request};

/// How many files are looked at, and how many are offered.
const MOST_FILES: usize = 50_000;
const OFFERED: usize = 50;
/// How much of a file is read to tell whether it is a picture.
const SNIFF: u64 = 16;
/// How many events are read at once when something is looked for.
const PAGE: usize = 500;

pub(super) async fn page(handle: Handle, task: TaskId, before: Option<EventId>, count: usize) -> Msg {
    let sessions = handle.sessions().clone();
    let read = tokio::task::spawn_blocking(move || match before {
        None => sessions.last_page(task, count),
        Some(event) => sessions.page_before(task, sessions.cursor_before(task, event)?, count),
    });
    match read.await.unwrap_or(Err(StoreError::Closed)) {
        Ok(page) => Msg::Page { task, before, more: page.older.is_some(), events: page.events },
        Err(error) => {
            tracing::warn!(%task, %error, "a page of a session cannot be read");
            Msg::NoPage { task, before, fault: error.into() }
        }
    }
}

pub(super) async fn blob(handle: Handle, task: TaskId, event: EventId, blob: BlobRef) -> Msg {
    let blobs = handle.blobs().clone();
    let read = tokio::task::spawn_blocking(move || blobs.read(&blob.blob)).await.unwrap_or(Err(StoreError::Closed));
    let text = read.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).map_err(Fault::from);
    Msg::Blob { task, event, text }
}

/// Compares what a task did at two moments, and finds out what the person has seen of it.
pub(super) async fn diff(handle: Handle, task: TaskId, request: Request) -> Msg {
    let answer = async {
        let Request { range, whitespace, context } = request;
        let diff = handle.diff(task, DiffWish { range, whitespace, context, only: Vec::new() }).await?;
        let seen = handle.seen(task).await?;
        let TaskDiff { old, new, state, diff, .. } = diff;
        let made = tokio::task::spawn_blocking(move || Comparison::new(diff.files, diff.hidden_files));
        let comparison = Arc::new(made.await.map_err(|error| Fault::internal(error.to_string()))?);
        Ok(Answer { comparison, old, new, state, seen })
    };
    Msg::Diff { task, request, answer: answer.await }
}

/// Finds something that was said to a task. It is looked for from the end: what is changed is mostly new.
pub(super) async fn said(handle: Handle, task: TaskId, message: MessageId) -> Result<String, Fault> {
    let sessions = handle.sessions().clone();
    let found = tokio::task::spawn_blocking(move || -> Result<Option<String>, StoreError> {
        let mut page = sessions.last_page(task, PAGE)?;
        loop {
            let text = page.events.iter().find_map(|event| match &event.body {
                Body::Message(said) if said.id == message => Some(said.body.clone()),
                _ => None,
            });
            match (text, page.older) {
                (Some(text), _) => return Ok(Some(text)),
                (None, None) => return Ok(None),
                (None, Some(older)) => page = sessions.page_before(task, older, PAGE)?,
            }
        }
    });
    let found = found.await.unwrap_or(Err(StoreError::Closed))?;
    found.ok_or_else(|| Fault::user("the message is not in the session any more"))
}

/// Finds files below `folder` whose paths fit `query`, unless something else is looked for by the time its turn comes.
pub(super) fn files(
    latest: &Latest,
    folder: PathBuf,
    task: TaskId,
    query: String,
) -> impl Future<Output = Msg> + use<> {
    let wanted = query.clone();
    let found = latest.ask(move || {
        let walk = ignore::WalkBuilder::new(&folder).hidden(true).build();
        let paths: Vec<String> = walk
            .flatten()
            .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
            .take(MOST_FILES)
            .filter_map(|entry| Some(entry.path().strip_prefix(&folder).ok()?.to_string_lossy().into_owned()))
            .collect();
        let hits = Fuzzy::new(Names::Paths).rank(&wanted, paths.iter().map(String::as_str), OFFERED);
        hits.into_iter().map(|hit| paths[hit.index].clone()).collect::<Vec<_>>()
    });
    async move { Msg::Files { task, query, paths: found.await.ok().flatten().unwrap_or_default() } }
}

/// Looks for something over all tasks.
#[derive(Clone)]
pub(super) struct Finder {
    search: Search,
    tree: PathBuf,
    latest: Latest,
}

impl Finder {
    pub(super) fn new(handle: &Handle, folder: &ProjectFolder) -> Self {
        let search = Search {
            sessions: handle.sessions().clone(),
            blobs: handle.blobs().clone(),
            index: folder.search(),
            lock: folder.search_lock(),
        };
        Self { search, tree: folder.tree(), latest: Latest::default() }
    }

    fn look(&self, question: &Question) -> Result<Found, Fault> {
        let loaded = TreeFile::new(Arc::new(RealDisk), &self.tree).load()?;
        Ok(self.search.find(loaded.as_ref().map(|loaded| &loaded.tree), question)?)
    }
}

/// Looks for something, unless something else is looked for by the time its turn comes.
pub(super) fn search(finder: Finder, question: Question) -> impl Future<Output = Msg> {
    let asked = question.clone();
    let looked = finder.latest.clone().ask(move || finder.look(&question));
    async move {
        let found = match looked.await {
            Ok(found) => found.unwrap_or_else(|| Ok(Found::default())),
            Err(fault) => Err(fault),
        };
        Msg::Found { asked, found }
    }
}

/// Takes a picture into the blobs, made as small as vendors want it.
pub(super) async fn attach(handle: Handle, task: TaskId, path: String, folder: PathBuf) -> Msg {
    let wanted = path.clone();
    let blobs = handle.blobs().clone();
    let taken = tokio::task::spawn_blocking(move || {
        let file = match wanted.strip_prefix("~/") {
            Some(rest) => directories::BaseDirs::new().map_or_else(|| folder.clone(), |own| own.home_dir().join(rest)),
            None => folder.join(wanted.trim()),
        };
        let failed = |error: std::io::Error| Fault::user(format!("cannot read {}: {error}", file.display()));
        let opened = std::fs::File::open(&file).map_err(failed)?;
        let mut start = Vec::new();
        (&opened).take(SNIFF).read_to_end(&mut start).map_err(failed)?;
        let kind = picture::kind(&start)
            .ok_or_else(|| Fault::user(format!("{} is no picture (png, jpeg, gif or webp)", file.display())))?;
        (&opened).rewind().map_err(failed)?;
        let (picture, _) = picture::look(opened, kind, Limits::default())
            .map_err(|problem| Fault::user(format!("{} cannot be attached: {problem}", file.display())))?;
        let data = blobs.put(&picture.bytes)?;
        let name = file.file_name().map(|name| name.to_string_lossy().into_owned());
        Ok(Image { data, media_type: picture.media_type.to_owned(), name })
    });
    let image = taken.await.unwrap_or_else(|error| Err(Fault::internal(error.to_string())));
    Msg::Attached { task, path, image }
}
