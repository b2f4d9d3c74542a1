//! The open tab, and the transcripts of recently shown tasks.

use crate::base::TaskId;
use crate::ui::detail::Tails;
use crate::ui::field::Field;
use crate::ui::transcript::Transcript;

/// A tab of the right side.
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

/// The scroll position that stays at the end of the log.
const FOLLOW: usize = usize::MAX;

/// How many transcripts are kept.
const MAX_TRANSCRIPTS: usize = 8;

#[derive(Clone, Debug, Default)]
pub struct State {
    pub tab: Tab,
    /// Ordered by last use, the latest last.
    transcripts: Vec<Transcript>,
    /// The output of background processes.
    pub tails: Tails,
    /// The first visible row of description, info or log.
    pub top: usize,
    /// The search in diff, description, info or log.
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

    /// Returns the transcript of a task and marks it as used last.
    pub fn open_transcript(&mut self, task: TaskId) -> &mut Transcript {
        match self.transcripts.iter().position(|transcript| transcript.task == task) {
            Some(place) => {
                let last = self.transcripts.len() - 1;
                self.transcripts[place..].rotate_left(1);
                if place != last {
                    self.transcripts[last].retry();
                }
                &mut self.transcripts[last]
            }
            None => {
                if self.transcripts.len() >= MAX_TRANSCRIPTS {
                    self.transcripts.remove(0);
                }
                self.transcripts.push(Transcript::new(task));
                let last = self.transcripts.len() - 1;
                &mut self.transcripts[last]
            }
        }
    }

    /// Drops all transcripts, after updates were missed.
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
            // The newest events are at the end.
            self.top = if tab == Tab::Log { FOLLOW } else { 0 };
        }
    }

    /// Scrolls description, info or log with `len` rows, of which `height` are visible.
    pub fn scroll(&mut self, by: isize, len: usize, height: usize) {
        let last = len.saturating_sub(height);
        self.top = self.top.min(last).saturating_add_signed(by).min(last);
        if self.tab == Tab::Log && self.top == last {
            self.top = FOLLOW;
        }
    }

    /// Keeps the position after older lines were added to the log.
    pub fn on_older_log_lines(&mut self, lines: usize) {
        if self.tab == Tab::Log && self.top != FOLLOW {
            self.top += lines;
        }
    }
}
