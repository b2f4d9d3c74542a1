//! The set-up before the first message: how a model is reached, the key, the model, the budget.
//!
//! Pure, as the rest of the screen: [`State::update`] takes what happened and says what is to be done, [`view`] draws.
//! Whatever is not known can be left out: Tab skips what is left at every point, Esc goes back. A key is never drawn.

mod lines;
mod view;

use crate::base::keys::{Input, Key, KeyCode};
use crate::base::{MicroUsd, Secret};
use crate::ui::field::{Edit, Field};
use crate::ui::list::Cursor;

pub use lines::Question;
pub use view::view;

/// Which interface is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vendor {
    Anthropic,
    Openai,
}

/// What has to be known before a way can be tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    Key,
    /// The address of a server; its key may be empty.
    Address,
    Nothing,
}

/// A way to reach a model that can be chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Way {
    pub label: String,
    pub note: String,
    pub vendor: Vendor,
    /// Nothing: the vendor's own.
    pub address: Option<String>,
    pub needs: Needs,
}

/// What the set-up begins with.
#[derive(Clone, Debug, Default)]
pub struct Start {
    /// What was found on this machine, a line each.
    pub found: Vec<String>,
    pub ways: Vec<Way>,
    /// The folder that is no git repository yet, if it is none.
    pub no_repository: Option<String>,
    /// The repository that has no commit yet, if it has none.
    pub no_commit: Option<String>,
}

/// What a way is tried with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    pub vendor: Vendor,
    pub address: Option<String>,
    pub key: Option<Secret>,
}

/// A model that the endpoint offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offered {
    pub id: String,
    pub note: String,
    /// Whether it is known how much it reads.
    pub windowed: bool,
}

/// What came of an attempt: the models, and which of them is usual.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reached {
    pub models: Vec<Offered>,
    pub usual: Option<String>,
}

/// What was decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    pub attempt: Attempt,
    /// Nothing: the usual one.
    pub model: Option<String>,
    /// Whether the endpoint tells how much the model reads.
    pub windowed: bool,
    pub budget: Option<MicroUsd>,
}

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Msg {
    Input(Input),
    /// The answer to [`Effect::Try`].
    Tried(Result<Reached, String>),
    /// The answer to [`Effect::MakeRepository`].
    Made(Result<(), String>),
}

/// Something to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Make the folder a git repository; answered with [`Msg::Made`].
    MakeRepository,
    /// Ask the endpoint for its models; answered with [`Msg::Tried`].
    Try(Attempt),
    /// What is known is written down, and the screen opens.
    Finish(Box<Decided>),
    /// Nothing is written, and the screen opens.
    Skip,
    Quit,
}

/// Where in the set-up one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Page {
    Repository,
    Ways,
    Address,
    Key,
    Models,
    Budget,
}

/// The set-up.
#[derive(Clone, Debug)]
pub struct State {
    start: Start,
    page: Page,
    cursor: Cursor,
    chosen: usize,
    address: Field,
    key: Secret,
    /// Whether an answer is awaited.
    busy: bool,
    problem: Option<String>,
    reached: Reached,
    filter: Field,
    model: Option<String>,
    budget: Field,
}

impl State {
    pub fn new(start: Start) -> Self {
        let lacks = start.no_repository.is_some() || start.no_commit.is_some();
        let page = if lacks { Page::Repository } else { Page::Ways };
        Self {
            start,
            page,
            cursor: Cursor::default(),
            chosen: 0,
            address: Field::with("http://"),
            key: Secret::new(""),
            busy: false,
            problem: None,
            reached: Reached { models: Vec::new(), usual: None },
            filter: Field::default(),
            model: None,
            budget: Field::default(),
        }
    }

    pub fn update(&mut self, msg: Msg) -> Option<Effect> {
        match msg {
            Msg::Input(Input::Key(key)) => self.pressed(key),
            Msg::Input(Input::Paste(text)) => {
                let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
                let line = lines.next().unwrap_or_default().to_owned();
                self.written(|field| field.insert(&line), |key| key.push_str(&line));
                None
            }
            Msg::Input(Input::Closed) => Some(Effect::Quit),
            Msg::Input(Input::Mouse(_) | Input::Focus(_) | Input::Resize(..)) => None,
            Msg::Made(Ok(())) => {
                self.busy = false;
                // Where a model can be reached already there is nothing left to ask.
                if self.start.ways.is_empty() {
                    return Some(Effect::Skip);
                }
                self.go(Page::Ways);
                None
            }
            // Nobody waits for it any more.
            Msg::Tried(_) if !self.busy => None,
            Msg::Tried(Ok(reached)) => {
                self.busy = false;
                let usual = reached.usual.as_deref();
                let at = reached.models.iter().position(|model| Some(model.id.as_str()) == usual).unwrap_or(0);
                self.reached = reached;
                self.filter.take();
                self.go(Page::Models);
                self.cursor.chosen = at;
                None
            }
            Msg::Tried(Err(problem)) | Msg::Made(Err(problem)) => {
                self.busy = false;
                self.problem = Some(problem);
                None
            }
        }
    }

