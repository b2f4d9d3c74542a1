//! Starts recurring tasks when they are due: reads and watches their files, and runs one timer. The machine decides
//! whether a due task can start.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use super::effects::save_decision;
use super::{Driver, Incoming};
use crate::base::{Fault, TaskId, Timestamp, sanitize};
use crate::config::paths::RepoFiles;
use crate::config::recurring::{PlanChange, RecurringPlan};
use crate::engine::feed::Watcher;
use crate::engine::machine::{Input, PlanWriteContinuation};
use crate::engine::update::{Level, Notice, Update};
use crate::git::repo_file;
use crate::model::ask::Approval;
use crate::model::fold::SessionState;
use crate::model::task::{Status, TaskNode};
use crate::store::replace::replace;
use crate::store::{RealDisk, Sessions};

/// How long to wait after a change before reading the files: an editor or git writes several times.
const READ_AFTER: Duration = Duration::from_millis(200);
/// The longest sleep of the timer. A suspended computer or a changed clock is noticed at the latest after this time.
const MAX_SLEEP: Duration = Duration::from_secs(10 * 60);

/// The recurring tasks of a project, from the files in its checkout.
pub(in crate::engine) struct RecurringTasks {
    top: PathBuf,
    plans: BTreeMap<TaskId, RecurringPlan>,
    /// Problems with the files.
    problems: BTreeSet<String>,
    /// When the machine was last asked to start each task, whether or not it could.
    requested: BTreeMap<TaskId, Timestamp>,
    /// Tasks that were removed from the tree. Their files may exist a moment longer.
    removed_tasks: BTreeSet<TaskId>,
    watcher: Option<RecommendedWatcher>,
    watched: Option<PathBuf>,
    reading: Option<AbortOnDropHandle<()>>,
    timer: Option<AbortOnDropHandle<()>>,
    /// The timer must be set again.
    pub(super) stale: bool,
}

/// The plans in the tasks folder.
#[derive(Default)]
pub(in crate::engine) struct RecurringPlans {
    plans: BTreeMap<TaskId, RecurringPlan>,
    problems: BTreeSet<String>,
}

impl RecurringTasks {
    /// Returns an instance without tasks and without a watcher.
    pub(in crate::engine) fn none(top: &Path) -> Self {
        Self {
            top: fs::canonicalize(top).unwrap_or_else(|_| top.to_owned()),
            plans: BTreeMap::new(),
            problems: BTreeSet::new(),
            requested: BTreeMap::new(),
            removed_tasks: BTreeSet::new(),
            watcher: None,
            watched: None,
            reading: None,
            timer: None,
            stale: false,
        }
    }

    /// Reads the plans below `top` and starts to watch them.
    pub(in crate::engine) fn open(top: &Path, incoming: mpsc::UnboundedSender<Incoming>) -> (Self, RecurringPlans) {
        let mut this = Self::none(top);
        let tasks = RepoFiles::new(&this.top).tasks();
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            let concerns = |path: &PathBuf| path.starts_with(&tasks) || tasks.starts_with(path);
            if event.is_ok_and(|event| !event.kind.is_access() && event.paths.iter().any(concerns)) {
                let _ = incoming.send(Incoming::PlansChanged);
            }
        });
        match watcher {
            Ok(watcher) => this.watcher = Some(watcher),
            Err(error) => tracing::warn!(%error, "changes to recurring tasks are only seen at the next start"),
        }
        this.watch();
        let plans = read_plans(&this.top);
        (this, plans)
    }

    /// Watches the tasks folder, or the parent folder if it does not exist. Called again after each change, because
    /// the folder may have been replaced.
    fn watch(&mut self) {
        let Some(watcher) = &mut self.watcher else { return };
        if let Some(watched) = self.watched.take() {
            // Fails if the folder is gone. The watch ended with it.
            let _ = watcher.unwatch(&watched);
        }
        let files = RepoFiles::new(&self.top);
        let places = [files.tasks(), files.root().to_owned(), self.top.clone()];
        self.watched = places.into_iter().find(|place| watcher.watch(place, RecursiveMode::NonRecursive).is_ok());
    }

    pub(super) fn on_tree_changed<'a>(&mut self, changed: impl IntoIterator<Item = &'a TaskId>, removed: &[TaskId]) {
        self.stale |= changed.into_iter().any(|task| self.plans.contains_key(task));
        self.removed_tasks.extend(removed);
    }

    /// The user has decided about the file of a task, so a run that waited for it is due again.
    pub(super) fn on_decision(&mut self, task: TaskId) {
        self.requested.remove(&task);
        self.stale = true;
    }

    pub(super) fn report_problems(&self, watcher: &Watcher) {
        self.problems.iter().for_each(|problem| watcher.push(notice(problem)));
    }

    /// Returns when a task runs next, or `None` if it does not run on a schedule.
    fn next(&self, plan: &RecurringPlan, node: &TaskNode) -> Option<Timestamp> {
        if matches!(node.status, Status::Draft | Status::Closed) {
            return None;
        }
        let last = || node.results.last().map(|result| result.at);
        let last_start = node.last_recurring_run.or_else(last).unwrap_or(node.created_at);
        plan.next(self.requested.get(&plan.task).map_or(last_start, |at| last_start.max(*at)))
    }
}

