//! Movement in a comparison: rows, hunks, unseen changes, search; folding; and marking as seen.

use crate::model::diff::Line;
use crate::ui::review::layout::{Place, ReviewLayout, ReviewPosition};
use crate::ui::review::state::{FoldKey, State};

/// The target of a jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewTarget {
    Hunk,
    File,
    Unseen,
    Comment,
}

impl State {
    /// Returns the row of the cursor and the first visible row.
    pub fn place(&self, layout: &ReviewLayout, height: usize) -> (usize, usize) {
        let row = layout.row(self.cursor).min(layout.len.saturating_sub(1));
        let lowest = (row + 1).saturating_sub(height);
        let top = row.saturating_sub(self.offset).max(lowest).min(layout.len.saturating_sub(height));
        (row, top)
    }

    /// Moves the cursor by rows, scrolling near the edges.
    pub fn step(&mut self, by: isize, layout: &ReviewLayout, height: usize) {
        let (row, top) = self.place(layout, height);
        let to = row.saturating_add_signed(by).min(layout.len.saturating_sub(1));
        let margin = (height / 6).clamp(1, 4);
        let offset = row - top;
        let wanted = if to >= row { offset + (to - row) } else { offset.saturating_sub(row - to) };
        self.offset = wanted.clamp(margin, height.saturating_sub(margin + 1).max(margin));
        self.put(to, layout);
    }

    /// Moves the cursor and the view by rows.
    pub fn page(&mut self, by: isize, layout: &ReviewLayout, height: usize) {
        let (row, top) = self.place(layout, height);
        self.offset = row - top;
        self.put(row.saturating_add_signed(by).min(layout.len.saturating_sub(1)), layout);
    }

    /// Moves the cursor to a row of the screen.
    pub fn point_at(&mut self, row: usize, layout: &ReviewLayout, height: usize) {
        let (_, top) = self.place(layout, height);
        let to = (top + row).min(layout.len.saturating_sub(1));
        self.offset = to - top;
        self.put(to, layout);
    }

    fn put(&mut self, row: usize, layout: &ReviewLayout) {
        let mark = layout.mark(row);
        if self.anchor.is_none_or(|anchor| anchor.file == mark.file) {
            self.cursor = mark;
        }
    }

    /// Goes to a position and shows what follows it.
    pub fn go_to(&mut self, mark: ReviewPosition, height: usize) {
        self.cursor = mark;
        self.anchor = None;
        self.offset = (height / 6).clamp(1, 6);
    }

    pub fn current_file(&self) -> usize {
        self.cursor.file
    }

    pub fn cursor(&self) -> ReviewPosition {
        self.cursor
    }

    /// Goes to the next or previous target. Returns true if there is one.
    pub fn go(&mut self, goal: ReviewTarget, forward: bool, layout: &ReviewLayout, height: usize) -> bool {
        if goal == ReviewTarget::Unseen {
            return self.go_unseen(forward, layout, height);
        }
        let here = layout.row(self.cursor);
        let mut marks = Vec::new();
        for (at, file) in layout.comparison.files.iter().enumerate() {
            let name = ReviewPosition { file: at, place: Place::Name };
            match goal {
                ReviewTarget::File => marks.push(name),
                ReviewTarget::Hunk if layout.is_folded(at) || file.diff.hunks.is_empty() => marks.push(name),
                ReviewTarget::Hunk => {
                    marks.extend(
                        (0..file.diff.hunks.len()).map(|hunk| ReviewPosition { file: at, place: Place::Head(hunk) }),
                    );
                }
                ReviewTarget::Comment => {
                    let inserts = layout.files.get(at).map(|file| file.inserts.as_slice()).unwrap_or_default();
                    let place = |comment: usize| Place::Comment { comment, row: 0 };
                    marks
                        .extend(inserts.iter().map(|insert| ReviewPosition { file: at, place: place(insert.comment) }));
                }
                ReviewTarget::Unseen => {}
            }
        }
        let found = if forward {
            marks.into_iter().find(|mark| layout.row(*mark) > here)
        } else {
            marks.into_iter().rev().find(|mark| layout.row(*mark) < here)
        };
        found.map(|mark| self.go_to(mark, height)).is_some()
    }

    fn go_unseen(&mut self, forward: bool, layout: &ReviewLayout, height: usize) -> bool {
        let unseen: Vec<(usize, usize)> = {
            let notes = self.notes();
            let files = layout.comparison.files.iter().enumerate();
            let hunks = files.flat_map(|(at, file)| (0..file.marks.len()).map(move |hunk| (at, file, hunk)));
            let unseen = hunks.filter(|(_, file, hunk)| notes.is_none_or(|notes| !file.is_seen(*hunk, &notes.seen)));
            unseen.map(|(at, _, hunk)| (at, hunk)).collect()
        };
        let here = (self.cursor.file, self.cursor_hunk(layout));
        let found = if forward {
            unseen.iter().find(|it| (it.0, Some(it.1)) > here).or(unseen.first())
        } else {
            unseen.iter().rev().find(|it| (it.0, Some(it.1)) < here).or(unseen.last())
        };
        let Some((file, hunk)) = found.copied() else { return false };
        self.unfold(layout, file, Some(hunk));
        let has_hunk = layout.comparison.files.get(file).is_some_and(|file| hunk < file.diff.hunks.len());
        self.go_to(ReviewPosition { file, place: if has_hunk { Place::Head(hunk) } else { Place::Name } }, height);
        true
    }

