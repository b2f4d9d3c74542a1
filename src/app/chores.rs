//! What the screen wants done that neither the terminal nor the engine does: files, blobs, programs.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;

use super::comparison;
use crate::base::{EventId, Fault, IdSource, MessageId, RunId, TaskId};
use crate::config::paths::ProjectFolder;
use crate::engine::Handle;
use crate::engine::review::{DiffWish, TaskDiff};
use crate::model::search::{Found, Question};
use crate::model::{BlobRef, Body, Image};
use crate::process::{self, Environment, Spec};
use crate::search::Search;
use crate::store::tree_file::TreeFile;
use crate::store::{RealDisk, StoreError};
use crate::text::fuzzy::{Fuzzy, Names};
use crate::ui::Msg;
use crate::ui::review::{Answer, Comparison, Request};

/// How many files are looked at, and how many are offered.
const MOST_FILES: usize = 50_000;
const OFFERED: usize = 50;
/// How many events are read at once when something is looked for.
const PAGE: usize = 500;
/// How large a picture may be to be attached.
const LARGEST_IMAGE: u64 = 20 << 20;
/// How long a clipboard program may take.
const CLIPBOARD_LIMIT: Duration = Duration::from_secs(2);
/// How long the person's own command for notices may take.
const NOTICE_LIMIT: Duration = Duration::from_secs(30);

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
            Msg::Said { level: crate::engine::update::Level::Error, text: error.to_string() }
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
        let made = tokio::task::spawn_blocking(move || {
            Comparison::new(diff.files.into_iter().map(comparison::file).collect(), diff.hidden_files)
        });
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

/// Finds files below `folder` whose paths fit `query`.
pub(super) async fn files(folder: PathBuf, task: TaskId, query: String) -> Msg {
    let wanted = query.clone();
    let found = tokio::task::spawn_blocking(move || {
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
    Msg::Files { task, query, paths: found.await.unwrap_or_default() }
}

/// Looks for something over all tasks, one question at a time: the latest is all that anybody waits for.
#[derive(Clone)]
pub(super) struct Finder {
    search: Search,
    tree: PathBuf,
    turn: Arc<tokio::sync::Mutex<()>>,
    latest: Arc<AtomicU64>,
}

impl Finder {
    pub(super) fn new(handle: &Handle, folder: &ProjectFolder) -> Self {
        let search = Search {
            sessions: handle.sessions().clone(),
            blobs: handle.blobs().clone(),
            index: folder.search(),
            lock: folder.search_lock(),
        };
        Self { search, tree: folder.tree(), turn: Arc::default(), latest: Arc::default() }
    }

    fn look(&self, question: &Question) -> Result<Found, Fault> {
        let loaded = TreeFile::new(Arc::new(RealDisk), &self.tree).load()?;
        Ok(self.search.find(loaded.as_ref().map(|loaded| &loaded.tree), question)?)
    }
}

/// Looks for something, unless something else is looked for by the time its turn comes. Questions count in the order in
/// which this is called, whenever the futures are polled.
pub(super) fn search(finder: Finder, question: Question) -> impl Future<Output = Msg> {
    let number = finder.latest.fetch_add(1, Ordering::Relaxed) + 1;
    async move {
        let turn = Arc::clone(&finder.turn).lock_owned().await;
        let asked = question.clone();
        let looked = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            if finder.latest.load(Ordering::Relaxed) > number { Ok(Found::default()) } else { finder.look(&question) }
        });
        let found = looked.await.unwrap_or_else(|error| Err(Fault::internal(error.to_string())));
        Msg::Found { asked, found }
    }
}

/// Takes a picture into the blobs.
pub(super) async fn attach(handle: Handle, task: TaskId, path: String, folder: PathBuf) -> Msg {
    let wanted = path.clone();
    let blobs = handle.blobs().clone();
    let taken = tokio::task::spawn_blocking(move || {
        let file = match wanted.strip_prefix("~/") {
            Some(rest) => directories::BaseDirs::new().map_or_else(|| folder.clone(), |own| own.home_dir().join(rest)),
            None => folder.join(wanted.trim()),
        };
        let failed = |error: std::io::Error| Fault::user(format!("cannot read {}: {error}", file.display()));
        let size = std::fs::metadata(&file).map_err(failed)?.len();
        if size > LARGEST_IMAGE {
            return Err(Fault::user(format!("{} is too large to attach", file.display())));
        }
        let bytes = std::fs::read(&file).map_err(failed)?;
        let media_type = media_type(&bytes)
            .ok_or_else(|| Fault::user(format!("{} is no picture (png, jpeg, gif or webp)", file.display())))?;
        let data = blobs.put(&bytes)?;
        let name = file.file_name().map(|name| name.to_string_lossy().into_owned());
        Ok(Image { data, media_type: media_type.to_owned(), name })
    });
    let image = taken.await.unwrap_or_else(|error| Err(Fault::internal(error.to_string())));
    Msg::Attached { task, path, image }
}

