//! When recurring tasks come round: their files, a watcher for them, and one timer. Whether a task can begin is the
//! machine's business.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use super::effects::keep_decision;
use super::{Driver, Incoming};
use crate::base::{Fault, TaskId, Timestamp, sanitize};
use crate::config::paths::RepoFiles;
use crate::config::recurring::{Plan, PlanChange};
use crate::engine::feed::Watcher;
use crate::engine::machine::{Input, WritingDown};
use crate::engine::update::{Level, Notice, Update};
use crate::git::repo_file;
use crate::model::ask::Approval;
use crate::model::fold::SessionState;
use crate::model::task::{Status, TaskNode};
use crate::store::replace::replace;
use crate::store::{RealDisk, Sessions};

/// How long after a change the files are read: an editor, and git, make several.
const READ_AFTER: Duration = Duration::from_millis(200);
/// How long the timer sleeps at most. A machine that slept, or whose clock was set, is noticed that late.
const LONGEST_SLEEP: Duration = Duration::from_secs(10 * 60);

/// The recurring tasks of a project, as its checkout has them.
pub(in crate::engine) struct Rounds {
    top: PathBuf,
    plans: BTreeMap<TaskId, Plan>,
    /// What is wrong with files.
    problems: BTreeSet<String>,
    /// When the machine was last asked to begin a round, whether or not it could.
    asked: BTreeMap<TaskId, Timestamp>,
    /// Tasks that are no longer in the tree. Their files may still be there for a moment.
    gone: BTreeSet<TaskId>,
    watcher: Option<RecommendedWatcher>,
    watched: Option<PathBuf>,
    reading: Option<AbortOnDropHandle<()>>,
    timer: Option<AbortOnDropHandle<()>>,
    /// Something changed that the timer does not know of.
    pub(super) stale: bool,
}

/// What was found in the folder of plans.
#[derive(Default)]
pub(in crate::engine) struct Found {
    plans: BTreeMap<TaskId, Plan>,
    problems: BTreeSet<String>,
}

impl Rounds {
    /// Returns none at all: nothing comes round by itself.
    pub(in crate::engine) fn none(top: &Path) -> Self {
        Self {
            top: fs::canonicalize(top).unwrap_or_else(|_| top.to_owned()),
            plans: BTreeMap::new(),
            problems: BTreeSet::new(),
            asked: BTreeMap::new(),
            gone: BTreeSet::new(),
            watcher: None,
            watched: None,
            reading: None,
            timer: None,
            stale: false,
        }
    }

    /// Reads the plans below `top`, and watches them from then on.
    pub(in crate::engine) fn open(top: &Path, incoming: mpsc::UnboundedSender<Incoming>) -> (Self, Found) {
        let mut rounds = Self::none(top);
        let tasks = RepoFiles::new(&rounds.top).tasks();
        let watcher = notify::recommended_watcher(move |news: notify::Result<notify::Event>| {
            let concerns = |path: &PathBuf| path.starts_with(&tasks) || tasks.starts_with(path);
            if news.is_ok_and(|news| !news.kind.is_access() && news.paths.iter().any(concerns)) {
                let _ = incoming.send(Incoming::PlansChanged);
            }
        });
        match watcher {
            Ok(watcher) => rounds.watcher = Some(watcher),
            Err(error) => tracing::warn!(%error, "changes to recurring tasks are only seen at the next start"),
        }
        rounds.watch();
        let found = read(&rounds.top);
        (rounds, found)
    }

    /// Watches the folder of plans, or the one in which it would be. Anew each time: it may be another one by the same
    /// name.
    fn watch(&mut self) {
        let Some(watcher) = &mut self.watcher else { return };
        if let Some(watched) = self.watched.take() {
            // One that is gone has been let go already.
            let _ = watcher.unwatch(&watched);
        }
        let files = RepoFiles::new(&self.top);
        let places = [files.tasks(), files.root().to_owned(), self.top.clone()];
        self.watched = places.into_iter().find(|place| watcher.watch(place, RecursiveMode::NonRecursive).is_ok());
    }

