//! Sentences about outcomes that front ends share. Each front end names its own undo: a key or a command.

use crate::base::{TaskId, text};
use crate::engine::command::{ArchivedWork, Outcome, RestoredWorktree, RevivedTask};
use crate::engine::review::{MergeStrategy, RewindScope};

/// The action that undoes an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UndoAction {
    UndoMerge(TaskId),
    CancelMerge(TaskId),
    Redo(TaskId),
    Restore(TaskId),
}

/// Returns a sentence about an outcome. `None` if there is nothing to say, or each front end shows it in its own way.
pub fn sentence(outcome: &Outcome, undo: &dyn Fn(UndoAction) -> String) -> Option<String> {
    Some(match outcome {
        Outcome::Done
        | Outcome::Created { .. }
        | Outcome::Sent { .. }
        | Outcome::Asked(_)
        | Outcome::AgentAsked(_)
        | Outcome::Reset { .. }
        | Outcome::ConflictDrafts(_)
        | Outcome::Attached(_) => return None,
        Outcome::HandedOver { from: Some(from), to, .. } => {
            format!("handed over from {from} to {to}; the conversation so far is retired")
        }
        Outcome::HandedOver { from: None, to, .. } => format!("{to} does it from now on"),
        Outcome::Stopped { agents: 0 } => "nothing was running".to_owned(),
        Outcome::Stopped { agents: 1 } => "stopped".to_owned(),
        Outcome::Stopped { agents } => format!("stopped {agents} agents"),
        Outcome::Closed { task, set_aside, .. } => return archived_work(*task, set_aside, undo),
        Outcome::Restored(worktree) => restored_worktree(worktree),
        Outcome::Revived(revived) => revived_task(revived),
        Outcome::Copied { events } => format!("copied {}", text::count(*events, "event", "events")),
        Outcome::Merged { task, how, target, checkout } => {
            let verb = match how {
                MergeStrategy::Merge => "merged",
                MergeStrategy::Squash => "squashed",
                MergeStrategy::Rebase => "rebased",
            };
            let place = match checkout {
                Some(path) => format!(" and updated {}", path.display()),
                None => " (only the branch moved: it is not checked out)".to_owned(),
            };
            format!("{verb} into {target}{place}; undo with {}", undo(UndoAction::UndoMerge(*task)))
        }
        Outcome::MergeQueued { task, target, host_title, .. } => format!(
            "merge into {target} queued until \"{host_title}\" pauses; cancel with {}",
            undo(UndoAction::CancelMerge(*task))
        ),
        Outcome::MergeCancelled { target } => format!("cancelled the queued merge into {target}"),
        Outcome::NothingToMerge { target } => format!("nothing to merge: {target} already has all of it"),
        Outcome::MergeUndone { target, checkout } => {
            let place = checkout.as_ref().map(|path| format!(", {} updated", path.display())).unwrap_or_default();
            format!("merge into {target} undone{place}")
        }
        Outcome::UpToDate { target } => format!("already up to date with {target}"),
        Outcome::Verified { command, duration_ms } => format!("`{command}` succeeded after {} s", duration_ms / 1000),
        Outcome::Rewound { task, extent } => {
            let what = match extent {
                RewindScope::Conversation => "the conversation",
                RewindScope::Files => "the files",
                RewindScope::Both => "conversation and files",
            };
            format!("rewound {what}; redo with {}", undo(UndoAction::Redo(*task)))
        }
        Outcome::Redone => "rewind undone".to_owned(),
    })
}

fn archived_work(task: TaskId, set_aside: &ArchivedWork, undo: &dyn Fn(UndoAction) -> String) -> Option<String> {
    let mut parts = Vec::new();
    if set_aside.archived {
        let undo = undo(UndoAction::Restore(task));
        parts.push(format!("Unmerged work is archived in refs/mxd/archive/{task}; restore it with {undo}."));
    }
    if let Some(path) = &set_aside.files {
        parts.push(format!("Files that could not be archived are in {}.", path.display()));
    }
    if let Some(path) = &set_aside.drafts {
        parts.push(format!("Conflict drafts are kept in {}.", path.display()));
    }
    (!parts.is_empty()).then(|| parts.join(" "))
}

fn restored_worktree(worktree: &RestoredWorktree) -> String {
    match worktree {
        RestoredWorktree::Clean => "worktree restored".to_owned(),
        RestoredWorktree::Uncommitted(files) => {
            format!("worktree restored, with uncommitted changes in {}", text::count(*files, "file", "files"))
        }
        RestoredWorktree::Archived(archive) => {
            format!("worktree restored; its branch has new commits, so uncommitted changes stay in {archive}")
        }
    }
}

fn revived_task(revived: &RevivedTask) -> String {
    let below = match revived.sub_tasks {
        0 => String::new(),
        count => format!(" with {}", text::count(count, "sub task", "sub tasks")),
    };
    let mut lines = vec![format!("restored \"{}\" under \"{}\"{below}", revived.title, revived.parent)];
    for (title, worktree) in &revived.worktrees {
        let note = worktree.as_ref().map_or_else(Clone::clone, restored_worktree);
        lines.push(format!("  \"{title}\": {note}"));
    }
    lines.join("\n")
}