fn media_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// Gives a text to a program on its standard input. Tells whether it took it.
pub(super) async fn feed(ids: &IdSource, program: &str, arguments: &[&str], text: &str) -> bool {
    let id = format!("copy-{}", RunId::fresh(ids));
    let environment = Environment::new().keep("WAYLAND_DISPLAY").keep("DISPLAY").keep("XAUTHORITY");
    let spec = Spec { environment, ..Spec::new(id, program, std::env::temp_dir()) };
    let Ok((process, mut dialogue)) = process::converse(spec.arguments(arguments)) else { return false };
    let fed = async {
        let written = dialogue.input.write_all(text.as_bytes()).await;
        drop(dialogue.input);
        written.is_ok() && process.left().await.code == Some(0)
    };
    tokio::time::timeout(CLIPBOARD_LIMIT, fed).await.unwrap_or(false)
}

/// Runs the person's own command for a notice. Returns what to tell them if it does not work.
pub(super) async fn tell(ids: &IdSource, command: &str, notice: &str) -> Result<(), String> {
    let id = format!("notify-{}", RunId::fresh(ids));
    let mut environment = Environment::new().with("MXD_NOTICE", notice);
    for name in ["DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"] {
        environment = environment.keep(name);
    }
    let spec = Spec { environment, ..Spec::new(id, "sh", std::env::temp_dir()) };
    let failed = |why: String| format!("notify.command does not work: {why}");
    let process = process::start(spec.arguments(["-c", command])).map_err(|error| failed(error.to_string()))?;
    let Ok(exit) = tokio::time::timeout(NOTICE_LIMIT, process.left()).await else {
        process.kill();
        return Err(failed(format!("it was not done after {} s and was ended", NOTICE_LIMIT.as_secs())));
    };
    if exit.is_success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&process.output().glimpse().head).into_owned();
    let code = exit.code.map_or_else(|| "it was killed".to_owned(), |code| format!("it ended with {code}"));
    Err(failed(format!("{code} {}", crate::base::text::headline(&crate::base::sanitize::line(&said), 120))))
}

/// Lets the person edit a text with their own editor. Nothing: the editor failed, or there is none.
pub(super) async fn edit(text: &str) -> Result<String, Fault> {
    let tool = crate::term::editor::editor(|name| std::env::var(name).ok())?;
    let file = scratch_file("md");
    let failed =
        |what: &str, error: &dyn std::fmt::Display| Fault::environment(format!("{what} {}: {error}", file.display()));
    write_private(&file, text).map_err(|error| failed("cannot write", &error))?;
    let mut arguments = tool.arguments.clone();
    arguments.push(file.to_string_lossy().into_owned());
    let status = process::on_terminal(&tool.program, &arguments).await;
    let edited = match status {
        Ok(status) if status.success() => std::fs::read_to_string(&file).map_err(|error| failed("cannot read", &error)),
        Ok(status) => {
            Err(Fault::user(format!("the editor `{}` ended with {status}; nothing was taken over", tool.program)))
        }
        Err(error) => Err(Fault::environment(format!("the editor `{}` cannot be started: {error}", tool.program))
            .hint("set another one in your shell, such as: export EDITOR=vim")),
    };
    let _ = std::fs::remove_file(&file);
    edited
}

/// Shows a text in the person's own pager.
pub(super) async fn read(text: &str) -> Result<(), Fault> {
    let tool = crate::term::editor::pager(|name| std::env::var(name).ok())?;
    let file = scratch_file("txt");
    write_private(&file, text)
        .map_err(|error| Fault::environment(format!("cannot write {}: {error}", file.display())))?;
    let mut arguments = tool.arguments.clone();
    arguments.push(file.to_string_lossy().into_owned());
    let status = process::on_terminal(&tool.program, &arguments).await;
    let _ = std::fs::remove_file(&file);
    status
        .map(|_| ())
        .map_err(|error| Fault::environment(format!("the pager `{}` cannot be started: {error}", tool.program)))
}

fn scratch_file(extension: &str) -> PathBuf {
    std::env::temp_dir().join(format!("mxd-{}.{extension}", ulid::Ulid::generate()))
}

fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())
}

#[cfg(test)]
#[path = "chores_tests.rs"]
mod tests;
