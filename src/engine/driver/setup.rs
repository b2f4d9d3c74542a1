//! A worktree that is ready to work in: made or found again, with the ignored files it needs, set up by the project's hook.

use std::convert::Infallible;
use std::ffi::OsStr;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::Parts;
use super::launch::ready_mark;
use crate::base::{Fault, TaskId, disk, known_secrets, text};
use crate::config::paths::RepoFiles;
use crate::engine::machine::{Hook, Input, LaunchFailure, LaunchOrder, Place};
use crate::engine::update::{Level, Notice, Update};
use crate::git::status::{self, ChangeKind};
use crate::git::{Checkout, Standing, Start, Uncommitted, Wanted, include, repo_file};
use crate::model::Live;
use crate::model::ask::Approval;
use crate::model::live::Channel;
use crate::process::{self, Process, Spec};

/// How long a setup hook may take.
const HOOK_LIMIT: Duration = Duration::from_mins(10);
/// What is shown of a failed hook's output.
const HOOK_BYTES: usize = 4_000;
/// What the hook's output goes by on the screen.
const HOOK_CALL: &str = "setup_worktree";

/// How many untracked paths of a hook are remembered, and how many are named.
const MOST_LEFT_FILES: usize = 1_000;
const NAMED_LEFT_FILES: usize = 5;

/// What a mark begins with that names files, each with a NUL behind it.
const LEFT_FILES: &[u8; 10] = b"untracked\0";

/// What was said of the setup hook since the project was opened.
#[derive(Default)]
pub(in crate::engine) struct HookNotices {
    not_committed: AtomicBool,
    left_files: AtomicBool,
}

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
        crate::git::Error::NoBranch(branch) if branch == parts.project.base_branch => LaunchFailure::Refused(
            Fault::config(format!("there is no branch \"{branch}\" any more, from which work starts in this project"))
                .hint("quit, and name another one with `mxd init --base BRANCH`"),
        ),
        error if error.is_refusal_of_disk() => LaunchFailure::Disk(Fault::environment(error.to_string())),
        error => LaunchFailure::Refused(Fault::environment(error.to_string())),
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
        let checkout = parts.worktrees.checkout(&place.worktree).await.map_err(refused)?;
        let included = include::copy(parts.worktrees.main(), &checkout).await.map_err(refused)?;
        if included.files > 0 {
            notes.push(format!(
                "Copied from the main checkout: {}.",
                text::count(included.files, "ignored file", "ignored files")
            ));
        }
        notes.extend(included.problems.iter().map(|problem| format!("Problem with .worktreeinclude: {problem}.")));
        let hook = match order.hook {
            Hook::Run => approved_hook(parts, order, &place.worktree)?,
            // The user has just edited it and said to run it.
            Hook::RunEdited => hook_of(&parts.project.path)?,
            Hook::Skip => None,
        };
        let mut left = Vec::new();
        if let Some(hook) = hook {
            run_hook(parts, order, (place, &checkout), &hook).await?;
            left = untracked(parts, &place.worktree).await.map_err(refused)?;
            notes.extend(note_left_files(parts, &left));
        }
        write_mark(&mark, &left)?;
    }
    Ok(Ready { path: parts.worktrees.checkout(&place.worktree).await.map_err(refused)?.real_path(), notes })
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
    let fault = Fault::environment(format!("cannot {what} {}: {}", file.display(), disk::sentence(error)));
    if disk::refuses(error) { LaunchFailure::Disk(fault) } else { LaunchFailure::Refused(fault) }
}

/// Returns the hook of a worktree if the user allows it to run, or `None` if there is none or they declined it.
fn approved_hook(parts: &Parts, order: &LaunchOrder, worktree: &Path) -> Result<Option<PathBuf>, LaunchFailure> {
    let Some(hook) = hook_of(worktree)? else {
        if matches!(hook_of(&parts.project.path), Ok(Some(_))) {
            say_not_committed(parts, order);
        } else {
            hint_at_hook(parts);
        }
        return Ok(None);
    };
    let script = repo_file::read(worktree, &hook, repo_file::SMALL)
        .map_err(|error| hook_failed("could not be read", &error.to_string()))?
        .unwrap_or_default();
    let hash = blake3::hash(&script).to_hex().to_string();
    match order.approvals.decision(&Approval::SetupHook { hash: hash.clone() }) {
        Some(true) => Ok(Some(hook)),
        Some(false) => Ok(None),
        None => {
            let script = String::from_utf8_lossy(&script).into_owned();
            Err(LaunchFailure::UnapprovedHook { hash, script })
        }
    }
}

/// Returns the real path of the setup hook in a checkout, or `None` if it has none.
fn hook_of(checkout: &Path) -> Result<Option<PathBuf>, LaunchFailure> {
    repo_file::resolve(checkout, &RepoFiles::new(checkout).setup_hook())
        .map_err(|error| hook_failed("could not be run", &error.to_string()))
}

