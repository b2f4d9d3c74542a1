//! Describes conflicts to an agent: the files, with both sides.

use std::fmt::Write as _;

use crate::base::text;
use crate::engine::review::{Conflict, ConflictKind};

/// Number of conflicts that are shown with both sides. The rest are listed by name.
pub(super) const SHOWN: usize = 8;
/// Maximum number of bytes for both sides of a conflict.
const SHOWN_BYTES: usize = 3_000;

pub(super) fn describe(conflicts: &[Conflict]) -> String {
    if conflicts.is_empty() {
        return String::new();
    }
    let mut text = format!("\n\n{} will conflict:", text::count(conflicts.len(), "file", "files"));
    for conflict in conflicts.iter().take(SHOWN) {
        let _ = write!(text, "\n\n{}: {}", conflict.path.display(), kind(conflict.kind));
        let excerpt = |side: &str| text::prefix(side, SHOWN_BYTES / 2).to_owned();
        match (&conflict.marked, &conflict.ours, &conflict.theirs) {
            (Some(marked), ..) => {
                let _ = write!(text, "\n```\n{}\n```", text::prefix(&marked.text, SHOWN_BYTES));
            }
            (None, ours, theirs) => {
                for (name, side) in [("theirs", ours), ("yours", theirs)] {
                    if let Some(side) = side {
                        let _ = write!(text, "\n{name}:\n```\n{}\n```", excerpt(&side.text));
                    }
                }
            }
        }
    }
    for conflict in conflicts.iter().skip(SHOWN) {
        let _ = write!(text, "\n{}: {}", conflict.path.display(), kind(conflict.kind));
    }
    text
}

fn kind(kind: ConflictKind) -> &'static str {
    match kind {
        ConflictKind::Content => "both changed the same lines",
        ConflictKind::BothAdded => "both made a file of this name",
        ConflictKind::DeletedByUs => "you changed it, and it was deleted or renamed there",
        ConflictKind::DeletedByThem => "you deleted or renamed it, and it was changed there",
        ConflictKind::BothMoved => "both renamed it, to different names",
        ConflictKind::Binary => "both changed it, and it is not text",
        ConflictKind::Mode => "both changed whether it is a file, a program or a link",
        ConflictKind::Submodule => "both moved the submodule",
    }
}
