//! The set-up before the first message: provider, key, model, budget.
//!
//! Pure like the rest of the screen: [`State::update`] returns an effect, [`view`] draws. Every step is optional: Tab
//! skips the rest, Esc goes back. A key is never drawn.

mod lines;
mod view;

use crate::base::keys::{Input, Key, KeyCode};
use crate::base::{MicroUsd, Secret};
use crate::ui::field::{Edit, Field};
use crate::ui::list::Cursor;

pub use lines::Question;
pub use view::view;

/// What Matrix is, for users who see it for the first time.
const INTRODUCTION: &str = "Matrix runs a tree of coding agents on your repository, each on its own git branch, and shows \
                            all of them on one screen.";

/// The API of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vendor {
    Anthropic,
    Openai,
}

/// The input that a connection needs before it can be tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    Key,
    /// The URL of a server; its key may be empty.
    Address,
    Nothing,
}

/// A connection that can be chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionOption {
    pub label: String,
    pub note: String,
    pub vendor: Vendor,
    /// `None` for the vendor's own URL.
    pub address: Option<String>,
    pub needs: Needs,
}

/// The initial state of the set-up.
#[derive(Clone, Debug, Default)]
pub struct Start {
    /// What was found on this machine, one line each.
    pub found: Vec<String>,
    /// What was searched for and is not there, one line each.
    pub missing: Vec<String>,
    /// Only the key of the first connection is asked for: the current one was rejected.
    pub only_key: bool,
    pub connections: Vec<ConnectionOption>,
    /// The folder, if it is not a git repository.
    pub no_repository: Option<String>,
    /// The repository, if it has no commits.
    pub no_commit: Option<String>,
}

/// The parameters of a connection test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionAttempt {
    pub vendor: Vendor,
    pub address: Option<String>,
    pub key: Option<Secret>,
}

/// A model that the endpoint offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelOption {
    pub id: String,
    pub note: String,
    /// Whether its context window is known.
    pub has_window: bool,
}

/// The result of a successful test: the models and the default one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelList {
    pub models: Vec<ModelOption>,
    pub default_model: Option<String>,
}

/// The result of the set-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetupResult {
    pub attempt: ConnectionAttempt,
    /// `None` for the default.
    pub model: Option<String>,
    /// Whether the endpoint reports the context window of the model.
    pub has_window: bool,
    pub budget: Option<MicroUsd>,
}

/// An input of the set-up.
#[derive(Clone, Debug)]
pub enum Msg {
    Input(Input),
    /// The answer to [`Effect::TestConnection`].
    ConnectionTested(Result<ModelList, String>),
    /// The answer to [`Effect::CreateRepository`].
    RepositoryCreated(Result<(), String>),
}

/// Work for the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Makes the folder a git repository; answered with [`Msg::RepositoryCreated`].
    CreateRepository,
    /// Asks the endpoint for its models; answered with [`Msg::ConnectionTested`].
    TestConnection(ConnectionAttempt),
    /// Saves the result and opens the screen.
    Finish(Box<SetupResult>),
    /// Saves nothing and opens the screen.
    Skip,
    Quit,
}

/// A page of the set-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetupPage {
    Repository,
    Connections,
    Address,
    Key,
    Models,
    Budget,
}

#[derive(Clone, Debug)]
pub struct State {
    start: Start,
    page: SetupPage,
    cursor: Cursor,
    chosen: usize,
    address: Field,
    key: Secret,
    /// Whether an answer is pending.
    busy: bool,
    problem: Option<String>,
    available: ModelList,
    filter: Field,
    model: Option<String>,
    budget: Field,
}

impl State {
    pub fn new(start: Start) -> Self {
        let lacks = start.no_repository.is_some() || start.no_commit.is_some();
        let page = match (lacks, start.only_key) {
            (true, _) => SetupPage::Repository,
            (false, true) => SetupPage::Key,
            (false, false) => SetupPage::Connections,
        };
        Self {
            start,
            page,
            cursor: Cursor::default(),
            chosen: 0,
            address: Field::with("http://"),
            key: Secret::new(""),
            busy: false,
            problem: None,
            available: ModelList { models: Vec::new(), default_model: None },
            filter: Field::default(),
            model: None,
            budget: Field::default(),
        }
    }

