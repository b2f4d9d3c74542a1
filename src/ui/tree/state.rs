//! The state of the task tree.

use std::collections::{BTreeSet, HashMap};

use crate::base::TaskId;
use crate::ui::field::Field;
use crate::ui::list::Cursor;
use crate::ui::project_state::ProjectState;
use crate::ui::tree::rows::{self, TaskLine};

/// Which tasks are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FilterMode {
    #[default]
    All,
    /// Tasks that are not closed.
    Open,
    /// Tasks that wait for the user, failed, or are stuck.
    NeedsMe,
    /// Tasks with a running, waiting or queued agent.
    Active,
}

impl FilterMode {
    pub fn next(self) -> Self {
        match self {
            Self::All => Self::Open,
            Self::Open => Self::NeedsMe,
            Self::NeedsMe => Self::Active,
            Self::Active => Self::All,
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Open => "open",
            Self::NeedsMe => "needs me",
            Self::Active => "active",
        }
    }
}

impl State {
    /// Returns the active filter mode and sort order in a few words.
    pub fn note(&self) -> String {
        let mode = Some(self.mode()).filter(|mode| *mode != FilterMode::All).map(FilterMode::word);
        let sort = (self.sort() == Sort::Attention).then_some("by attention");
        mode.into_iter().chain(sort).collect::<Vec<_>>().join(", ")
    }
}

/// The order of the tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Sort {
    #[default]
    Tree,
    /// Most urgent first.
    Attention,
}

/// The revisions that the rows were built from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct BuiltFrom {
    revision: u64,
    own: u64,
}

/// The task tree.
#[derive(Clone, Debug)]
pub struct State {
    selected: TaskId,
    /// A task to select as soon as it is in the tree. The reply to a command can arrive before the update it caused.
    awaited: Option<TaskId>,
    folded: BTreeSet<TaskId>,
    pub filter: Field,
    /// Whether the user types the filter.
    pub filtering: bool,
    mode: FilterMode,
    sort: Sort,
    pub cost: bool,
    rows: Vec<TaskLine>,
    places: HashMap<TaskId, usize>,
    built_from: Option<BuiltFrom>,
    /// Counts changes of folding, filter and order.
    own: u64,
    cursor: Cursor,
}

impl State {
    pub fn new(project: &ProjectState) -> Self {
        let mut state = Self {
            selected: project.root(),
            awaited: None,
            folded: BTreeSet::new(),
            filter: Field::default(),
            filtering: false,
            mode: FilterMode::default(),
            sort: Sort::default(),
            cost: false,
            rows: Vec::new(),
            places: HashMap::new(),
            built_from: None,
            own: 0,
            cursor: Cursor::default(),
        };
        state.sync(project, 0);
        state
    }

    pub fn selected(&self) -> TaskId {
        self.selected
    }

    pub fn mode(&self) -> FilterMode {
        self.mode
    }

    pub fn sort(&self) -> Sort {
        self.sort
    }

    pub fn rows(&self) -> &[TaskLine] {
        &self.rows
    }

    pub fn top(&self) -> usize {
        self.cursor.top
    }

    pub fn place(&self, id: TaskId) -> Option<usize> {
        self.places.get(&id).copied()
    }

    pub fn is_folded(&self, id: TaskId) -> bool {
        self.folded.contains(&id)
    }

    /// Rebuilds the rows if they are out of date, and makes the selection visible in `height` rows.
    pub fn sync(&mut self, project: &ProjectState, height: usize) {
        if let Some(awaited) = self.awaited.take_if(|id| project.is_in_tree(*id)) {
            self.select(project, awaited);
        }
        // Without a filter only the structure matters; with one, or sorted by attention, states and titles do too.
        let plain = self.mode == FilterMode::All && self.sort == Sort::Tree && self.filter.is_empty();
        let revision = if plain { project.shape() } else { project.revision() };
        let built_from = BuiltFrom { revision, own: self.own };
        if self.built_from.as_ref() != Some(&built_from) {
            self.built_from = Some(built_from);
            self.rows = rows::flatten(project, self);
            self.places = self.rows.iter().enumerate().map(|(place, row)| (row.id, place)).collect();
        }
        match self.place(self.selected) {
            Some(place) => self.cursor.chosen = place,
            None => self.select_near(project),
        }
        self.cursor.clamp(self.rows.len(), height);
    }

