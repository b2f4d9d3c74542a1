//! The state of the rewind dialog: turns, scope and preview.

use crate::base::{EventId, TaskId, TurnId};
use crate::engine::review::{RewindPreview, RewindScope, TurnView};
use crate::ui::list::Cursor;

/// The target of a preview: the last turn to keep, and the scope.
pub type PreviewKey = (Option<TurnId>, RewindScope);

#[derive(Clone, Debug)]
pub struct RewindDialog {
    pub task: TaskId,
    /// Newest first. `None` while they are loading.
    pub turns: Option<Result<Vec<TurnView>, String>>,
    pub cursor: Cursor,
    pub extent: RewindScope,
    /// The transcript entry that was selected when the dialog opened.
    from: Option<EventId>,
    /// The preview requested last.
    asked: Option<PreviewKey>,
    preview: Option<(PreviewKey, Result<RewindPreview, String>)>,
}

impl RewindDialog {
    pub fn new(task: TaskId, from: Option<EventId>) -> Self {
        let (cursor, extent) = (Cursor::default(), RewindScope::Both);
        Self { task, turns: None, cursor, extent, from, asked: None, preview: None }
    }

    /// Takes in the turns, oldest first.
    pub fn on_turns(&mut self, turns: Result<Vec<TurnView>, String>) {
        self.turns = Some(turns.map(|mut turns| {
            turns.reverse();
            turns
        }));
        // The newest turn is the current state; the one before it is the first target.
        self.cursor.chosen = usize::from(self.list().len() > 1);
        if let Some(from) = self.from {
            let here = self.list().iter().rposition(|turn| turn.event >= from);
            self.cursor.chosen = here.unwrap_or(self.cursor.chosen);
        }
    }

    /// Returns the turns, newest first.
    pub fn list(&self) -> &[TurnView] {
        self.turns.as_ref().and_then(|turns| turns.as_ref().ok()).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the number of lines: every turn, and "before the first turn".
    pub fn len(&self) -> usize {
        self.list().len() + 1
    }

    pub fn step(&mut self, by: isize) {
        self.cursor.step(by, self.len());
    }

    /// Returns the selected turn. `None` for "before the first turn".
    pub fn chosen(&self) -> Option<&TurnView> {
        self.list().get(self.cursor.chosen)
    }

    pub fn target(&self) -> PreviewKey {
        (self.chosen().map(|turn| turn.turn), self.extent)
    }

    pub fn next_extent(&mut self) {
        self.extent = match self.extent {
            RewindScope::Both => RewindScope::Conversation,
            RewindScope::Conversation => RewindScope::Files,
            RewindScope::Files => RewindScope::Both,
        };
    }

    /// Returns the preview to load, once per target.
    pub fn take_preview_request(&mut self) -> Option<PreviewKey> {
        let target = self.target();
        if !matches!(self.turns, Some(Ok(_))) || self.asked == Some(target) {
            return None;
        }
        self.asked = Some(target);
        Some(target)
    }

    pub fn on_preview(&mut self, target: PreviewKey, preview: Result<RewindPreview, String>) {
        if self.asked == Some(target) {
            self.preview = Some((target, preview));
        }
    }

    /// Returns the preview of the selected target, once it is loaded.
    pub fn preview(&self) -> Option<&Result<RewindPreview, String>> {
        self.preview.as_ref().filter(|(target, _)| *target == self.target()).map(|(_, preview)| preview)
    }
}

pub fn scope_label(extent: RewindScope) -> &'static str {
    match extent {
        RewindScope::Both => "conversation and files",
        RewindScope::Conversation => "conversation only",
        RewindScope::Files => "files only",
    }
}
