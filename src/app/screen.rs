//! The screen's loop: the terminal first, then answers, then the engine. Frames are drawn when something changed.
//!
//! What an update wants done is carried out in `perform`, with the help of other programs in `errands`.

mod errands;
mod opening;
mod perform;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use futures::future::{BoxFuture, Shared};
use jiff::tz::TimeZone;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::keeper::Keeper;
use super::latest::Latest;
use super::themes::Themes;
use crate::base::keys::Input;
use crate::base::{Clock, Fault, IdSource, ProjectId, Timestamp};
use crate::config::paths::Home;
use crate::config::settings::Notify;
use crate::engine::Handle;
use crate::engine::feed::Watcher;
use crate::engine::update::Level;
use crate::model::Project;
use crate::term::{Event, Reason, Surroundings, Terminal, clipboard};
use crate::text::highlight;
use crate::theme::{Appearance, Theme};
use crate::ui::{self, Cx, Model, Msg, Purpose, Redraw};
use errands::Solve;

pub use opening::{Opened, open};

/// How many updates of the engine are taken in before the terminal is looked at again.
const GULP: usize = 512;

/// How long the end waits for a setting that was just changed.
const LAST_SAVE: Duration = Duration::from_secs(2);
/// How the program ends when its terminal is gone.
const TERMINAL_GONE: u8 = 1;

/// What the screen is opened with, besides its engine.
pub struct Options {
    pub home: Home,
    pub project: Project,
    pub keys: std::collections::BTreeMap<String, Vec<String>>,
    /// Where those keys are written, for what is wrong with them.
    pub key_places: std::collections::BTreeMap<String, String>,
    pub settings: ui::Settings,
    pub notify: Notify,
    pub clock: Arc<dyn Clock>,
    pub zone: TimeZone,
    pub ids: IdSource,
    /// Something to say at the start.
    pub greeting: Vec<(Level, String)>,
    /// What stands in the composer of the root, ready to be sent, where nothing else was being written.
    pub suggestion: Option<&'static str>,
}

/// How the screen was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Quit,
    /// The person goes to another project.
    Switch(ProjectId),
    /// The person wants to set up how a model is reached.
    SetUp,
    /// A signal, or the terminal is gone: the program ends with this code.
    Stopped(u8),
}

/// Returns what is wrong with the keys in the settings: the name of the action, and a sentence.
pub fn key_problems(keys: &std::collections::BTreeMap<String, Vec<String>>) -> Vec<(String, String)> {
    let problems = crate::ui::keymap::Keymap::new(keys).1;
    problems.into_iter().map(|problem| (problem.name().to_owned(), problem.to_string())).collect()
}

/// Tells whether there is a terminal for a screen, before anything is begun for its sake.
pub fn check_terminal() -> Result<(), Fault> {
    Ok(Terminal::check(&surroundings())?)
}

/// Returns what the environment says about the terminal.
pub fn surroundings() -> Surroundings {
    Surroundings::read(|name| std::env::var(name).ok())
}

/// What comes of work beside the loop.
enum News {
    Msg(Msg),
    /// The text that is to be edited was found.
    Edit(Purpose, String),
    /// Files with conflicts are ready for the person's editor.
    Solve(Box<Solve>),
    /// No clipboard program took the text; these ways are left.
    Copy(Vec<clipboard::Step>),
}

impl From<Msg> for News {
    fn from(msg: Msg) -> Self {
        Self::Msg(msg)
    }
}

/// What outlasts the screen.
struct Kept {
    drafts: Keeper,
    reviews: Keeper,
}

