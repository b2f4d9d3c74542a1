//! A long transcript on the screen: what one frame costs while a user moves in it, however long it is.
//!
//! Frames are measured in the time that the thread was on a processor: what is asked is whether one fits between two
//! pictures, not whether the machine was busy.

use std::collections::BTreeMap;

use mxd::base::keys::{Chord, Input};
use mxd::base::{IdSource, ProjectId, TaskId, Timestamp};
use mxd::engine::snapshot::{ProjectView, Snapshot, TaskView};
use mxd::model::live_turn::LiveTurns;
use mxd::model::{Event, Status, TaskNode};
use mxd::theme::{Appearance, ColourDepth, Glyphs, Theme};
use mxd::ui::position::ScreenPosition;
use mxd::ui::review::ReviewNotes;
use mxd::ui::{Cx, Effect, Model, Msg, Settings, Setup, update, view};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use crate::report::{Report, Row, Target, Unit};
use crate::{Outcome, fixture, system};

/// How long the sessions are: n, 10n, 100n.
const ENTRIES: [usize; 3] = [1_000, 10_000, 100_000];
/// What a frame may take, in nanoseconds.
pub const FRAME: f64 = 8e6;

/// What is done, in this order.
const MOVES: [&str; 5] = ["scroll", "go to the first line", "jump", "search", "resize"];

pub fn measure(report: &mut Report) -> Outcome {
    let what = |entries: usize, name: &str| format!("transcript of {entries} entries, {name}: longest frame");
    for entries in ENTRIES {
        if !MOVES.iter().any(|name| report.wants(&what(entries, name))) {
            continue;
        }
        let mut stage = ScreenFixture::new(entries)?;
        for name in MOVES {
            stage.longest = 0;
            stage.play(name)?;
            let longest = stage.longest as f64;
            let target = Target::AtMost(1.0);
            report.add(&Row::of_counts(what(entries, name), Unit::NanosPerCall, longest, FRAME, "8 ms", target))?;
        }
    }
    Ok(())
}

/// The screen, and the session that it reads from.
pub struct ScreenFixture {
    model: Model,
    theme: Theme,
    terminal: Terminal<TestBackend>,
    events: Vec<Event>,
    size: (u16, u16),
    longest: u64,
    /// The earliest event that was read.
    first: usize,
    /// How often something was read since a move began.
    read: usize,
}

impl ScreenFixture {
    fn new(entries: usize) -> Outcome<Self> {
        let ids = fixture::ids();
        let mut stage = Self::of(snapshot(&ids), fixture::events(&ids, entries)?)?;
        // The screen opens where one writes.
        stage.press("esc 1 enter")?;
        Ok(stage)
    }

    /// Opens the screen on a tree, every task of which has this session.
    pub fn of(snapshot: Snapshot, events: Vec<Event>) -> Outcome<Self> {
        let (model, problems) = Model::new(Setup {
            snapshot,
            keys: BTreeMap::new(),
            settings: Settings::default(),
            drafts: mxd::ui::Drafts::default(),
            reviews: ReviewNotes::default(),
            suggestion: None,
            position: ScreenPosition::default(),
        });
        if !problems.is_empty() {
            return Err(format!("{problems:?}").into());
        }
        let mut stage = Self {
            model,
            theme: Theme::standard(Appearance::Dark, ColourDepth::True, &Glyphs::UNICODE),
            terminal: Terminal::new(TestBackend::new(200, 60))?,
            events,
            size: (200, 60),
            longest: 0,
            first: usize::MAX,
            read: 0,
        };
        stage.resize(200, 60)?;
        stage.longest = 0;
        Ok(stage)
    }

    /// Returns what the longest frame took of a processor, in nanoseconds.
    pub fn longest(&self) -> u64 {
        self.longest
    }

    /// Takes in all that came since the last frame, and draws one.
    pub fn frame_of(&mut self, news: impl IntoIterator<Item = Msg>) -> Outcome {
        let zone = jiff::tz::TimeZone::UTC;
        let cx = Cx { now: Timestamp::EPOCH, size: self.size, theme: &self.theme, zone: &zone };
        let begun = system::thread_nanos()?;
        for msg in news {
            update(&mut self.model, msg, &cx);
        }
        self.terminal.draw(|frame| view(&self.model, &cx, frame))?;
        self.longest = self.longest.max(system::thread_nanos()? - begun);
        Ok(())
    }

