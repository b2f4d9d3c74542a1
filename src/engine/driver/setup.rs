//! A worktree that is ready to work in: made or found again, with the ignored files it needs, set up by the project's hook.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::launch::ready_mark;
use super::{Incoming, Parts};
use crate::base::{TaskId, disk, text};
use crate::config::paths::RepoFiles;
use crate::engine::machine::{Hook, Input, LaunchFailure, LaunchOrder, Place};
use crate::engine::update::{Level, Notice, Update};
use crate::git::{Standing, Start, Uncommitted, Wanted, include};
use crate::model::Live;
use crate::model::live::Channel;
use crate::process::{self, Environment, Process, Spec, environment::TASK_MARKER};

/// How long a setup hook may take.
const HOOK_LIMIT: Duration = Duration::from_mins(10);
/// What is shown of a failed hook's output.
const HOOK_BYTES: usize = 4_000;
/// What the hook's output goes by on the screen.
const HOOK_CALL: &str = "setup_worktree";

/// A folder to work in, and what its agent should know about it.
pub(super) struct Ready {
    pub(super) path: PathBuf,
    pub(super) notes: Vec<String>,
}

pub(super) async fn worktree(parts: &Arc<Parts>, order: &LaunchOrder) -> Result<Ready, LaunchFailure> {
    let Some(place) = &order.place else {
        return Ok(Ready { path: parts.project.path.clone(), notes: Vec::new() });
    };
    let task = order.node.id;
    let step = |step: &str| parts.send(Input::Launching { task, step: step.to_owned() });
    let refused = |error: crate::git::Error| match error {
        crate::git::Error::NoBranch(branch) if branch == parts.project.base_branch => LaunchFailure::Refused(format!(
            "there is no branch \"{branch}\" any more, from which work starts in this project; quit, and name another one with \
             `mxd init --base BRANCH`"
        )),
        error if error.is_refusal_of_disk() => LaunchFailure::Disk(error.to_string()),
        error => LaunchFailure::Refused(error.to_string()),
    };
    step("making the worktree");
    let wanted = Wanted { task, branch: place.branch.clone(), path: place.worktree.clone() };
    let had_branch = parts.worktrees.resolve(&Start::Branch(place.branch.clone())).await.is_ok();
    let standing = parts.worktrees.create(&wanted, &Start::Branch(place.base.clone())).await.map_err(refused)?;
    unlock(parts, task, &place.worktree).await;
    let mark = ready_mark(&place.worktree);
    if matches!(standing, Standing::Created | Standing::Recreated { .. }) {
        remove_mark(&mark)?;
    }
    let mut notes: Vec<String> = standing.notice().into_iter().collect();
    if had_branch && standing == Standing::Created {
        notes.extend(reopened(parts, &wanted).await.map_err(refused)?);
    }
    if !mark.exists() {
        step("copying ignored files");
        let included = include::copy(parts.worktrees.main(), &place.worktree).await.map_err(refused)?;
        if included.files > 0 {
            notes.push(format!(
                "Copied from the main checkout: {}.",
                text::count(included.files, "ignored file", "ignored files")
            ));
        }
        match order.hook {
            Hook::Run => run_hook(parts, order, place, &place.worktree).await?,
            Hook::RunEdited => run_hook(parts, order, place, &parts.project.path).await?,
            Hook::Skip => {}
        }
        std::fs::write(&mark, b"").map_err(|error| refused_file("write", &mark, &error))?;
    }
    let path = std::fs::canonicalize(&place.worktree).unwrap_or_else(|_| place.worktree.clone());
    Ok(Ready { path, notes })
}

/// Frees the index of a worktree in which nothing of ours runs: a git that was killed there, with its agent or with us,
/// would stop every other one.
pub(super) async fn unlock(parts: &Parts, task: TaskId, worktree: &Path) {
    match parts.worktrees.unlock_index(worktree).await {
        Ok(false) => {}
        Ok(true) => tracing::info!(%task, "a lock that a killed git had left on the index was removed"),
        Err(error) => tracing::warn!(%task, %error, "whether the index is locked could not be found out"),
    }
}

/// Brings back what was not committed when the task was put away. Returns what its agent should know.
async fn reopened(parts: &Parts, wanted: &Wanted) -> Result<Option<String>, crate::git::Error> {
    Ok(match parts.worktrees.restore(wanted).await?.uncommitted {
        Uncommitted::None => None,
        Uncommitted::Restored(files) => Some(format!(
            "Your worktree was made again from your branch, with {} that were not committed when it was put away.",
            text::count(files.len(), "file", "files")
        )),
        Uncommitted::Kept { archive } => Some(format!(
            "Your branch has moved on since your worktree was put away. What was not committed then is in {archive}."
        )),
    })
}

