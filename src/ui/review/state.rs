//! The state of a review: comparison, position, folds and notes.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::base::TaskId;
use crate::engine::review::{DiffRange, ReviewMarks};
use crate::text::Page;
use crate::text::diff::{DiffOptions, DiffRows, Heads, Sides};
use crate::theme::Glyphs;
use crate::ui::field::Field;
use crate::ui::review::comparison::{ChangedFile, Comparison};
use crate::ui::review::files::{INDENT, RowBuilder};
use crate::ui::review::layout::{Place, ReviewLayout, ReviewPosition};
use crate::ui::review::notes::{ReviewNotes, TaskNotes};
use crate::ui::review::range::Request;

/// Larger files are folded at first.
const LARGE: usize = 60_000;
/// The total lines that are unfolded at first.
const UNFOLDED: usize = 200_000;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FoldKey {
    File(String),
    /// By the id of the hunk.
    Hunk(u64),
}

/// The comment being written.
#[derive(Clone, Debug)]
pub struct CommentEditor {
    /// Its index among the comments of the task.
    pub comment: usize,
    pub field: Field,
}

/// A cached file layout and its inputs.
type Plan = (PlanKey, Arc<DiffRows>);

#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent flags")]
pub struct State {
    pub(super) task: Option<TaskId>,
    pub(super) request: Request,
    pub(super) loaded: Option<Result<Arc<Comparison>, String>>,
    /// The names of the two sides.
    pub(super) sides_named: (String, String),
    /// The state id of the files on the new side.
    pub(super) shown_tree: Option<String>,
    loading: bool,
    /// Whether the loaded comparison is out of date.
    stale: bool,
    pub sides: Sides,
    pub(super) folded: BTreeSet<FoldKey>,
    pub(super) cursor: ReviewPosition,
    /// The distance of the cursor from the first visible row.
    pub(super) offset: usize,
    /// The other end of the line selection.
    pub(super) anchor: Option<ReviewPosition>,
    pub(super) writing: Option<CommentEditor>,
    pub(super) notes: ReviewNotes,
    pub(super) unsaved: bool,
    /// Set when the seen marks differ from the saved ones.
    pub(super) seen_unsaved: bool,
    plans: RefCell<Vec<Option<Plan>>>,
}

impl Clone for State {
    /// Returns a copy without cached layouts.
    fn clone(&self) -> Self {
        Self {
            task: self.task,
            request: self.request,
            loaded: self.loaded.clone(),
            sides_named: self.sides_named.clone(),
            shown_tree: self.shown_tree.clone(),
            loading: self.loading,
            stale: self.stale,
            sides: self.sides,
            folded: self.folded.clone(),
            cursor: self.cursor,
            offset: self.offset,
            anchor: self.anchor,
            writing: self.writing.clone(),
            notes: self.notes.clone(),
            unsaved: self.unsaved,
            seen_unsaved: self.seen_unsaved,
            plans: RefCell::default(),
        }
    }
}

/// The inputs of a file layout.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PlanKey {
    columns: usize,
    sides: Sides,
    glyphs: &'static str,
    folded: Vec<usize>,
}

impl State {
    pub fn new(notes: ReviewNotes) -> Self {
        Self { notes, ..Self::default() }
    }

    /// Returns the request to send, if the diff of `task` has to be loaded.
    pub fn wants(&mut self, task: TaskId) -> Option<Request> {
        if self.task == Some(task) && (self.loading || self.loaded.is_some()) {
            let stale = std::mem::take(&mut self.stale) && !self.loading;
            self.loading |= stale;
            return stale.then_some(self.request);
        }
        self.leave();
        self.task = Some(task);
        self.request.range = DiffRange::Base;
        self.loading = true;
        Some(self.request)
    }

    /// Drops the comparison; options and notes stay.
    fn leave(&mut self) {
        self.finish_writing();
        self.loaded = None;
        self.loading = false;
        self.stale = false;
        self.folded.clear();
        self.cursor = ReviewPosition::default();
        self.offset = 0;
        self.anchor = None;
        self.plans.get_mut().clear();
    }

    /// Returns the request to load the same comparison again. The old one stays visible until then.
    pub fn reload(&mut self) -> Request {
        self.loading = true;
        self.request
    }

    /// Returns the request for another comparison. Another range drops the position, since it is another diff.
    pub fn set_request(&mut self, request: Request) -> Request {
        if request.range != self.request.range {
            let task = self.task;
            self.leave();
            self.task = task;
        }
        self.request = request;
        self.loading = true;
        request
    }

