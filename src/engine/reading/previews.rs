//! What a merge or a rewind would do, found out without doing it.

use std::path::PathBuf;

use super::{History, Reader, Spot};
use crate::base::{EventId, Fault, TurnId, text};
use crate::engine::review::{
    CommitLine, CreatedTask, DirtySide, Extent, FileChange, Goal, MergePreview, RewindPreview, Solving,
};
use crate::git::diff::{self, End, Wish};
use crate::model::content::Content;
use crate::model::diff::{FileDiff, FileStatus, Version};
use crate::model::event::{Body, Event};
use crate::store::{Sessions, StoreError};
use crate::tools::names;

/// How many files, commits and messages are named.
const NAMED: usize = 200;

impl Spot {
    /// Returns the branch that its work goes into.
    pub fn target(&self, goal: Goal) -> &str {
        match goal {
            Goal::Above => &self.above,
            Goal::Base => &self.base,
        }
    }

    /// Returns the branch that it works on, if that is its own.
    pub fn own_branch(&self) -> Result<&str, Fault> {
        match &self.branch {
            Some(branch) if !self.is_root => Ok(branch),
            Some(_) => Err(Fault::user("the root works on the base branch itself: there is nothing to merge")),
            None => Err(Fault::user("there is nothing to merge yet: the task gets its branch when it begins")),
        }
    }
}

impl Reader {
    /// Finds out what bringing a task's work into another branch would do.
    pub async fn merge_preview(&self, spot: &Spot, goal: Goal) -> Result<MergePreview, Fault> {
        let (branch, target) = (spot.own_branch()?, spot.target(goal));
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
        let fresh = spot.receipt.as_ref().is_some_and(|receipt| receipt.covers(&found.branch));
        Ok(MergePreview {
            task: spot.task,
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
            verify: spot.verify.clone(),
            receipt: spot.receipt.clone(),
            fresh,
        })
    }

    /// Writes drafts of what a task's work conflicts about, for the person to solve. Refused before anything is written if
    /// the merge would be refused whatever they do.
    pub async fn prepare_solving(&self, spot: &Spot, goal: Goal) -> Result<Solving, Fault> {
        let preview = self.merge_preview(spot, goal).await?;
        if let Some(side) = preview.dirty.first() {
            return Err(Fault::user(format!("nothing can be merged: {}", side.reason)));
        }
        let found = self.worktrees.prepare_solving(spot.task, &preview.branch, &preview.target).await?;
        found.ok_or_else(|| Fault::user("there are no conflicts to solve").hint("merge it: `mxd merge TASK`"))
    }

    /// Finds out what going back to after a turn would undo, and what not. Nothing: to before the first one.
    pub async fn rewind_preview(
        &self,
        spot: &Spot,
        to: Option<TurnId>,
        extent: Extent,
    ) -> Result<RewindPreview, Fault> {
        let history = self.history(spot.task).await?;
        let moment = history.after(to)?;
        let mut preview = RewindPreview { extent, to, ..RewindPreview::default() };
        let (sessions, task) = (self.sessions.clone(), spot.task);
        let read = tokio::task::spawn_blocking(move || since(&sessions, task, moment.event));
        let since = read.await.unwrap_or(Err(StoreError::Closed))?;
        if extent.has_conversation() {
            (preview.turns, preview.read) = (since.turns, since.read);
        }
        if extent.has_files() {
            self.files(spot, &history, to, &mut preview).await?;
        }
        preview.stays = stays(spot, &since, extent);
        (preview.sent, preview.created) = (since.sent, since.created);
        Ok(preview)
    }

    async fn files(
        &self,
        spot: &Spot,
        history: &History,
        to: Option<TurnId>,
        preview: &mut RewindPreview,
    ) -> Result<(), Fault> {
        let path = spot.worktree.as_ref().filter(|path| path.is_dir());
        let path: &PathBuf = path.ok_or_else(|| Fault::user("the task has no worktree whose files could go back"))?;
        let checkout = self.worktrees.checkout(path).await?;
        let now = self.as_kept(&checkout, End::Worktree).await?;
        let wish = Wish { most_files: NAMED, most_lines: 0, ..Wish::default() };
        let change = diff::between(&checkout, &now, &End::Tree(history.state_after(to)?), &wish).await?;
        preview.files = change.files.iter().flat_map(by_name).collect();
        preview.hidden_files = change.hidden_files;
        if !spot.is_root
            && let Some(kept) = history.snapshot_after(to, self.worktrees.snapshots(spot.task).await?)?
        {
            let commits = self.worktrees.commits_since(&checkout, kept.head.as_deref(), NAMED).await?;
            preview.commits = commits.into_iter().map(|(id, subject)| CommitLine { id, subject }).collect();
        }
        Ok(())
    }
}

