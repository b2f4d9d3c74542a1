//! The start of the screen: takes over the terminal, waits for the engine, then draws the project once. What is typed
//! meanwhile waits for the engine.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use jiff::tz::TimeZone;
use tokio::sync::mpsc;

use super::{End, Kept, Options, Screen, surroundings};
use crate::app::keeper::Keeper;
use crate::app::latest::Latest;
use crate::app::themes::Themes;
use crate::app::{drafts, loaders, reviews};
use crate::base::Fault;
use crate::engine::Handle;
use crate::engine::query::ModelSource;
use crate::engine::snapshot::Snapshot;
use crate::engine::update::Level;
use crate::term::{Options as TermOptions, Terminal};
use crate::theme::{Appearance, Theme};
use crate::ui::keymap::Problem;
use crate::ui::{self, Model, Setup};

/// How long the engine may take before the screen says that it is being opened.
const A_WHILE: Duration = Duration::from_millis(150);

/// The terminal, taken over, before there is an engine. Dropped, it gives the terminal back.
pub struct Opened {
    terminal: Terminal,
    options: Options,
}

/// What everything is drawn with.
struct Looks {
    theme: Theme,
    themes: Themes,
    appearance: Appearance,
    zone: TimeZone,
    problems: Vec<String>,
}

/// Takes the terminal over. Must be called inside a runtime.
pub fn open(options: Options) -> Result<Opened, Fault> {
    let wanted = TermOptions { mouse: options.settings.mouse, ..TermOptions::default() };
    let terminal = Terminal::open(surroundings(), wanted)?;
    Ok(Opened::over(terminal, options))
}

impl Opened {
    pub(super) fn over(terminal: Terminal, options: Options) -> Self {
        Self { terminal, options }
    }

    /// Waits for work to be done without which there is nothing to do here. Says what is waited for if that takes a while.
    pub async fn until<T>(&mut self, words: &str, work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        tokio::select! {
            biased;
            done = &mut work => return done,
            () = tokio::time::sleep(A_WHILE) => {}
        }
        self.terminal.draw(|frame| ui::view_waiting(words, frame));
        work.await
    }

    /// Gives the terminal back: there will be no screen.
    pub async fn close(self) {
        self.terminal.close().await;
    }

    /// Returns what everything is drawn with.
    async fn looks(&mut self) -> Looks {
        let dark = self.terminal.learn().await.is_dark().unwrap_or(true);
        let appearance = if dark { Appearance::Dark } else { Appearance::Light };
        let themes = Themes::new(self.options.home.root().join("themes"));
        let (theme, problems) = themes.load(&self.options.settings.theme, appearance);
        self.options.settings.themes = themes.names();
        Looks { theme, themes, appearance, zone: self.options.zone.clone(), problems }
    }

    fn model(&self, snapshot: Snapshot) -> (Model, Vec<Problem>) {
        let options = &self.options;
        let folder = options.home.project(options.project.id);
        let mut drafts = drafts::load(&folder.drafts());
        if let Some(suggestion) = options.suggestion.filter(|_| drafts.is_empty()) {
            drafts.push((snapshot.root, suggestion.to_owned()));
        }
        let reviews = reviews::load(&folder.reviews());
        let settings = options.settings.clone();
        Model::new(Setup { snapshot, keys: options.keys.clone(), settings, drafts, reviews })
    }

    /// Runs the screen on an engine until it is left. The terminal is as it was, whatever happens.
    pub async fn run(self, handle: Handle) -> Result<End, Fault> {
        Box::pin(self.on(handle)).await
    }

    async fn on(mut self, handle: Handle) -> Result<End, Fault> {
        let looks = self.looks().await;
        let (snapshot, watcher) = handle.look().await?;
        self.options.settings.models = loaders::models(handle.clone(), ModelSource::Known).await;
        let (model, key_problems) = self.model(snapshot);
        let Self { terminal, options, .. } = self;
        let Looks { theme, mut themes, appearance, zone, problems } = looks;
        let (theme_changed, theme_news) = mpsc::unbounded_channel();
        themes.watch(theme_changed);
        let folder = options.home.project(options.project.id);
        let kept_by_us = options.settings.read_only.is_none();
        let kept = || Kept { drafts: Keeper::new(folder.drafts()), reviews: Keeper::new(folder.reviews()) };
        let (news, answers) = mpsc::unbounded_channel();
        let mut screen = Screen {
            model,
            theme,
            themes,
            appearance,
            zone,
            terminal,
            watcher,
            kept: kept_by_us.then(kept),
            searches: Latest::default(),
            files: Latest::default(),
            marked: futures::future::ready(()).boxed().shared(),
            saved: futures::future::ready(()).boxed().shared(),
            news,
            end: None,
            is_warm: false,
            complained: Arc::default(),
            handle,
            options,
        };
        for problem in problems {
            screen.say(Level::Warning, problem);
        }
        for problem in key_problems {
            let place = screen.options.key_places.get(problem.name()).map(|place| format!("{place}: "));
            screen.say(Level::Warning, format!("{}{problem}", place.unwrap_or_default()));
        }
        for (level, text) in std::mem::take(&mut screen.options.greeting) {
            screen.say(level, text);
        }
        let end = screen.live(answers, theme_news).await;
        screen.terminal.close().await;
        if let Some(Kept { drafts, reviews }) = screen.kept {
            drafts.close().await;
            reviews.close().await;
        }
        end
    }
}
