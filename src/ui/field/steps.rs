//! Groups edits into undo steps. One step may be several edits of the text area.
//!
//! Keeps only counts; the edits belong to the area. Invariant: it never counts more edits than the area keeps.

use std::collections::VecDeque;

/// The number of edits that can be undone, over all steps.
const EDITS: usize = 4_000;
/// The history size of the area: when full, it drops its oldest edit even while others wait to be redone.
pub const HISTORY: usize = 2 * EDITS + 1;
/// The maximum number of edits in one step.
const LONGEST: usize = EDITS / 4;

/// The kind of an edit. Consecutive edits of the same kind form one step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Streak {
    #[default]
    None,
    Typing,
    Erasing,
}

/// The steps that can be undone and redone, each as its number of edits.
#[derive(Clone, Debug, Default)]
pub struct Steps {
    done: VecDeque<usize>,
    undone: Vec<usize>,
    streak: Streak,
}

impl Steps {
    /// Records that `edits` edits were made.
    pub fn record(&mut self, edits: usize, streak: Streak) {
        if edits == 0 {
            return;
        }
        self.undone.clear();
        let continues = streak != Streak::None && streak == self.streak;
        self.streak = streak;
        match self.done.back_mut() {
            Some(last) if continues && *last < LONGEST => *last += edits,
            Some(_) | None => self.done.push_back(edits),
        }
        while self.done.iter().sum::<usize>() > EDITS {
            self.done.pop_front();
        }
    }

    /// Starts a new step with the next edit.
    pub fn interrupt(&mut self) {
        self.streak = Streak::None;
    }

    /// Goes one step back. Returns the number of edits to undo.
    pub fn back(&mut self) -> Option<usize> {
        self.interrupt();
        let edits = self.done.pop_back()?;
        self.undone.push(edits);
        Some(edits)
    }

    /// Goes one step forward. Returns the number of edits to redo.
    pub fn forward(&mut self) -> Option<usize> {
        self.interrupt();
        let edits = self.undone.pop()?;
        self.done.push_back(edits);
        Some(edits)
    }
}
