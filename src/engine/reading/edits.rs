//! One edit among several of a turn. States of files are kept per turn, and the calls of a turn run at once; what each did
//! is worked out from its input, and shown only where that is certain: what the file tools did to a file, if together
//! it makes exactly what the file became; what one command did, if it is all that the file tools did not do.

use std::path::{Path, PathBuf};

use super::{Reader, Spot, no_turn};
use crate::base::{Fault, Json, TaskId, TurnId, sanitize, text};
use crate::engine::review::EditView;
use crate::git::{Checkout, tree};
use crate::model::content::Content;
use crate::model::conversation::ToolUse;
use crate::model::event::Body;
use crate::store::{Sessions, StoreError};
use crate::tools::{names, replay};

/// How long the words are that stand for a call.
const WORDS: usize = 80;

/// A call that may have changed files.
#[derive(Clone, Debug)]
struct Deed {
    /// Which of the turn's calls that may have changed files it is, from one.
    number: usize,
    call: String,
    tool: String,
    input: Json,
    /// The file that it changed, as its result says.
    path: Option<PathBuf>,
    /// It changed nothing.
    refused: bool,
}

/// Returns how a call is listed. `number`: which of its turn's calls that may have changed files it is, from one.
pub(super) fn view(number: usize, call: &ToolUse) -> EditView {
    let what = replay::subject(&call.input).unwrap_or_default();
    let what = text::headline(&sanitize::line(&what), WORDS);
    EditView { number, tool: names::shown(&call.name).into_owned(), what }
}

impl Reader {
    /// Returns the states of the files before and after an edit, and its words.
    pub(super) async fn around_edit(
        &self,
        spot: &Spot,
        checkout: &Checkout,
        turn: TurnId,
        number: usize,
    ) -> Result<(String, String), Fault> {
        let history = self.history(spot.task).await?;
        let (before, after) = history.around(turn)?;
        let (sessions, task) = (self.sessions.clone(), spot.task);
        let read = tokio::task::spawn_blocking(move || read(&sessions, task, turn));
        let deeds = read.await.unwrap_or(Err(StoreError::Closed))?;
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
        let told = Told { checkout, worktree: spot.worktree.as_deref(), before, after, deeds };
        match told.apart(number).await? {
            Some(states) => Ok(states),
            None => Err(Fault::user(format!(
                "what this edit did cannot be told apart from the other changes of turn {}",
                view.number
            ))
            .hint("look at the whole turn: `mxd diff TASK --turn TURN`")),
        }
    }
}

/// Returns what a turn did to files, in the order in which it was done.
fn read(sessions: &Sessions, task: TaskId, turn: TurnId) -> Result<Vec<Deed>, StoreError> {
    let (mut open, mut begun, mut done) = (Vec::new(), Vec::new(), Vec::new());
    sessions.stream_chain(task, |event| match event.body {
        Body::ToolCall(call) if replay::may_write(&call.name) => {
            let number = open.len() + 1;
            open.push(Deed { number, call: call.call, tool: call.name, input: call.input, path: None, refused: false });
        }
        Body::TurnEnded(end) if end.turn == turn => begun = std::mem::take(&mut open),
        Body::TurnEnded(_) => open.clear(),
        Body::ToolResult(result) => {
            let Some(at) = begun.iter().position(|deed: &Deed| deed.call == result.call) else { return };
            let mut deed = begun.remove(at);
            deed.refused = result.is_error && replay::is_file_tool(&deed.tool);
            deed.path = match &result.content {
                Content::Text { text } => said_path(text, &deed.input),
                Content::Blob(_) => None,
            };
            done.push(deed);
        }
        _ => {}
    })?;
    done.extend(begun);
    Ok(done)
}

/// Returns the file that a result speaks of. What the model called it may be relative to a folder that nobody knows any
/// more; the result names it from the top.
fn said_path(result: &str, input: &Json) -> Option<PathBuf> {
    let said = ["Edited ", "Created ", "Replaced "].iter().find_map(|verb| result.strip_prefix(verb))?;
    let wanted = replay::subject(input)?;
    let wanted = wanted.trim_start_matches("./");
    let end = said.find(wanted).map_or_else(|| said.find(['(', '\n']), |at| Some(at + wanted.len()))?;
    Some(PathBuf::from(said[..end].trim_end()))
}

/// A turn, and what is known of its edits.
struct Told<'a> {
    checkout: &'a Checkout,
    worktree: Option<&'a Path>,
    before: String,
    after: String,
    deeds: Vec<Deed>,
}

impl Told<'_> {
    /// Returns the files before and after one edit, if that is certain.
    async fn apart(&self, number: usize) -> Result<Option<(String, String)>, Fault> {
        let Some(wanted) = self.deeds.iter().find(|deed| deed.number == number) else { return Ok(None) };
        let by_tool = |deed: &&Deed| replay::is_file_tool(&deed.tool) && !deed.refused;
        let same_file = |deed: &&Deed| !replay::is_file_tool(&wanted.tool) || self.path(deed) == self.path(wanted);
        let mut state = self.before.clone();
        let mut found = None;
        let mut paths = Vec::new();
        for deed in self.deeds.iter().filter(by_tool).filter(same_file) {
            let (Some(path), Some(next)) = (self.path(deed), self.step(&state, deed).await?) else { return Ok(None) };
            if deed.number == number {
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
        let others = self.deeds.iter().filter(|deed| !replay::is_file_tool(&deed.tool)).count();
        Ok((others == 1 || state == self.after).then(|| (state, self.after.clone())))
    }

    /// Returns the file that an edit is about, from the top.
    fn path(&self, deed: &Deed) -> Option<PathBuf> {
        let path = deed.path.clone().or_else(|| replay::subject(&deed.input).map(PathBuf::from))?;
        let path = self.worktree.and_then(|top| path.strip_prefix(top).ok()).unwrap_or(&path);
        path.is_relative().then(|| path.to_owned())
    }

    async fn step(&self, state: &str, deed: &Deed) -> Result<Option<String>, Fault> {
        let Some(path) = self.path(deed) else { return Ok(None) };
        let (tool, input) = (deed.tool.clone(), deed.input.clone());
        let change = move |before: Option<&[u8]>| replay::replay(&tool, &input, before);
        Ok(tree::with_changed(self.checkout, state, &path, change).await?)
    }
}

#[cfg(test)]
#[path = "edits_tests.rs"]
mod tests;
