//! Prepares the worktree of a task: creates or restores it, copies ignored files and runs the setup hook.

use std::convert::Infallible;
use std::ffi::OsStr;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::launch::ready_mark;
use super::{EngineContext, lifecycle};
use crate::base::{Fault, TaskId, disk, known_secrets, text};
use crate::config::paths::RepoFiles;
use crate::engine::machine::{HookPolicy, Input, LaunchFailure, LaunchOrder, WorktreeLocation};
use crate::engine::update::{Level, Notice, Update};
use crate::git::status::{self, ChangeKind};
use crate::git::{BranchStart, Checkout, Uncommitted, WorktreeSpec, WorktreeState, include, repo_file};
use crate::model::Live;
use crate::model::ask::Approval;
use crate::model::live::Channel;
use crate::process::{self, ChildSpec, Process};

const HOOK_LIMIT: Duration = Duration::from_mins(10);
/// How much of a failed hook's output is shown.
const HOOK_BYTES: usize = 4_000;
/// The call id under which the hook's output is shown.
const HOOK_CALL: &str = "setup_worktree";

/// How many untracked files of a hook are remembered, and how many are listed.
const MAX_LEFT_FILES: usize = 1_000;
const NAMED_LEFT_FILES: usize = 5;

/// The start of a ready mark that lists files. Each name ends with a NUL.
const LEFT_FILES: &[u8; 10] = b"untracked\0";

/// Which notices about the setup hook were sent since the project was opened.
#[derive(Default)]
pub(in crate::engine) struct HookNotices {
    not_committed: AtomicBool,
    left_files: AtomicBool,
}

/// A prepared worktree, with notes for its agent.
pub(super) struct ReadyWorktree {
    pub(super) path: PathBuf,
    pub(super) notes: Vec<String>,
}

pub(super) async fn prepare_worktree(
    ctx: &Arc<EngineContext>,
    order: &LaunchOrder,
) -> Result<ReadyWorktree, LaunchFailure> {
    let Some(place) = &order.place else {
        return Ok(ReadyWorktree { path: ctx.project.path.clone(), notes: Vec::new() });
    };
    let task = order.node.id;
    let step = |step: &str| ctx.send(Input::Launching { task, step: step.to_owned() });
    let refused = |error: crate::git::Error| match error {
        crate::git::Error::NoBranch(branch) if branch == ctx.project.base_branch => LaunchFailure::Refused(
            Fault::config(format!("the project's base branch \"{branch}\" no longer exists"))
                .hint("quit, then set another one: `mxd init --base BRANCH`"),
        ),
        error if error.is_disk_refusal() => LaunchFailure::Disk(Fault::environment(error.to_string())),
        error => LaunchFailure::Refused(Fault::environment(error.to_string())),
    };
    step("creating the worktree");
    let spec = WorktreeSpec { task, branch: place.branch.clone(), path: place.worktree.clone() };
    let had_branch = ctx.worktrees.resolve(&BranchStart::Branch(place.branch.clone())).await.is_ok();
    let diagnosis = ctx.worktrees.create(&spec, &BranchStart::Branch(place.base.clone())).await.map_err(refused)?;
    unlock(ctx, task, &place.worktree).await;
    let mark = ready_mark(&place.worktree);
    if matches!(diagnosis, WorktreeState::Created | WorktreeState::Recreated { .. }) {
        remove_mark(&mark)?;
    }
    if diagnosis == WorktreeState::Created || matches!(diagnosis, WorktreeState::Recreated { .. }) {
        lifecycle::on_worktree_created(ctx, order, &place.worktree).await?;
    }
    let mut notes: Vec<String> = diagnosis.notice().into_iter().collect();
    if had_branch && diagnosis == WorktreeState::Created {
        notes.extend(restore_uncommitted(ctx, &spec).await.map_err(refused)?);
    }
    if !mark.exists() {
        step("copying ignored files");
        let checkout = ctx.worktrees.checkout(&place.worktree).await.map_err(refused)?;
        let included = include::copy(ctx.worktrees.main(), &checkout).await.map_err(refused)?;
        if included.files > 0 {
            notes.push(format!(
                "Copied from the main checkout: {}.",
                text::count(included.files, "ignored file", "ignored files")
            ));
        }
        notes.extend(included.problems.iter().map(|problem| format!("Problem with .worktreeinclude: {problem}.")));
        let hook = match order.hook {
            HookPolicy::Run => approved_hook(ctx, order, &place.worktree)?,
            // The user has just edited the hook and asked to run it.
            HookPolicy::RunEdited => hook_of(&ctx.project.path)?,
            HookPolicy::Skip => None,
        };
        let mut left = Vec::new();
        if let Some(hook) = hook {
            run_hook(ctx, order, (place, &checkout), &hook).await?;
            left = untracked(ctx, &place.worktree).await.map_err(refused)?;
            notes.extend(note_left_files(ctx, &left));
        }
        write_mark(&mark, &left)?;
    }
    Ok(ReadyWorktree { path: ctx.worktrees.checkout(&place.worktree).await.map_err(refused)?.real_path(), notes })
}

