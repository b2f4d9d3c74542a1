//! Which edits belong together: undo takes back what a person did, which may have been several edits of the text area.
//!
//! Counts and nothing else: the edits themselves are the area's. Invariant: no more are counted than the area keeps.

use std::collections::VecDeque;

/// How many edits can be undone, in all steps together.
const EDITS: usize = 4_000;
/// How many edits the area has to keep: when it is full it drops its oldest one even while others wait to be redone.
pub const KEPT: usize = 2 * EDITS + 1;
/// How many edits make one step at most.
const LONGEST: usize = EDITS / 4;

/// Whether edits that follow each other are one step.
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
    /// Notes that so many edits were made.
    pub fn record(&mut self, edits: usize, streak: Streak) {
        if edits == 0 {
            return;
        }
        self.undone.clear();
        let goes_on = streak != Streak::None && streak == self.streak;
        self.streak = streak;
        match self.done.back_mut() {
            Some(last) if goes_on && *last < LONGEST => *last += edits,
            Some(_) | None => self.done.push_back(edits),
        }
        while self.done.iter().sum::<usize>() > EDITS {
            self.done.pop_front();
        }
    }

    /// Lets the next edit begin a step of its own.
    pub fn interrupt(&mut self) {
        self.streak = Streak::None;
    }

    /// Goes one step back and returns how many edits are to be undone.
    pub fn back(&mut self) -> Option<usize> {
        self.interrupt();
        let edits = self.done.pop_back()?;
        self.undone.push(edits);
        Some(edits)
    }

    /// Goes one step forth and returns how many edits are to be redone.
    pub fn forth(&mut self) -> Option<usize> {
        self.interrupt();
        let edits = self.undone.pop()?;
        self.done.push_back(edits);
        Some(edits)
    }
}
