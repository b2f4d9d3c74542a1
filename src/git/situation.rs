//! What a worktree looks like, and what has to be done so that it stands: a pure decision over what was found.
//!
//! Nothing that somebody may have worked on is ever thrown away here: what is in the way is refused or moved aside.

use std::path::PathBuf;

use super::entry::Head;

/// What stands in the place of a worktree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Folder {
    Missing,
    /// There, with nothing in it.
    Empty,
    /// Holds nothing but the link to its entry.
    Bare,
    /// Linked to its entry, with files.
    Linked,
    /// Files, and no link or a link to somewhere else.
    Unlinked,
    /// Files, and a link to an entry of this repository that is gone.
    Dangling,
    /// Something else: a file, or a repository of its own.
    Foreign,
}

/// The entry of a worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Noted {
    pub(super) head: Head,
    pub(super) being_made: bool,
}

/// Everything that was found about one worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Situation {
    pub(super) folder: Folder,
    pub(super) entry: Option<Noted>,
    /// Another checkout that has the branch, and whether it is this worktree after a `git worktree move`.
    pub(super) elsewhere: Option<(PathBuf, Origin)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// It was this worktree.
    Ours,
    Theirs,
}

/// Why a worktree had to be made again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// Its folder was gone.
    Deleted,
    /// Its folder was there, without files.
    Emptied,
    /// Its `.git` was gone or led elsewhere; its files are as they were.
    LinkLost,
    /// The repository no longer knew it.
    EntryLost,
    /// It had been moved to this place, and was moved back.
    Moved(PathBuf),
    /// Its branch was gone, and was made again where the worktree last stood.
    BranchLost,
}

/// What has to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Plan {
    Stands,
    /// On another branch or on none: somebody did that, and may have work there.
    StandsElsewhere(Head),
    /// Make it; `Some`: again.
    Add(Option<Why>),
    /// Its files were never all written.
    Finish,
    /// Forget the entry (and the folder, which holds no work), then make it.
    Renew(Option<Why>),
    /// Write the files that are in the index.
    Refill(Why),
    /// Write the link to the entry.
    Relink(Why),
    /// Move the folder aside, then make it.
    SetAside(Why),
    MoveBack(PathBuf),
    /// The branch is checked out there.
    Busy(PathBuf),
    InTheWay,
}

impl Situation {
    /// Returns what makes the worktree stand on `branch`.
    pub(super) fn plan(&self, branch: &str) -> Plan {
        match &self.entry {
            Some(entry) => self.noted(entry, branch),
            None => self.unnoted(),
        }
    }

    fn noted(&self, entry: &Noted, branch: &str) -> Plan {
        let on_branch = entry.head == Head::Branch(branch.to_owned());
        match self.folder {
            Folder::Foreign => Plan::InTheWay,
            Folder::Missing | Folder::Empty if self.elsewhere.is_some() => self.unnoted(),
            Folder::Missing | Folder::Empty if entry.being_made => Plan::Renew(None),
            Folder::Missing => Plan::Renew(Some(Why::Deleted)),
            Folder::Empty => Plan::Renew(Some(Why::Emptied)),
            Folder::Bare | Folder::Linked if entry.being_made && on_branch => Plan::Finish,
            Folder::Bare if entry.being_made => Plan::Renew(None),
            // Files come only after HEAD; whoever wrote them, it was not the making of this worktree.
            Folder::Linked if entry.being_made => Plan::InTheWay,
            Folder::Unlinked | Folder::Dangling if entry.being_made => Plan::InTheWay,
            Folder::Unlinked | Folder::Dangling => Plan::Relink(Why::LinkLost),
            Folder::Bare | Folder::Linked if !on_branch => Plan::StandsElsewhere(entry.head.clone()),
            Folder::Bare => Plan::Refill(Why::Emptied),
            Folder::Linked => Plan::Stands,
        }
    }

    fn unnoted(&self) -> Plan {
        match (&self.elsewhere, self.folder) {
            (Some((path, Origin::Ours)), Folder::Missing | Folder::Empty) => Plan::MoveBack(path.clone()),
            (Some((path, _)), _) => Plan::Busy(path.clone()),
            (None, Folder::Missing | Folder::Empty) => Plan::Add(None),
            (None, Folder::Dangling) => Plan::SetAside(Why::EntryLost),
            (None, Folder::Bare | Folder::Linked | Folder::Unlinked | Folder::Foreign) => Plan::InTheWay,
        }
    }
}

#[cfg(test)]
#[path = "situation_tests.rs"]
mod tests;