impl RecurringPlans {
    /// Returns the tasks that run on a schedule.
    pub(in crate::engine) fn timed(&self) -> BTreeSet<TaskId> {
        timed(&self.plans)
    }
}

fn timed(plans: &BTreeMap<TaskId, RecurringPlan>) -> BTreeSet<TaskId> {
    plans.values().filter(|plan| plan.is_timed()).map(|plan| plan.task).collect()
}

fn notice(problem: &str) -> Update {
    Update::Notice { notice: Notice { level: Level::Warning, text: problem.to_owned(), task: None } }
}

fn read_plans(top: &Path) -> RecurringPlans {
    let mut found = RecurringPlans::default();
    let folder = RepoFiles::new(top).tasks();
    let Ok(entries) = fs::read_dir(&folder) else { return found };
    for entry in entries.flatten() {
        let path = entry.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".json"))
        else {
            continue;
        };
        let shown = path.strip_prefix(top).unwrap_or(&path).to_owned();
        let plan = name.parse::<TaskId>().map_err(|_| misnamed(&shown)).and_then(|task| {
            let text = repo_file::read_text(top, &shown, repo_file::SMALL).map_err(|error| error.to_string())?;
            RecurringPlan::read(task, &shown, &text.ok_or_else(|| format!("{} is gone", shown_name(&shown)))?)
        });
        match plan {
            Ok(plan) => drop(found.plans.insert(plan.task, plan)),
            Err(problem) => drop(found.problems.insert(problem)),
        }
    }
    found
}

/// Returns the session states of tasks. Usually empty: only an id that was in the tree before has a session.
fn session_states(sessions: &Sessions, tasks: Vec<TaskId>) -> Vec<(TaskId, SessionState)> {
    let state = |task| sessions.active(task).map(|active| active.state()).unwrap_or_default();
    tasks.into_iter().map(|task| (task, state(task))).collect()
}

fn shown_name(path: &Path) -> String {
    sanitize::line(&path.display().to_string()).into_owned()
}

fn misnamed(path: &Path) -> String {
    format!(
        "{}: the file name must be a task id; create recurring tasks with `mxd task new TITLE --recurring reset`",
        shown_name(path)
    )
}

/// Updates the files below `top` to match the tree. Returns the hash of the file that was written, if any.
pub(super) fn write_plan_files(top: &Path, change: &PlanChange) -> Result<Option<String>, Fault> {
    let files = RepoFiles::new(top);
    let failed = |error: &dyn std::fmt::Display| Fault::environment(error.to_string());
    match change {
        PlanChange::Remove(tasks) => {
            for task in tasks {
                repo_file::remove(top, &files.task(*task)).map_err(|error| failed(&error))?;
            }
            Ok(None)
        }
        PlanChange::Keep(edit) => {
            let path = files.task(edit.task);
            let text = repo_file::read_text(top, &path, repo_file::SMALL).map_err(|error| failed(&error))?;
            let shown = path.strip_prefix(top).unwrap_or(&path);
            let new = edit.apply(shown, text.as_deref()).map_err(|error| failed(&error))?;
            let hash = Some(RecurringPlan::read(edit.task, shown, &new).map_err(|error| failed(&error))?.facts.hash);
            if text.as_deref() == Some(new.as_str()) {
                return Ok(hash);
            }
            let path = repo_file::writable(top, &path).map_err(|error| failed(&error))?;
            let mode = fs::metadata(&path).map_or(0o644, |known| known.permissions().mode());
            replace(&RealDisk, &path, new.as_bytes()).map_err(|error| failed(&error))?;
            // The file belongs to the repository, so it keeps the usual permissions.
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).map_err(|error| failed(&error))?;
            Ok(hash)
        }
    }
}

