//! Runs the queries of the UI, and turns their results into messages.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::latest_query::LatestWins;
use crate::base::{EventId, Fault, TaskId};
use crate::config::paths::Home;
use crate::engine::Handle;
use crate::engine::command::{Command, FileCommand, Outcome};
use crate::engine::projects::entries;
use crate::engine::query::{Bytes, ModelOffer, ModelSource, ProjectEntry};
use crate::engine::review::{DiffRequest, DraftedConflicts, MergeTarget, ReviewMarks, TaskDiff};
use crate::model::search::{SearchQuery, SearchResults};
use crate::model::{BlobRef, Image};
use crate::serve::ssh::SshAddress;
use crate::ui::review::{Answer, Comparison, Request};
use crate::ui::setup::ModelOption;
use crate::ui::{HostProjects, Msg, ProjectChoice};

/// Maximum number of file completions.
const MAX_FILES: usize = 50;
/// Maximum bytes of a picture.
const MAX_PICTURE: u64 = 64 << 20;

pub(super) async fn page(handle: Handle, task: TaskId, before: Option<EventId>, count: usize) -> Msg {
    match handle.page(task, before, count).await {
        Ok(page) => Msg::Page { task, before, more: page.more, events: page.events },
        Err(fault) => {
            tracing::warn!(%task, %fault, "cannot read a page of a session");
            Msg::PageFailed { task, before, fault }
        }
    }
}

pub(super) async fn blob(handle: Handle, task: TaskId, event: EventId, blob: BlobRef) -> Msg {
    let text = handle.blob(blob.blob).await.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Msg::Blob { task, event, text }
}

/// Loads a diff of a task's work, and the user's review marks.
pub(super) async fn diff(handle: Handle, task: TaskId, request: Request) -> Msg {
    let answer = async {
        let Request { range, whitespace, context } = request;
        let diff = handle.diff(task, DiffRequest { range, whitespace, context, only: Vec::new() }).await?;
        let seen = handle.seen(task).await?;
        let TaskDiff { old, new, state, diff, .. } = diff;
        let made = tokio::task::spawn_blocking(move || Comparison::new(diff.files, diff.hidden_files));
        let comparison = Arc::new(made.await.map_err(|error| Fault::internal(error.to_string()))?);
        Ok(Answer { comparison, old, new, state, seen })
    };
    Msg::Diff { task, request, answer: answer.await }
}

/// Finds paths in a task's worktree, unless a later query was made.
pub(super) fn files(
    latest: &LatestWins,
    handle: Handle,
    task: TaskId,
    query: String,
) -> impl Future<Output = Msg> + use<> {
    let words = query.clone();
    let found = latest.ask(async move { handle.files(task, words, MAX_FILES).await });
    async move {
        let paths = found.await.and_then(Result::ok).unwrap_or_default();
        Msg::Files { task, query, paths }
    }
}

/// Searches all tasks, unless a later query was made.
pub(super) fn search(latest: &LatestWins, handle: Handle, question: SearchQuery) -> impl Future<Output = Msg> + use<> {
    let asked = question.clone();
    let answer = latest.ask(async move { handle.search(question).await });
    async move { Msg::SearchResults { asked, found: answer.await.unwrap_or_else(|| Ok(SearchResults::default())) } }
}

pub(super) async fn models(handle: Handle, from: ModelSource) -> Vec<ModelOption> {
    let offers = handle.models(from).await.unwrap_or_else(|fault| {
        tracing::info!(%fault, "cannot list the models");
        Vec::new()
    });
    offers.into_iter().map(model_option).collect()
}

/// Returns a model with its context window and price, if known.
pub(super) fn model_option(offer: ModelOffer) -> ModelOption {
    // In columns: the list aligns its notes on the right.
    let window = offer.window.map_or_else(|| "unknown".to_owned(), crate::ui::labels::tokens);
    let price = offer.price.map_or_else(String::new, |(input, output)| {
        let dollars = |micro: u64| format!("${}", micro as f64 / 1e6);
        format!("  {:>5} in {:>6} out /M", dollars(input), dollars(output))
    });
    ModelOption { id: offer.id, note: format!("{window} window{price}"), has_window: offer.window.is_some() }
}