    pub fn update(&mut self, msg: Msg) -> Option<Effect> {
        match msg {
            Msg::Input(Input::Key(key)) => self.on_key(key),
            Msg::Input(Input::Paste(text)) => {
                let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
                let line = lines.next().unwrap_or_default().to_owned();
                self.edit_input(|field| field.insert(&line), |key| key.push_str(&line));
                None
            }
            Msg::Input(Input::Closed) => Some(Effect::Quit),
            Msg::Input(Input::Mouse(_) | Input::Focus(_) | Input::Resize(..)) => None,
            Msg::RepositoryCreated(Ok(())) => {
                self.busy = false;
                // If a model is available already, there is nothing left to ask.
                if self.start.connections.is_empty() {
                    return Some(Effect::Skip);
                }
                self.go(SetupPage::Connections);
                None
            }
            // The user has cancelled the test.
            Msg::ConnectionTested(_) if !self.busy => None,
            Msg::ConnectionTested(Ok(available)) => {
                self.busy = false;
                let default_model = available.default_model.as_deref();
                let at =
                    available.models.iter().position(|model| Some(model.id.as_str()) == default_model).unwrap_or(0);
                if self.start.only_key {
                    return Some(self.finish(None));
                }
                self.available = available;
                self.filter.take();
                self.go(SetupPage::Models);
                self.cursor.chosen = at;
                None
            }
            Msg::ConnectionTested(Err(problem)) | Msg::RepositoryCreated(Err(problem)) => {
                self.busy = false;
                self.problem = Some(problem);
                None
            }
        }
    }

    fn go(&mut self, page: SetupPage) {
        self.page = page;
        self.problem = None;
        self.cursor = Cursor::default();
    }

    fn on_key(&mut self, key: Key) -> Option<Effect> {
        if key == Key::ctrl('c') || key == Key::ctrl('q') {
            return Some(Effect::Quit);
        }
        match key.code() {
            KeyCode::Tab => return Some(self.skip()),
            KeyCode::Esc => return self.back(),
            KeyCode::Enter if !self.busy => return self.next(),
            KeyCode::Up | KeyCode::Down => {
                let by = if key.code() == KeyCode::Up { -1 } else { 1 };
                let count = self.lines();
                self.cursor.step(by, count);
            }
            KeyCode::Backspace => self.edit_input(
                |field| {
                    field.apply(Edit::Backspace);
                },
                |key| {
                    key.pop();
                },
            ),
            KeyCode::Left => self.edit(Edit::Left),
            KeyCode::Right => self.edit(Edit::Right),
            KeyCode::Home => self.edit(Edit::Home),
            KeyCode::End => self.edit(Edit::End),
            KeyCode::Delete => self.edit(Edit::Delete),
            _ if key == Key::ctrl('u') => self.edit_input(
                |field| {
                    field.apply(Edit::DeleteToStart);
                },
                String::clear,
            ),
            _ => {
                if let Some(typed) = key.typed() {
                    self.edit_input(|field| field.type_char(typed), |key| key.push(typed));
                }
            }
        }
        None
    }

    fn edit(&mut self, edit: Edit) {
        self.edit_input(
            |field| {
                field.apply(edit);
            },
            |_| {},
        );
    }

    /// Edits the text input of this page.
    fn edit_input(&mut self, field: impl FnOnce(&mut Field), key: impl FnOnce(&mut String)) {
        if self.busy {
            return;
        }
        self.problem = None;
        match self.page {
            SetupPage::Repository | SetupPage::Connections => {}
            SetupPage::Address => field(&mut self.address),
            SetupPage::Key => {
                let mut text = self.key.expose().to_owned();
                key(&mut text);
                self.key = Secret::new(text);
            }
            SetupPage::Models => {
                field(&mut self.filter);
                self.cursor = Cursor::default();
            }
            SetupPage::Budget => field(&mut self.budget),
        }
    }

    /// Returns the number of lines to choose from.
    fn lines(&self) -> usize {
        match self.page {
            SetupPage::Connections => self.start.connections.len(),
            SetupPage::Models => self.models().count(),
            SetupPage::Repository | SetupPage::Address | SetupPage::Key | SetupPage::Budget => 0,
        }
    }

