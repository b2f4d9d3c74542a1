//! The event loop of the UI: terminal events first, then results of background work, then engine updates. Draws a frame
//! only when something changed.
//!
//! `effects` executes the effects of an update, and `handoff` runs external programs.

mod effects;
mod handoff;
mod startup;

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use futures::future::{BoxFuture, Shared};
use jiff::tz::TimeZone;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::latest_query::LatestWins;
use super::state_file::StateFile;
use super::themes::Themes;
use crate::base::keys::Input;
use crate::base::{AskId, Clock, Fault, IdSource, ProjectId, TaskId, Timestamp};
use crate::config::paths::Home;
use crate::config::settings::Notify;
use crate::engine::Handle;
use crate::engine::feed::Watcher;
use crate::engine::update::Level;
use crate::model::Project;
use crate::term::{Event, Reason, Stop, StopSignal, Terminal, TerminalEnv, clipboard};
use crate::text::highlight;
use crate::theme::{Appearance, Theme};
use crate::ui::{self, Cx, EditPurpose, Model, Msg, Redraw};
use handoff::ConflictEdit;

pub use startup::{StartingScreen, open};

/// Maximum number of engine updates before the next look at the terminal.
const MAX_UPDATES: usize = 512;

/// Maximum wait for unsaved settings at the end.
const SAVE_TIMEOUT: Duration = Duration::from_secs(2);
/// Exit code after the terminal was closed.
const TERMINAL_GONE: u8 = 1;

/// Options of the UI.
pub struct Options {
    pub home: Home,
    pub project: Project,
    pub keys: std::collections::BTreeMap<String, Vec<String>>,
    /// The locations of those keys in the settings files, for error messages.
    pub key_places: std::collections::BTreeMap<String, String>,
    pub settings: ui::Settings,
    /// The name under which other clients see this screen.
    pub client_name: String,
    /// Other machines whose projects are listed.
    pub hosts: Vec<String>,
    /// The machine of the engine, as ssh names it. `None` for this one.
    pub host: Option<String>,
    pub notify: Notify,
    pub clock: Arc<dyn Clock>,
    pub zone: TimeZone,
    pub ids: IdSource,
    /// Notices to show at the start.
    pub greeting: Vec<(Level, String)>,
    /// The goal that an empty composer offers, until the first message.
    pub suggestion: Option<&'static str>,
}

/// How the UI ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    Quit,
    /// Another process has taken over the engine.
    Moved,
    /// The user switches to another project.
    Switch(ProjectId),
    /// The user switches to a project of another machine.
    SwitchHost {
        host: String,
        path: String,
    },
    /// The user wants to set up a provider. `retry` is the question about a rejected key that led to it.
    SetUp {
        retry: Option<(TaskId, AskId)>,
    },
    /// A signal. The value is the exit code.
    Stopped(u8),
    /// The terminal was closed, or the connection to it was lost. The value is the exit code.
    HungUp(u8),
}

impl End {
    /// Returns how a signal ends the UI.
    fn of(stop: Stop) -> Self {
        match stop {
            Stop::Signal(StopSignal::Hangup) => Self::HungUp(stop.exit_code()),
            Stop::Signal(_) | Stop::Panic => Self::Stopped(stop.exit_code()),
        }
    }
}

/// Returns the problems of the keys in the settings, by action.
pub fn key_problems(keys: &std::collections::BTreeMap<String, Vec<String>>) -> Vec<(String, String)> {
    let problems = crate::ui::keymap::Keymap::new(keys).1;
    problems.into_iter().map(|problem| (problem.name().to_owned(), problem.to_string())).collect()
}

/// Checks that the UI can run in this terminal.
pub fn check_terminal() -> Result<(), Fault> {
    Ok(Terminal::check(&terminal_env())?)
}

/// Reads the terminal's capabilities from the environment.
pub fn terminal_env() -> TerminalEnv {
    TerminalEnv::read(|name| std::env::var(name).ok())
}

/// A result of background work.
enum LoopEvent {
    Msg(Msg),
    /// The text to edit is loaded.
    Edit(EditPurpose, String),
    /// Files with conflicts are ready for the user's editor.
    Solve(Box<ConflictEdit>),
    /// No clipboard program accepted the text. These steps are left.
    Copy(Vec<clipboard::Step>),
}

impl From<Msg> for LoopEvent {
    fn from(msg: Msg) -> Self {
        Self::Msg(msg)
    }
}

/// Files that store UI state.
struct StateFiles {
    drafts: StateFile,
    reviews: StateFile,
    position: StateFile,
    /// Held while this screen keeps the files.
    _lock: File,
}

struct Screen {
    model: Model,
    theme: Theme,
    themes: Themes,
    appearance: Appearance,
    zone: TimeZone,
    terminal: Terminal,
    watcher: Watcher,
    /// `None` if another screen keeps these files.
    state_files: Option<StateFiles>,
    searches: LatestWins,
    files: LatestWins,
    /// Completes when all review marks so far are saved. The next diff depends on them.
    marked: Shared<BoxFuture<'static, ()>>,
    /// Completes when all changed settings so far are saved.
    saved: Shared<BoxFuture<'static, ()>>,
    loop_events: mpsc::UnboundedSender<LoopEvent>,
    end: Option<End>,
    is_warm: bool,
    /// The user was told that their `notify.command` does not work.
    warned_about_notify: Arc<AtomicBool>,
    handle: Handle,
    options: Options,
}