/// Lists the projects of the engine's machine, which is `host`, or this one.
pub(super) async fn projects(handle: Handle, home: Home, host: Option<String>) -> Msg {
    let there = handle.projects().await.unwrap_or_default();
    let mut choices = project_choices(there, host.as_deref());
    if host.is_some() {
        let here = tokio::task::spawn_blocking(move || entries(&home)).await;
        choices.extend(project_choices(here.ok().and_then(Result::ok).unwrap_or_default(), None));
    }
    Msg::Projects(choices)
}

/// Lists the projects of another machine.
pub(super) async fn host_projects(host: String) -> Msg {
    let listed = match SshAddress::parse(&host) {
        Ok(address) => address.projects().await,
        Err(fault) => Err(fault),
    };
    let projects = match listed {
        Ok(entries) => HostProjects::Listed(project_choices(entries, Some(&host))),
        Err(fault) => HostProjects::Failed(fault),
    };
    Msg::HostProjects { host, projects }
}

fn project_choices(entries: Vec<ProjectEntry>, host: Option<&str>) -> Vec<ProjectChoice> {
    let choice = |entry: ProjectEntry| {
        let asks = (entry.waiting > 0).then(|| crate::base::text::count(entry.waiting, "question", "questions"));
        let notes: Vec<_> = asks.into_iter().chain(entry.open.then(|| "open".to_owned())).collect();
        let (note, host) = (notes.join(", "), host.map(str::to_owned));
        ProjectChoice { id: entry.id, name: entry.name, path: entry.path, note, host }
    };
    entries.into_iter().map(choice).collect()
}

pub(super) async fn mark_seen(handle: Handle, task: TaskId, seen: ReviewMarks) -> Result<(), Fault> {
    handle.command(Command::Files(FileCommand::MarkSeen { task, seen })).await.map(drop)
}

/// Writes drafts of a task's conflicts for the user to edit.
pub async fn draft_conflicts(handle: &Handle, task: TaskId, into: MergeTarget) -> Result<DraftedConflicts, Fault> {
    match handle.command(Command::Files(FileCommand::DraftConflicts { task, into })).await? {
        Outcome::ConflictDrafts(drafts) => Ok(drafts),
        _ => Err(Fault::internal("the engine answered a draft of conflicts with something else")),
    }
}

/// Reads a local picture and sends it to the engine.
pub(super) async fn attach(handle: Handle, task: TaskId, path: String, folders: Vec<PathBuf>) -> Msg {
    let mut folder = PathBuf::new();
    for candidate in folders {
        folder = candidate;
        if tokio::fs::try_exists(&folder).await.unwrap_or(false) {
            break;
        }
    }
    let image = attach_picture(&handle, &path, &folder).await;
    Msg::Attached { task, path, image }
}

async fn attach_picture(handle: &Handle, path: &str, folder: &Path) -> Result<Image, Fault> {
    let file = match path.strip_prefix("~/") {
        Some(rest) => directories::BaseDirs::new().map_or_else(|| folder.to_owned(), |own| own.home_dir().join(rest)),
        None => folder.join(path.trim()),
    };
    let failed = |error: std::io::Error| Fault::user(format!("cannot read {}: {error}", file.display()));
    let found = tokio::fs::metadata(&file).await.map_err(failed)?;
    if !found.is_file() {
        return Err(Fault::user(format!("{} is not a file", file.display())));
    }
    if found.len() > MAX_PICTURE {
        let max = crate::base::text::size(MAX_PICTURE);
        return Err(Fault::user(format!("{} is larger than {max}; scale it down first", file.display())));
    }
    let data = Bytes(tokio::fs::read(&file).await.map_err(failed)?);
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    match handle.command(Command::Files(FileCommand::AttachPicture { name, data })).await? {
        Outcome::Attached(image) => Ok(image),
        _ => Err(Fault::internal("the engine answered a picture with something else")),
    }
}
