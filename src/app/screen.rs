//! The screen's loop: the terminal first, then answers, then the engine. Frames are drawn when something changed.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::keeper::Keeper;
use super::latest::Latest;
use super::themes::Themes;
use super::{chores, drafts, programs, reviews};
use crate::base::keys::Input;
use crate::base::{Clock, Fault, IdSource, ProjectId, TaskId, Timestamp};
use crate::config::paths::Home;
use crate::config::settings::Notify;
use crate::engine::Handle;
use crate::engine::command::{Command, OnConflict};
use crate::engine::feed::Watcher;
use crate::engine::review::{Goal, How, Seen, Solving};
use crate::engine::update::Level;
use crate::model::Project;
use crate::term::{Event, Lent, Options as TermOptions, Reason, Surroundings, Terminal, clipboard};
use crate::text::highlight;
use crate::theme::{Appearance, Theme};
use crate::ui::{self, Cx, Effect, Model, Msg, ProjectChoice, Purpose, Redraw, Setting, Setup, Tag};

/// How many updates of the engine are taken in before the terminal is looked at again.
const GULP: usize = 512;

/// Writes a setting to the file it belongs to.
pub type SaveSetting = Arc<dyn Fn(&Setting) -> Result<(), Fault> + Send + Sync>;

/// How the program ends when its terminal is gone.
const TERMINAL_GONE: u8 = 1;

