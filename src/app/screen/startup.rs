//! Startup of the UI: takes over the terminal, waits for the engine, then starts the event loop. Keys typed meanwhile
//! are queued.

use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use jiff::tz::TimeZone;
use tokio::sync::mpsc;

use super::{End, Options, Screen, StateFiles, terminal_env};
use crate::app::latest_query::LatestWins;
use crate::app::state_file::{self, StateFile};
use crate::app::themes::Themes;
use crate::app::{drafts, loaders, position, reviews};
use crate::base::Fault;
use crate::engine::Handle;
use crate::engine::query::ModelSource;
use crate::engine::snapshot::Snapshot;
use crate::engine::update::Level;
use crate::term::{Options as TermOptions, Terminal};
use crate::theme::{Appearance, Theme};
use crate::ui::keymap::Problem;
use crate::ui::position::ScreenPosition;
use crate::ui::review::ReviewNotes;
use crate::ui::{self, Drafts, EngineHost, Model, Setup};

/// Time after which a splash screen is shown.
const SPLASH_DELAY: Duration = Duration::from_millis(150);

/// The UI before the engine is open. Dropping it restores the terminal.
pub struct StartingScreen {
    terminal: Terminal,
    options: Options,
    state_files: StateFileAccess,
}

/// Whether this screen reads and stores drafts and review comments of the project.
#[derive(Debug)]
enum StateFileAccess {
    /// It does, unless another screen does.
    Wanted,
    /// It does, as long as it holds the lock.
    Own(File),
    None,
}

/// The loaded theme.
struct LoadedTheme {
    theme: Theme,
    themes: Themes,
    appearance: Appearance,
    zone: TimeZone,
    problems: Vec<String>,
}

/// Takes over the terminal. Must be called inside a runtime.
pub fn open(options: Options) -> Result<StartingScreen, Fault> {
    let term_options = TermOptions { mouse: options.settings.mouse, ..TermOptions::default() };
    let terminal = Terminal::open(terminal_env(), term_options)?;
    Ok(StartingScreen::over(terminal, options))
}

impl StartingScreen {
    pub(super) fn over(terminal: Terminal, options: Options) -> Self {
        Self { terminal, options, state_files: StateFileAccess::Wanted }
    }

    /// Waits for `work`. Shows `text` on a splash screen if that takes a while.
    pub async fn until<T>(&mut self, text: &str, work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        tokio::select! {
            biased;
            done = &mut work => return done,
            () = tokio::time::sleep(SPLASH_DELAY) => {}
        }
        self.terminal.draw(|frame| ui::view_splash(text, frame));
        work.await
    }

    /// Keeps no files with drafts and review comments. The project is on another machine.
    pub fn without_state_files(&mut self) {
        self.state_files = StateFileAccess::None;
    }

    /// Sets where the engine runs.
    pub fn set_engine_host(&mut self, host: EngineHost) {
        self.options.settings.engine = host;
    }

    /// Adds a notice to show at the start.
    pub fn greet(&mut self, level: Level, text: String) {
        self.options.greeting.push((level, text));
    }

    /// Takes the files of the screen, unless another screen has them.
    fn take_state_files(&mut self) {
        if matches!(self.state_files, StateFileAccess::Wanted) {
            let path = self.options.home.project(self.options.project.id).screen_lock();
            self.state_files = state_file::lock(&path).map_or(StateFileAccess::None, StateFileAccess::Own);
        }
    }

    /// Restores the terminal.
    pub async fn close(self) {
        self.terminal.close().await;
    }

    async fn load_theme(&mut self) -> LoadedTheme {
        let dark = self.terminal.wait_for_replies().await.is_dark().unwrap_or(true);
        let appearance = if dark { Appearance::Dark } else { Appearance::Light };
        let themes = Themes::new(self.options.home.root().join("themes"));
        let (theme, problems) = themes.load(&self.options.settings.theme, appearance);
        self.options.settings.themes = themes.names();
        LoadedTheme { theme, themes, appearance, zone: self.options.zone.clone(), problems }
    }

    fn model(&self, snapshot: Snapshot) -> (Model, Vec<Problem>) {
        let options = &self.options;
        let folder = options.home.project(options.project.id);
        let (drafts, reviews, position) = match &self.state_files {
            StateFileAccess::Own(_) => (
                drafts::load(&folder.drafts()),
                reviews::load(&folder.reviews()),
                position::load(&folder.screen_position()),
            ),
            StateFileAccess::Wanted | StateFileAccess::None => {
                (Drafts::default(), ReviewNotes::default(), ScreenPosition::default())
            }
        };
        let settings = options.settings.clone();
        let suggestion = options.suggestion;
        Model::new(Setup { snapshot, keys: options.keys.clone(), settings, drafts, reviews, position, suggestion })
    }

    /// Runs the UI on an engine until it ends. Always restores the terminal.
    pub async fn run(self, handle: Handle) -> Result<End, Fault> {
        Box::pin(self.run_on(handle)).await
    }

    async fn run_on(mut self, handle: Handle) -> Result<End, Fault> {
        let loaded = self.load_theme().await;
        let (snapshot, watcher) = handle.subscribe().await?;
        self.options.settings.models = loaders::models(handle.clone(), ModelSource::Known).await;
        self.take_state_files();
        let (model, key_problems) = self.model(snapshot);
        let Self { terminal, options, state_files } = self;
        let LoadedTheme { theme, mut themes, appearance, zone, problems } = loaded;
        let (theme_changed, theme_changes) = mpsc::unbounded_channel();
        themes.watch(theme_changed);
        let folder = options.home.project(options.project.id);
        let state_files = match state_files {
            StateFileAccess::Own(lock) => Some(StateFiles {
                drafts: StateFile::new(folder.drafts()),
                reviews: StateFile::new(folder.reviews()),
                position: StateFile::new(folder.screen_position()),
                _lock: lock,
            }),
            StateFileAccess::Wanted | StateFileAccess::None => None,
        };
        let (loop_events, results) = mpsc::unbounded_channel();
        let mut screen = Screen {
            model,
            theme,
            themes,
            appearance,
            zone,
            terminal,
            watcher,
            state_files,
            searches: LatestWins::default(),
            files: LatestWins::default(),
            marked: futures::future::ready(()).boxed().shared(),
            saved: futures::future::ready(()).boxed().shared(),
            loop_events,
            end: None,
            is_warm: false,
            warned_about_notify: Arc::default(),
            handle,
            options,
        };
        for problem in problems {
            screen.show_notice(Level::Warning, problem);
        }
        for problem in key_problems {
            let place = screen.options.key_places.get(problem.name()).map(|place| format!("{place}: "));
            screen.show_notice(Level::Warning, format!("{}{problem}", place.unwrap_or_default()));
        }
        for (level, text) in std::mem::take(&mut screen.options.greeting) {
            screen.show_notice(level, text);
        }
        let end = screen.run_loop(results, theme_changes).await;
        screen.terminal.close().await;
        if let Some(StateFiles { drafts, reviews, position, _lock }) = screen.state_files {
            position.save(&screen.model.position());
            drafts.close().await;
            reviews.close().await;
            position.close().await;
        }
        end
    }
}
