//! Finds the words that differ between a removed line and the added line that replaced it.

use std::collections::HashMap;
use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation as _;

use crate::base::diff::{ChangeTag, Comparison};
use crate::model::diff::{Line, LineKind};

/// Longer lines, or lines with more words, are not compared word by word. The limit is on the input and not on time,
/// so that the same lines always look the same, on a busy machine too.
const MAX_LINE: usize = 1000;
const MAX_WORDS: usize = 250;
/// Longer runs are not compared: users do not read them word by word, and the pairing of lines would be a guess.
const MAX_RUN: usize = 64;
/// Lines less similar than this are different lines, not a changed one.
const MIN_RATIO: f32 = 0.4;

/// The differing byte ranges by the index of the line.
pub type Emphasis = HashMap<usize, Vec<Range<usize>>>;

/// Returns the differing words of the lines of a hunk that are in `window`, and of their counterparts.
pub fn emphasis(lines: &[Line], window: &Range<usize>) -> Emphasis {
    let mut out = Emphasis::new();
    let mut at = 0;
    while at < lines.len() && at < window.end {
        if lines[at].kind != LineKind::Removed {
            at += 1;
            continue;
        }
        let run = |from: usize, kind: LineKind| lines[from..].iter().take_while(|line| line.kind == kind).count();
        let removed = run(at, LineKind::Removed);
        let added = run(at + removed, LineKind::Added);
        let end = at + removed + added;
        if end > window.start && removed <= MAX_RUN && added <= MAX_RUN {
            for index in 0..removed.min(added) {
                let (old, new) = (at + index, at + removed + index);
                if let Some((in_old, in_new)) = diff_words(&lines[old].shown(), &lines[new].shown()) {
                    out.insert(old, in_old);
                    out.insert(new, in_new);
                }
            }
        }
        at = end.max(at + 1);
    }
    out
}

type Ranges = Vec<Range<usize>>;

fn diff_words(old: &str, new: &str) -> Option<(Ranges, Ranges)> {
    let too_long = |line: &str| line.len() > MAX_LINE || line.split_word_bounds().nth(MAX_WORDS).is_some();
    if too_long(old) || too_long(new) {
        return None;
    }
    let diff = Comparison::new(old.split_word_bounds().collect(), new.split_word_bounds().collect(), None);
    if diff.ratio() < MIN_RATIO {
        return None;
    }
    let (mut in_old, mut in_new) = (Ranges::new(), Ranges::new());
    let (mut at_old, mut at_new) = (0, 0);
    for piece in diff.pieces() {
        let len = piece.text.len();
        match piece.tag {
            ChangeTag::Equal => {
                at_old += len;
                at_new += len;
            }
            ChangeTag::Delete => {
                push(&mut in_old, at_old..at_old + len);
                at_old += len;
            }
            ChangeTag::Insert => {
                push(&mut in_new, at_new..at_new + len);
                at_new += len;
            }
        }
    }
    Some((in_old, in_new))
}

fn push(ranges: &mut Ranges, range: Range<usize>) {
    match ranges.last_mut() {
        Some(last) if last.end == range.start => last.end = range.end,
        _ => ranges.push(range),
    }
}