    fn go(&mut self, page: Page) {
        self.page = page;
        self.problem = None;
        self.cursor = Cursor::default();
    }

    fn pressed(&mut self, key: Key) -> Option<Effect> {
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
            KeyCode::Backspace => self.written(
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
            _ if key == Key::ctrl('u') => self.written(
                |field| {
                    field.apply(Edit::DeleteToStart);
                },
                String::clear,
            ),
            _ => {
                if let Some(typed) = key.typed() {
                    self.written(|field| field.type_char(typed), |key| key.push(typed));
                }
            }
        }
        None
    }

    fn edit(&mut self, edit: Edit) {
        self.written(
            |field| {
                field.apply(edit);
            },
            |_| {},
        );
    }

    /// Changes what is being written on this page.
    fn written(&mut self, field: impl FnOnce(&mut Field), key: impl FnOnce(&mut String)) {
        if self.busy {
            return;
        }
        self.problem = None;
        match self.page {
            Page::Repository | Page::Ways => {}
            Page::Address => field(&mut self.address),
            Page::Key => {
                let mut text = self.key.expose().to_owned();
                key(&mut text);
                self.key = Secret::new(text);
            }
            Page::Models => {
                field(&mut self.filter);
                self.cursor = Cursor::default();
            }
            Page::Budget => field(&mut self.budget),
        }
    }

    /// Returns how many lines can be chosen from.
    fn lines(&self) -> usize {
        match self.page {
            Page::Ways => self.start.ways.len(),
            Page::Models => self.models().count(),
            Page::Repository | Page::Address | Page::Key | Page::Budget => 0,
        }
    }

    /// Returns what the page asks, and what is to be known about it.
    fn heading(&self) -> (String, Option<String>) {
        let (title, note) = match self.page {
            Page::Repository => {
                let why = if self.begun() {
                    "Every agent begins where a branch is, so there has to be one. An empty commit is made, and no file is \
                     touched. Agents see what is committed: commit your files before you hand out work."
                } else {
                    "Agents work in git: each on a branch of its own, and what they finish is merged. \
                     `git init` is run here, with an empty first commit. No file is touched. Agents see what is \
                     committed: commit your files before you hand out work."
                };
                (self.lack(), why)
            }
            Page::Ways => ("How do you want to reach a model?".to_owned(), ""),
            Page::Address => ("Where is the server?".to_owned(), "Any server that speaks OpenAI's interface will do."),
            Page::Key => {
                let way = self.way();
                let optional = way.is_some_and(|way| way.needs != Needs::Key);
                let note = if optional {
                    "It is tried with one call that costs nothing, and kept in your own settings, never in a \
                     repository. Leave it empty if the server wants none."
                } else {
                    "It is tried with one call that costs nothing, and kept in your own settings, never in a repository."
                };
                (format!("{}: the API key", way.map(|way| way.label.as_str()).unwrap_or_default()), note)
            }
            Page::Models if self.reached.models.is_empty() => (
                "It answers, and does not say which models it has. Which one do you want?".to_owned(),
                "Write its name as the server knows it.",
            ),
            Page::Models => ("It works. Which model?".to_owned(), ""),
            Page::Budget => (
                "What may one task cost, in dollars, before it stops and asks you?".to_owned(),
                "It can be changed at any time, for each task and for the project.",
            ),
        };
        (title, Some(note).filter(|note| !note.is_empty()).map(str::to_owned))
    }

    /// Tells whether there is a repository, and only its first commit is missing.
    fn begun(&self) -> bool {
        self.start.no_commit.is_some()
    }

    /// Returns what is missing before agents can work here, and the question about it.
    fn lack(&self) -> String {
        match (&self.start.no_commit, &self.start.no_repository) {
            (Some(folder), _) => format!("The repository {folder} has no commit yet. Make the first one?"),
            (None, folder) => {
                format!("{} is not a git repository. Make it one?", folder.as_deref().unwrap_or_default())
            }
        }
    }

    /// Returns the address that was written.
    fn written_address(&self) -> String {
        let text = self.address.content();
        let text = text.trim();
        // Somebody who writes or pastes a whole address behind what stands there means that one.
        let last = ["http://", "https://"].into_iter().filter_map(|scheme| text.rfind(scheme)).max();
        last.map_or(text, |at| &text[at..]).to_owned()
    }