/// Removes a stale index lock from a worktree in which no process of Matrix runs. A git that was killed there leaves
/// the lock, and it blocks every other git.
pub(super) async fn unlock(ctx: &EngineContext, task: TaskId, worktree: &Path) {
    match ctx.worktrees.unlock_index(worktree).await {
        Ok(false) => {}
        Ok(true) => tracing::info!(%task, "removed the index lock of a killed git"),
        Err(error) => tracing::warn!(%task, %error, "cannot check whether the index is locked"),
    }
}

/// Restores files that were uncommitted when the worktree was archived. Returns a note for the agent.
async fn restore_uncommitted(ctx: &EngineContext, spec: &WorktreeSpec) -> Result<Option<String>, crate::git::Error> {
    Ok(match ctx.worktrees.restore(spec).await?.uncommitted {
        Uncommitted::None => None,
        Uncommitted::Restored(files) => Some(format!(
            "Your worktree was recreated from your branch, with {} that were uncommitted when it was archived.",
            text::count(files.len(), "file", "files")
        )),
        Uncommitted::Archived { archive } => Some(format!(
            "Your branch has moved since your worktree was archived. Its uncommitted files are in {archive}."
        )),
    })
}

fn remove_mark(mark: &Path) -> Result<(), LaunchFailure> {
    match std::fs::remove_file(mark) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(file_failure("remove", mark, &error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn file_failure(what: &str, file: &Path, error: &std::io::Error) -> LaunchFailure {
    let fault = Fault::environment(format!("cannot {what} {}: {}", file.display(), disk::describe(error)));
    if disk::is_refusal(error) { LaunchFailure::Disk(fault) } else { LaunchFailure::Refused(fault) }
}

/// Returns the hook of a worktree if the user allows it to run, or `None` if there is none or they declined it.
fn approved_hook(ctx: &EngineContext, order: &LaunchOrder, worktree: &Path) -> Result<Option<PathBuf>, LaunchFailure> {
    let Some(hook) = hook_of(worktree)? else {
        if matches!(hook_of(&ctx.project.path), Ok(Some(_))) {
            warn_hook_not_committed(ctx, order);
        } else {
            suggest_hook(ctx);
        }
        return Ok(None);
    };
    let script = repo_file::read(worktree, &hook, repo_file::SMALL)
        .map_err(|error| hook_failure("could not be read", &error.to_string()))?
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
        .map_err(|error| hook_failure("could not be run", &error.to_string()))
}

/// Warns that the hook in the user's checkout does not run because it is not committed.
fn warn_hook_not_committed(ctx: &EngineContext, order: &LaunchOrder) {
    if ctx.hook_notices.not_committed.swap(true, Ordering::Relaxed) {
        return;
    }
    let base = order.place.as_ref().map_or(ctx.project.base_branch.as_str(), |place| place.base.as_str());
    let text = format!(
        ".mxd/hooks/setup_worktree.sh did not run: it is in {} but not committed on {base}, so new worktrees do not have it. \
         Commit it there: git add .mxd/hooks/setup_worktree.sh && git commit",
        ctx.project.path.display()
    );
    ctx.feed.publish(&Update::Notice { notice: Notice { level: Level::Warning, text, task: Some(order.node.id) } });
}

/// Returns the files of a worktree that git neither tracks nor ignores.
async fn untracked(ctx: &EngineContext, worktree: &Path) -> Result<Vec<PathBuf>, crate::git::Error> {
    let checkout = ctx.worktrees.checkout(worktree).await?;
    let dirty = status::dirty(&checkout, MAX_LEFT_FILES).await?;
    let untracked = dirty.changes.into_iter().filter(|change| change.kind == ChangeKind::Untracked);
    Ok(untracked.map(|change| change.path).collect())
}

/// Tells the user once which files the hook left, and returns the same note for the agent.
fn note_left_files(ctx: &EngineContext, left: &[PathBuf]) -> Option<String> {
    let names: Vec<String> = left.iter().take(NAMED_LEFT_FILES).map(|path| path.display().to_string()).collect();
    let more = if left.len() > names.len() { ", …" } else { "" };
    let files =
        format!("{} ({}{more})", text::count(left.len(), "untracked file", "untracked files"), names.join(", "));
    if left.is_empty() {
        return None;
    }
    if !ctx.hook_notices.left_files.swap(true, Ordering::Relaxed) {
        let text = format!(
            "The setup hook leaves {files} in new worktrees. They do not block tasks. Add them to .gitignore so that no \
             agent commits them."
        );
        ctx.feed.publish(&Update::Notice { notice: Notice { level: Level::Info, text, task: None } });
    }
    Some(format!("The setup hook left {files} in your worktree. You do not have to commit them."))
}

/// Marks a worktree as set up, and records the files that its setup hook left.
fn write_mark(mark: &Path, left: &[PathBuf]) -> Result<(), LaunchFailure> {
    let mut content = Vec::new();
    for path in left {
        if content.is_empty() {
            content.extend_from_slice(LEFT_FILES);
        }
        content.extend_from_slice(path.as_os_str().as_bytes());
        content.push(0);
    }
    std::fs::write(mark, content).map_err(|error| file_failure("write", mark, &error))
}

/// Returns true if a file has the content of a ready mark.
pub(in crate::engine) fn is_ready_mark(path: &Path) -> bool {
    let mut beginning = [0; 10];
    let read = std::fs::File::open(path).and_then(|mut file| {
        if file.metadata()?.len() == 0 { Ok(true) } else { file.read_exact(&mut beginning).map(|()| false) }
    });
    read.is_ok_and(|is_empty| is_empty || beginning == *LEFT_FILES)
}

/// Returns the untracked files that the setup hook left. A folder includes its content.
pub(super) fn left_by_hook(worktree: &Path) -> Vec<PathBuf> {
    let mark = std::fs::read(ready_mark(worktree)).unwrap_or_default();
    let names = mark.strip_prefix(LEFT_FILES.as_slice()).unwrap_or_default();
    let names = names.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    names.map(|name| PathBuf::from(OsStr::from_bytes(name))).collect()
}

/// Runs the setup hook in a new worktree and streams its output.
async fn run_hook(
    ctx: &Arc<EngineContext>,
    order: &LaunchOrder,
    (place, checkout): (&WorktreeLocation, &Checkout),
    hook: &Path,
) -> Result<(), LaunchFailure> {
    let task = order.node.id;
    ctx.send(Input::Launching { task, step: "running the setup hook".to_owned() });
    let environment =
        ctx.environment(task).with("MXD_PROJECT", ctx.project.path.as_os_str()).with("MXD_BRANCH", &place.branch);
    let environment = ctx.agent_git.environment(environment, std::env::vars_os());
    let id = format!("setup-{}", crate::base::RunId::fresh(&ctx.ids));
    let spec = ChildSpec {
        environment,
        label: "setup_worktree.sh".to_owned(),
        head: HOOK_BYTES,
        records: Some(ctx.records.clone()),
        cwd_dir: Some(
            checkout.handle().map_err(|error| LaunchFailure::Refused(Fault::environment(error.to_string())))?,
        ),
        ..ChildSpec::new(id, "bash", &place.worktree)
    };
    let started = process::start(spec.arguments([hook.as_os_str()]));
    let process = started.map_err(|error| hook_failure("could not be run", &error.to_string()))?;
    let exit = tokio::select! {
        exit = process.finish(HOOK_LIMIT) => exit,
        never = stream_output(ctx, order, &process) => match never {},
    };
    show_output(ctx, order, &process);
    let how = match exit.map(|exit| exit.code) {
        Some(Some(0)) => return Ok(()),
        Some(Some(code)) => format!("failed with exit code {code}"),
        Some(None) => "was killed by a signal".to_owned(),
        None => format!("timed out after {} minutes", HOOK_LIMIT.as_secs() / 60),
    };
    Err(hook_failure(&how, &hook_output(&process)))
}

/// Tells the user about setup hooks, once per project.
fn suggest_hook(ctx: &EngineContext) {
    // If the mark cannot be created, it is better not to repeat the hint at every start.
    if std::fs::File::create_new(&ctx.hook_hint_mark).is_err() {
        return;
    }
    let text = "New worktrees start without dependencies. Add .mxd/hooks/setup_worktree.sh to install them \
                (`mxd init` writes an example)."
        .to_owned();
    ctx.feed.publish(&Update::Notice { notice: Notice { level: Level::Info, text, task: None } });
}

fn hook_failure(exit: &str, output: &str) -> LaunchFailure {
    LaunchFailure::SetupHook { exit: exit.to_owned(), output: output.to_owned() }
}

/// Streams the output of the hook. Never returns, so the caller races it against the end of the hook.
async fn stream_output(ctx: &Arc<EngineContext>, order: &LaunchOrder, process: &Process) -> Infallible {
    while !process.output().is_closed() {
        process.output().wait_for_output().await;
        show_output(ctx, order, process);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    std::future::pending().await
}

/// Shows new output of the hook.
fn show_output(ctx: &Arc<EngineContext>, order: &LaunchOrder, process: &Process) {
    let task = order.node.id;
    let text = String::from_utf8_lossy(&process.output().take_pending().bytes).into_owned();
    let text = known_secrets::mask(&text).into_owned();
    if let Some(line) = text.lines().rev().find(|line| !line.trim().is_empty()) {
        let step = format!("setup hook: {}", text::headline(line, 80));
        ctx.send(Input::Launching { task, step });
    }
    if !text.is_empty() {
        let live = Live::OutputChunk { call: HOOK_CALL.to_owned(), channel: Channel::Output, text };
        ctx.show(task, live);
    }
}

/// Returns the end of the hook's output, where errors are.
fn hook_output(process: &Process) -> String {
    let snapshot = process.output().snapshot();
    let mut bytes = snapshot.head;
    if snapshot.total > bytes.len() as u64 {
        bytes = snapshot.tail;
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    known_secrets::mask(text::suffix(text.trim_end(), HOOK_BYTES)).into_owned()
}
