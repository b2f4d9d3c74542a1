//! Isolates one edit of a turn. Snapshots are taken per turn, and the calls of a turn may run in parallel, so the
//! effect of a call is derived from its input. It is shown only if it is certain: an edit by a file tool, if replaying
//! all such edits yields the final file; a command, if it accounts for everything that the file tools do not.

use std::path::{Path, PathBuf};

use super::{TaskLocation, WorkReader, no_turn};
use crate::base::{Fault, Json, TaskId, TurnId, sanitize, text};
use crate::engine::review::EditView;
use crate::git::{Checkout, tree};
use crate::model::content::Content;
use crate::model::conversation::ToolUse;
use crate::model::event::Body;
use crate::store::{Sessions, StoreError};
use crate::tools::{names, replay};

/// The maximum length of the description of a call.
const MAX_SUBJECT: usize = 80;

#[derive(Clone, Debug)]
struct FileEdit {
    /// Counts the calls of the turn that may have changed files, from 1.
    number: usize,
    call: String,
    tool: String,
    input: Json,
    /// The file that it changed, according to its result.
    path: Option<PathBuf>,
    /// The tool reported an error and changed nothing.
    refused: bool,
}

/// Returns the list entry of a call. `number` counts the calls of the turn that may have changed files, from 1.
pub(super) fn view(number: usize, call: &ToolUse) -> EditView {
    let what = replay::subject(&call.input).unwrap_or_default();
    let what = text::headline(&sanitize::line(&what), MAX_SUBJECT);
    EditView { number, tool: names::display_name(&call.name).into_owned(), what }
}

impl WorkReader {
    /// Returns the trees before and after an edit.
    pub(super) async fn states_around_edit(
        &self,
        location: &TaskLocation,
        checkout: &Checkout,
        turn: TurnId,
        number: usize,
    ) -> Result<(String, String), Fault> {
        let history = self.history(location.task).await?;
        let (before, after) = history.states_around(turn)?;
        let (sessions, task) = (self.sessions.clone(), location.task);
        let read = tokio::task::spawn_blocking(move || read_edits(&sessions, task, turn));
        let edits = read.await.unwrap_or(Err(StoreError::Closed))?;
        let view = history.turns.iter().find(|view| view.turn == turn).ok_or_else(|| no_turn(turn))?;
        if !view.edits.iter().any(|edit| edit.number == number) {
            let known: Vec<String> = view.edits.iter().map(ToString::to_string).collect();
            let fault = Fault::user(format!("turn {} has no edit {number}", view.number));
            return Err(if known.is_empty() {
                fault.hint("it changed no file")
            } else {
                fault.hint(format!("it has: {}", known.join("; ")))
            });
        }
        let turn_edits = TurnEdits { checkout, worktree: location.worktree.as_deref(), before, after, edits };
        match turn_edits.isolate(number).await? {
            Some(states) => Ok(states),
            None => Err(Fault::user(format!(
                "this edit cannot be separated from the other changes of turn {}",
                view.number
            ))
            .hint("show the whole turn: `mxd diff TASK --turn TURN`")),
        }
    }
}

/// Returns the edits of a turn, in the order in which they finished.
fn read_edits(sessions: &Sessions, task: TaskId, turn: TurnId) -> Result<Vec<FileEdit>, StoreError> {
    let (mut open, mut pending, mut finished) = (Vec::new(), Vec::new(), Vec::new());
    sessions.stream_chain(task, |event| match event.body {
        Body::ToolCall(call) if replay::may_write(&call.name) => {
            let number = open.len() + 1;
            open.push(FileEdit {
                number,
                call: call.call,
                tool: call.name,
                input: call.input,
                path: None,
                refused: false,
            });
        }
        Body::TurnEnded(end) if end.turn == turn => pending = std::mem::take(&mut open),
        Body::TurnEnded(_) => open.clear(),
        Body::ToolResult(result) => {
            let Some(at) = pending.iter().position(|edit: &FileEdit| edit.call == result.call) else { return };
            let mut edit = pending.remove(at);
            edit.refused = result.is_error && replay::is_file_tool(&edit.tool);
            edit.path = match &result.content {
                Content::Text { text } => path_in_result(text, &edit.input),
                Content::Blob(_) => None,
            };
            finished.push(edit);
        }
        _ => {}
    })?;
    finished.extend(pending);
    Ok(finished)
}

/// Returns the file that a result names, relative to the top folder. The path in the input may be relative to an
/// unknown working directory.
fn path_in_result(result: &str, input: &Json) -> Option<PathBuf> {
    let rest = ["Edited ", "Created ", "Replaced "].iter().find_map(|verb| result.strip_prefix(verb))?;
    let wanted = replay::subject(input)?;
    let wanted = wanted.trim_start_matches("./");
    let end = rest.find(wanted).map_or_else(|| rest.find(['(', '\n']), |at| Some(at + wanted.len()))?;
    Some(PathBuf::from(rest[..end].trim_end()))
}

/// A turn and its edits.
struct TurnEdits<'a> {
    checkout: &'a Checkout,
    worktree: Option<&'a Path>,
    before: String,
    after: String,
    edits: Vec<FileEdit>,
}

impl TurnEdits<'_> {
    /// Returns the trees before and after one edit, or `None` if they are not certain.
    async fn isolate(&self, number: usize) -> Result<Option<(String, String)>, Fault> {
        let Some(wanted) = self.edits.iter().find(|edit| edit.number == number) else { return Ok(None) };
        let by_tool = |edit: &&FileEdit| replay::is_file_tool(&edit.tool) && !edit.refused;
        let same_file = |edit: &&FileEdit| !replay::is_file_tool(&wanted.tool) || self.path(edit) == self.path(wanted);
        let mut state = self.before.clone();
        let mut found = None;
        let mut paths = Vec::new();
        for edit in self.edits.iter().filter(by_tool).filter(same_file) {
            let (Some(path), Some(next)) = (self.path(edit), self.apply(&state, edit).await?) else { return Ok(None) };
            if edit.number == number {
                found = Some((state, next.clone()));
            }
            state = next;
            paths.push(path);
        }
        for path in paths {
            if tree::file(self.checkout, &state, &path).await? != tree::file(self.checkout, &self.after, &path).await? {
                return Ok(None);
            }
        }
        if replay::is_file_tool(&wanted.tool) {
            return Ok(found);
        }
        let commands = self.edits.iter().filter(|edit| !replay::is_file_tool(&edit.tool)).count();
        Ok((commands == 1 || state == self.after).then(|| (state, self.after.clone())))
    }

    /// Returns the file of an edit, relative to the top folder.
    fn path(&self, edit: &FileEdit) -> Option<PathBuf> {
        let path = edit.path.clone().or_else(|| replay::subject(&edit.input).map(PathBuf::from))?;
        let path = self.worktree.and_then(|top| path.strip_prefix(top).ok()).unwrap_or(&path);
        path.is_relative().then(|| path.to_owned())
    }

    async fn apply(&self, state: &str, edit: &FileEdit) -> Result<Option<String>, Fault> {
        let Some(path) = self.path(edit) else { return Ok(None) };
        let (tool, input) = (edit.tool.clone(), edit.input.clone());
        let change = move |before: Option<&[u8]>| replay::replay(&tool, &input, before);
        Ok(tree::with_changed(self.checkout, state, &path, change).await?)
    }
}

#[cfg(test)]
#[path = "edits_tests.rs"]
mod tests;
