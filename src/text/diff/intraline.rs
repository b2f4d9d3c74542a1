//! Which words of a removed line and of the added line that took its place differ.

use std::collections::HashMap;
use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation as _;

use crate::base::compare::{ChangeTag, Comparison};
use crate::model::diff::{Line, LineKind};

/// Lines longer than this, or of more words, are not compared word by word: what a frame may cost is bounded by what is
/// compared, so that the same lines always look the same, on a busy machine too.
const MAX_LINE: usize = 1000;
const MAX_WORDS: usize = 250;
/// In runs longer than this nobody reads word by word, and which line took which one's place is a guess.
const MAX_RUN: usize = 64;
/// Lines less alike than this are different lines, not a changed one.
const MIN_RATIO: f32 = 0.4;

/// The differing bytes of lines, by the index of the line.
pub type Emphasis = HashMap<usize, Vec<Range<usize>>>;

/// Returns what differs in the lines of a hunk that lie in `window`, and in their counterparts.
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
                if let Some((in_old, in_new)) = differing(&lines[old].shown(), &lines[new].shown()) {
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

fn differing(old: &str, new: &str) -> Option<(Ranges, Ranges)> {
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