impl Screen {
    async fn run_loop(
        &mut self,
        mut results: mpsc::UnboundedReceiver<LoopEvent>,
        mut theme_changes: mpsc::UnboundedReceiver<()>,
    ) -> Result<End, Fault> {
        let (columns, rows) = self.terminal.size();
        self.update(Msg::Input(Input::Resize(columns, rows))).await?;
        self.terminal.request_frame(Reason::Input);
        loop {
            if let Some(end) = self.end.take() {
                let _ = tokio::time::timeout(SAVE_TIMEOUT, self.saved.clone()).await;
                return Ok(end);
            }
            let tick = self.next_tick();
            tokio::select! {
                biased;
                event = self.terminal.next() => self.on_terminal_event(event).await?,
                Some(event) = results.recv() => self.on_loop_event(event).await?,
                update = self.watcher.next() => {
                    self.update(Msg::Engine(update)).await?;
                    for _ in 1..MAX_UPDATES {
                        let Some(update) = self.watcher.try_next() else { break };
                        self.update(Msg::Engine(update)).await?;
                    }
                }
                Some(()) = theme_changes.recv() => self.load_theme().await?,
                () = wait(tick) => self.update(Msg::Tick).await?,
            }
        }
    }

    fn now(&self) -> Timestamp {
        self.options.clock.now()
    }

    /// Returns the time of the next change without an event, such as a clock.
    fn next_tick(&self) -> Option<Instant> {
        let now = self.now();
        self.model.next_tick(now).map(|at| Instant::now() + at.since(now))
    }

    fn show_notice(&self, level: Level, text: String) {
        self.queue(Msg::Notice { level, text });
    }

    /// Queues an event for the loop.
    fn queue(&self, event: impl Into<LoopEvent>) {
        let _ = self.loop_events.send(event.into());
    }

    async fn on_loop_event(&mut self, event: LoopEvent) -> Result<(), Fault> {
        match event {
            LoopEvent::Msg(msg) => self.update(msg).await?,
            LoopEvent::Edit(purpose, text) => self.open_editor(purpose, &text).await?,
            LoopEvent::Solve(solve) => self.edit_conflicts(*solve).await?,
            LoopEvent::Copy(steps) => self.copy_through_terminal(&steps),
        }
        Ok(())
    }

    async fn on_terminal_event(&mut self, event: Event) -> Result<(), Fault> {
        match event {
            Event::Input(Input::Closed) => self.end = Some(End::HungUp(TERMINAL_GONE)),
            Event::Input(input) => self.update(Msg::Input(input)).await?,
            Event::Frame => {
                self.draw();
                self.warm_up();
            }
            Event::Capabilities => {
                let dark = self.terminal.capabilities().is_dark().unwrap_or(true);
                self.appearance = if dark { Appearance::Dark } else { Appearance::Light };
                self.load_theme().await?;
            }
            Event::Suspend => self.terminal.suspend().await?,
            Event::Stop(stop) => self.end = Some(End::of(stop)),
        }
        Ok(())
    }

    fn draw(&mut self) {
        let cx = Cx { now: self.options.clock.now(), size: self.terminal.size(), theme: &self.theme, zone: &self.zone };
        let model = &self.model;
        self.terminal.draw(|frame| ui::view(model, &cx, frame));
    }

    /// Loads the syntax highlighter in the background, after the first frame.
    fn warm_up(&mut self) {
        if !std::mem::replace(&mut self.is_warm, true) {
            tokio::task::spawn_blocking(highlight::warm);
        }
    }

    async fn load_theme(&mut self) -> Result<(), Fault> {
        self.themes.scan();
        let names = self.themes.names();
        if *names != *self.model.settings().themes {
            let settings = ui::Settings { themes: names, ..self.model.settings().clone() };
            Box::pin(self.update(Msg::Settings(Box::new(settings)))).await?;
        }
        let (theme, problems) = self.themes.load(self.model.shown_theme(), self.appearance);
        self.theme = theme;
        for problem in problems {
            self.show_notice(Level::Warning, problem);
        }
        self.terminal.invalidate();
        Box::pin(self.update(Msg::ThemeChanged)).await
    }

    async fn update(&mut self, msg: Msg) -> Result<(), Fault> {
        let cx = Cx { now: self.options.clock.now(), size: self.terminal.size(), theme: &self.theme, zone: &self.zone };
        let reaction = ui::update(&mut self.model, msg, &cx);
        match reaction.redraw {
            Redraw::No => {}
            Redraw::Lazy => self.terminal.request_frame(Reason::Engine),
            Redraw::Now => self.terminal.request_frame(Reason::Input),
        }
        for effect in reaction.effects {
            self.perform(effect).await?;
        }
        Ok(())
    }
}

async fn wait(until: Option<Instant>) {
    match until {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
#[path = "screen_tests.rs"]
mod tests;
