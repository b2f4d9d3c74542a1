//! What the review remembers: the comparison, the place in it, folds and notes.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::base::TaskId;
use crate::engine::review::{Range, Seen};
use crate::text::Page;
use crate::text::diff::{DiffOptions, DiffRows, Heads, Sides};
use crate::theme::Glyphs;
use crate::ui::field::Field;
use crate::ui::review::comparison::{Changed, Comparison};
use crate::ui::review::files::{INDENT, Maker};
use crate::ui::review::lay::{Laid, Mark, Place};
use crate::ui::review::notes::{Notes, TaskNotes};
use crate::ui::review::range::Request;

/// A file with more lines than this is folded at first.
const LARGE: usize = 60_000;
/// So many lines are unfolded at first; the files behind them are folded.
const UNFOLDED: usize = 200_000;

/// What can be folded.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fold {
    File(String),
    /// A hunk, by its id.
    Hunk(u64),
}

/// A remark that is being written.
#[derive(Clone, Debug)]
pub struct Writing {
    /// Which one, of those of the task.
    pub comment: usize,
    pub field: Field,
}

/// A file as it was last laid out, and for what.
type Plan = (PlanKey, Arc<DiffRows>);

/// The review.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct State {
    pub(super) task: Option<TaskId>,
    pub(super) request: Request,
    pub(super) loaded: Option<Result<Arc<Comparison>, String>>,
    /// What the two sides are called.
    pub(super) sides_named: (String, String),
    /// The state of the files on the new side.
    pub(super) looked_at: Option<String>,
    loading: bool,
    /// What is loaded is no longer so.
    stale: bool,
    pub sides: Sides,
    pub(super) folded: BTreeSet<Fold>,
    pub(super) cursor: Mark,
    /// How far below the first row of the screen the cursor is.
    pub(super) offset: usize,
    /// The other end of the lines that are being chosen.
    pub(super) anchor: Option<Mark>,
    pub(super) writing: Option<Writing>,
    pub(super) notes: Notes,
    pub(super) unsaved: bool,
    /// Set when what was seen differs from what was last kept.
    pub(super) seen_unsaved: bool,
    plans: RefCell<Vec<Option<Plan>>>,
}

