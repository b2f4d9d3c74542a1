//! Turns what the screen wants to read into queries, and their answers into messages.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::latest::Latest;
use crate::base::{EventId, Fault, TaskId};
use crate::engine::Handle;
use crate::engine::command::{Command, FileCommand, Outcome};
use crate::engine::query::{Bytes, ModelOffer, ModelSource, ProjectEntry};
use crate::engine::review::{DiffWish, Goal, Seen, Solving, TaskDiff};
use crate::model::search::{Found, Question};
use crate::model::{BlobRef, Image};
use crate::ui::review::{Answer, Comparison, Request};
use crate::ui::setup::Offered;
use crate::ui::{Msg, ProjectChoice};

/// How many files are offered as completions.
const OFFERED: usize = 50;
/// The largest picture that is read.
const LARGEST_PICTURE: u64 = 64 << 20;

pub(super) async fn page(handle: Handle, task: TaskId, before: Option<EventId>, count: usize) -> Msg {
    match handle.page(task, before, count).await {
        Ok(page) => Msg::Page { task, before, more: page.more, events: page.events },
        Err(fault) => {
            tracing::warn!(%task, %fault, "a page of a session cannot be read");
            Msg::NoPage { task, before, fault }
        }
    }
}

pub(super) async fn blob(handle: Handle, task: TaskId, event: EventId, blob: BlobRef) -> Msg {
    let text = handle.blob(blob.blob).await.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Msg::Blob { task, event, text }
}

/// Compares a task's work at two moments, and finds out what the user has seen of it.
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

/// Finds paths in a task's worktree, unless another query was typed by then.
pub(super) fn files(latest: &Latest, handle: Handle, task: TaskId, query: String) -> impl Future<Output = Msg> + use<> {
    let words = query.clone();
    let found = latest.ask(async move { handle.files(task, words, OFFERED).await });
    async move {
        let paths = found.await.and_then(Result::ok).unwrap_or_default();
        Msg::Files { task, query, paths }
    }
}

/// Searches all tasks, unless another question was asked by then.
pub(super) fn search(latest: &Latest, handle: Handle, question: Question) -> impl Future<Output = Msg> + use<> {
    let asked = question.clone();
    let answer = latest.ask(async move { handle.search(question).await });
    async move { Msg::Found { asked, found: answer.await.unwrap_or_else(|| Ok(Found::default())) } }
}

pub(super) async fn models(handle: Handle, from: ModelSource) -> Vec<Offered> {
    let offers = handle.models(from).await.unwrap_or_else(|fault| {
        tracing::info!(%fault, "the models cannot be listed");
        Vec::new()
    });
    offers.into_iter().map(offered).collect()
}

/// Returns a model with its context window and its price, as far as they are known.
pub(super) fn offered(offer: ModelOffer) -> Offered {
    let window = offer.window.map_or_else(|| "window not known".to_owned(), |window| format!("{}k", window / 1000));
    let price = offer.price.map_or_else(String::new, |(input, output)| {
        let dollars = |micro: u64| micro as f64 / 1e6;
        format!("  ${} in, ${} out per million", dollars(input), dollars(output))
    });
    Offered { id: offer.id, note: format!("{window}{price}"), windowed: offer.window.is_some() }
}

pub(super) async fn projects(handle: Handle) -> Msg {
    let choice = |entry: ProjectEntry| ProjectChoice {
        id: entry.id,
        name: entry.name,
        path: entry.path,
        note: if entry.open { "open".to_owned() } else { String::new() },
    };
    Msg::Projects(handle.projects().await.unwrap_or_default().into_iter().map(choice).collect())
}

pub(super) async fn mark_seen(handle: Handle, task: TaskId, seen: Seen) -> Result<(), Fault> {
    handle.command(Command::Files(FileCommand::MarkSeen { task, seen })).await.map(drop)
}

/// Writes drafts of a task's conflicts for the user to edit.
pub async fn draft_conflicts(handle: &Handle, task: TaskId, into: Goal) -> Result<Solving, Fault> {
    match handle.command(Command::Files(FileCommand::DraftConflicts { task, into })).await? {
        Outcome::ConflictDrafts(drafts) => Ok(drafts),
        _ => Err(Fault::internal("the engine answered a draft of conflicts with something else")),
    }
}

/// Reads a picture of this machine and hands it to the engine.
pub(super) async fn attach(handle: Handle, task: TaskId, path: String, folders: Vec<PathBuf>) -> Msg {
    let mut folder = PathBuf::new();
    for candidate in folders {
        folder = candidate;
        if tokio::fs::try_exists(&folder).await.unwrap_or(false) {
            break;
        }
    }
    let image = attached(&handle, &path, &folder).await;
    Msg::Attached { task, path, image }
}

async fn attached(handle: &Handle, path: &str, folder: &Path) -> Result<Image, Fault> {
    let file = match path.strip_prefix("~/") {
        Some(rest) => directories::BaseDirs::new().map_or_else(|| folder.to_owned(), |own| own.home_dir().join(rest)),
        None => folder.join(path.trim()),
    };
    let failed = |error: std::io::Error| Fault::user(format!("cannot read {}: {error}", file.display()));
    let found = tokio::fs::metadata(&file).await.map_err(failed)?;
    if !found.is_file() {
        return Err(Fault::user(format!("{} is not a file", file.display())));
    }
    if found.len() > LARGEST_PICTURE {
        let most = crate::base::text::size(LARGEST_PICTURE);
        return Err(Fault::user(format!("{} is larger than {most}; scale it down first", file.display())));
    }
    let data = Bytes(tokio::fs::read(&file).await.map_err(failed)?);
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    match handle.command(Command::Files(FileCommand::AttachPicture { name, data })).await? {
        Outcome::Attached(image) => Ok(image),
        _ => Err(Fault::internal("the engine answered a picture with something else")),
    }
}