    /// Takes note of what looks different in the tree.
    pub(super) fn noticed<'a>(&mut self, changed: impl IntoIterator<Item = &'a TaskId>, removed: &[TaskId]) {
        self.stale |= changed.into_iter().any(|task| self.plans.contains_key(task));
        self.gone.extend(removed);
    }

    /// The user has decided about the file of a task: a round that waited for it is due again.
    pub(super) fn decided(&mut self, task: TaskId) {
        self.asked.remove(&task);
        self.stale = true;
    }

    /// Tells a new watcher what is wrong.
    pub(super) fn brief(&self, watcher: &Watcher) {
        self.problems.iter().for_each(|problem| watcher.tell(notice(problem)));
    }

    /// Returns when a task comes round next. Nothing: not by itself.
    fn next(&self, plan: &Plan, node: &TaskNode) -> Option<Timestamp> {
        if matches!(node.status, Status::Draft | Status::Closed) {
            return None;
        }
        let last = || node.results.last().map(|result| result.at);
        let begun = node.round.or_else(last).unwrap_or(node.created_at);
        plan.next(self.asked.get(&plan.task).map_or(begun, |asked| begun.max(*asked)))
    }
}

impl Found {
    /// Returns the tasks that come round at times of their own.
    pub(in crate::engine) fn timed(&self) -> BTreeSet<TaskId> {
        timed(&self.plans)
    }
}

fn timed(plans: &BTreeMap<TaskId, Plan>) -> BTreeSet<TaskId> {
    plans.values().filter(|plan| plan.is_timed()).map(|plan| plan.task).collect()
}

fn notice(problem: &str) -> Update {
    Update::Notice { notice: Notice { level: Level::Warning, text: problem.to_owned(), task: None } }
}

/// Reads every plan below `top`.
fn read(top: &Path) -> Found {
    let mut found = Found::default();
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
            Plan::read(task, &shown, &text.ok_or_else(|| format!("{} is gone", shown_name(&shown)))?)
        });
        match plan {
            Ok(plan) => drop(found.plans.insert(plan.task, plan)),
            Err(problem) => drop(found.problems.insert(problem)),
        }
    }
    found
}

/// Returns what sessions add up to. Nearly always there is none: an id that was in this tree before is the exception.
fn states(sessions: &Sessions, tasks: Vec<TaskId>) -> Vec<(TaskId, SessionState)> {
    let state = |task| sessions.active(task).map(|active| active.state()).unwrap_or_default();
    tasks.into_iter().map(|task| (task, state(task))).collect()
}

fn shown_name(path: &Path) -> String {
    sanitize::line(&path.display().to_string()).into_owned()
}

fn misnamed(path: &Path) -> String {
    format!(
        "{}: the file of a recurring task is named by its task's id; `mxd task new TITLE --recurring reset` makes one",
        shown_name(path)
    )
}

/// Makes the files below `top` say what the tree says.
/// Returns the hash of a file that is there afterwards.
pub(super) fn write_down(top: &Path, change: &PlanChange) -> Result<Option<String>, Fault> {
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
            let hash = Some(Plan::read(edit.task, shown, &new).map_err(|error| failed(&error))?.facts.hash);
            if text.as_deref() == Some(new.as_str()) {
                return Ok(hash);
            }
            let path = repo_file::writable(top, &path).map_err(|error| failed(&error))?;
            let mode = fs::metadata(&path).map_or(0o644, |known| known.permissions().mode());
            replace(&RealDisk, &path, new.as_bytes()).map_err(|error| failed(&error))?;
            // It belongs to the repository, and is as readable as the rest of it.
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).map_err(|error| failed(&error))?;
            Ok(hash)
        }
    }
}

impl Driver {
    /// The files changed: they are read when they have come to rest.
    pub(super) fn read_plans_soon(&mut self) {
        let (incoming, top) = (self.parts.incoming.clone(), self.rounds.top.clone());
        let reading = async move {
            tokio::time::sleep(READ_AFTER).await;
            if let Ok(found) = tokio::task::spawn_blocking(move || read(&top)).await {
                let _ = incoming.send(Incoming::Plans(found));
            }
        };
        self.rounds.watch();
        self.rounds.reading = Some(AbortOnDropHandle::new(tokio::spawn(reading)));
    }

