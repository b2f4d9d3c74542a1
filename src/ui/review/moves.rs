//! Going about in a comparison: by rows, from hunk to hunk, to what is unseen, to what is looked for; folding; and
//! remembering what was seen.

use crate::model::diff::Line;
use crate::ui::review::lay::{Laid, Mark, Place};
use crate::ui::review::state::{Fold, State};

/// Something to go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    Hunk,
    File,
    Unseen,
    Comment,
}

impl State {
    /// Returns the row of the cursor and the first row of the screen.
    pub fn place(&self, laid: &Laid, height: usize) -> (usize, usize) {
        let row = laid.row(self.cursor).min(laid.len.saturating_sub(1));
        let lowest = (row + 1).saturating_sub(height);
        let top = row.saturating_sub(self.offset).max(lowest).min(laid.len.saturating_sub(height));
        (row, top)
    }

    /// Moves by rows; the screen follows when the cursor comes near its edge.
    pub fn step(&mut self, by: isize, laid: &Laid, height: usize) {
        let (row, top) = self.place(laid, height);
        let to = row.saturating_add_signed(by).min(laid.len.saturating_sub(1));
        let margin = (height / 6).clamp(1, 4);
        let offset = row - top;
        let wanted = if to >= row { offset + (to - row) } else { offset.saturating_sub(row - to) };
        self.offset = wanted.clamp(margin, height.saturating_sub(margin + 1).max(margin));
        self.put(to, laid);
    }

    /// Moves by rows, and the screen with it.
    pub fn page(&mut self, by: isize, laid: &Laid, height: usize) {
        let (row, top) = self.place(laid, height);
        self.offset = row - top;
        self.put(row.saturating_add_signed(by).min(laid.len.saturating_sub(1)), laid);
    }

    /// Goes to a row of the screen.
    pub fn point_at(&mut self, row: usize, laid: &Laid, height: usize) {
        let (_, top) = self.place(laid, height);
        let to = (top + row).min(laid.len.saturating_sub(1));
        self.offset = to - top;
        self.put(to, laid);
    }

    fn put(&mut self, row: usize, laid: &Laid) {
        let mark = laid.mark(row);
        if self.anchor.is_none_or(|anchor| anchor.file == mark.file) {
            self.cursor = mark;
        }
    }

    /// Goes to a place and shows what follows it.
    pub fn go_to(&mut self, mark: Mark, height: usize) {
        self.cursor = mark;
        self.anchor = None;
        self.offset = (height / 6).clamp(1, 6);
    }

    pub fn current_file(&self) -> usize {
        self.cursor.file
    }

    pub fn cursor(&self) -> Mark {
        self.cursor
    }

    /// Goes to the next thing of a kind, or the one before. Tells whether there was one.
    pub fn go(&mut self, goal: Goal, forward: bool, laid: &Laid, height: usize) -> bool {
        if goal == Goal::Unseen {
            return self.go_unseen(forward, laid, height);
        }
        let here = laid.row(self.cursor);
        let mut marks = Vec::new();
        for (at, file) in laid.comparison.files.iter().enumerate() {
            let name = Mark { file: at, place: Place::Name };
            match goal {
                Goal::File => marks.push(name),
                Goal::Hunk if laid.is_folded(at) || file.diff.hunks.is_empty() => marks.push(name),
                Goal::Hunk => {
                    marks.extend((0..file.diff.hunks.len()).map(|hunk| Mark { file: at, place: Place::Head(hunk) }));
                }
                Goal::Comment => {
                    let inserts = laid.files.get(at).map(|file| file.inserts.as_slice()).unwrap_or_default();
                    let place = |comment: usize| Place::Comment { comment, row: 0 };
                    marks.extend(inserts.iter().map(|insert| Mark { file: at, place: place(insert.comment) }));
                }
                Goal::Unseen => {}
            }
        }
        let found = if forward {
            marks.into_iter().find(|mark| laid.row(*mark) > here)
        } else {
            marks.into_iter().rev().find(|mark| laid.row(*mark) < here)
        };
        found.map(|mark| self.go_to(mark, height)).is_some()
    }

    fn go_unseen(&mut self, forward: bool, laid: &Laid, height: usize) -> bool {
        let unseen: Vec<(usize, usize)> = {
            let notes = self.notes();
            let files = laid.comparison.files.iter().enumerate();
            let hunks = files.flat_map(|(at, file)| (0..file.marks.len()).map(move |hunk| (at, file, hunk)));
            let unseen = hunks.filter(|(_, file, hunk)| notes.is_none_or(|notes| !file.is_seen(*hunk, &notes.seen)));
            unseen.map(|(at, _, hunk)| (at, hunk)).collect()
        };
        let here = (self.cursor.file, self.cursor_hunk(laid));
        let found = if forward {
            unseen.iter().find(|it| (it.0, Some(it.1)) > here).or(unseen.first())
        } else {
            unseen.iter().rev().find(|it| (it.0, Some(it.1)) < here).or(unseen.last())
        };
        let Some((file, hunk)) = found.copied() else { return false };
        self.unfold(laid, file, Some(hunk));
        let has_hunk = laid.comparison.files.get(file).is_some_and(|file| hunk < file.diff.hunks.len());
        self.go_to(Mark { file, place: if has_hunk { Place::Head(hunk) } else { Place::Name } }, height);
        true
    }