fn remove_mark(mark: &Path) -> Result<(), LaunchFailure> {
    match std::fs::remove_file(mark) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(refused_file("remove", mark, &error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn refused_file(what: &str, file: &Path, error: &std::io::Error) -> LaunchFailure {
    let said = format!("cannot {what} {}: {}", file.display(), disk::sentence(error));
    if disk::refuses(error) { LaunchFailure::Disk(said) } else { LaunchFailure::Refused(said) }
}

/// Runs the hook of the checkout `from` in a new worktree, with its output on the screen. Without a hook nothing happens.
async fn run_hook(parts: &Arc<Parts>, order: &LaunchOrder, place: &Place, from: &Path) -> Result<(), LaunchFailure> {
    let hook = RepoFiles::new(from).setup_hook();
    if !hook.is_file() {
        hint_at_hook(parts);
        return Ok(());
    }
    let task = order.node.id;
    parts.send(Input::Launching { task, step: "running the setup hook".to_owned() });
    let environment = Environment::new()
        .with(TASK_MARKER, task.to_string())
        .with("MXD_PROJECT", parts.project.path.as_os_str())
        .with("MXD_BRANCH", &place.branch);
    let environment = parts.agent_git.environment(environment, std::env::vars_os());
    let id = format!("setup-{}", crate::base::RunId::fresh(&parts.ids));
    let spec = Spec {
        environment,
        shown: "setup_worktree.sh".to_owned(),
        head: HOOK_BYTES,
        records: Some(parts.records.clone()),
        ..Spec::new(id, "bash", &place.worktree)
    };
    let started = process::start(spec.arguments([hook.as_os_str()]));
    let process = started.map_err(|error| hook_failed("could not be run", &error.to_string()))?;
    let exit = tokio::select! {
        exit = process.finish(HOOK_LIMIT) => exit,
        never = follow(parts, order, &process) => match never {},
    };
    show(parts, order, &process);
    let how = match exit.map(|exit| exit.code) {
        Some(Some(0)) => return Ok(()),
        Some(Some(code)) => format!("failed with exit code {code}"),
        Some(None) => "was ended by a signal".to_owned(),
        None => format!("was not done after {} minutes", HOOK_LIMIT.as_secs() / 60),
    };
    Err(hook_failed(&how, &output(&process)))
}

/// Says once in the life of a project that a hook could make its worktrees ready.
fn hint_at_hook(parts: &Parts) {
    // Whoever makes the mark says it. One that cannot be made is no reason to say it again and again.
    if std::fs::File::create_new(&parts.hinted).is_err() {
        return;
    }
    let text = "New worktrees are used as git makes them. If they need dependencies or files first, write \
                .mxd/hooks/setup_worktree.sh: it runs in each of them (`mxd init` writes an example)."
        .to_owned();
    parts.feed.tell(&Update::Notice { notice: Notice { level: Level::Info, text, task: None } });
}

fn hook_failed(exit: &str, output: &str) -> LaunchFailure {
    LaunchFailure::SetupHook { exit: exit.to_owned(), output: output.to_owned() }
}

/// Shows what the hook says while it says it. Whoever waits for the hook knows when it is over.
async fn follow(parts: &Arc<Parts>, order: &LaunchOrder, process: &Process) -> Infallible {
    while !process.output().is_closed() {
        process.output().fresh().await;
        show(parts, order, process);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    std::future::pending().await
}

/// Shows what the hook has said since this was last done.
fn show(parts: &Arc<Parts>, order: &LaunchOrder, process: &Process) {
    let task = order.node.id;
    let text = String::from_utf8_lossy(&process.output().take_pending().bytes).into_owned();
    if let Some(line) = text.lines().rev().find(|line| !line.trim().is_empty()) {
        let step = format!("setup hook: {}", text::headline(line, 80));
        parts.send(Input::Launching { task, step });
    }
    if !text.is_empty() {
        let live = Live::OutputChunk { call: HOOK_CALL.to_owned(), channel: Channel::Output, text };
        let _ = parts.incoming.send(Incoming::Live { task, live });
    }
}

/// Returns the end of what a hook said: the error is there.
fn output(process: &Process) -> String {
    let glimpse = process.output().glimpse();
    let mut bytes = glimpse.head;
    if glimpse.total > bytes.len() as u64 {
        bytes = glimpse.tail;
    }
    let said = String::from_utf8_lossy(&bytes).into_owned();
    text::suffix(said.trim_end(), HOOK_BYTES).to_owned()
}
