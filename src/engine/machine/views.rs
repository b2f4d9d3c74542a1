//! Views of the project and its tasks, made from the tree, the folded sessions and the runs.

use std::collections::BTreeMap;

use crate::base::{Fault, TaskId};
use crate::engine::machine::Machine;
use crate::engine::machine::slot::{CompletionState, Slot, StreamActivity};
use crate::engine::profiles::Profiles;
use crate::engine::review::{BranchConflict, Drift};
use crate::engine::snapshot::{DiffStat, ProjectView, Snapshot, TaskView, Wait};
use crate::engine::stall;
use crate::engine::work_queries::TaskLocation;
use crate::model::live_turn::LiveTurns;
use crate::model::resume;
use crate::model::task::{Status, TaskNode};
use crate::model::tree::Facts;

/// The last progress and the last wait of each task.
#[derive(Debug, Default)]
pub(super) struct KnownWaits {
    progress: BTreeMap<TaskId, (Status, stall::TaskProgress)>,
    waits: BTreeMap<TaskId, Wait>,
}

impl Machine {
    /// Marks the tasks whose wait changed because another task started or came to rest.
    pub(super) fn mark_changed_waits(&mut self) {
        for task in &self.removed {
            self.known_waits.progress.remove(task);
            self.known_waits.waits.remove(task);
        }
        let mut any = !self.removed.is_empty();
        for task in &self.changed {
            let Some(status) = self.status(*task) else { continue };
            let now = (status, self.task_progress(*task));
            any |= self.known_waits.progress.insert(*task, now) != Some(now);
        }
        if !any {
            return;
        }
        let resting = self.tree.all().filter(|node| node.status == Status::InProgress && !self.has_run(node.id));
        let waits: BTreeMap<TaskId, Wait> = resting.filter_map(|node| Some((node.id, self.wait(node.id)?))).collect();
        let before = std::mem::replace(&mut self.known_waits.waits, waits);
        let known = before.keys().chain(self.known_waits.waits.keys()).copied();
        let changed = known.filter(|task| before.get(task) != self.known_waits.waits.get(task));
        let changed: Vec<TaskId> = changed.filter(|task| self.tree.get(*task).is_some()).collect();
        self.changed.extend(changed);
    }

    pub fn snapshot(&self) -> Snapshot {
        let project = self.project();
        let tasks = self.tree.all().filter_map(|node| self.view(node.id)).collect();
        Snapshot {
            project,
            root: self.tree.root_id(),
            tasks,
            quiet: self.is_quiet(),
            live: LiveTurns::default(),
            clients: Vec::new(),
        }
    }

    pub fn project(&self) -> ProjectView {
        ProjectView {
            budget: self.limits.project_budget.or_else(|| self.budget_of(self.tree.root())),
            model: self.env.model.clone(),
            profiles: self.profiles.views(),
            bypass: self.modes.bypass,
            broken_profiles: self.profiles.broken(),
            selection: self.profiles.selection().word().to_owned(),
            ..ProjectView::of(&self.env.project, self.limits.max_running)
        }
    }

    /// Sets the available profiles. Returns true if their views changed.
    pub fn set_profiles(&mut self, profiles: Profiles) -> bool {
        self.policies_changed();
        let before = std::mem::replace(&mut self.profiles, profiles);
        before.views() != self.profiles.views()
            || before.broken() != self.profiles.broken()
            || before.selection() != self.profiles.selection()
    }

    pub fn view(&self, task: TaskId) -> Option<TaskView> {
        let node = self.tree.get(task)?;
        let node = TaskNode { budget: self.budget_of(node), ..node.clone() };
        let mode = Some(self.mode_of(&node));
        let Some(runtime) = self.runtimes.get(&task) else {
            return Some(TaskView { mode, ..TaskView::of(node) });
        };
        let own = TaskView::from_session(node, &runtime.state);
        let asks = own.asks.iter().filter(|ask| self.asked_by(task, ask).is_none()).cloned().collect();
        Some(TaskView {
            mode,
            asks,
            activity: runtime.activity,
            since: runtime.since,
            alive: runtime.slot.has_run(),
            waits: self.wait(task),
            retry: runtime.retry.clone(),
            model: runtime.model.clone(),
            diff: runtime.diff,
            clashes: runtime.clashes.clone(),
            drift: runtime.drift,
            ..own
        })
    }

