//! Decides how to create or repair a worktree: a pure decision over what was found on disk.
//!
//! Never discards anything that may contain work: it is refused or moved aside.

use std::path::PathBuf;

use super::entry::Head;

/// The content found at the worktree's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Folder {
    Missing,
    /// An empty folder.
    Empty,
    /// Contains only the `.git` file.
    Bare,
    /// Has files and a `.git` file that points to its entry.
    Linked,
    /// Has files, but no `.git` file or one that points elsewhere.
    Unlinked,
    /// Has files and a `.git` file that points to a missing entry of this repository.
    Dangling,
    /// A file, or another repository.
    Foreign,
}

/// The entry of a worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EntryState {
    pub(super) head: Head,
    pub(super) being_made: bool,
}

/// The findings about one worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WorktreeDiagnosis {
    pub(super) folder: Folder,
    pub(super) entry: Option<EntryState>,
    /// Another checkout with the branch, and whether it is this worktree after a `git worktree move`.
    pub(super) elsewhere: Option<(PathBuf, CheckoutOrigin)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CheckoutOrigin {
    /// This worktree, moved.
    Ours,
    Theirs,
}

/// Why a worktree had to be recreated or repaired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecreateReason {
    /// Its folder was missing.
    Deleted,
    /// Its folder had no files.
    Emptied,
    /// Its `.git` file was missing or wrong; its files are unchanged.
    LinkLost,
    /// Its entry in the repository was missing.
    EntryLost,
    /// It had been moved to this path, and was moved back.
    Moved(PathBuf),
    /// Its branch was missing, and was recreated at the worktree's last commit.
    BranchLost,
}

/// The next step towards a working worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RepairStep {
    Done,
    /// On another branch or on none; it may contain work.
    OtherHead(Head),
    /// Create it; with a reason if it existed before.
    Add(Option<RecreateReason>),
    /// Write its files; the creation was interrupted.
    Finish,
    /// Remove the entry (and the folder, which has no work in it), then create it.
    Renew(Option<RecreateReason>),
    /// Write the files of the index.
    Refill(RecreateReason),
    /// Write the `.git` file.
    Relink(RecreateReason),
    /// Move the folder aside, then create it.
    SetAside(RecreateReason),
    MoveBack(PathBuf),
    /// The branch is checked out at this path.
    Busy(PathBuf),
    InTheWay,
}

impl WorktreeDiagnosis {
    /// Returns the next step towards a worktree on `branch`.
    pub(super) fn next_step(&self, branch: &str) -> RepairStep {
        match &self.entry {
            Some(entry) => self.step_with_entry(entry, branch),
            None => self.step_without_entry(),
        }
    }

    fn step_with_entry(&self, entry: &EntryState, branch: &str) -> RepairStep {
        let on_branch = entry.head == Head::Branch(branch.to_owned());
        match self.folder {
            Folder::Foreign => RepairStep::InTheWay,
            Folder::Missing | Folder::Empty if self.elsewhere.is_some() => self.step_without_entry(),
            Folder::Missing | Folder::Empty if entry.being_made => RepairStep::Renew(None),
            Folder::Missing => RepairStep::Renew(Some(RecreateReason::Deleted)),
            Folder::Empty => RepairStep::Renew(Some(RecreateReason::Emptied)),
            Folder::Bare | Folder::Linked if entry.being_made && on_branch => RepairStep::Finish,
            Folder::Bare if entry.being_made => RepairStep::Renew(None),
            // The creation writes files only after HEAD, so these are from elsewhere.
            Folder::Linked if entry.being_made => RepairStep::InTheWay,
            Folder::Unlinked | Folder::Dangling if entry.being_made => RepairStep::InTheWay,
            Folder::Unlinked | Folder::Dangling => RepairStep::Relink(RecreateReason::LinkLost),
            Folder::Bare | Folder::Linked if !on_branch => RepairStep::OtherHead(entry.head.clone()),
            Folder::Bare => RepairStep::Refill(RecreateReason::Emptied),
            Folder::Linked => RepairStep::Done,
        }
    }

    fn step_without_entry(&self) -> RepairStep {
        match (&self.elsewhere, self.folder) {
            (Some((path, CheckoutOrigin::Ours)), Folder::Missing | Folder::Empty) => RepairStep::MoveBack(path.clone()),
            (Some((path, _)), _) => RepairStep::Busy(path.clone()),
            (None, Folder::Missing | Folder::Empty) => RepairStep::Add(None),
            (None, Folder::Dangling) => RepairStep::SetAside(RecreateReason::EntryLost),
            (None, Folder::Bare | Folder::Linked | Folder::Unlinked | Folder::Foreign) => RepairStep::InTheWay,
        }
    }
}

#[cfg(test)]
#[path = "worktree_diagnosis_tests.rs"]
mod tests;