struct Screen {
    model: Model,
    theme: Theme,
    themes: Themes,
    appearance: Appearance,
    zone: TimeZone,
    terminal: Terminal,
    watcher: Watcher,
    /// Nothing where another process has the project: what is written there is its own.
    kept: Option<Kept>,
    searches: Latest,
    files: Latest,
    /// Done when everything that was seen so far is kept: what is compared next may be compared with it.
    marked: Shared<BoxFuture<'static, ()>>,
    /// Done when the settings that were changed so far are saved.
    saved: Shared<BoxFuture<'static, ()>>,
    news: mpsc::UnboundedSender<News>,
    end: Option<End>,
    is_warm: bool,
    /// The person was told that their command for notices does not work.
    complained: Arc<AtomicBool>,
    handle: Handle,
    options: Options,
}

impl Screen {
    async fn live(
        &mut self,
        mut answers: mpsc::UnboundedReceiver<News>,
        mut theme_news: mpsc::UnboundedReceiver<()>,
    ) -> Result<End, Fault> {
        let (columns, rows) = self.terminal.size();
        self.update(Msg::Input(Input::Resize(columns, rows))).await?;
        self.terminal.request_frame(Reason::Input);
        loop {
            if let Some(end) = self.end {
                let _ = tokio::time::timeout(LAST_SAVE, self.saved.clone()).await;
                return Ok(end);
            }
            let tick = self.next_tick();
            tokio::select! {
                biased;
                event = self.terminal.next() => self.heard(event).await?,
                Some(news) = answers.recv() => self.learnt(news).await?,
                update = self.watcher.next() => {
                    self.update(Msg::Engine(update)).await?;
                    for _ in 1..GULP {
                        let Some(update) = self.watcher.try_next() else { break };
                        self.update(Msg::Engine(update)).await?;
                    }
                }
                Some(()) = theme_news.recv() => self.load_theme().await?,
                () = wait(tick) => self.update(Msg::Tick).await?,
            }
        }
    }

    fn now(&self) -> Timestamp {
        self.options.clock.now()
    }

    /// Returns when something on the screen changes by itself.
    fn next_tick(&self) -> Option<Instant> {
        let now = self.now();
        self.model.next_tick(now).map(|at| Instant::now() + at.since(now))
    }

    fn say(&self, level: Level, text: String) {
        self.tell(Msg::Said { level, text });
    }

    /// Leaves something to be taken in by the loop, after what it is doing now.
    fn tell(&self, news: impl Into<News>) {
        let _ = self.news.send(news.into());
    }

    async fn learnt(&mut self, news: News) -> Result<(), Fault> {
        match news {
            News::Msg(msg) => self.update(msg).await?,
            News::Edit(purpose, text) => self.open_editor(purpose, &text).await?,
            News::Solve(solve) => self.solve(*solve).await?,
            News::Copy(steps) => self.copy_through_terminal(&steps),
        }
        Ok(())
    }

    async fn heard(&mut self, event: Event) -> Result<(), Fault> {
        match event {
            Event::Input(Input::Closed) => self.end = Some(End::Stopped(TERMINAL_GONE)),
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
            Event::Stop(stop) => self.end = Some(End::Stopped(stop.exit_code())),
        }
        Ok(())
    }

    fn draw(&mut self) {
        let cx = Cx { now: self.options.clock.now(), size: self.terminal.size(), theme: &self.theme, zone: &self.zone };
        let model = &self.model;
        self.terminal.draw(|frame| ui::view(model, &cx, frame));
    }

    /// Gets ready, beside the loop, what the first code on the screen would wait for. Not before the first frame is out.
    fn warm_up(&mut self) {
        if !std::mem::replace(&mut self.is_warm, true) {
            tokio::task::spawn_blocking(highlight::warm);
        }
    }

    async fn load_theme(&mut self) -> Result<(), Fault> {
        self.themes.look_inside();
        let names = self.themes.names();
        if *names != *self.model.settings().themes {
            let settings = ui::Settings { themes: names, ..self.model.settings().clone() };
            Box::pin(self.update(Msg::Settings(Box::new(settings)))).await?;
        }
        let (theme, problems) = self.themes.load(&self.model.settings().theme.clone(), self.appearance);
        self.theme = theme;
        for problem in problems {
            self.say(Level::Warning, problem);
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