    /// Sets the diff and the drift of a task.
    pub fn set_diff(&mut self, task: TaskId, diff: Option<DiffStat>, drift: Option<Drift>) {
        if self.runtimes.get(&task).is_some_and(|runtime| (runtime.diff, runtime.drift) != (diff, drift)) {
            let runtime = self.runtime(task);
            (runtime.diff, runtime.drift) = (diff, drift);
        }
    }

    /// Returns the branches that are in progress or not merged yet, and the base branch.
    pub fn live_branches(&self) -> Vec<(TaskId, String)> {
        let is_live = |node: &&TaskNode| {
            let has_begun = matches!(node.status, Status::InProgress | Status::Passed | Status::Failed);
            node.worktree.is_some() && has_begun && !self.is_fully_merged(node.id)
        };
        let base = (self.tree.root_id(), self.env.project.base_branch.clone());
        let tasks = self.tree.all().filter(is_live).filter_map(|node| Some((node.id, node.branch.clone()?)));
        std::iter::once(base).chain(tasks).collect()
    }

    /// Returns the finished subtasks of a task whose branches have commits that it lacks, as far as measured.
    pub fn unmerged_children(&self, task: TaskId) -> Vec<TaskId> {
        let children = self.tree.get(task).map(|node| node.children.as_slice()).unwrap_or_default();
        let is_unmerged = |child: &&TaskId| {
            self.status(**child) == Some(Status::Passed)
                && self.runtimes.get(child).is_some_and(|it| it.drift.is_none_or(|drift| drift.ahead > 0))
        };
        children.iter().filter(is_unmerged).copied().collect()
    }

    /// Returns true if the target branch has all of a task's work. Conflicts are then found with the target.
    fn is_fully_merged(&self, task: TaskId) -> bool {
        let Some(runtime) = self.runtimes.get(&task) else { return false };
        let is_dirty = runtime.diff.is_some_and(|diff| diff.dirty);
        !runtime.slot.has_run() && !is_dirty && runtime.drift.is_some_and(|drift| drift.ahead == 0)
    }

    /// Returns true if a task has a run or a launch.
    pub fn has_run(&self, task: TaskId) -> bool {
        self.runtimes.get(&task).is_some_and(|runtime| runtime.slot.has_run())
    }

    /// Sets the pairs of tasks whose branches conflict.
    pub fn set_branch_conflicts(&mut self, pairs: &[(TaskId, TaskId, Vec<String>)]) {
        let mut clashes: BTreeMap<TaskId, Vec<BranchConflict>> = BTreeMap::new();
        for (one, other, files) in pairs {
            clashes.entry(*one).or_default().push(BranchConflict { with: *other, files: files.clone() });
            clashes.entry(*other).or_default().push(BranchConflict { with: *one, files: files.clone() });
        }
        let tasks: Vec<TaskId> = self.runtimes.keys().copied().collect();
        for task in tasks {
            let now = clashes.remove(&task).unwrap_or_default();
            if self.runtimes.get(&task).is_some_and(|runtime| runtime.clashes != now) {
                self.runtime(task).clashes = now;
            }
        }
    }

    /// Returns the worktree of a task and its base branch.
    pub fn worktree_of(&self, task: TaskId) -> Option<(std::path::PathBuf, String)> {
        self.worktree_location(self.tree.get(task)?).map(|place| (place.worktree, place.base))
    }

    /// Returns the location of a task's work and its merge targets.
    pub fn location_of(&self, task: TaskId) -> Result<TaskLocation, Fault> {
        self.node(task)?;
        let receipt = self.state(task).and_then(|state| state.work.receipt.clone());
        TaskLocation::of(&self.tree, task, &self.env.project, self.limits.verify.as_deref(), receipt)
            .ok_or_else(|| Fault::internal("a task that was there a moment ago is gone"))
    }

