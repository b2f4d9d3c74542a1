//! Previews of merges and rewinds.

use std::path::PathBuf;

use super::{History, TaskLocation, WorkReader};
use crate::base::{EventId, Fault, TurnId, text};
use crate::engine::review::{
    CommitLine, CreatedTask, DirtySide, DraftedConflicts, FileChange, MergePreview, MergeTarget, RewindPreview,
    RewindScope,
};
use crate::git::diff::{self, DiffEndpoint, DiffSettings};
use crate::model::content::Content;
use crate::model::diff::{FileDiff, FileStatus, FileVersion};
use crate::model::event::{Body, Event};
use crate::store::{Sessions, StoreError};
use crate::tools::names;

/// How many files, commits and messages are listed.
const MAX_LISTED: usize = 200;

impl TaskLocation {
    /// Returns the branch that the task is merged into.
    pub fn target(&self, target: MergeTarget) -> &str {
        match target {
            MergeTarget::Parent => &self.parent_branch,
            MergeTarget::Base => &self.base,
        }
    }

    /// Returns the task's own branch. Fails for the root, which works on the base branch.
    pub fn own_branch(&self) -> Result<&str, Fault> {
        match &self.branch {
            Some(branch) if !self.is_root => Ok(branch),
            Some(_) => Err(Fault::user("the root works on the base branch: there is nothing to merge")),
            None => Err(Fault::user("there is nothing to merge yet: the task gets its branch when it starts")),
        }
    }
}

impl WorkReader {
    /// Returns what a merge would do.
    pub async fn merge_preview(&self, location: &TaskLocation, target: MergeTarget) -> Result<MergePreview, Fault> {
        let (branch, target) = (location.own_branch()?, location.target(target));
        let found = self.worktrees.preview(branch, target).await?;
        let sides = self.worktrees.sides(branch, target).await?;
        let mut dirty = Vec::new();
        for (side, own) in [(&sides.own, true), (&sides.target, false)] {
            if let Some(side) = side
                && let Some(reason) = side.refusal()
            {
                dirty.push(DirtySide { path: side.path.clone(), own, files: side.files(), reason });
            }
        }
        let fresh = location.receipt.as_ref().is_some_and(|receipt| receipt.covers(&found.branch));
        Ok(MergePreview {
            task: location.task,
            branch: branch.to_owned(),
            commit: found.branch.clone(),
            target: target.to_owned(),
            ahead: found.ahead,
            behind: found.behind,
            files: found.stat.files,
            added: found.stat.added,
            removed: found.stat.removed,
            conflicts: found.conflicts,
            dirty,
            checkout: sides.target.map(|side| side.path),
            verify: location.verify.clone(),
            receipt: location.receipt.clone(),
            fresh,
        })
    }

    /// Writes conflict drafts for the user to resolve. Fails without writing anything if the merge would be refused
    /// anyway.
    pub async fn draft_conflicts(
        &self,
        location: &TaskLocation,
        target: MergeTarget,
    ) -> Result<DraftedConflicts, Fault> {
        let preview = self.merge_preview(location, target).await?;
        if let Some(side) = preview.dirty.first() {
            return Err(Fault::user(format!("cannot merge: {}", side.reason)));
        }
        let found = self.worktrees.draft_conflicts(location.task, &preview.branch, &preview.target).await?;
        found.ok_or_else(|| Fault::user("there are no conflicts to resolve").hint("merge it: `mxd merge TASK`"))
    }

    /// Returns what a rewind to the end of turn `to` would undo. `None` is before the first turn.
    pub async fn rewind_preview(
        &self,
        location: &TaskLocation,
        to: Option<TurnId>,
        extent: RewindScope,
    ) -> Result<RewindPreview, Fault> {
        let history = self.history(location.task).await?;
        let point = history.after(to)?;
        let mut preview = RewindPreview { extent, to, ..RewindPreview::default() };
        let (sessions, task) = (self.sessions.clone(), location.task);
        let read = tokio::task::spawn_blocking(move || events_since(&sessions, task, point.event));
        let since = read.await.unwrap_or(Err(StoreError::Closed))?;
        if extent.has_conversation() {
            (preview.turns, preview.read) = (since.turns, since.read);
        }
        if extent.has_files() {
            self.preview_files(location, &history, to, &mut preview).await?;
        }
        preview.stays = stays(location, &since, extent);
        (preview.sent, preview.created) = (since.sent, since.created);
        Ok(preview)
    }

