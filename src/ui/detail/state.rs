//! The open tab, and the transcripts of recently shown tasks.

use crate::base::TaskId;
use crate::engine::snapshot::TaskView;
use crate::ui::detail::Tails;
use crate::ui::field::Field;
use crate::ui::position::ReadingPosition;
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
            Self::Transcript => "Transcript",
            Self::Diff => "Diff",
            Self::Description => "Brief",
            Self::Info => "Info",
            Self::Log => "Log",
        }
    }
}

/// The scroll position that stays at the end of the log.
const FOLLOW: usize = usize::MAX;

/// How many transcripts are kept.
const MAX_TRANSCRIPTS: usize = 8;
/// How many positions of closed transcripts are kept.
const MAX_POSITIONS: usize = 64;

#[derive(Clone, Debug, Default)]
pub struct State {
    pub tab: Tab,
    /// The page that the user chose for the third column.
    aside: Option<Tab>,
    /// Ordered by last use, the latest last.
    transcripts: Vec<Transcript>,
    /// Where transcripts that are not open were left, the latest last.
    left_at: Vec<(TaskId, ReadingPosition)>,
    /// The output of background processes.
    pub tails: Tails,
    /// The first visible row of description, info or log.
    pub top: usize,
    /// The search in diff, description, info or log.
    pub search: Field,
    pub searching: bool,
}

impl State {
    /// Returns the state with transcripts at the positions at which they were left.
    pub fn reading(left_at: Vec<(TaskId, ReadingPosition)>) -> Self {
        Self { left_at, ..Self::default() }
    }

    /// Returns the positions of all transcripts that do not follow their end.
    pub fn reading_positions(&self) -> Vec<(TaskId, ReadingPosition)> {
        let open = self.transcripts.iter().filter_map(|it| Some((it.task, it.reading_position()?)));
        self.left_at.iter().copied().chain(open).collect()
    }

    /// Remembers where a transcript is left that is closed.
    fn leave(&mut self, transcript: &Transcript) {
        if let Some(position) = transcript.reading_position() {
            self.left_at.push((transcript.task, position));
        }
        let surplus = self.left_at.len().saturating_sub(MAX_POSITIONS);
        self.left_at.drain(..surplus);
    }

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
                    let oldest = self.transcripts.remove(0);
                    self.leave(&oldest);
                }
                let mut transcript = Transcript::new(task);
                if let Some(place) = self.left_at.iter().position(|(left, _)| *left == task) {
                    transcript.resume(self.left_at.remove(place).1);
                }
                self.transcripts.push(transcript);
                let last = self.transcripts.len() - 1;
                &mut self.transcripts[last]
            }
        }
    }

    /// Drops all transcripts, after updates were missed.
    pub fn forget(&mut self) {
        for transcript in std::mem::take(&mut self.transcripts) {
            self.leave(&transcript);
        }
    }

    pub fn forget_task(&mut self, task: TaskId) {
        self.transcripts.retain(|transcript| transcript.task != task);
        self.left_at.retain(|(left, _)| *left != task);
        self.tails.forget(task);
    }

    pub fn forget_layouts(&self) {
        self.transcripts.iter().for_each(Transcript::forget_layouts);
    }

    pub fn show(&mut self, tab: Tab) {
        if self.tab != tab {
            self.tab = tab;
            self.top = Self::first_top(tab);
        }
        if tab != Tab::Transcript {
            self.aside = Some(tab);
        }
    }

    /// Returns the page beside the transcript: the open one, else the one the user chose last, else what there is to see.
    pub fn side_tab(&self, task: Option<&TaskView>) -> Tab {
        let open = Some(self.tab).filter(|tab| *tab != Tab::Transcript);
        let has_work = task.is_some_and(|task| task.diff.is_some_and(|diff| diff.files > 0));
        open.or(self.aside).unwrap_or(if has_work { Tab::Diff } else { Tab::Description })
    }

    /// Returns the first visible row of a page. A page that is shown without being open is at its beginning.
    pub fn top_of(&self, tab: Tab) -> usize {
        if self.tab == tab { self.top } else { Self::first_top(tab) }
    }

    fn first_top(tab: Tab) -> usize {
        // The newest events are at the end.
        if tab == Tab::Log { FOLLOW } else { 0 }
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