    pub(super) fn facts(&self, task: TaskId) -> Facts {
        let Some(runtime) = self.runtimes.get(&task) else { return Facts::default() };
        let working = runtime.slot.is_at_work();
        let stuck = matches!(self.wait(task), Some(Wait::Stalled { .. }));
        Facts { cost: runtime.state.usage.cost(), asks: runtime.state.asks.len(), working, stuck }
    }

    fn wait(&self, task: TaskId) -> Option<Wait> {
        if let Some(ahead) = self.queue.iter().position(|waiting| *waiting == task) {
            return Some(Wait::Slot { ahead });
        }
        let runtime = self.runtimes.get(&task)?;
        match &runtime.slot {
            Slot::Launching { .. } => {
                Some(Wait::Setup { step: runtime.step.clone().unwrap_or_else(|| "preparing".to_owned()) })
            }
            Slot::Running { asleep: true, .. } if runtime.state.asks.is_empty() => {
                let process = runtime.state.background.iter().next()?;
                let yielded = matches!(resume::of(&runtime.state), resume::Resume::PendingYield { .. });
                Some(Wait::Process { command: process.command.clone(), yielded })
            }
            Slot::Running { .. } | Slot::Leaving { .. } => match runtime.stream {
                StreamActivity::Silent(since) => Some(Wait::Silence { since }),
                StreamActivity::None | StreamActivity::Last(_) => None,
            },
            Slot::Free | Slot::Halting => {
                let wait = stall::wait(&self.tree, task, &|task| self.task_progress(task));
                self.wait_for_reply(task, wait)
            }
        }
    }

    /// Returns the ancestor that owes a task a reply. Of several, the one asked last.
    pub(super) fn pending_reply_from(&self, task: TaskId) -> Option<TaskId> {
        let own = &self.state(task)?.replies;
        let open = self.tree.ancestors(task).filter_map(|above| {
            let request = self.state(above.id)?.replies.request_of(task)?;
            (!own.has_received_since(request)).then_some((request, above.id))
        });
        open.max().map(|(_, above)| above)
    }

    /// Replaces the wait of a task without sub tasks by the wait for a reply, if it asked an ancestor for one.
    fn wait_for_reply(&self, task: TaskId, wait: Option<Wait>) -> Option<Wait> {
        let Some(asked) = self.pending_reply_from(task) else { return wait };
        let is_alone = match &wait {
            Some(Wait::Stalled { chain, .. }) => chain.len() == 1,
            Some(Wait::Idle) => true,
            _ => false,
        };
        match wait {
            Some(_) if is_alone => Some(match self.task_progress(asked) {
                stall::TaskProgress::Running | stall::TaskProgress::WaitsForUser => Wait::Task { task: asked },
                stall::TaskProgress::Idle | stall::TaskProgress::Stopped => {
                    let reason = "the first waits for a reply from the second, which is idle";
                    Wait::Stalled { chain: vec![task, asked], reason: reason.to_owned() }
                }
            }),
            other => other,
        }
    }

    pub(super) fn task_progress(&self, task: TaskId) -> stall::TaskProgress {
        let Some(runtime) = self.runtimes.get(&task) else { return stall::TaskProgress::Idle };
        let is_measured = matches!(runtime.completion, CompletionState::Measuring);
        if runtime.slot.has_run() || is_measured || self.queue.contains(&task) || self.is_completing(task) {
            stall::TaskProgress::Running
        } else if !runtime.state.asks.is_empty() {
            stall::TaskProgress::WaitsForUser
        } else if self.is_stopped(task) {
            stall::TaskProgress::Stopped
        } else if self.waits_for_hook(task) {
            stall::TaskProgress::WaitsForUser
        } else {
            stall::TaskProgress::Idle
        }
    }
}