    pub fn request(&self) -> Request {
        self.request
    }

    pub fn task(&self) -> Option<TaskId> {
        self.task
    }

    /// Marks the comparison of `task` as out of date, to be loaded when it is shown again.
    pub fn mark_stale(&mut self, task: TaskId) {
        self.stale |= self.task == Some(task);
    }

    /// Drops everything that was loaded.
    pub fn forget(&mut self) {
        self.leave();
        self.task = None;
    }

    /// Takes in a response. Responses to older requests are ignored.
    pub fn on_diff(&mut self, task: TaskId, request: Request, answer: Result<Answer, String>) {
        if self.task != Some(task) || self.request != request {
            return;
        }
        self.loading = false;
        self.plans.get_mut().clear();
        let before = self.comparison();
        let loaded = answer.map(|answer| {
            self.sides_named = (answer.old, answer.new);
            self.shown_tree = answer.state;
            if !self.seen_unsaved {
                self.notes.of_mut(task).load_marks(&answer.seen);
            }
            answer.comparison
        });
        if let (Some(before), Ok(now)) = (&before, &loaded) {
            self.cursor = relocate(self.cursor, before, now);
            self.anchor = self.anchor.map(|mark| relocate(mark, before, now));
        } else if let Ok(now) = &loaded {
            self.fold_initially(now);
        }
        self.loaded = Some(loaded);
    }

    /// Folds seen changes and large files.
    fn fold_initially(&mut self, comparison: &Comparison) {
        let none = TaskNotes::default();
        let notes = self.task.and_then(|task| self.notes.of(task)).unwrap_or(&none);
        let mut lines = 0;
        for file in &comparison.files {
            let here: usize = file.diff.hunks.iter().map(|hunk| hunk.lines.len()).sum();
            lines += here;
            let seen = file.seen(&notes.seen);
            if here > LARGE || lines > UNFOLDED || seen == file.marks.len() {
                self.folded.insert(FoldKey::File(file.name.clone()));
            }
            let seen = (0..file.marks.len()).filter(|hunk| file.is_seen(*hunk, &notes.seen));
            self.folded.extend(seen.filter_map(|hunk| file.id(hunk)).map(FoldKey::Hunk));
        }
    }

    pub fn comparison(&self) -> Option<Arc<Comparison>> {
        self.loaded.as_ref().and_then(|loaded| loaded.as_ref().ok()).cloned()
    }

    pub fn problem(&self) -> Option<&str> {
        self.loaded.as_ref().and_then(|loaded| loaded.as_ref().err().map(String::as_str))
    }

    /// Returns the state id of the shown files.
    pub fn shown_tree(&self) -> Option<&str> {
        self.shown_tree.as_deref()
    }

    /// Returns the notes on the shown task.
    pub fn notes(&self) -> Option<&TaskNotes> {
        self.task.and_then(|task| self.notes.of(task))
    }

    /// Returns the notes of all tasks if they differ from the saved ones.
    pub fn take_unsaved(&mut self) -> Option<ReviewNotes> {
        std::mem::take(&mut self.unsaved).then(|| self.notes.to_store())
    }

    /// Returns the seen marks of the shown task if they differ from the saved ones.
    pub fn take_seen(&mut self) -> Option<(TaskId, ReviewMarks)> {
        let task = self.task.filter(|_| self.seen_unsaved)?;
        self.seen_unsaved = false;
        // Marks without a state id cannot be stored.
        self.notes.of(task).map(TaskNotes::review_marks).filter(|seen| seen.state.is_some()).map(|seen| (task, seen))
    }

    /// Records the shown state as reviewed, as the base for "new since the last review".
    pub fn mark_reviewed(&mut self) {
        if let (Some(task), Some(state)) = (self.task, self.shown_tree.clone()) {
            self.notes.of_mut(task).state = Some(state);
            self.seen_unsaved = true;
        }
    }

    /// Drops the notes of tasks that no longer exist.
    pub fn retain(&mut self, exists: impl Fn(TaskId) -> bool) {
        self.notes.retain(exists);
        self.unsaved = true;
    }

    pub(super) fn is_hunk_folded(&self, file: &ChangedFile, hunk: usize) -> bool {
        file.id(hunk).is_some_and(|id| self.folded.contains(&FoldKey::Hunk(id)))
    }

    pub(super) fn is_file_folded(&self, file: &ChangedFile) -> bool {
        // A lookup without cloning the name is not worth a type of its own: there are few folds.
        self.folded.contains(&FoldKey::File(file.name.clone()))
    }