/// Says that the hook of the user's checkout does not run because the branch does not have it.
fn say_not_committed(parts: &Parts, order: &LaunchOrder) {
    if parts.hook_notices.not_committed.swap(true, Ordering::Relaxed) {
        return;
    }
    let base = order.place.as_ref().map_or(parts.project.base_branch.as_str(), |place| place.base.as_str());
    let text = format!(
        ".mxd/hooks/setup_worktree.sh did not run: it is in {} but not committed on {base}, so new worktrees do not have it. \
         Commit it there: git add .mxd/hooks/setup_worktree.sh && git commit",
        parts.project.path.display()
    );
    parts.feed.tell(&Update::Notice { notice: Notice { level: Level::Warning, text, task: Some(order.node.id) } });
}

/// Returns what a worktree holds that git neither tracks nor ignores.
async fn untracked(parts: &Parts, worktree: &Path) -> Result<Vec<PathBuf>, crate::git::Error> {
    let checkout = parts.worktrees.checkout(worktree).await?;
    let dirty = status::dirty(&checkout, MOST_LEFT_FILES).await?;
    let untracked = dirty.changes.into_iter().filter(|change| change.kind == ChangeKind::Untracked);
    Ok(untracked.map(|change| change.path).collect())
}

/// Says what the hook left, to the user once, and returns the same for the agent.
fn note_left_files(parts: &Parts, left: &[PathBuf]) -> Option<String> {
    let names: Vec<String> = left.iter().take(NAMED_LEFT_FILES).map(|path| path.display().to_string()).collect();
    let more = if left.len() > names.len() { ", …" } else { "" };
    let files =
        format!("{} ({}{more})", text::count(left.len(), "untracked file", "untracked files"), names.join(", "));
    if left.is_empty() {
        return None;
    }
    if !parts.hook_notices.left_files.swap(true, Ordering::Relaxed) {
        let text = format!(
            "The setup hook leaves {files} in new worktrees. They do not hold up a task; add them to .gitignore so that no \
             agent commits them."
        );
        parts.feed.tell(&Update::Notice { notice: Notice { level: Level::Info, text, task: None } });
    }
    Some(format!("The setup hook left {files} in your worktree. You do not have to commit them."))
}

/// Marks a worktree as ready, with what its setup hook left.
fn write_mark(mark: &Path, left: &[PathBuf]) -> Result<(), LaunchFailure> {
    let mut content = Vec::new();
    for path in left {
        if content.is_empty() {
            content.extend_from_slice(LEFT_FILES);
        }
        content.extend_from_slice(path.as_os_str().as_bytes());
        content.push(0);
    }
    std::fs::write(mark, content).map_err(|error| refused_file("write", mark, &error))
}

/// Tells whether the content of a file is that of a mark.
pub(in crate::engine) fn is_ready_mark(path: &Path) -> bool {
    let mut beginning = [0; 10];
    let read = std::fs::File::open(path).and_then(|mut file| {
        if file.metadata()?.len() == 0 { Ok(true) } else { file.read_exact(&mut beginning).map(|()| false) }
    });
    read.is_ok_and(|is_empty| is_empty || beginning == *LEFT_FILES)
}

/// Returns what the setup hook left in a worktree. An untracked folder stands for all that is in it.
pub(super) fn left_by_hook(worktree: &Path) -> Vec<PathBuf> {
    let mark = std::fs::read(ready_mark(worktree)).unwrap_or_default();
    let names = mark.strip_prefix(LEFT_FILES.as_slice()).unwrap_or_default();
    let names = names.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    names.map(|name| PathBuf::from(OsStr::from_bytes(name))).collect()
}

/// Runs a hook in a new worktree, with its output on the screen.
async fn run_hook(
    parts: &Arc<Parts>,
    order: &LaunchOrder,
    (place, checkout): (&Place, &Checkout),
    hook: &Path,
) -> Result<(), LaunchFailure> {
    let task = order.node.id;
    parts.send(Input::Launching { task, step: "running the setup hook".to_owned() });
    let environment =
        parts.environment(task).with("MXD_PROJECT", parts.project.path.as_os_str()).with("MXD_BRANCH", &place.branch);
    let environment = parts.agent_git.environment(environment, std::env::vars_os());
    let id = format!("setup-{}", crate::base::RunId::fresh(&parts.ids));
    let spec = Spec {
        environment,
        shown: "setup_worktree.sh".to_owned(),
        head: HOOK_BYTES,
        records: Some(parts.records.clone()),
        cwd_dir: Some(
            checkout.handle().map_err(|error| LaunchFailure::Refused(Fault::environment(error.to_string())))?,
        ),
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
    let text = known_secrets::mask(&text).into_owned();
    if let Some(line) = text.lines().rev().find(|line| !line.trim().is_empty()) {
        let step = format!("setup hook: {}", text::headline(line, 80));
        parts.send(Input::Launching { task, step });
    }
    if !text.is_empty() {
        let live = Live::OutputChunk { call: HOOK_CALL.to_owned(), channel: Channel::Output, text };
        parts.show(task, live);
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
    known_secrets::mask(text::suffix(said.trim_end(), HOOK_BYTES)).into_owned()
}