    fn way(&self) -> Option<&Way> {
        self.start.ways.get(self.chosen)
    }

    /// Returns the models whose names have the letters that were typed.
    fn models(&self) -> impl Iterator<Item = &Offered> {
        let wanted = self.filter.content().trim().to_lowercase();
        self.reached.models.iter().filter(move |model| model.id.to_lowercase().contains(&wanted))
    }

    fn next(&mut self) -> Option<Effect> {
        match self.page {
            Page::Repository => {
                self.busy = true;
                self.problem = None;
                Some(Effect::MakeRepository)
            }
            Page::Ways => {
                self.chosen = self.cursor.chosen;
                let needs = self.way()?.needs;
                match needs {
                    Needs::Key => self.go(Page::Key),
                    Needs::Address => self.go(Page::Address),
                    Needs::Nothing => return Some(self.try_it()),
                }
                None
            }
            Page::Address => {
                let address = self.written_address();
                let host = address.strip_prefix("https://").or_else(|| address.strip_prefix("http://"));
                if host.is_none_or(|host| host.trim_matches('/').is_empty()) {
                    self.problem = Some("an address looks like https://models.example.org/v1".to_owned());
                    return None;
                }
                self.go(Page::Key);
                None
            }
            Page::Key => {
                let needed = self.way().is_some_and(|way| way.needs == Needs::Key);
                if needed && self.key.is_empty() {
                    self.problem = Some("paste or type the key; Esc goes back, Tab skips".to_owned());
                    return None;
                }
                Some(self.try_it())
            }
            Page::Models => {
                let chosen = self.models().nth(self.cursor.chosen).map(|model| model.id.clone());
                // A name that is not in the list may still be one: lists are not always complete.
                let typed = Some(self.filter.content().trim().to_owned()).filter(|typed| !typed.is_empty());
                self.model = chosen.or(typed);
                if self.model.is_none() {
                    self.problem = Some("type the name of a model".to_owned());
                    return None;
                }
                // What runs on this machine costs nothing.
                if self.way().is_some_and(|way| way.needs == Needs::Nothing) {
                    return Some(self.finish(None));
                }
                self.go(Page::Budget);
                None
            }
            Page::Budget => match budget(&self.budget.content()) {
                Ok(budget) => Some(self.finish(budget)),
                Err(problem) => {
                    self.problem = Some(problem);
                    None
                }
            },
        }
    }

    fn try_it(&mut self) -> Effect {
        self.busy = true;
        self.problem = None;
        Effect::Try(self.attempt())
    }

    fn attempt(&self) -> Attempt {
        let way = self.way();
        let address = match way {
            Some(Way { needs: Needs::Address, .. }) => Some(self.written_address()),
            Some(way) => way.address.clone(),
            None => None,
        };
        let vendor = way.map_or(Vendor::Anthropic, |way| way.vendor);
        let keyed = way.is_some_and(|way| way.needs != Needs::Nothing) && !self.key.is_empty();
        Attempt { vendor, address, key: keyed.then(|| Secret::new(self.key.expose().trim())) }
    }

    fn finish(&self, budget: Option<MicroUsd>) -> Effect {
        let chosen = self.reached.models.iter().find(|model| Some(&model.id) == self.model.as_ref());
        let windowed = chosen.is_some_and(|model| model.windowed);
        Effect::Finish(Box::new(Decided { attempt: self.attempt(), model: self.model.clone(), windowed, budget }))
    }

    /// Leaves out what is left. What was tried and works is kept.
    fn skip(&self) -> Effect {
        match self.page {
            Page::Repository | Page::Ways | Page::Address | Page::Key => Effect::Skip,
            Page::Models | Page::Budget => self.finish(None),
        }
    }

    fn back(&mut self) -> Option<Effect> {
        if self.busy {
            // What is being made is made; an answer need not be waited for.
            self.busy = self.page == Page::Repository;
            return None;
        }
        let before = match self.page {
            Page::Repository => return Some(Effect::Quit),
            Page::Ways => return Some(Effect::Skip),
            Page::Address => Page::Ways,
            Page::Key if self.way().is_some_and(|way| way.needs == Needs::Address) => Page::Address,
            Page::Models if self.way().is_some_and(|way| way.needs != Needs::Nothing) => Page::Key,
            Page::Key | Page::Models => Page::Ways,
            Page::Budget => Page::Models,
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
    parsed.map(Some).ok_or_else(|| format!("\"{}\" is not an amount: write 2.50, or nothing for no limit", text.trim()))
}

#[cfg(test)]
#[path = "setup_tests.rs"]
mod tests;