    /// Returns the hunk that the cursor is in, also while it is on a remark.
    pub fn cursor_hunk(&self, laid: &Laid) -> Option<usize> {
        self.cursor.hunk().or_else(|| match self.cursor.place {
            Place::Comment { comment, .. } => {
                let comment = self.notes()?.comments.get(comment)?;
                let file = laid.comparison.files.get(self.cursor.file)?;
                comment.place(&file.diff).map(|(hunk, _)| hunk)
            }
            Place::End => laid.comparison.files.get(self.cursor.file)?.diff.hunks.len().checked_sub(1),
            Place::Name | Place::Note(_) | Place::Head(_) | Place::Line { .. } => None,
        })
    }

    /// Shows a file, and a hunk of it.
    pub fn unfold(&mut self, laid: &Laid, file: usize, hunk: Option<usize>) {
        let Some(file) = laid.comparison.files.get(file) else { return };
        self.folded.remove(&Fold::File(file.name.clone()));
        if let Some(id) = hunk.and_then(|hunk| file.id(hunk)) {
            self.folded.remove(&Fold::Hunk(id));
        }
    }

    /// Folds or unfolds what the cursor is in: a hunk, or the file.
    pub fn toggle(&mut self, laid: &Laid) {
        let Some(file) = laid.comparison.files.get(self.cursor.file) else { return };
        let hunk = self.cursor_hunk(laid).filter(|_| !laid.is_folded(self.cursor.file));
        let fold = match hunk.and_then(|hunk| Some((hunk, file.id(hunk)?))) {
            Some((hunk, mark)) => {
                self.cursor.place = Place::Head(hunk);
                Fold::Hunk(mark)
            }
            None => {
                self.cursor.place = Place::Name;
                Fold::File(file.name.clone())
            }
        };
        if !self.folded.remove(&fold) {
            self.folded.insert(fold);
        }
    }

    pub fn fold_all(&mut self, laid: &Laid) {
        self.folded.extend(laid.comparison.files.iter().map(|file| Fold::File(file.name.clone())));
        self.cursor.place = Place::Name;
    }

    pub fn unfold_all(&mut self) {
        self.folded.clear();
    }

    /// Remembers the hunk at the cursor as seen, or the whole file on its name, and goes on to what is not; or forgets it.
    pub fn see(&mut self, whole_file: bool, laid: &Laid, height: usize) {
        let (Some(task), Some(file)) = (self.task, laid.comparison.files.get(self.cursor.file)) else { return };
        let one = self.cursor_hunk(laid).filter(|_| !whole_file);
        let hunks = one.map_or(0..file.marks.len(), |hunk| hunk..hunk + 1);
        let ids: Vec<Fold> = hunks.clone().filter_map(|hunk| file.id(hunk)).map(Fold::Hunk).collect();
        let name = Fold::File(file.name.clone());
        let notes = self.notes.of_mut(task);
        // Whoever sees a part of it looks at the files as they are now; a later look moves on when all of it was seen.
        notes.state = notes.state.take().or_else(|| self.looked_at.clone());
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
        self.go_unseen(true, laid, height);
    }

    /// Goes to the next place where `needle`, in small letters, stands. Tells whether there is one.
    pub fn find(&mut self, needle: &str, forward: bool, laid: &Laid, height: usize) -> bool {
        let holds = |text: &str| text.to_lowercase().contains(needle);
        let mut marks = Vec::new();
        for (at, file) in laid.comparison.files.iter().enumerate() {
            if holds(&file.name) {
                marks.push(Mark { file: at, place: Place::Name });
            }
            for (hunk, it) in file.diff.hunks.iter().enumerate() {
                let lines = it.lines.iter().enumerate().filter(|(_, line): &(usize, &Line)| holds(&line.shown()));
                marks.extend(lines.map(|(line, _)| Mark { file: at, place: Place::Line { hunk, line, part: 0 } }));
            }
        }
        // In the order of the diff, also where something is folded.
        let order = |mark: &Mark| match mark.place {
            Place::Name | Place::Note(_) => (mark.file, 0, 0),
            Place::Head(hunk) => (mark.file, hunk + 1, 0),
            Place::Line { hunk, line, .. } => (mark.file, hunk + 1, line + 1),
            Place::Comment { .. } => (mark.file, self.cursor_hunk(laid).map_or(0, |hunk| hunk + 1), usize::MAX),
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
            self.unfold(laid, mark.file, mark.hunk());
        }
        self.go_to(mark, height);
        self.offset = (height / 3).max(1);
        true
    }
}

#[cfg(test)]
#[path = "moves_tests.rs"]
mod tests;