    fn play(&mut self, name: &str) -> Outcome {
        match name {
            "scroll" => {
                for _ in 0..100 {
                    self.press("pageup")?;
                }
                for _ in 0..100 {
                    self.press("k")?;
                }
            }
            "go to the first line" => loop {
                self.read = 0;
                self.press("home")?;
                if self.read == 0 {
                    let all = self.first == 0;
                    return if all { Ok(()) } else { Err("the first line is not there".into()) };
                }
            },
            "jump" => {
                for keys in ["] t", "] u", "end", "[ u", "home", "end", "[ t", "K"] {
                    self.press(keys)?;
                }
            }
            "search" => {
                for keys in ["home", "/", "n", "a", "i", "v", "e", "enter", "n", "n", "N", "end", "n"] {
                    self.press(keys)?;
                }
            }
            "resize" => {
                for (columns, rows) in [(80, 24), (120, 40), (200, 60), (81, 24), (199, 60)] {
                    self.resize(columns, rows)?;
                    self.press("pageup")?;
                }
            }
            _ => return Err(format!("nobody knows how to {name}").into()),
        }
        Ok(())
    }

    pub fn press(&mut self, keys: &str) -> Outcome {
        let chord: Chord = keys.parse().map_err(|_| format!("{keys} is no key"))?;
        chord.keys().iter().try_for_each(|key| self.frame(Msg::Input(Input::Key(*key))))
    }

    fn resize(&mut self, columns: u16, rows: u16) -> Outcome {
        self.size = (columns, rows);
        self.terminal.backend_mut().resize(columns, rows);
        self.frame(Msg::Input(Input::Resize(columns, rows)))
    }

    /// Takes one message in and draws. What it asks to be read comes with later frames, as it does in the program.
    fn frame(&mut self, msg: Msg) -> Outcome {
        let mut waiting = vec![msg];
        while let Some(msg) = waiting.pop() {
            let zone = jiff::tz::TimeZone::UTC;
            let cx = Cx { now: Timestamp::EPOCH, size: self.size, theme: &self.theme, zone: &zone };
            let begun = system::thread_nanos()?;
            let reaction = update(&mut self.model, msg, &cx);
            self.terminal.draw(|frame| view(&self.model, &cx, frame))?;
            self.longest = self.longest.max(system::thread_nanos()? - begun);
            // What goes on by itself.
            if self.model.next_tick(Timestamp::EPOCH) == Some(Timestamp::EPOCH) {
                waiting.push(Msg::Tick);
            }
            for effect in reaction.effects {
                if let Effect::LoadPage { task, before, count } = effect {
                    self.read += 1;
                    let end = match before {
                        Some(before) => self.events.partition_point(|event| event.id < before),
                        None => self.events.len(),
                    };
                    let start = end.saturating_sub(count);
                    self.first = self.first.min(start);
                    let events = self.events[start..end].to_vec();
                    waiting.push(Msg::Page { task, before, events, more: start > 0 });
                }
            }
        }
        Ok(())
    }
}

/// Returns a project with nothing but its root.
pub fn snapshot(ids: &IdSource) -> Snapshot {
    let root = TaskNode::new(TaskId::fresh(ids), "root", "orchestrator", Timestamp::EPOCH);
    let project = ProjectView {
        id: ProjectId::fresh(ids),
        name: "app".to_owned(),
        path: "/app".into(),
        base_branch: "main".to_owned(),
        budget: None,
        max_running: 8,
        model: None,
        profiles: Vec::new(),
        bypass: mxd::permit::Bypass::default(),
        broken_profiles: Vec::new(),
        selection: String::new(),
    };
    let id = root.id;
    let tasks = vec![TaskView::of(TaskNode { status: Status::Passed, ..root })];
    Snapshot { project, root: id, tasks, quiet: true, live: LiveTurns::default(), clients: Vec::new() }
}