    /// Returns the title of the page and an explanation.
    fn heading(&self) -> (String, Option<String>) {
        let (title, note) = match self.page {
            SetupPage::Repository => {
                let why = if self.has_repository() {
                    "Agents start from a branch, so the repository needs a first commit. Matrix creates an empty one \
                     and touches no files. Agents only see committed files: commit yours before you start."
                } else {
                    "Agents work in git, each on its own branch. Matrix runs `git init` here and creates an empty first \
                     commit. It touches no files. Agents only see committed files: commit yours before you start."
                };
                (self.missing_question(), why)
            }
            SetupPage::Connections => {
                ("Which provider do you want to use?".to_owned(), "You can change it at any time with /login.")
            }
            SetupPage::Address => ("Server URL".to_owned(), "Any OpenAI-compatible server works."),
            SetupPage::Key => {
                let way = self.connection();
                let optional = way.is_some_and(|way| way.needs != Needs::Key);
                let note = if optional {
                    "Matrix tests it with one free call and stores it in your user settings, never in the repository. \
                     Leave it empty if the server needs none."
                } else {
                    "Matrix tests it with one free call and stores it in your user settings, never in the repository."
                };
                (format!("{}: API key", way.map(|way| way.label.as_str()).unwrap_or_default()), note)
            }
            SetupPage::Models if self.available.models.is_empty() => (
                "Connected. The server lists no models. Which model do you want to use?".to_owned(),
                "Enter the model name that the server expects.",
            ),
            SetupPage::Models => ("Connected. Which model do you want to use?".to_owned(), ""),
            SetupPage::Budget => (
                "Budget per task in USD (pauses and asks when reached)".to_owned(),
                "You can change it at any time, for each task and for the project.",
            ),
        };
        (title, Some(note).filter(|note| !note.is_empty()).map(str::to_owned))
    }

    /// Returns true if the repository exists and only its first commit is missing.
    fn has_repository(&self) -> bool {
        self.start.no_commit.is_some()
    }

    /// Returns the question about the missing repository or commit.
    fn missing_question(&self) -> String {
        match (&self.start.no_commit, &self.start.no_repository) {
            (Some(folder), _) => format!("The repository {folder} has no commits yet. Create the first one?"),
            (None, folder) => {
                format!("{} is not a git repository. Create one?", folder.as_deref().unwrap_or_default())
            }
        }
    }

    /// Returns the typed URL.
    fn typed_address(&self) -> String {
        let text = self.address.content();
        let text = text.trim();
        // A whole URL typed or pasted after the prefilled `http://` replaces it.
        let last = ["http://", "https://"].into_iter().filter_map(|scheme| text.rfind(scheme)).max();
        last.map_or(text, |at| &text[at..]).to_owned()
    }

    fn connection(&self) -> Option<&ConnectionOption> {
        self.start.connections.get(self.chosen)
    }

    /// Returns the models that match the filter.
    fn models(&self) -> impl Iterator<Item = &ModelOption> {
        let wanted = self.filter.content().trim().to_lowercase();
        self.available.models.iter().filter(move |model| model.id.to_lowercase().contains(&wanted))
    }

    fn next(&mut self) -> Option<Effect> {
        match self.page {
            SetupPage::Repository => {
                self.busy = true;
                self.problem = None;
                Some(Effect::CreateRepository)
            }
            SetupPage::Connections => {
                self.chosen = self.cursor.chosen;
                let needs = self.connection()?.needs;
                match needs {
                    Needs::Key => self.go(SetupPage::Key),
                    Needs::Address => self.go(SetupPage::Address),
                    Needs::Nothing => return Some(self.test_connection()),
                }
                None
            }
            SetupPage::Address => {
                let address = self.typed_address();
                let host = address.strip_prefix("https://").or_else(|| address.strip_prefix("http://"));
                if host.is_none_or(|host| host.trim_matches('/').is_empty()) {
                    self.problem = Some("Enter a URL such as https://models.example.org/v1".to_owned());
                    return None;
                }
                self.go(SetupPage::Key);
                None
            }
            SetupPage::Key => {
                let needed = self.connection().is_some_and(|way| way.needs == Needs::Key);
                if needed && self.key.is_empty() {
                    self.problem = Some("Paste or type the key.".to_owned());
                    return None;
                }
                Some(self.test_connection())
            }
            SetupPage::Models => {
                let chosen = self.models().nth(self.cursor.chosen).map(|model| model.id.clone());
                // Lists may be incomplete: accept a typed name.
                let typed = Some(self.filter.content().trim().to_owned()).filter(|typed| !typed.is_empty());
                self.model = chosen.or(typed);
                if self.model.is_none() {
                    self.problem = Some("Enter a model name.".to_owned());
                    return None;
                }
                // Local models are free.
                if self.connection().is_some_and(|way| way.needs == Needs::Nothing) {
                    return Some(self.finish(None));
                }
                self.go(SetupPage::Budget);
                None
            }
            SetupPage::Budget => match budget(&self.budget.content()) {
                Ok(budget) => Some(self.finish(budget)),
                Err(problem) => {
                    self.problem = Some(problem);
                    None
                }
            },
        }
    }

