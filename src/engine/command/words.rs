//! What a command came to, in a sentence. Front ends share it; each names its own way back: a key, or a command.

use crate::base::{TaskId, text};
use crate::engine::command::{Outcome, RestoredWorktree, Revived, SetAside};
use crate::engine::review::{Extent, How};

/// What takes an outcome back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WayBack {
    UndoMerge(TaskId),
    CancelMerge(TaskId),
    Redo(TaskId),
    Restore(TaskId),
}

/// Returns what should be known of an outcome. `None` if it is only done, or each front end shows it in its own way.
pub fn sentence(outcome: &Outcome, way: &dyn Fn(WayBack) -> String) -> Option<String> {
    Some(match outcome {
        Outcome::Done
        | Outcome::Created { .. }
        | Outcome::Sent { .. }
        | Outcome::Asked(_)
        | Outcome::AgentAsked(_)
        | Outcome::Reset { .. }
        | Outcome::ConflictDrafts(_)
        | Outcome::Attached(_) => return None,
        Outcome::Stopped { agents: 0 } => "nothing was at work".to_owned(),
        Outcome::Stopped { agents: 1 } => "stopped".to_owned(),
        Outcome::Stopped { agents } => format!("stopped {agents} agents"),
        Outcome::Closed { task, set_aside, .. } => return kept(*task, set_aside, way),
        Outcome::Restored(worktree) => restored(worktree),
        Outcome::Revived(revived) => revived_words(revived),
        Outcome::Copied { events } => format!("copied {}", text::count(*events, "event", "events")),
        Outcome::Merged { task, how, target, checkout } => {
            let verb = match how {
                How::Merge => "merged",
                How::Squash => "squashed",
                How::Rebase => "rebased",
            };
            let place = match checkout {
                Some(path) => format!(", and {} has it", path.display()),
                None => ", which is checked out nowhere: only the branch moved".to_owned(),
            };
            format!("{verb} into {target}{place}; {} takes it back", way(WayBack::UndoMerge(*task)))
        }
        Outcome::MergeQueued { task, target, host_title, .. } => format!(
            "\"{host_title}\" works where {target} is checked out: merged when it pauses; {} cancels it",
            way(WayBack::CancelMerge(*task))
        ),
        Outcome::MergeCancelled { target } => format!("cancelled the queued merge into {target}"),
        Outcome::NothingToMerge { target } => format!("{target} has everything already"),
        Outcome::MergeUndone { target, checkout } => {
            let place = checkout.as_ref().map(|path| format!("; {} follows", path.display())).unwrap_or_default();
            format!("{target} is where it was before the merge{place}")
        }
        Outcome::UpToDate { target } => format!("it has everything that {target} has"),
        Outcome::Verified { command, duration_ms } => format!("`{command}` succeeded after {} s", duration_ms / 1000),
        Outcome::Rewound { task, extent } => {
            let (what, them) = match extent {
                Extent::Conversation => ("the conversation is", "it"),
                Extent::Files => ("the files are", "them"),
                Extent::Both => ("conversation and files are", "them"),
            };
            format!("{what} back; {} takes {them} forth again", way(WayBack::Redo(*task)))
        }
        Outcome::Redone => "everything is where it was before the rewind".to_owned(),
    })
}

/// Says what was kept of a worktree that was removed, if something was.
fn kept(task: TaskId, set_aside: &SetAside, way: &dyn Fn(WayBack) -> String) -> Option<String> {
    let mut parts = Vec::new();
    if set_aside.archived {
        let way = way(WayBack::Restore(task));
        parts.push(format!("Work that was not merged is kept in refs/mxd/archive/{task}; {way} brings it back."));
    }
    if let Some(path) = &set_aside.files {
        parts.push(format!("What could not be archived is in {}.", path.display()));
    }
    if let Some(path) = &set_aside.drafts {
        parts.push(format!("Conflicts that were being solved by hand are kept in {}.", path.display()));
    }
    (!parts.is_empty()).then(|| parts.join(" "))
}

fn restored(worktree: &RestoredWorktree) -> String {
    match worktree {
        RestoredWorktree::Clean => "the worktree is back".to_owned(),
        RestoredWorktree::Uncommitted(files) => {
            format!("the worktree is back, with {} that are not committed", text::count(*files, "file", "files"))
        }
        RestoredWorktree::Archived(archive) => {
            format!("the worktree is back; its branch has moved on, so what was not committed stays in {archive}")
        }
    }
}

fn revived_words(revived: &Revived) -> String {
    let below = match revived.sub_tasks {
        0 => String::new(),
        count => format!(" with {}", text::count(count, "sub task", "sub tasks")),
    };
    let mut lines = vec![format!("\"{}\" is back below \"{}\"{below}", revived.title, revived.parent)];
    for (title, worktree) in &revived.worktrees {
        let note = worktree.as_ref().map_or_else(Clone::clone, restored);
        lines.push(format!("  \"{title}\": {note}"));
    }
    lines.join("\n")
}
