//! What is to be seen: views of tasks, made from the tree, the folds and the runs.

use std::collections::BTreeMap;

use crate::base::{Fault, TaskId};
use crate::engine::machine::Machine;
use crate::engine::machine::slot::{Completion, Slot, Words};
use crate::engine::profiles::Profiles;
use crate::engine::reading::Spot;
use crate::engine::review::{Clash, Drift};
use crate::engine::snapshot::{DiffStat, ProjectView, Snapshot, TaskView, Wait};
use crate::engine::stall;
use crate::model::resume;
use crate::model::task::{Status, TaskNode};
use crate::model::tree::Facts;

impl Machine {
    /// Returns everything there is to see.
    pub fn snapshot(&self) -> Snapshot {
        let project = self.project();
        let tasks = self.tree.all().filter_map(|node| self.view(node.id)).collect();
        Snapshot { project, root: self.tree.root_id(), tasks, quiet: self.is_quiet() }
    }

    /// Returns what there is to see of the project itself.
    pub fn project(&self) -> ProjectView {
        ProjectView {
            budget: self.limits.project_budget.or_else(|| self.budget_of(self.tree.root())),
            model: self.ground.model.clone(),
            profiles: self.profiles.views(),
            ..ProjectView::of(&self.ground.project, self.limits.max_running)
        }
    }

    /// Takes note of the profiles that can be chosen now. Tells whether they look different.
    pub fn set_profiles(&mut self, profiles: Profiles) -> bool {
        let before = std::mem::replace(&mut self.profiles, profiles);
        before.views() != self.profiles.views()
    }

    /// Returns what there is to see of one task.
    pub fn view(&self, task: TaskId) -> Option<TaskView> {
        let node = self.tree.get(task)?;
        let node = TaskNode { budget: self.budget_of(node), ..node.clone() };
        let Some(life) = self.lives.get(&task) else {
            return Some(TaskView::of(node));
        };
        Some(TaskView {
            activity: life.activity,
            since: life.since,
            alive: life.slot.has_run(),
            waits: self.wait(task),
            retry: life.retry.clone(),
            model: life.model.clone(),
            diff: life.diff,
            clashes: life.clashes.clone(),
            drift: life.drift,
            ..TaskView::kept(node, &life.state)
        })
    }

    /// Takes note of how much a task's branch differs from where it began, and how far it is from where it goes.
    pub fn set_diff(&mut self, task: TaskId, diff: Option<DiffStat>, drift: Option<Drift>) {
        if self.lives.get(&task).is_some_and(|life| (life.diff, life.drift) != (diff, drift)) {
            let life = self.life(task);
            (life.diff, life.drift) = (diff, drift);
        }
    }

    /// Returns the branches that are being worked on, or wait to be merged, and the base branch that they meet in.
    pub fn live_branches(&self) -> Vec<(TaskId, String)> {
        let is_live = |node: &&TaskNode| {
            let has_begun = matches!(node.status, Status::InProgress | Status::Passed | Status::Failed);
            node.worktree.is_some() && has_begun && !self.has_nothing_left(node.id)
        };
        let base = (self.tree.root_id(), self.ground.project.base_branch.clone());
        let tasks = self.tree.all().filter(is_live).filter_map(|node| Some((node.id, node.branch.clone()?)));
        std::iter::once(base).chain(tasks).collect()
    }

    /// Tells whether the branch that a task goes into has all of its work: what conflicts with it conflicts with that one.
    fn has_nothing_left(&self, task: TaskId) -> bool {
        let Some(life) = self.lives.get(&task) else { return false };
        let is_dirty = life.diff.is_some_and(|diff| diff.dirty);
        !life.slot.has_run() && !is_dirty && life.drift.is_some_and(|drift| drift.ahead == 0)
    }

    /// Tells whether an agent is there for a task.
    pub fn has_run(&self, task: TaskId) -> bool {
        self.lives.get(&task).is_some_and(|life| life.slot.has_run())
    }

    /// Takes note of which tasks' branches would conflict.
    pub fn set_clashes(&mut self, pairs: &[(TaskId, TaskId, Vec<String>)]) {
        let mut clashes: BTreeMap<TaskId, Vec<Clash>> = BTreeMap::new();
        for (one, other, files) in pairs {
            clashes.entry(*one).or_default().push(Clash { with: *other, files: files.clone() });
            clashes.entry(*other).or_default().push(Clash { with: *one, files: files.clone() });
        }
        let tasks: Vec<TaskId> = self.lives.keys().copied().collect();
        for task in tasks {
            let now = clashes.remove(&task).unwrap_or_default();
            if self.lives.get(&task).is_some_and(|life| life.clashes != now) {
                self.life(task).clashes = now;
            }
        }
    }