    /// Returns the number of this page and of all pages, as far as the choices so far tell.
    fn step(&self) -> (usize, usize) {
        let lacks = self.start.no_repository.is_some() || self.start.no_commit.is_some();
        let at = if self.page == SetupPage::Connections { self.cursor.chosen } else { self.chosen };
        let needs = self.start.connections.get(at).map(|connection| connection.needs);
        let pages = match (self.start.only_key, needs) {
            (true, _) => vec![SetupPage::Key],
            (false, None) => Vec::new(),
            (false, Some(Needs::Nothing)) => vec![SetupPage::Connections, SetupPage::Models],
            (false, Some(Needs::Key)) => {
                vec![SetupPage::Connections, SetupPage::Key, SetupPage::Models, SetupPage::Budget]
            }
            (false, Some(Needs::Address)) => {
                vec![SetupPage::Connections, SetupPage::Address, SetupPage::Key, SetupPage::Models, SetupPage::Budget]
            }
        };
        let pages: Vec<_> = lacks.then_some(SetupPage::Repository).into_iter().chain(pages).collect();
        (pages.iter().position(|page| *page == self.page).unwrap_or(0) + 1, pages.len())
    }

    fn test_connection(&mut self) -> Effect {
        self.busy = true;
        self.problem = None;
        Effect::TestConnection(self.attempt())
    }

    fn attempt(&self) -> ConnectionAttempt {
        let way = self.connection();
        let address = match way {
            Some(ConnectionOption { needs: Needs::Address, .. }) => Some(self.typed_address()),
            Some(way) => way.address.clone(),
            None => None,
        };
        let vendor = way.map_or(Vendor::Anthropic, |way| way.vendor);
        let keyed = way.is_some_and(|way| way.needs != Needs::Nothing) && !self.key.is_empty();
        ConnectionAttempt { vendor, address, key: keyed.then(|| Secret::new(self.key.expose().trim())) }
    }

    fn finish(&self, budget: Option<MicroUsd>) -> Effect {
        let chosen = self.available.models.iter().find(|model| Some(&model.id) == self.model.as_ref());
        let has_window = chosen.is_some_and(|model| model.has_window);
        Effect::Finish(Box::new(SetupResult { attempt: self.attempt(), model: self.model.clone(), has_window, budget }))
    }

    /// Skips the remaining pages. A tested connection is saved.
    fn skip(&self) -> Effect {
        match self.page {
            // Without a repository there is nothing to open.
            SetupPage::Repository => Effect::Quit,
            SetupPage::Connections | SetupPage::Address | SetupPage::Key => Effect::Skip,
            SetupPage::Models | SetupPage::Budget => self.finish(None),
        }
    }

    fn back(&mut self) -> Option<Effect> {
        if self.busy {
            // Creating the repository cannot be cancelled; waiting for a test can.
            self.busy = self.page == SetupPage::Repository;
            return None;
        }
        let before = match self.page {
            SetupPage::Repository | SetupPage::Connections => return Some(self.skip()),
            SetupPage::Key if self.start.only_key => return Some(self.skip()),
            SetupPage::Address => SetupPage::Connections,
            SetupPage::Key if self.connection().is_some_and(|way| way.needs == Needs::Address) => SetupPage::Address,
            SetupPage::Models if self.connection().is_some_and(|way| way.needs != Needs::Nothing) => SetupPage::Key,
            SetupPage::Key | SetupPage::Models => SetupPage::Connections,
            SetupPage::Budget => SetupPage::Models,
        };
        self.go(before);
        None
    }
}

fn budget(text: &str) -> Result<Option<MicroUsd>, String> {
    let number = text.trim().trim_start_matches('$').trim();
    if number.is_empty() {
        return Ok(None);
    }
    let parsed = number.replace(',', ".").parse::<f64>().ok().and_then(MicroUsd::from_dollars);
    let parsed = parsed.filter(|budget| budget.0 >= 10_000);
    parsed.map(Some).ok_or_else(|| {
        format!("\"{}\" is not an amount. Enter e.g. 2.50, or leave it empty for no limit.", text.trim())
    })
}

#[cfg(test)]
#[path = "setup_tests.rs"]
mod tests;
