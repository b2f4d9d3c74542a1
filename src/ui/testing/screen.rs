//! Drives `update` and `view` like the app does, and inspects the drawn screen.

use std::collections::BTreeMap;
use std::path::Path;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;

use crate::base::keys::{Chord, Input, Key};
use crate::base::{Fault, TaskId, Timestamp};
use crate::engine::command::{Command, Outcome};
use crate::engine::snapshot::Snapshot;
use crate::engine::update::Update;
use crate::theme::{Appearance, ColourDepth, Glyphs, Theme};
use crate::ui::position::ScreenPosition;
use crate::ui::review::ReviewNotes;
use crate::ui::testing::{Ids, events, snapshot};
use crate::ui::{Cx, Effect, Model, Msg, Redraw, Settings, Setup, Tag, update, view};

/// The time of all tests.
pub const NOW: i64 = 1_794_808_920_000;

/// The screen under test.
pub struct Screen {
    pub model: Model,
    pub size: (u16, u16),
    pub theme: Theme,
    pub now: Timestamp,
    pub effects: Vec<Effect>,
    pub redraw: Redraw,
    /// Whether page requests are answered from the fixture.
    pub answers: bool,
}

impl Screen {
    pub fn new(columns: u16, rows: u16) -> Self {
        Self::of(columns, rows, snapshot())
    }

    pub fn of(columns: u16, rows: u16, snapshot: Snapshot) -> Self {
        Self::build(columns, rows, snapshot, ScreenPosition::default(), true)
    }

    /// Returns a screen that starts where another one ended, and leaves requests for pages unanswered.
    pub fn started_at(columns: u16, rows: u16, snapshot: Snapshot, position: ScreenPosition) -> Self {
        Self::build(columns, rows, snapshot, position, false)
    }

    fn build(columns: u16, rows: u16, snapshot: Snapshot, position: ScreenPosition, answers: bool) -> Self {
        let setup = Setup {
            snapshot,
            position,
            keys: BTreeMap::new(),
            settings: Settings::default(),
            drafts: crate::ui::Drafts::default(),
            reviews: ReviewNotes::default(),
            suggestion: None,
        };
        let (model, problems) = Model::new(setup);
        assert_eq!(problems, []);
        let theme = Theme::standard(Appearance::Dark, ColourDepth::True, &Glyphs::UNICODE);
        let mut screen = Self {
            model,
            size: (columns, rows),
            theme,
            now: Timestamp::from_millis(NOW),
            effects: Vec::new(),
            redraw: Redraw::No,
            answers,
        };
        screen.msg(Msg::Input(Input::Resize(columns, rows)));
        screen
    }

    pub fn msg(&mut self, msg: Msg) -> &mut Self {
        let zone = jiff::tz::TimeZone::UTC;
        let cx = Cx { now: self.now, size: self.size, theme: &self.theme, zone: &zone };
        let reaction = update(&mut self.model, msg, &cx);
        self.redraw = self.redraw.max(reaction.redraw);
        for effect in reaction.effects {
            if let Effect::LoadPage { task, before: None, .. } = &effect
                && self.answers
            {
                let page = Msg::Page { task: *task, before: None, events: events(*task), more: false };
                self.msg(page);
                continue;
            }
            self.effects.push(effect);
        }
        self
    }

    pub fn engine(&mut self, update: Update) -> &mut Self {
        self.msg(Msg::Engine(update))
    }

    /// Presses keys, written as in the settings and separated by spaces.
    pub fn keys(&mut self, keys: &str) -> &mut Self {
        let chord: Chord = keys.parse().unwrap();
        for key in chord.keys() {
            self.msg(Msg::Input(Input::Key(*key)));
        }
        self
    }

    /// Types text, character by character.
    pub fn typed(&mut self, text: &str) -> &mut Self {
        for char in text.chars() {
            self.msg(Msg::Input(Input::Key(Key::char(char))));
        }
        self
    }

    pub fn paste(&mut self, text: &str) -> &mut Self {
        self.msg(Msg::Input(Input::Paste(text.to_owned())))
    }

    pub fn resize(&mut self, columns: u16, rows: u16) -> &mut Self {
        self.size = (columns, rows);
        self.msg(Msg::Input(Input::Resize(columns, rows)))
    }

    pub fn select(&mut self, task: TaskId) -> &mut Self {
        self.model.tree.select(&self.model.project, task);
        self.msg(Msg::Tick)
    }

    /// Takes the commands that were sent to the engine.
    pub fn commands(&mut self) -> Vec<Command> {
        let effects = std::mem::take(&mut self.effects);
        let commands = effects.into_iter().filter_map(|effect| match effect {
            Effect::Engine { command, .. } => Some(command),
            _ => None,
        });
        commands.collect()
    }

    /// Answers the last command.
    pub fn reply(&mut self, outcome: Result<Outcome, Fault>) -> &mut Self {
        let tag = Tag(self.model.next_tag);
        self.msg(Msg::Reply { tag, outcome })
    }

    fn drawn(&self) -> Terminal<TestBackend> {
        let mut terminal = Terminal::new(TestBackend::new(self.size.0, self.size.1)).unwrap();
        terminal.draw(|frame| self.draw(frame)).unwrap();
        terminal
    }

    /// Draws into a frame like the app does.
    pub fn draw(&self, frame: &mut ratatui::Frame<'_>) {
        let zone = jiff::tz::TimeZone::UTC;
        let cx = Cx { now: self.now, size: self.size, theme: &self.theme, zone: &zone };
        view(&self.model, &cx, frame);
    }

    pub fn task(&self, id: TaskId) -> &crate::engine::snapshot::TaskView {
        self.model.project.task(id).unwrap()
    }

    /// Returns the drawn cells.
    pub fn buffer(&self) -> Buffer {
        self.drawn().backend().buffer().clone()
    }

    /// Returns the drawn text.
    pub fn text(&self) -> String {
        let buffer = self.buffer();
        let mut text = String::new();
        for y in 0..self.size.1 {
            let mut line = String::new();
            let mut skip = 0;
            for x in 0..self.size.0 {
                if skip > 0 {
                    skip -= 1;
                    continue;
                }
                let symbol = buffer[(x, y)].symbol();
                skip = crate::text::width::of(symbol).saturating_sub(1);
                line.push_str(symbol);
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    /// Returns the cursor position, if it is visible.
    pub fn cursor(&self) -> Option<(u16, u16)> {
        let terminal = self.drawn();
        let position = terminal.backend().cursor_position();
        terminal.backend().cursor_visible().then_some((position.x, position.y))
    }

    pub fn shows(&self, words: &str) -> bool {
        self.text().contains(words)
    }

    /// Compares the screen, without its header and hint bar, with a golden file. `MXD_UPDATE_SNAPSHOTS=1` writes the file.
    pub fn assert_looks(&self, name: &str) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/ui");
        let path = folder.join(format!("{name}.txt"));
        let text = self.text();
        let rows: Vec<&str> = text.lines().collect();
        let text: String = match rows.as_slice() {
            // The header and the hint bar have a golden file of their own.
            [_, between @ .., _] if rows.len() > 10 => between.join("\n") + "\n",
            _ => text,
        };
        if std::env::var_os("MXD_UPDATE_SNAPSHOTS").is_some() {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(&path, &text).unwrap();
        }
        let golden = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(golden == text, "{name} looks different:\n{text}\ngolden:\n{golden}");
    }

    pub fn ids(&self) -> Ids {
        Ids::default()
    }
}