    /// Returns where a task works and the branch it is measured against.
    pub fn worktree_of(&self, task: TaskId) -> Option<(std::path::PathBuf, String)> {
        self.spot(self.tree.get(task)?).map(|place| (place.worktree, place.base))
    }

    /// Returns where a task works and where its work goes.
    pub fn spot_of(&self, task: TaskId) -> Result<Spot, Fault> {
        self.node(task)?;
        let receipt = self.state(task).and_then(|state| state.work.receipt.clone());
        Spot::of(&self.tree, task, &self.ground.project, self.limits.verify.as_deref(), receipt)
            .ok_or_else(|| Fault::internal("a task that was there a moment ago is gone"))
    }

    pub(super) fn facts(&self, task: TaskId) -> Facts {
        let Some(life) = self.lives.get(&task) else { return Facts::default() };
        let working = life.slot.is_at_work();
        Facts { cost: life.state.usage.cost(), asks: life.state.asks.len(), working }
    }

    fn wait(&self, task: TaskId) -> Option<Wait> {
        if let Some(ahead) = self.queue.iter().position(|waiting| *waiting == task) {
            return Some(Wait::Slot { ahead });
        }
        let life = self.lives.get(&task)?;
        match &life.slot {
            Slot::Launching { .. } => {
                Some(Wait::Setup { step: life.step.clone().unwrap_or_else(|| "getting ready".to_owned()) })
            }
            Slot::Running { asleep: true, .. } if life.state.asks.is_empty() => {
                let process = life.state.background.iter().next()?;
                let yielded = matches!(resume::of(&life.state), resume::Resume::PendingYield { .. });
                Some(Wait::Process { command: process.command.clone(), yielded })
            }
            Slot::Running { .. } | Slot::Leaving { .. } => match life.words {
                Words::Silent(since) => Some(Wait::Silence { since }),
                Words::None | Words::Last(_) => None,
            },
            Slot::Free | Slot::Halting => {
                let wait = stall::wait(&self.tree, task, &|task| self.rest(task));
                self.wait_for_reply(task, wait)
            }
        }
    }

    /// Returns the task above that a task asked for a reply, while it has none. Of several, the one that it asked last.
    pub(super) fn asked_above(&self, task: TaskId) -> Option<TaskId> {
        let own = &self.state(task)?.replies;
        let open = self.tree.ancestors(task).filter_map(|above| {
            let request = self.state(above.id)?.replies.request_of(task)?;
            (!own.has_heard_since(request)).then_some((request, above.id))
        });
        open.max().map(|(_, above)| above)
    }

    /// An agent that asked for a reply before it went to sleep waits for that, and not for nobody.
    fn wait_for_reply(&self, task: TaskId, wait: Option<Wait>) -> Option<Wait> {
        let Some(asked) = self.asked_above(task) else { return wait };
        match wait {
            Some(Wait::Stalled { chain, .. }) if chain.len() == 1 => Some(match self.rest(asked) {
                stall::Rest::Busy | stall::Rest::AsksPerson => Wait::Task { task: asked },
                stall::Rest::Asleep | stall::Rest::Stopped => {
                    let reason = "the first asked the other for a reply, and that one sleeps without having given it";
                    Wait::Stalled { chain: vec![task, asked], reason: reason.to_owned() }
                }
            }),
            other => other,
        }
    }

    fn rest(&self, task: TaskId) -> stall::Rest {
        let Some(life) = self.lives.get(&task) else { return stall::Rest::Asleep };
        let is_measured = matches!(life.completion, Completion::Measuring);
        if life.slot.has_run() || is_measured || self.queue.contains(&task) || self.is_completing(task) {
            stall::Rest::Busy
        } else if !life.state.asks.is_empty() {
            stall::Rest::AsksPerson
        } else if self.is_stopped(task) {
            stall::Rest::Stopped
        } else if self.waits_for_hook(task) {
            stall::Rest::AsksPerson
        } else {
            stall::Rest::Asleep
        }
    }
}