/// Returns what becomes of each name: under one of a renamed file nothing is left.
fn by_name(file: &FileDiff) -> Vec<FileChange> {
    let change =
        |version: &Version, status: FileStatus| FileChange { path: version.path.display().to_string(), status };
    match (file.status, &file.old, &file.new) {
        (FileStatus::Renamed, Some(old), Some(new)) => {
            vec![change(old, FileStatus::Deleted), change(new, FileStatus::Added)]
        }
        (status, old, new) => new.iter().chain(old).take(1).map(|version| change(version, status)).collect(),
    }
}

/// What happened after a point of a conversation.
#[derive(Default)]
struct Since {
    turns: usize,
    read: usize,
    sent: Vec<String>,
    created: Vec<CreatedTask>,
    commands: usize,
}

fn since(sessions: &Sessions, task: crate::base::TaskId, after: Option<EventId>) -> Result<Since, StoreError> {
    let mut since = Since::default();
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

impl Since {
    fn apply(&mut self, event: &Event, calls: &mut Vec<(String, serde_json::Value)>) {
        match &event.body {
            Body::TurnEnded(_) => self.turns += 1,
            Body::MessagesConsumed(consumed) => self.read += consumed.ids.len(),
            Body::ToolCall(call) => {
                calls.push((call.call.clone(), serde_json::from_str(call.input.as_str()).unwrap_or_default()));
            }
            Body::ToolResult(result) if !result.is_error => {
                let input = calls.iter().find(|(call, _)| *call == result.call).map(|(_, input)| input);
                let word = |key: &str| {
                    let value = input.and_then(|input| input.get(key)).and_then(serde_json::Value::as_str);
                    text::headline(value.unwrap_or_default(), 120)
                };
                match &*names::shown(&names::canonical(&result.name)) {
                    names::SEND_MESSAGE | names::SEND_MESSAGE_TO_PROJECT if self.sent.len() < NAMED => {
                        self.sent.push(word("message"));
                    }
                    names::CREATE_TASK if self.created.len() < NAMED => {
                        let said = match &result.content {
                            Content::Text { text } => text.as_str(),
                            Content::Blob(_) => "",
                        };
                        let named = said.split_whitespace().find(|word| word.parse::<crate::base::TaskId>().is_ok());
                        let task = named.unwrap_or_default().to_owned();
                        self.created.push(CreatedTask { task, title: word("title") });
                    }
                    names::BASH => self.commands += 1,
                    _ => {}
                }
            }
            _ => {}
        }
    }
}

/// Says what a rewind cannot take back.
fn stays(spot: &Spot, since: &Since, extent: Extent) -> Vec<String> {
    let mut stays = Vec::new();
    if !since.sent.is_empty() {
        let messages = text::count(since.sent.len(), "message", "messages");
        stays.push(format!("{messages} to other tasks stay sent"));
    }
    if !since.created.is_empty() {
        let tasks = text::count(since.created.len(), "task", "tasks");
        stays.push(format!("{tasks} that it made stay; close or delete what is not wanted"));
    }
    if since.commands > 0 {
        let commands = text::count(since.commands, "command", "commands");
        stays.push(format!("what {commands} did outside of the worktree stays: services, packages, ignored files"));
    }
    if since.turns > 0 && extent.has_conversation() {
        stays.push("what these turns cost stays spent".to_owned());
    }
    match extent {
        Extent::Conversation => stays.push("files stay as they are".to_owned()),
        Extent::Files => stays.push("the agent still knows what it did; say that its files went back".to_owned()),
        Extent::Both => {}
    }
    if spot.is_root && extent.has_files() {
        stays.push("commits stay: the root works on your own branch, and only files go back".to_owned());
    }
    stays
}
