//! Lists over all tasks, read from the tree file and the sessions.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Queries;
use crate::base::{Fault, TaskId};
use crate::config::RepoFiles;
use crate::config::recurring::RecurringPlan;
use crate::engine::oneshot;
use crate::engine::query::{AskRow, CostRow, CostsBy, List, TaskRow, TaskSummary};
use crate::engine::session_view;
use crate::engine::snapshot::TaskView;
use crate::engine::stall::{self, TaskProgress};
use crate::git::repo_file;
use crate::model::AskKind;
use crate::model::address::AddressError;
use crate::model::event::Body;
use crate::model::fold::SessionState;
use crate::model::task::Recurring;
use crate::model::{TaskNode, Tree};
use crate::store::tree_file::TreeFile;
use crate::store::{EngineLock, RealDisk, StateCache};

/// The name of the row for requests without a task.
const ONE_SHOT: &str = "one-shot requests";

/// The content of the tree file.
#[derive(Default)]
pub(super) struct SavedTree {
    /// `None` if the project has no tasks yet.
    pub(super) tree: Option<Tree>,
    /// Inconsistencies in the file.
    warnings: Vec<String>,
}

impl Queries {
    /// Returns the saved tree. A missing tree file beside existing sessions is an error, not an empty project.
    pub(super) fn tree(&self) -> Result<SavedTree, Fault> {
        let mut file = TreeFile::new(Arc::new(RealDisk), self.folder().tree());
        let Some(loaded) = file.load_beside(&self.sessions)? else { return Ok(SavedTree::default()) };
        let warnings = loaded.notes.iter().map(ToString::to_string).collect();
        Ok(SavedTree { tree: Some(loaded.tree), warnings })
    }

    /// Returns the task that `name` identifies, in the tree or at least in the sessions.
    pub(super) fn find(&self, name: &str) -> Result<TaskId, Fault> {
        let unknown = |error: AddressError| Fault::user(error.to_string()).hint("`mxd tree` lists the tasks");
        let found = match self.tree().map(|saved| saved.tree) {
            Ok(Some(tree)) => tree.find(name).map(|node| node.id).map_err(unknown),
            Ok(None) => Err(unknown(AddressError::Unknown { words: name.to_owned(), similar: Vec::new() })),
            Err(fault) => Err(fault),
        };
        found.or_else(|fault| {
            let id = name.trim().to_ascii_uppercase().parse().ok();
            id.filter(|id| self.sessions.path(*id).exists()).ok_or(fault)
        })
    }

    pub(super) fn task_list(&self) -> Result<List<TaskRow>, Fault> {
        let SavedTree { tree, mut warnings } = self.tree()?;
        let Some(tree) = tree else { return Ok(List { rows: Vec::new(), warnings }) };
        // Only events after the cached state are read: a session can be hundreds of megabytes.
        let mut cache = self.state_cache();
        let mut sessions: BTreeMap<TaskId, (SessionState, TaskView)> = BTreeMap::new();
        for node in tree.all() {
            let state = match cache.summary(&self.sessions, node.id) {
                Ok(summary) => summary.state,
                Err(error) => {
                    warnings.push(format!("{error}; its cost, messages and questions are not counted"));
                    SessionState::default()
                }
            };
            let view = session_view::view(node.clone(), &state);
            sessions.insert(node.id, (state, view));
        }
        let has_engine = EngineLock::holder(&self.folder().lock()).is_ok_and(|holder| holder.is_some());
        let progress =
            |task: TaskId| sessions.get(&task).map_or(TaskProgress::Idle, |(_, view)| session_view::progress(view));
        let row = |node: &TaskNode| {
            let (state, view) = sessions.get(&node.id)?;
            let view = TaskView { waits: stall::wait(&tree, node.id, &progress), ..view.clone() };
            Some(TaskRow {
                depth: tree.depth(node.id),
                state: session_view::state(&view, has_engine),
                cost: state.usage.cost(),
                unpriced: state.usage.is_lower_bound(),
                tokens: state.usage.tokens().total(),
                turns: state.turns.ended,
                pending_messages: state.messages.len(),
                asks: state.asks.len(),
                queued_merge: state.work.queued.clone(),
                schedule: self.schedule(node),
                node: node.clone(),
            })
        };
        let rows = tree.all().filter_map(row).collect();
        Ok(List { rows, warnings })
    }

