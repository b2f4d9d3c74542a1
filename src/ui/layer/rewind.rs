//! Going back: the turns of a task, what is to go back, and what that would undo.

use crate::base::{EventId, TaskId, TurnId};
use crate::engine::review::{Extent, RewindPreview, TurnView};
use crate::ui::list::Cursor;

/// What a preview is about: the turn after which things would be as they were, and what goes back.
pub type Aim = (Option<TurnId>, Extent);

/// The picker.
#[derive(Clone, Debug)]
pub struct Rewind {
    pub task: TaskId,
    /// Newest first. Nothing: they are being read.
    pub turns: Option<Result<Vec<TurnView>, String>>,
    pub cursor: Cursor,
    pub extent: Extent,
    /// The entry of the transcript that one came from.
    from: Option<EventId>,
    /// What was last asked for.
    asked: Option<Aim>,
    preview: Option<(Aim, Result<RewindPreview, String>)>,
}

impl Rewind {
    pub fn new(task: TaskId, from: Option<EventId>) -> Self {
        let (cursor, extent) = (Cursor::default(), Extent::Both);
        Self { task, turns: None, cursor, extent, from, asked: None, preview: None }
    }

    /// Takes the turns, oldest first.
    pub fn take(&mut self, turns: Result<Vec<TurnView>, String>) {
        self.turns = Some(turns.map(|mut turns| {
            turns.reverse();
            turns
        }));
        // The newest is where one is; the one before it is the first to go back to.
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

    /// Returns how many lines can be chosen: every turn, and what was before the first.
    pub fn len(&self) -> usize {
        self.list().len() + 1
    }

    pub fn step(&mut self, by: isize) {
        self.cursor.step(by, self.len());
    }

    /// Returns the chosen turn. Nothing: before the first.
    pub fn chosen(&self) -> Option<&TurnView> {
        self.list().get(self.cursor.chosen)
    }

    pub fn aim(&self) -> Aim {
        (self.chosen().map(|turn| turn.turn), self.extent)
    }

    pub fn next_extent(&mut self) {
        self.extent = match self.extent {
            Extent::Both => Extent::Conversation,
            Extent::Conversation => Extent::Files,
            Extent::Files => Extent::Both,
        };
    }

    /// Returns what has to be asked for, once.
    pub fn wants(&mut self) -> Option<Aim> {
        let aim = self.aim();
        if !matches!(self.turns, Some(Ok(_))) || self.asked == Some(aim) {
            return None;
        }
        self.asked = Some(aim);
        Some(aim)
    }

    pub fn take_preview(&mut self, aim: Aim, preview: Result<RewindPreview, String>) {
        if self.asked == Some(aim) {
            self.preview = Some((aim, preview));
        }
    }

    /// Returns what going back to the chosen turn would do, as soon as that is known.
    pub fn preview(&self) -> Option<&Result<RewindPreview, String>> {
        self.preview.as_ref().filter(|(aim, _)| *aim == self.aim()).map(|(_, preview)| preview)
    }
}

pub fn words(extent: Extent) -> &'static str {
    match extent {
        Extent::Both => "conversation and files",
        Extent::Conversation => "the conversation alone",
        Extent::Files => "the files alone",
    }
}