    /// Takes in the plans that are there at the start, with the tasks that the tree does not have.
    pub(super) async fn begin_rounds(&mut self, found: Found) {
        let new = self.take_plans(found);
        let sessions = self.parts.store.sessions().clone();
        if let Ok(read) = tokio::task::spawn_blocking(move || states(&sessions, new)).await {
            self.sessions_read(read);
        }
    }

    pub(super) fn plans_read(&mut self, found: Found) {
        let new = self.take_plans(found);
        if !new.is_empty() {
            let (sessions, incoming) = (self.parts.store.sessions().clone(), self.parts.incoming.clone());
            tokio::task::spawn_blocking(move || {
                let _ = incoming.send(Incoming::Sessions(states(&sessions, new)));
            });
        }
    }

    /// Takes in plans. Returns the tasks among them that are not known.
    fn take_plans(&mut self, found: Found) -> Vec<TaskId> {
        let Found { plans, problems } = found;
        for problem in problems.difference(&self.rounds.problems) {
            tracing::warn!(problem, "a recurring task is ignored");
            self.parts.feed.tell(&notice(problem));
        }
        self.rounds.problems = problems;
        self.rounds.plans = plans;
        self.machine.set_timed(timed(&self.rounds.plans));
        self.rounds.stale = true;
        self.rounds.plans.keys().copied().filter(|task| !self.knows(*task)).collect()
    }

    /// Takes in tasks that are planned, unless that was done meanwhile.
    pub(super) fn sessions_read(&mut self, sessions: Vec<(TaskId, SessionState)>) {
        for (task, session) in sessions {
            if !self.knows(task) {
                self.ask_for_round(task, session);
            }
        }
    }

    fn knows(&self, task: TaskId) -> bool {
        self.machine.tree().get(task).is_some() || self.rounds.gone.contains(&task)
    }

    fn ask_for_round(&mut self, task: TaskId, session: SessionState) {
        let Some(facts) = self.rounds.plans.get(&task).map(|plan| Box::new(plan.facts.clone())) else { return };
        self.step(Input::Round { task, facts, session: Box::new(session) });
    }

    /// Begins what is due, and sleeps until the next is.
    pub(super) fn come_round(&mut self) {
        let now = self.parts.clock.now();
        while std::mem::take(&mut self.rounds.stale) {
            let due: Vec<TaskId> =
                self.scheduled().into_iter().filter(|(_, next)| *next <= now).map(|(task, _)| task).collect();
            for task in due {
                self.rounds.asked.insert(task, now);
                self.ask_for_round(task, SessionState::default());
            }
        }
        let next = self.scheduled().into_iter().map(|(_, next)| next).min();
        self.rounds.timer = next.map(|next| {
            let (wait, incoming) = (next.since(now).min(LONGEST_SLEEP), self.parts.incoming.clone());
            AbortOnDropHandle::new(tokio::spawn(async move {
                tokio::time::sleep(wait).await;
                let _ = incoming.send(Incoming::ComeRound);
            }))
        });
    }

    /// Returns the tasks that come round by themselves, with the time at which they do next.
    fn scheduled(&self) -> Vec<(TaskId, Timestamp)> {
        let tree = self.machine.tree();
        let next = |(task, plan): (&TaskId, &Plan)| Some((*task, self.rounds.next(plan, tree.get(*task)?)?));
        self.rounds.plans.iter().filter_map(next).collect()
    }

    pub(super) fn write_plan_down(&self, change: PlanChange, then: WritingDown) {
        let (parts, top) = (Arc::clone(&self.parts), self.rounds.top.clone());
        tokio::task::spawn_blocking(move || {
            let result = write_down(&top, &change);
            if let Ok(Some(hash)) = &result {
                let approval = Approval::RecurringTask { hash: hash.clone() };
                if let Err(error) = keep_decision(&parts, &approval, true) {
                    tracing::warn!(%error, "the file of a recurring task will be asked about");
                }
            }
            parts.send(Input::WrittenDown { then, result });
        });
    }
}
