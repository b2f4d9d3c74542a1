//! Diffs of two texts, by lines or by words.
//!
//! Texts are numbered before they are compared, so that one instance of one algorithm serves all of them. The generic
//! interface of `similar` would compile six algorithms for each kind of text: a thirtieth of the whole program.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::Instant;

use similar::algorithms::{Capture, Compact, Replace, myers};
use similar::udiff::UnifiedHunkHeader;
use similar::{DiffableStr as _, group_diff_ops};

pub use similar::{ChangeTag, DiffOp};

/// The number of unchanged lines around each change of a unified diff.
const CONTEXT: usize = 3;

/// The diff of two texts that are split into pieces.
#[derive(Debug)]
pub struct Comparison<'t> {
    old: Vec<&'t str>,
    new: Vec<&'t str>,
    ops: Vec<DiffOp>,
}

/// A piece that is in one text or in both, and its index in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece<'t> {
    pub tag: ChangeTag,
    pub text: &'t str,
    pub old: Option<usize>,
    pub new: Option<usize>,
}

impl<'t> Comparison<'t> {
    /// Compares two lists of pieces. After `deadline` the result is still correct, but may be longer than necessary.
    pub fn new(old: Vec<&'t str>, new: Vec<&'t str>, deadline: Option<Instant>) -> Self {
        let mut numbers = HashMap::new();
        let mut numbered = |texts: &[&'t str]| -> Vec<u32> {
            let number = |text: &&'t str| {
                let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
                *numbers.entry(*text).or_insert(next)
            };
            texts.iter().map(number).collect()
        };
        let (a, b) = (numbered(&old), numbered(&new));
        let (a, b) = (a.as_slice(), b.as_slice());
        let mut hook = Compact::new(Replace::new(Capture::new()), a, b);
        let compared = myers::diff_deadline(&mut hook, a, 0..a.len(), b, 0..b.len(), deadline);
        match compared {
            Ok(()) => Self { old, new, ops: hook.into_inner().into_inner().into_ops() },
        }
    }

    /// Compares two texts line by line.
    pub fn of_lines(old: &'t str, new: &'t str, deadline: Option<Instant>) -> Self {
        Self::new(old.tokenize_lines(), new.tokenize_lines(), deadline)
    }

    /// Returns the similarity: 1 if the texts are equal, 0 if they have nothing in common.
    pub fn ratio(&self) -> f32 {
        similar::diff_ratio(&self.ops, self.old.len(), self.new.len())
    }

    /// Returns every piece of both texts.
    pub fn pieces(&self) -> impl Iterator<Item = Piece<'t>> {
        self.ops.iter().flat_map(|op| self.pieces_of(op))
    }

    /// Returns the changes, in groups with up to `context` unchanged pieces around each.
    pub fn groups(&self, context: usize) -> Vec<Vec<DiffOp>> {
        let groups = group_diff_ops(self.ops.clone(), context);
        groups.into_iter().filter(|ops| !ops.is_empty()).collect()
    }

    /// Returns the pieces of an operation: the removed ones before the added ones.
    pub fn pieces_of(&self, op: &DiffOp) -> impl Iterator<Item = Piece<'t>> {
        let equal = matches!(op, DiffOp::Equal { .. });
        let (old, new) = (op.old_range(), op.new_range());
        let shift = new.start;
        let start = old.start;
        let removed = self.old[old.clone()].iter().zip(old).map(move |(text, at)| Piece {
            tag: if equal { ChangeTag::Equal } else { ChangeTag::Delete },
            text,
            old: Some(at),
            new: equal.then(|| at - start + shift),
        });
        let new = if equal { 0..0 } else { new };
        let added = self.new[new.clone()].iter().zip(new);
        removed.chain(added.map(|(text, at)| Piece { tag: ChangeTag::Insert, text, old: None, new: Some(at) }))
    }
}

/// Returns the unified diff of two versions of a text.
pub fn unified(name: &str, old: &str, new: &str, deadline: Option<Instant>) -> String {
    let compared = Comparison::of_lines(old, new, deadline);
    let mut out = String::new();
    for ops in compared.groups(CONTEXT) {
        if out.is_empty() {
            let _ = writeln!(out, "--- {name}\n+++ {name}");
        }
        let _ = writeln!(out, "{}", UnifiedHunkHeader::new(&ops));
        for piece in ops.iter().flat_map(|op| compared.pieces_of(op)) {
            let _ = write!(out, "{}{}", piece.tag, piece.text);
            if !piece.text.ends_with(['\n', '\r']) {
                out.push_str("\n\\ No newline at end of file\n");
            }
        }
    }
    out
}

#[cfg(test)]
#[path = "diff_tests.rs"]
mod tests;
