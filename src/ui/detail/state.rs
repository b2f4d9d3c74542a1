//! Which tab is open, and the transcripts of the tasks looked at last.

use crate::base::TaskId;
use crate::ui::detail::Tails;
use crate::ui::field::Field;
use crate::ui::transcript::Transcript;

/// A side of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Tab {
    #[default]
    Transcript,
    Diff,
    Description,
    Info,
    Log,
}

impl Tab {
    pub const ALL: [Self; 5] = [Self::Transcript, Self::Diff, Self::Description, Self::Info, Self::Log];

    pub fn word(self) -> &'static str {
        match self {
            Self::Transcript => "transcript",
            Self::Diff => "diff",
            Self::Description => "description",
            Self::Info => "info",
            Self::Log => "log",
        }
    }
}

/// A place in a log that stays at its end.
const FOLLOW: usize = usize::MAX;

/// How many transcripts are kept at hand.
const KEPT: usize = 8;

/// The detail of the selected task.
#[derive(Clone, Debug, Default)]
pub struct State {
    pub tab: Tab,
    /// The one looked at last comes last.
    transcripts: Vec<Transcript>,
    /// What processes in the background print.
    pub tails: Tails,
    /// The first row that is seen of description, info or log.
    pub top: usize,
    /// What is looked for in diff, description, info or log.
    pub search: Field,
    pub searching: bool,
}

impl State {
    pub fn transcript(&self, task: TaskId) -> Option<&Transcript> {
        self.transcripts.iter().find(|transcript| transcript.task == task)
    }

    pub fn transcript_mut(&mut self, task: TaskId) -> Option<&mut Transcript> {
        self.transcripts.iter_mut().find(|transcript| transcript.task == task)
    }

    /// Returns the transcript of a task that is looked at now.
    pub fn look_at(&mut self, task: TaskId) -> &mut Transcript {
        match self.transcripts.iter().position(|transcript| transcript.task == task) {
            Some(place) => {
                let last = self.transcripts.len() - 1;
                self.transcripts[place..].rotate_left(1);
                if place != last {
                    self.transcripts[last].try_again();
                }
                &mut self.transcripts[last]
            }
            None => {
                if self.transcripts.len() >= KEPT {
                    self.transcripts.remove(0);
                }
                self.transcripts.push(Transcript::new(task));
                let last = self.transcripts.len() - 1;
                &mut self.transcripts[last]
            }
        }
    }

    /// Forgets everything that was read, after updates were left out.
    pub fn forget(&mut self) {
        self.transcripts.clear();
    }

    pub fn forget_task(&mut self, task: TaskId) {
        self.transcripts.retain(|transcript| transcript.task != task);
        self.tails.forget(task);
    }

    pub fn forget_layouts(&self) {
        self.transcripts.iter().for_each(Transcript::forget_layouts);
    }

    pub fn show(&mut self, tab: Tab) {
        if self.tab != tab {
            self.tab = tab;
            // The newest events are at the end, and that is what one wants to see.
            self.top = if tab == Tab::Log { FOLLOW } else { 0 };
        }
    }

    /// Scrolls description, info or log, of which `len` rows exist and `height` are seen.
    pub fn scroll(&mut self, by: isize, len: usize, height: usize) {
        let last = len.saturating_sub(height);
        self.top = self.top.min(last).saturating_add_signed(by).min(last);
        if self.tab == Tab::Log && self.top == last {
            self.top = FOLLOW;
        }
    }

    /// Lines came before those of the log that are seen.
    pub fn log_grew_above(&mut self, lines: usize) {
        if self.tab == Tab::Log && self.top != FOLLOW {
            self.top += lines;
        }
    }
}