    pub(super) fn asks(&self) -> Result<List<AskRow>, Fault> {
        let SavedTree { tree, mut warnings } = self.tree()?;
        let mut cache = self.state_cache();
        let mut rows = Vec::new();
        for node in tree.iter().flat_map(Tree::all) {
            match cache.summary(&self.sessions, node.id) {
                Ok(summary) => rows.extend(summary.state.asks.iter().map(|ask| AskRow {
                    task: node.id,
                    title: node.title.clone(),
                    ask: ask.clone(),
                    also: Vec::new(),
                })),
                Err(error) => warnings.push(format!("{error}; questions in it are not listed")),
            }
        }
        Ok(List { rows: AskRow::joined(rows), warnings })
    }

    pub(super) fn summary(&self, task: TaskId) -> Result<TaskSummary, Fault> {
        let node = self.tree()?.tree.and_then(|tree| tree.get(task).cloned());
        let usage = self.state_cache().summary(&self.sessions, task)?.state.usage;
        let (cost, tokens) = (usage.cost(), usage.tokens().total());
        Ok(TaskSummary { project: self.project.name.clone(), task, node, cost, tokens })
    }

    /// Returns the costs, including deleted tasks. Turns that were rewound or compacted were paid for too, so whole
    /// files are read.
    pub(super) fn costs(&self, by: CostsBy) -> Result<List<CostRow>, Fault> {
        let SavedTree { tree, mut warnings } = self.tree()?;
        let tasks = if self.sessions.folder().exists() { self.sessions.list()? } else { Vec::new() };
        let mut rows: BTreeMap<String, CostRow> = BTreeMap::new();
        for task in tasks {
            let node = tree.as_ref().and_then(|tree| tree.get(task));
            match self.spent_by(task, by) {
                Ok(spent) => {
                    for (key, spent) in spent {
                        let row = rows.entry(key.clone()).or_insert_with(|| match by {
                            CostsBy::Task => {
                                let name = node.map_or_else(String::new, |node| node.title.clone());
                                let number = node.and_then(|node| node.number);
                                CostRow { name, task: Some(task), number, ..CostRow::default() }
                            }
                            CostsBy::Model | CostsBy::Day => CostRow { name: key, ..CostRow::default() },
                        });
                        row.merge(&spent);
                    }
                }
                Err(fault) => warnings.push(format!("{fault}; its cost is not counted")),
            }
        }
        for record in oneshot::records(&self.home.project(self.project.id).oneshots()) {
            let key = match by {
                CostsBy::Task => ONE_SHOT.to_owned(),
                CostsBy::Model => record.model,
                CostsBy::Day => record.at.to_seconds_string().chars().take(10).collect(),
            };
            let row = rows.entry(key.clone()).or_insert_with(|| CostRow { name: key, ..CostRow::default() });
            row.add(&record.tokens, record.cost);
        }
        let mut rows: Vec<CostRow> = rows.into_values().collect();
        if by != CostsBy::Day {
            rows.sort_by_key(|row| std::cmp::Reverse(row.cost));
        }
        Ok(List { rows, warnings })
    }

    /// Returns what a task spent, by the keys of the rows.
    fn spent_by(&self, task: TaskId, by: CostsBy) -> Result<BTreeMap<String, CostRow>, Fault> {
        let mut spent: BTreeMap<String, CostRow> = BTreeMap::new();
        // The model of a response follows its calls.
        let mut calls = 0;
        self.sessions.stream(task, |event| {
            let key = |model: &str| match by {
                CostsBy::Task => task.to_string(),
                CostsBy::Model => model.to_owned(),
                CostsBy::Day => event.ts.to_seconds_string().chars().take(10).collect(),
            };
            match &event.body {
                // Events before this were paid for by the task that this one was forked from.
                Body::ForkMarker(_) => spent.clear(),
                Body::ToolCall(_) => calls += 1,
                Body::Usage(usage) => {
                    let row = spent.entry(key(&usage.model)).or_default();
                    row.add(&usage.tokens, usage.cost);
                    row.calls += std::mem::take(&mut calls);
                }
                Body::AskRaised(ask) if ask.kind() == AskKind::Permission && by != CostsBy::Model => {
                    spent.entry(key("")).or_default().asked += 1;
                }
                _ => {}
            }
        })?;
        Ok(spent)
    }

    /// Returns when a recurring task runs. `None` if its file is invalid; the engine reports that.
    fn schedule(&self, node: &TaskNode) -> Option<String> {
        if node.recurring == Recurring::None {
            return None;
        }
        let path = RepoFiles::new(&self.project.path).task(node.id);
        let text = repo_file::read_text(&self.project.path, &path, repo_file::SMALL).ok().flatten()?;
        let words = RecurringPlan::read(node.id, &path, &text).ok()?.schedule.describe();
        Some(words).filter(|words| !words.is_empty())
    }

    pub(super) fn state_cache(&self) -> StateCache {
        StateCache::load(Arc::new(RealDisk), self.folder().digests())
    }
}
