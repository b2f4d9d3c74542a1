//! Sums over subtrees: an Ask three levels down shows on every ancestor.

use std::ops::AddAssign;

use crate::base::{MicroUsd, TaskId};
use crate::model::task::{Status, TaskNode};
use crate::model::tree::Tree;

/// How much attention a task needs, least first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Attention {
    #[default]
    Quiet,
    Working,
    /// Finished and not yet closed.
    Finished,
    Failed,
    /// Cannot continue without the user, and others wait for it.
    Stuck,
    /// Asks the user something.
    Asks,
}

/// Facts about one task besides its node, from its session and its live run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    pub cost: MicroUsd,
    pub asks: usize,
    pub working: bool,
    /// Whether it cannot continue without the user.
    pub stuck: bool,
}

/// The sum over a task and its descendants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RollUp {
    pub tasks: usize,
    pub by_status: [usize; Status::ALL.len()],
    pub cost: MicroUsd,
    pub asks: usize,
    pub working: usize,
    pub stuck: usize,
    pub attention: Attention,
}

impl RollUp {
    pub fn of(node: &TaskNode, facts: Facts) -> Self {
        let mut by_status = [0; Status::ALL.len()];
        by_status[node.status as usize] = 1;
        let attention = match node.status {
            _ if facts.asks > 0 => Attention::Asks,
            _ if facts.stuck => Attention::Stuck,
            Status::Failed => Attention::Failed,
            Status::Passed => Attention::Finished,
            _ if facts.working => Attention::Working,
            Status::Draft | Status::Pending | Status::InProgress | Status::Closed => Attention::Quiet,
        };
        let (working, stuck) = (usize::from(facts.working), usize::from(facts.stuck));
        Self { tasks: 1, by_status, cost: facts.cost, asks: facts.asks, working, stuck, attention }
    }

    pub fn count(&self, status: Status) -> usize {
        self.by_status[status as usize]
    }
}

impl AddAssign for RollUp {
    fn add_assign(&mut self, other: Self) {
        self.tasks += other.tasks;
        self.by_status.iter_mut().zip(other.by_status).for_each(|(mine, theirs)| *mine += theirs);
        self.cost += other.cost;
        self.asks += other.asks;
        self.working += other.working;
        self.stuck += other.stuck;
        self.attention = self.attention.max(other.attention);
    }
}

impl Tree {
    /// Returns the sum over `id` and its descendants.
    pub fn roll_up(&self, id: TaskId, facts: impl Fn(TaskId) -> Facts) -> RollUp {
        let mut sum = RollUp::default();
        self.walk(id).for_each(|node| sum += RollUp::of(node, facts(node.id)));
        sum
    }
}