    /// Selects the nearest visible ancestor, or the row that took the place of the selected task.
    fn select_near(&mut self, project: &ProjectState) {
        let above = project.ancestors(self.selected).find(|id| self.places.contains_key(id));
        let same = self.cursor.chosen.min(self.rows.len().saturating_sub(1));
        let place = above.and_then(|id| self.place(id)).unwrap_or(same);
        self.cursor.chosen = place;
        match self.rows.get(place) {
            Some(row) => self.selected = row.id,
            None if project.task(self.selected).is_none() => self.selected = project.root(),
            None => {}
        }
    }

    pub fn step(&mut self, by: isize) {
        self.awaited = None;
        self.cursor.step(by, self.rows.len());
        if let Some(row) = self.rows.get(self.cursor.chosen) {
            self.selected = row.id;
        }
    }

    /// Selects a task, unfolding or clearing the filter if that hides it. A task that is not in the tree yet is
    /// selected when it arrives, unless the selection moves before.
    pub fn select(&mut self, project: &ProjectState, id: TaskId) {
        self.awaited = (!project.is_in_tree(id)).then_some(id);
        if self.awaited.is_some() {
            return;
        }
        self.selected = id;
        if self.place(id).is_some() {
            return;
        }
        let above: Vec<_> = project.ancestors(id).collect();
        above.iter().for_each(|id| {
            self.folded.remove(id);
        });
        self.own += 1;
        self.sync(project, 0);
        self.selected = id;
        let hidden = self.rows.iter().all(|row| row.id != id);
        if hidden {
            self.filter = Field::default();
            self.mode = FilterMode::All;
            self.own += 1;
        }
        self.sync(project, 0);
    }

    pub fn select_row(&mut self, row: usize) -> bool {
        let Some(row) = self.rows.get(row) else { return false };
        self.awaited = None;
        self.selected = row.id;
        true
    }

    /// Folds the selected task, or selects its parent.
    pub fn fold(&mut self, project: &ProjectState) {
        let has_children = project.node(self.selected).is_some_and(|node| !node.children.is_empty());
        if has_children && self.folded.insert(self.selected) {
            self.own += 1;
        } else if let Some(parent) = project.node(self.selected).and_then(|node| node.parent) {
            self.selected = parent;
        }
    }

    /// Unfolds the selected task, or selects its first subtask.
    pub fn unfold(&mut self, project: &ProjectState) {
        if self.folded.remove(&self.selected) {
            self.own += 1;
        } else if let Some(child) = project.node(self.selected).and_then(|node| node.children.first()) {
            self.selected = *child;
        }
    }

    pub fn fold_toggle(&mut self, project: &ProjectState) {
        if !self.folded.remove(&self.selected)
            && project.node(self.selected).is_some_and(|node| !node.children.is_empty())
        {
            self.folded.insert(self.selected);
        }
        self.own += 1;
    }

    pub fn fold_all(&mut self, project: &ProjectState) {
        self.folded = project.tasks().filter(|task| !task.node.children.is_empty()).map(|task| task.node.id).collect();
        // Keep the first level visible: a single row would say nothing.
        self.folded.remove(&project.root());
        self.own += 1;
    }

    pub fn unfold_all(&mut self) {
        self.folded.clear();
        self.own += 1;
    }

    pub fn cycle_mode(&mut self) {
        self.mode = self.mode.next();
        self.own += 1;
    }

    pub fn cycle_sort(&mut self) {
        self.sort = match self.sort {
            Sort::Tree => Sort::Attention,
            Sort::Attention => Sort::Tree,
        };
        self.own += 1;
    }

    /// Called after the filter text has changed.
    pub fn filter_changed(&mut self) {
        self.own += 1;
    }

    pub fn clear_filter(&mut self) -> bool {
        self.filtering = false;
        let had = !self.filter.is_empty() || self.mode != FilterMode::All;
        self.filter = Field::default();
        self.mode = FilterMode::All;
        self.own += 1;
        had
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