    /// Lays out the comparison in `columns`, reusing cached file layouts.
    pub fn layout(&self, columns: usize, glyphs: &'static Glyphs) -> ReviewLayout {
        let Some(comparison) = self.comparison() else { return ReviewLayout::default() };
        let mut layout = ReviewLayout::new(Arc::clone(&comparison), columns);
        let mut plans = self.plans.borrow_mut();
        plans.resize_with(comparison.files.len(), || None);
        for (at, file) in comparison.files.iter().enumerate() {
            if self.is_file_folded(file) {
                layout.push(None, Vec::new());
                continue;
            }
            let folded: Vec<usize> = (0..file.marks.len()).filter(|hunk| self.is_hunk_folded(file, *hunk)).collect();
            let key = PlanKey { columns, sides: self.sides, glyphs: glyphs.name, folded };
            let rows = match &plans[at] {
                Some((known, rows)) if *known == key => Arc::clone(rows),
                _ => {
                    let page = Page::new(columns.saturating_sub(INDENT + 1), glyphs);
                    let options = DiffOptions {
                        sides: self.sides,
                        heads: Heads::Always,
                        context: None,
                        ..DiffOptions::new(page)
                    };
                    let is_folded = |hunk: usize| key.folded.contains(&hunk);
                    let rows = Arc::new(DiffRows::folded(&file.diff, options, is_folded));
                    plans[at] = Some((key, Arc::clone(&rows)));
                    rows
                }
            };
            let inserts = self.inserts(file, &rows, columns, glyphs);
            layout.push(Some(rows), inserts);
        }
        layout
    }

    pub fn forget_layout(&self) {
        self.plans.borrow_mut().clear();
    }

    /// Calls `with` with a row builder.
    pub(super) fn with_row_builder<T>(
        &self,
        layout: &ReviewLayout,
        glyphs: &'static Glyphs,
        with: impl FnOnce(&RowBuilder<'_>) -> T,
    ) -> T {
        let none = TaskNotes::default();
        let comparison = &layout.comparison;
        let folded =
            |file: usize, hunk: usize| comparison.files.get(file).is_some_and(|file| self.is_hunk_folded(file, hunk));
        let notes = self.notes().unwrap_or(&none);
        with(&RowBuilder { comparison, notes, glyphs, columns: layout.columns, folded: &folded })
    }
}

/// A loaded diff.
#[derive(Clone, Debug)]
pub struct Answer {
    pub comparison: Arc<Comparison>,
    /// The names of the two sides.
    pub old: String,
    pub new: String,
    /// The state id of the files on the new side.
    pub state: Option<String>,
    /// The stored marks of seen changes.
    pub seen: ReviewMarks,
}

/// Finds a position again in a newer diff: the same hunk, else the nearest line of the same file, else the file.
fn relocate(mark: ReviewPosition, before: &Comparison, now: &Comparison) -> ReviewPosition {
    let Some(old) = before.files.get(mark.file) else { return ReviewPosition::default() };
    let Some(file) = now.files.iter().position(|file| file.name == old.name) else {
        let file = mark.file.min(now.files.len().saturating_sub(1));
        return ReviewPosition { file, place: Place::Name };
    };
    let new = &now.files[file];
    let place = match mark.place {
        Place::Head(hunk) => {
            let same = old.id(hunk).and_then(|id| (0..new.marks.len()).find(|hunk| new.id(*hunk) == Some(id)));
            same.map_or(Place::Name, Place::Head)
        }
        Place::Line { hunk, line, .. } => {
            let was = old.diff.hunks.get(hunk).and_then(|hunk| hunk.lines.get(line));
            let number = was.and_then(|line| line.new.or(line.old)).unwrap_or(0);
            let lines = new.diff.hunks.iter().enumerate();
            let lines =
                lines.flat_map(|(at, hunk)| hunk.lines.iter().enumerate().map(move |(line, it)| (at, line, it)));
            let far = |it: &crate::model::diff::Line| it.new.or(it.old).unwrap_or(0).abs_diff(number);
            let nearest = lines.min_by_key(|(_, _, it)| (far(it), was.is_none_or(|was| was.text != it.text)));
            nearest.map_or(Place::Name, |(hunk, line, _)| Place::Line { hunk, line, part: 0 })
        }
        Place::Comment { .. } => mark.place,
        Place::Name | Place::Note(_) | Place::End => Place::Name,
    };
    ReviewPosition { file, place }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