impl Clone for State {
    /// A copy lays itself out again.
    fn clone(&self) -> Self {
        Self {
            task: self.task,
            request: self.request,
            loaded: self.loaded.clone(),
            sides_named: self.sides_named.clone(),
            looked_at: self.looked_at.clone(),
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

/// What the rows of a file depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PlanKey {
    columns: usize,
    sides: Sides,
    glyphs: &'static str,
    folded: Vec<usize>,
}

impl State {
    pub fn new(notes: Notes) -> Self {
        Self { notes, ..Self::default() }
    }

    /// Returns what has to be asked for to show the work of `task`.
    pub fn wants(&mut self, task: TaskId) -> Option<Request> {
        if self.task == Some(task) && (self.loading || self.loaded.is_some()) {
            let stale = std::mem::take(&mut self.stale) && !self.loading;
            self.loading |= stale;
            return stale.then_some(self.request);
        }
        self.leave();
        self.task = Some(task);
        self.request.range = Range::Base;
        self.loading = true;
        Some(self.request)
    }

    /// Forgets the comparison; options and notes stay.
    fn leave(&mut self) {
        self.finish_writing();
        self.loaded = None;
        self.loading = false;
        self.stale = false;
        self.folded.clear();
        self.cursor = Mark::default();
        self.offset = 0;
        self.anchor = None;
        self.plans.get_mut().clear();
    }

    /// Asks for the same again and keeps what is shown until it is there.
    pub fn reload(&mut self) -> Request {
        self.loading = true;
        self.request
    }

    /// Asks for something else. The place is lost when other moments are compared, since it is another diff.
    pub fn ask(&mut self, request: Request) -> Request {
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

    /// What is known of `task` is no longer so: it is asked for again when it is looked at.
    pub fn outdated(&mut self, task: TaskId) {
        self.stale |= self.task == Some(task);
    }

    /// Forgets everything that was read.
    pub fn forget(&mut self) {
        self.leave();
        self.task = None;
    }

    /// Takes what was asked for. Answers to older questions are passed over.
    pub fn take(&mut self, task: TaskId, request: Request, answer: Result<Answer, String>) {
        if self.task != Some(task) || self.request != request {
            return;
        }
        self.loading = false;
        self.plans.get_mut().clear();
        let before = self.comparison();
        let loaded = answer.map(|answer| {
            self.sides_named = (answer.old, answer.new);
            self.looked_at = answer.state;
            if !self.seen_unsaved {
                self.notes.of_mut(task).recall(&answer.seen);
            }
            answer.comparison
        });
        if let (Some(before), Ok(now)) = (&before, &loaded) {
            self.cursor = moved(self.cursor, before, now);
            self.anchor = self.anchor.map(|mark| moved(mark, before, now));
        } else if let Ok(now) = &loaded {
            self.fold_at_first(now);
        }
        self.loaded = Some(loaded);
    }

    /// Folds what was seen, and what is too much to be read in one go.
    fn fold_at_first(&mut self, comparison: &Comparison) {
        let none = TaskNotes::default();
        let notes = self.task.and_then(|task| self.notes.of(task)).unwrap_or(&none);
        let mut lines = 0;
        for file in &comparison.files {
            let here: usize = file.diff.hunks.iter().map(|hunk| hunk.lines.len()).sum();
            lines += here;
            let seen = file.seen(&notes.seen);
            if here > LARGE || lines > UNFOLDED || seen == file.marks.len() {
                self.folded.insert(Fold::File(file.name.clone()));
            }
            let seen = (0..file.marks.len()).filter(|hunk| file.is_seen(*hunk, &notes.seen));
            self.folded.extend(seen.filter_map(|hunk| file.id(hunk)).map(Fold::Hunk));
        }
    }

    pub fn comparison(&self) -> Option<Arc<Comparison>> {
        self.loaded.as_ref().and_then(|loaded| loaded.as_ref().ok()).cloned()
    }

    pub fn problem(&self) -> Option<&str> {
        self.loaded.as_ref().and_then(|loaded| loaded.as_ref().err().map(String::as_str))
    }

    /// Returns the state of the files that is looked at, for whoever is told what was seen.
    pub fn looked_at(&self) -> Option<&str> {
        self.looked_at.as_deref()
    }

    /// Returns the notes about the task that is looked at.
    pub fn notes(&self) -> Option<&TaskNotes> {
        self.task.and_then(|task| self.notes.of(task))
    }

    /// Returns the notes of every task, if they differ from what was last kept.
    pub fn take_unsaved(&mut self) -> Option<Notes> {
        std::mem::take(&mut self.unsaved).then(|| self.notes.kept())
    }

    /// Returns what was seen of the task that is looked at, if that differs from what was last kept.
    pub fn take_seen(&mut self) -> Option<(TaskId, Seen)> {
        let task = self.task.filter(|_| self.seen_unsaved)?;
        self.seen_unsaved = false;
        // Without the state that was looked at nothing can be kept.
        self.notes.of(task).map(TaskNotes::seen).filter(|seen| seen.state.is_some()).map(|seen| (task, seen))
    }

    /// Remembers that the files were looked at in the state that is shown: what is new is told from there.
    pub fn look(&mut self) {
        if let (Some(task), Some(state)) = (self.task, self.looked_at.clone()) {
            self.notes.of_mut(task).state = Some(state);
            self.seen_unsaved = true;
        }
    }

    /// Forgets the notes of tasks that are gone.
    pub fn retain(&mut self, exists: impl Fn(TaskId) -> bool) {
        self.notes.retain(exists);
        self.unsaved = true;
    }

    pub(super) fn is_hunk_folded(&self, file: &Changed, hunk: usize) -> bool {
        file.id(hunk).is_some_and(|id| self.folded.contains(&Fold::Hunk(id)))
    }

    pub(super) fn is_file_folded(&self, file: &Changed) -> bool {
        // A look-up without owning the name is not worth a type of its own: there are few folds.
        self.folded.contains(&Fold::File(file.name.clone()))
    }

    /// Lays out what is there in so many columns. What has not changed since the last time is not planned again.
    pub fn laid(&self, columns: usize, glyphs: &'static Glyphs) -> Laid {
        let Some(comparison) = self.comparison() else { return Laid::default() };
        let mut laid = Laid::new(Arc::clone(&comparison), columns);
        let mut plans = self.plans.borrow_mut();
        plans.resize_with(comparison.files.len(), || None);
        for (at, file) in comparison.files.iter().enumerate() {
            if self.is_file_folded(file) {
                laid.push(None, Vec::new());
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
            laid.push(Some(rows), inserts);
        }
        laid
    }

    pub fn forget_layout(&self) {
        self.plans.borrow_mut().clear();
    }

    /// Calls `with` with what makes rows.
    pub(super) fn maker<T>(&self, laid: &Laid, glyphs: &'static Glyphs, with: impl FnOnce(&Maker<'_>) -> T) -> T {
        let none = TaskNotes::default();
        let comparison = &laid.comparison;
        let folded =
            |file: usize, hunk: usize| comparison.files.get(file).is_some_and(|file| self.is_hunk_folded(file, hunk));
        let notes = self.notes().unwrap_or(&none);
        with(&Maker { comparison, notes, glyphs, columns: laid.columns, folded: &folded })
    }
}

/// What was asked for.
#[derive(Clone, Debug)]
pub struct Answer {
    pub comparison: Arc<Comparison>,
    /// What the two sides are called.
    pub old: String,
    pub new: String,
    /// The state of the files on the new side.
    pub state: Option<String>,
    /// What the person had seen before.
    pub seen: Seen,
}

/// Finds a place again in a newer diff: the same hunk, or the same line of the same file, or the file.
fn moved(mark: Mark, before: &Comparison, now: &Comparison) -> Mark {
    let Some(old) = before.files.get(mark.file) else { return Mark::default() };
    let Some(file) = now.files.iter().position(|file| file.name == old.name) else {
        let file = mark.file.min(now.files.len().saturating_sub(1));
        return Mark { file, place: Place::Name };
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
    Mark { file, place }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