impl Driver {
    /// Reads the files once they have stopped changing.
    pub(super) fn read_plans_soon(&mut self) {
        let (incoming, top) = (self.ctx.incoming.clone(), self.recurring.top.clone());
        let reading = async move {
            tokio::time::sleep(READ_AFTER).await;
            if let Ok(found) = tokio::task::spawn_blocking(move || read_plans(&top)).await {
                let _ = incoming.send(Incoming::Plans(found));
            }
        };
        self.recurring.watch();
        self.recurring.reading = Some(AbortOnDropHandle::new(tokio::spawn(reading)));
    }

    /// Loads the plans at startup, including tasks that the tree does not have.
    pub(super) async fn load_plans(&mut self, plans: RecurringPlans) {
        let new = self.set_plans(plans);
        let sessions = self.ctx.store.sessions().clone();
        if let Ok(read) = tokio::task::spawn_blocking(move || session_states(&sessions, new)).await {
            self.on_sessions_read(read);
        }
    }

    pub(super) fn on_plans_read(&mut self, plans: RecurringPlans) {
        let new = self.set_plans(plans);
        if !new.is_empty() {
            let (sessions, incoming) = (self.ctx.store.sessions().clone(), self.ctx.incoming.clone());
            tokio::task::spawn_blocking(move || {
                let _ = incoming.send(Incoming::Sessions(session_states(&sessions, new)));
            });
        }
    }

    /// Stores the plans. Returns those of their tasks that are not in the tree.
    fn set_plans(&mut self, plans: RecurringPlans) -> Vec<TaskId> {
        let RecurringPlans { plans, problems } = plans;
        for problem in problems.difference(&self.recurring.problems) {
            tracing::warn!(problem, "a recurring task is ignored");
            self.ctx.feed.publish(&notice(problem));
        }
        self.recurring.problems = problems;
        self.recurring.plans = plans;
        self.machine.set_timed(timed(&self.recurring.plans));
        self.recurring.stale = true;
        self.recurring.plans.keys().copied().filter(|task| !self.is_known(*task)).collect()
    }

    /// Adds planned tasks to the tree, unless they were added meanwhile.
    pub(super) fn on_sessions_read(&mut self, sessions: Vec<(TaskId, SessionState)>) {
        for (task, session) in sessions {
            if !self.is_known(task) {
                self.request_recurrence(task, session);
            }
        }
    }

    fn is_known(&self, task: TaskId) -> bool {
        self.machine.tree().get(task).is_some() || self.recurring.removed_tasks.contains(&task)
    }

    fn request_recurrence(&mut self, task: TaskId, session: SessionState) {
        let Some(facts) = self.recurring.plans.get(&task).map(|plan| Box::new(plan.facts.clone())) else { return };
        self.step(Input::RecurringDue { task, facts, session: Box::new(session) });
    }

    /// Starts the tasks that are due and sets the timer for the next one.
    pub(super) fn start_due_tasks(&mut self) {
        let now = self.ctx.clock.now();
        while std::mem::take(&mut self.recurring.stale) {
            let due: Vec<TaskId> =
                self.scheduled().into_iter().filter(|(_, next)| *next <= now).map(|(task, _)| task).collect();
            for task in due {
                self.recurring.requested.insert(task, now);
                self.request_recurrence(task, SessionState::default());
            }
        }
        let next = self.scheduled().into_iter().map(|(_, next)| next).min();
        self.recurring.timer = next.map(|next| {
            let (wait, incoming) = (next.since(now).min(MAX_SLEEP), self.ctx.incoming.clone());
            AbortOnDropHandle::new(tokio::spawn(async move {
                tokio::time::sleep(wait).await;
                let _ = incoming.send(Incoming::RecurringDue);
            }))
        });
    }

    /// Returns the scheduled tasks with the time of their next run.
    fn scheduled(&self) -> Vec<(TaskId, Timestamp)> {
        let tree = self.machine.tree();
        let next =
            |(task, plan): (&TaskId, &RecurringPlan)| Some((*task, self.recurring.next(plan, tree.get(*task)?)?));
        self.recurring.plans.iter().filter_map(next).collect()
    }

    pub(super) fn write_plan(&self, change: PlanChange, then: PlanWriteContinuation) {
        let (ctx, top) = (Arc::clone(&self.ctx), self.recurring.top.clone());
        tokio::task::spawn_blocking(move || {
            let result = write_plan_files(&top, &change);
            if let Ok(Some(hash)) = &result {
                let approval = Approval::RecurringTask { hash: hash.clone() };
                if let Err(error) = save_decision(&ctx, &approval, true) {
                    tracing::warn!(%error, "the file of a recurring task will need approval again");
                }
            }
            ctx.send(Input::PlanWritten { then, result });
        });
    }
}