    async fn preview_files(
        &self,
        location: &TaskLocation,
        history: &History,
        to: Option<TurnId>,
        preview: &mut RewindPreview,
    ) -> Result<(), Fault> {
        let path = location.worktree.as_ref().filter(|path| path.is_dir());
        let path: &PathBuf = path.ok_or_else(|| Fault::user("cannot rewind files: the task has no worktree"))?;
        let checkout = self.worktrees.checkout(path).await?;
        let now = self.as_tree(&checkout, DiffEndpoint::Worktree).await?;
        let settings = DiffSettings { max_files: MAX_LISTED, max_lines: 0, ..DiffSettings::default() };
        let change = diff::between(&checkout, &now, &DiffEndpoint::Tree(history.state_after(to)?), &settings).await?;
        preview.files = change.files.iter().flat_map(file_changes).collect();
        preview.hidden_files = change.hidden_files;
        if !location.is_root
            && let Some(snapshot) = history.snapshot_after(to, self.worktrees.snapshots(location.task).await?)?
        {
            let commits = self.worktrees.commits_since(&checkout, snapshot.head.as_deref(), MAX_LISTED).await?;
            preview.commits = commits.into_iter().map(|(id, subject)| CommitLine { id, subject }).collect();
        }
        Ok(())
    }
}

/// Returns the changes by path. A rename is a deletion and an addition.
fn file_changes(file: &FileDiff) -> Vec<FileChange> {
    let change =
        |version: &FileVersion, status: FileStatus| FileChange { path: version.path.display().to_string(), status };
    match (file.status, &file.old, &file.new) {
        (FileStatus::Renamed, Some(old), Some(new)) => {
            vec![change(old, FileStatus::Deleted), change(new, FileStatus::Added)]
        }
        (status, old, new) => new.iter().chain(old).take(1).map(|version| change(version, status)).collect(),
    }
}

#[derive(Default)]
struct RewoundEvents {
    turns: usize,
    read: usize,
    sent: Vec<String>,
    created: Vec<CreatedTask>,
    commands: usize,
}

fn events_since(
    sessions: &Sessions,
    task: crate::base::TaskId,
    after: Option<EventId>,
) -> Result<RewoundEvents, StoreError> {
    let mut since = RewoundEvents::default();
    let mut calls = Vec::new();
    let mut past = after.is_none();
    sessions.stream_chain(task, |event| {
        if past {
            since.apply(&event, &mut calls);
        }
        past |= Some(event.id) == after;
    })?;
    Ok(since)
}

impl RewoundEvents {
    fn apply(&mut self, event: &Event, calls: &mut Vec<(String, serde_json::Value)>) {
        match &event.body {
            Body::TurnEnded(_) => self.turns += 1,
            Body::MessagesConsumed(consumed) => self.read += consumed.ids.len(),
            Body::ToolCall(call) => {
                calls.push((call.call.clone(), serde_json::from_str(call.input.as_str()).unwrap_or_default()));
            }
            Body::ToolResult(result) if !result.is_error => {
                let input = calls.iter().find(|(call, _)| *call == result.call).map(|(_, input)| input);
                let field = |key: &str| {
                    let value = input.and_then(|input| input.get(key)).and_then(serde_json::Value::as_str);
                    text::headline(value.unwrap_or_default(), 120)
                };
                match &*names::display_name(&names::canonical(&result.name)) {
                    names::SEND_MESSAGE | names::SEND_MESSAGE_TO_PROJECT if self.sent.len() < MAX_LISTED => {
                        self.sent.push(field("message"));
                    }
                    names::CREATE_TASK if self.created.len() < MAX_LISTED => {
                        let text = match &result.content {
                            Content::Text { text } => text.as_str(),
                            Content::Blob(_) => "",
                        };
                        let id = text.split_whitespace().find(|word| word.parse::<crate::base::TaskId>().is_ok());
                        let task = id.unwrap_or_default().to_owned();
                        self.created.push(CreatedTask { task, title: field("title") });
                    }
                    names::BASH => self.commands += 1,
                    _ => {}
                }
            }
            _ => {}
        }
    }
}

/// Describes what a rewind cannot undo.
fn stays(location: &TaskLocation, since: &RewoundEvents, extent: RewindScope) -> Vec<String> {
    let mut stays = Vec::new();
    if !since.sent.is_empty() {
        let messages = text::count(since.sent.len(), "message", "messages");
        stays.push(format!("{messages} to other tasks remain sent"));
    }
    if !since.created.is_empty() {
        let tasks = text::count(since.created.len(), "task", "tasks");
        stays.push(format!("{tasks} that it created remain; close or delete those you do not need"));
    }
    if since.commands > 0 {
        let commands = text::count(since.commands, "command", "commands");
        stays.push(format!("effects of {commands} outside the worktree remain: services, packages, ignored files"));
    }
    if since.turns > 0 && extent.has_conversation() {
        stays.push("costs already incurred remain".to_owned());
    }
    match extent {
        RewindScope::Conversation => stays.push("files do not change".to_owned()),
        RewindScope::Files => {
            stays.push("the agent still remembers these turns; tell it that its files were rewound".to_owned());
        }
        RewindScope::Both => {}
    }
    if location.is_root && extent.has_files() {
        stays.push("commits remain: the root works on your branch, so only files are rewound".to_owned());
    }
    stays
}