    /// Returns the hunk under the cursor, also while it is on a comment.
    pub fn cursor_hunk(&self, layout: &ReviewLayout) -> Option<usize> {
        self.cursor.hunk().or_else(|| match self.cursor.place {
            Place::Comment { comment, .. } => {
                let comment = self.notes()?.comments.get(comment)?;
                let file = layout.comparison.files.get(self.cursor.file)?;
                comment.place(&file.diff).map(|(hunk, _)| hunk)
            }
            Place::End => layout.comparison.files.get(self.cursor.file)?.diff.hunks.len().checked_sub(1),
            Place::Name | Place::Note(_) | Place::Head(_) | Place::Line { .. } => None,
        })
    }

    /// Unfolds a file and one of its hunks.
    pub fn unfold(&mut self, layout: &ReviewLayout, file: usize, hunk: Option<usize>) {
        let Some(file) = layout.comparison.files.get(file) else { return };
        self.folded.remove(&FoldKey::File(file.name.clone()));
        if let Some(id) = hunk.and_then(|hunk| file.id(hunk)) {
            self.folded.remove(&FoldKey::Hunk(id));
        }
    }

    /// Folds or unfolds the hunk or file under the cursor.
    pub fn toggle(&mut self, layout: &ReviewLayout) {
        let Some(file) = layout.comparison.files.get(self.cursor.file) else { return };
        let hunk = self.cursor_hunk(layout).filter(|_| !layout.is_folded(self.cursor.file));
        let fold = match hunk.and_then(|hunk| Some((hunk, file.id(hunk)?))) {
            Some((hunk, mark)) => {
                self.cursor.place = Place::Head(hunk);
                FoldKey::Hunk(mark)
            }
            None => {
                self.cursor.place = Place::Name;
                FoldKey::File(file.name.clone())
            }
        };
        if !self.folded.remove(&fold) {
            self.folded.insert(fold);
        }
    }

    pub fn fold_all(&mut self, layout: &ReviewLayout) {
        self.folded.extend(layout.comparison.files.iter().map(|file| FoldKey::File(file.name.clone())));
        self.cursor.place = Place::Name;
    }

    pub fn unfold_all(&mut self) {
        self.folded.clear();
    }

    /// Toggles the hunk under the cursor, or the whole file, between seen and unseen, and goes to the next unseen one.
    pub fn toggle_seen(&mut self, whole_file: bool, layout: &ReviewLayout, height: usize) {
        let (Some(task), Some(file)) = (self.task, layout.comparison.files.get(self.cursor.file)) else { return };
        let one = self.cursor_hunk(layout).filter(|_| !whole_file);
        let hunks = one.map_or(0..file.marks.len(), |hunk| hunk..hunk + 1);
        let ids: Vec<FoldKey> = hunks.clone().filter_map(|hunk| file.id(hunk)).map(FoldKey::Hunk).collect();
        let name = FoldKey::File(file.name.clone());
        let notes = self.notes.of_mut(task);
        // The first seen hunk records the state of the files; it advances only when all hunks are seen.
        notes.state = notes.state.take().or_else(|| self.shown_tree.clone());
        let seen = &mut notes.seen;
        self.seen_unsaved = true;
        let marks = || hunks.clone().filter_map(|hunk| file.marks.get(hunk)).flatten();
        if marks().all(|mark| seen.contains(mark)) {
            marks().for_each(|mark| {
                seen.remove(mark);
            });
            self.folded.retain(|fold| *fold != name && !ids.contains(fold));
            return;
        }
        seen.extend(marks());
        let done = file.seen(seen) == file.marks.len();
        self.folded.extend(ids);
        if done {
            self.folded.insert(name);
            self.cursor.place = Place::Name;
        }
        self.go_unseen(true, layout, height);
    }

    /// Goes to the next match of `needle`, which is in lower case. Returns true if there is one.
    pub fn find(&mut self, needle: &str, forward: bool, layout: &ReviewLayout, height: usize) -> bool {
        let holds = |text: &str| text.to_lowercase().contains(needle);
        let mut marks = Vec::new();
        for (at, file) in layout.comparison.files.iter().enumerate() {
            if holds(&file.name) {
                marks.push(ReviewPosition { file: at, place: Place::Name });
            }
            for (hunk, it) in file.diff.hunks.iter().enumerate() {
                let lines = it.lines.iter().enumerate().filter(|(_, line): &(usize, &Line)| holds(&line.shown()));
                marks.extend(
                    lines.map(|(line, _)| ReviewPosition { file: at, place: Place::Line { hunk, line, part: 0 } }),
                );
            }
        }
        // In diff order, also if something is folded.
        let order = |mark: &ReviewPosition| match mark.place {
            Place::Name | Place::Note(_) => (mark.file, 0, 0),
            Place::Head(hunk) => (mark.file, hunk + 1, 0),
            Place::Line { hunk, line, .. } => (mark.file, hunk + 1, line + 1),
            Place::Comment { .. } => (mark.file, self.cursor_hunk(layout).map_or(0, |hunk| hunk + 1), usize::MAX),
            Place::End => (mark.file, usize::MAX, usize::MAX),
        };
        let here = order(&self.cursor);
        let found = if forward {
            marks.iter().find(|mark| order(mark) > here).or(marks.first())
        } else {
            marks.iter().rev().find(|mark| order(mark) < here).or(marks.last())
        };
        let Some(mark) = found.copied() else { return false };
        if mark.place != Place::Name {
            self.unfold(layout, mark.file, mark.hunk());
        }
        self.go_to(mark, height);
        self.offset = (height / 3).max(1);
        true
    }
}

#[cfg(test)]
#[path = "moves_tests.rs"]
mod tests;