/// What the screen is opened with.
pub struct Options {
    pub handle: Handle,
    pub home: Home,
    pub project: Project,
    pub keys: std::collections::BTreeMap<String, Vec<String>>,
    /// Where those keys are written, for what is wrong with them.
    pub key_places: std::collections::BTreeMap<String, String>,
    pub settings: ui::Settings,
    pub notify: Notify,
    /// Writes a setting where it belongs.
    pub save_setting: SaveSetting,
    pub projects: Arc<dyn Fn() -> Vec<ProjectChoice> + Send + Sync>,
    pub clock: Arc<dyn Clock>,
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

/// Tells whether there is a terminal for a screen, before anything is begun for its sake.
pub fn check_terminal() -> Result<(), Fault> {
    Ok(Terminal::check(&surroundings())?)
}

/// Returns what the environment says about the terminal.
pub fn surroundings() -> Surroundings {
    Surroundings::read(|name| std::env::var(name).ok())
}

/// Opens the screen and runs it until it is left. The terminal is as it was, whatever happens.
pub async fn run(options: Options) -> Result<End, Fault> {
    let surroundings = surroundings();
    let term_options = TermOptions { mouse: options.settings.mouse, ..TermOptions::default() };
    on(Terminal::open(surroundings, term_options)?, options).await
}

/// Runs the screen on a terminal that is taken over already.
async fn on(mut terminal: Terminal, options: Options) -> Result<End, Fault> {
    let capabilities = terminal.learn().await;
    let appearance = if capabilities.is_dark().unwrap_or(true) { Appearance::Dark } else { Appearance::Light };
    let (theme_changed, theme_news) = mpsc::unbounded_channel();
    let themes = Themes::new(options.home.root().join("themes"), theme_changed);
    let (theme, problems) = themes.load(&options.settings.theme, appearance);
    let (snapshot, watcher) = options.handle.look().await?;
    let folder = options.home.project(options.project.id).root().to_owned();
    let (drafts_file, reviews_file) = (folder.join("drafts.json"), folder.join("reviews.json"));
    let finder = chores::Finder::new(&options.handle, &options.home.project(options.project.id));
    let kept_by_us = options.settings.read_only.is_none();
    let settings = ui::Settings { themes: themes.names(), ..options.settings.clone() };
    let mut drafts = drafts::load(&drafts_file);
    if let Some(suggestion) = options.suggestion.filter(|_| drafts.is_empty()) {
        drafts.push((snapshot.root, suggestion.to_owned()));
    }
    let setup = Setup { snapshot, keys: options.keys.clone(), settings, drafts, reviews: reviews::load(&reviews_file) };
    let (model, key_problems) = Model::new(setup);
    let (news, answers) = mpsc::unbounded_channel();
    let mut screen = Screen {
        model,
        theme,
        themes,
        appearance,
        zone: jiff::tz::TimeZone::system(),
        terminal,
        watcher,
        kept: kept_by_us.then(|| Kept { drafts: Keeper::new(drafts_file), reviews: Keeper::new(reviews_file) }),
        finder,
        files: Latest::default(),
        marked: futures::future::ready(()).boxed().shared(),
        news,
        end: None,
        complained: Arc::default(),
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

/// A merge whose conflicts the person solves.
struct Solve {
    tag: Tag,
    task: TaskId,
    goal: Goal,
    how: How,
    prepared: Result<Solving, Fault>,
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
    zone: jiff::tz::TimeZone,
    terminal: Terminal,
    watcher: Watcher,
    /// Nothing where another process has the project: what is written there is its own.
    kept: Option<Kept>,
    finder: chores::Finder,
    files: Latest,
    /// Done when everything that was seen so far is kept: what is compared next may be compared with it.
    marked: Shared<BoxFuture<'static, ()>>,
    news: mpsc::UnboundedSender<News>,
    end: Option<End>,
    /// The person was told that their command for notices does not work.
    complained: Arc<AtomicBool>,
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
        // Meanwhile, so that the first code on the screen does not wait for it.
        tokio::task::spawn_blocking(highlight::warm);
        loop {
            if let Some(end) = self.end {
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
            Event::Frame => self.draw(),
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

    /// Lets `work` go on beside the screen, which never waits for a disk or a program.
    fn beside<N: Into<News>>(&self, work: impl Future<Output = N> + Send + 'static) {
        let news = self.news.clone();
        tokio::spawn(async move {
            let _ = news.send(work.await.into());
        });
    }

    /// Returns the folder that a task works in.
    fn folder(&self, task: TaskId) -> PathBuf {
        let place = self.model.place(task);
        place.filter(|path| path.exists()).unwrap_or_else(|| self.options.project.path.clone())
    }

    async fn perform(&mut self, effect: Effect) -> Result<(), Fault> {
        let handle = self.options.handle.clone();
        match effect {
            Effect::Engine { tag, command } => {
                self.beside(async move { Msg::Reply { tag, outcome: handle.command(command).await } });
            }
            Effect::LoadPage { task, before, count } => self.beside(chores::page(handle, task, before, count)),
            Effect::LoadDiff { task, request } => {
                let marked = self.marked.clone();
                self.beside(async move {
                    marked.await;
                    chores::diff(handle, task, request).await
                });
            }
            Effect::LoadTurns { task } => {
                self.beside(async move { Msg::Turns { task, turns: handle.turns(task).await } });
            }
            Effect::LoadMerge { task, goal } => self.beside(async move {
                let preview = Box::new(handle.merge_preview(task, goal).await);
                Msg::MergePreview { task, goal, preview }
            }),
            Effect::LoadRewind { task, to, extent } => self.beside(async move {
                let preview = Box::new(handle.rewind_preview(task, to, extent).await);
                Msg::RewindPreview { task, to, extent, preview }
            }),
            Effect::SolveConflicts { tag, task, goal, how } => self.beside(async move {
                let prepared = handle.prepare_solving(task, goal).await;
                News::Solve(Box::new(Solve { tag, task, goal, how, prepared }))
            }),
            Effect::EditMessage { task, message } => self.beside(async move {
                match chores::said(handle, task, message).await {
                    Ok(text) => News::Edit(Purpose::Resend(task, message), text),
                    Err(fault) => Msg::Said { level: Level::Error, text: fault.to_string() }.into(),
                }
            }),
            Effect::SaveSeen { task, seen } => {
                if self.kept.is_some() {
                    self.mark(task, seen);
                }
            }
            Effect::SaveReviews { notes } => {
                if let Some(kept) = &self.kept {
                    kept.reviews.keep(&notes);
                }
            }
            Effect::LoadBlob { task, event, blob } => self.beside(chores::blob(handle, task, event, blob)),
            Effect::ListFiles { task, query } => {
                self.beside(chores::files(&self.files, self.folder(task), task, query));
            }
            Effect::Attach { task, path } => self.beside(chores::attach(handle, task, path, self.folder(task))),
            Effect::Search { question } => self.beside(chores::search(self.finder.clone(), question)),
            Effect::OpenEditor { purpose, text } => self.open_editor(purpose, &text).await?,
            Effect::OpenPager { text, .. } => match self.terminal.lend(programs::read(&text)).await? {
                Lent::Back(Ok(())) => {}
                Lent::Back(Err(fault)) => self.say(Level::Error, fault.to_string()),
                Lent::Stopped(stop) => self.end = Some(End::Stopped(stop.exit_code())),
            },
            Effect::Copy { text } => self.copy(text),
            Effect::Notify { title, body } => self.notify(&title, &body),
            Effect::SetTitle { title } => self.terminal.set_title(&title),
            Effect::WheelAsArrows { on } => self.terminal.set_wheel_as_arrows(on),
            Effect::SaveSetting { setting } => self.save_setting(&setting).await?,
            Effect::SaveDrafts { drafts } => {
                if let Some(kept) = &self.kept {
                    kept.drafts.keep(&drafts::Drafts { drafts });
                }
            }
            Effect::TakeSnapshot => {
                let (snapshot, watcher) = handle.look().await?;
                self.watcher = watcher;
                self.tell(Msg::Snapshot(Box::new(snapshot)));
            }
            Effect::ListProjects => {
                let projects = Arc::clone(&self.options.projects);
                self.beside(async move {
                    let listed = tokio::task::spawn_blocking(move || projects()).await;
                    Msg::Projects(listed.unwrap_or_default())
                });
            }
            Effect::OpenProject { project } => self.end = Some(End::Switch(project)),
            Effect::SetUp => self.end = Some(End::SetUp),
            Effect::Redraw => self.terminal.invalidate(),
            Effect::Suspend => self.terminal.suspend().await?,
            Effect::Quit => self.end = Some(End::Quit),
        }
        Ok(())
    }

    async fn open_editor(&mut self, purpose: Purpose, text: &str) -> Result<(), Fault> {
        match self.terminal.lend(programs::edit(text)).await? {
            Lent::Back(Ok(text)) => {
                self.tell(Msg::Edited { purpose, text: Some(text) });
            }
            Lent::Back(Err(fault)) => {
                self.tell(Msg::Edited { purpose, text: None });
                self.say(Level::Error, fault.to_string());
            }
            Lent::Stopped(stop) => self.end = Some(End::Stopped(stop.exit_code())),
        }
        Ok(())
    }

    /// Keeps what was seen, one after the other.
    fn mark(&mut self, task: TaskId, seen: Seen) {
        let (before, handle, news) = (self.marked.clone(), self.options.handle.clone(), self.news.clone());
        let marking = tokio::spawn(async move {
            before.await;
            if let Err(fault) = handle.mark_seen(task, seen).await {
                let _ = news.send(Msg::Said { level: Level::Warning, text: fault.to_string() }.into());
            }
        });
        self.marked = marking.map(drop).boxed().shared();
    }

    /// Lets the person solve the conflicts of a task's work, then merges it.
    async fn solve(&mut self, solve: Solve) -> Result<(), Fault> {
        let Solve { tag, task, goal: into, how, prepared } = solve;
        let edited = match prepared {
            Ok(solving) => match self.terminal.lend(programs::edit_files(&solving.files)).await? {
                Lent::Back(edited) => edited,
                Lent::Stopped(stop) => {
                    self.end = Some(End::Stopped(stop.exit_code()));
                    return Ok(());
                }
            },
            Err(fault) => Err(fault),
        };
        let handle = self.options.handle.clone();
        self.beside(async move {
            let outcome = match edited {
                Ok(()) => handle.command(Command::Merge { task, into, how, conflicts: OnConflict::Solved }).await,
                Err(fault) => Err(fault),
            };
            Msg::Reply { tag, outcome }
        });
        Ok(())
    }

    fn copy(&mut self, text: String) {
        let surroundings = self.terminal.capabilities().surroundings.clone();
        let steps = match clipboard::plan(&text, &surroundings, is_installed) {
            Ok(steps) => steps,
            Err(error) => return self.say(Level::Warning, error.to_string()),
        };
        if let [clipboard::Step::Terminal(_), ..] = steps[..] {
            return self.copy_through_terminal(&steps);
        }
        let news = self.news.clone();
        tokio::spawn(async move {
            if let Some(left) = programs::copy(steps, &text).await {
                let _ = news.send(News::Copy(left));
            }
        });
    }

    fn copy_through_terminal(&mut self, steps: &[clipboard::Step]) {
        if !steps.iter().any(|step| self.terminal.copy(step)) {
            self.say(Level::Warning, "the text could not be put on the clipboard".to_owned());
        }
    }

    fn notify(&mut self, title: &str, body: &str) {
        let settings = self.model.settings();
        let (desktop, bell) = (settings.notify_desktop, settings.notify_bell);
        if desktop {
            self.terminal.notify(title, body);
        }
        // A terminal that knows no notifications has rung already.
        if bell && !(desktop && self.terminal.notifies_with_bell()) {
            self.terminal.bell();
        }
        if let Some(command) = self.options.notify.command.clone() {
            let (ids, news) = (self.options.ids.clone(), self.news.clone());
            let (notice, complained) = (format!("{title}: {body}"), Arc::clone(&self.complained));
            tokio::spawn(async move {
                if let Err(text) = programs::tell(&ids, &command, &notice).await
                    && !complained.swap(true, Ordering::Relaxed)
                {
                    let _ = news.send(Msg::Said { level: Level::Warning, text }.into());
                }
            });
        }
    }

    async fn save_setting(&mut self, setting: &Setting) -> Result<(), Fault> {
        if let Err(fault) = (self.options.save_setting)(setting) {
            self.say(Level::Error, fault.to_string());
        }
        match setting {
            Setting::Theme(_) => Box::pin(self.load_theme()).await?,
            Setting::Mouse(on) => self.terminal.set_mouse(*on),
            Setting::ProjectBudget(_) | Setting::NotifyDesktop(_) | Setting::NotifyBell(_) | Setting::TaskModel(_) => {}
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

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

#[cfg(test)]
#[path = "screen_tests.rs"]
mod tests;
