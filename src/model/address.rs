//! How a user or an agent names a task: one grammar and one parser for every command, tool and screen.
//!
//! | written | means |
//! |---|---|
//! | `root` | the root |
//! | `#12`, `12` | the task with that number |
//! | 8 or more characters of an id | the task whose id begins so |
//! | 3 or more characters of a title | the only task whose title contains them |
//!
//! `@name`, `key:…`, `~words`, `above`, `children` and `#12~3` are reserved: they are refused, so that nobody relies on
//! them as parts of titles before they mean a profile, a key, a search, relatives or a turn.
//!
//! Pure. Parsing needs no tree; resolving needs only the tree.

use std::fmt;
use std::str::FromStr;

use crate::base::{TaskId, text};
use crate::model::task::{TaskNode, TaskNumber};
use crate::model::tree::Tree;

/// The shortest prefix of an id that names a task.
pub const SHORTEST_ID: usize = 8;
/// The shortest part of a title that names a task.
pub const SHORTEST_TITLE: usize = 3;

/// The number of candidates that an error lists.
const CANDIDATES: usize = 5;
/// The number of suggestions for an unknown name.
const SUGGESTIONS: usize = 3;

/// A parsed name of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    Root,
    /// `#12`
    Number(TaskNumber),
    /// Digits alone: a number, or else part of an id or a title.
    NumberOrWords(TaskNumber, String),
    /// Part of an id or of a title.
    Words(String),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    #[error("name a task: its number, the start of its id, or part of its title")]
    Empty,
    #[error("\"{0}\" is not a task number; numbers are written #12 or 12")]
    NotANumber(String),
    #[error("\"{0}\" does not name a task: {meaning} cannot be addressed yet", meaning = meaning(.0))]
    Reserved(String),
    #[error("there is no task {number}; numbers go up to {last}")]
    NoSuchNumber { number: TaskNumber, last: TaskNumber },
    #[error("no task has \"{words}\" in its title or at the start of its id{nearest}", nearest = suggestions(.similar))]
    Unknown { words: String, similar: Vec<Candidate> },
    #[error("\"{0}\" is too short: give a number, {SHORTEST_TITLE} characters of the title or {SHORTEST_ID} of the id")]
    TooShort(String),
    #[error("\"{words}\" could be any of {}", candidates(.found))]
    Ambiguous { words: String, found: Vec<Candidate> },
}

/// A task that an address may mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub id: TaskId,
    pub number: Option<TaskNumber>,
    pub title: String,
}

impl Candidate {
    fn of(node: &TaskNode) -> Self {
        Self { id: node.id, number: node.number, title: node.title.clone() }
    }
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let title = text::headline(&self.title, 50);
        match self.number {
            Some(number) => write!(f, "{number} {title}"),
            None => write!(f, "{} {title}", self.id),
        }
    }
}

fn candidates(found: &[Candidate]) -> String {
    let mut shown: Vec<String> = found.iter().take(CANDIDATES).map(ToString::to_string).collect();
    if found.len() > CANDIDATES {
        shown.push(format!("{} more", found.len() - CANDIDATES));
    }
    shown.join(", ")
}

fn suggestions(similar: &[Candidate]) -> String {
    if similar.is_empty() { String::new() } else { format!("; did you mean {}?", candidates(similar)) }
}

/// Returns what a reserved form will mean.
fn meaning(reserved: &str) -> &'static str {
    match reserved.chars().next() {
        Some('@') => "profiles",
        Some('~') => "the results of a search",
        Some('#') => "turns",
        _ if reserved.contains(':') => "keys",
        _ => "relatives",
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let text = text.trim();
        if let Some(number) = text.strip_prefix('#') {
            return parse_number(text, number);
        }
        let reserved = || Err(AddressError::Reserved(text.to_owned()));
        match text {
            "" => Err(AddressError::Empty),
            "root" => Ok(Self::Root),
            "above" | "children" => reserved(),
            _ if text.starts_with(['@', '~']) || text.starts_with("key:") => reserved(),
            _ => Ok(match number_of(text) {
                Some(number) => Self::NumberOrWords(number, text.to_owned()),
                None => Self::Words(text.to_owned()),
            }),
        }
    }
}

/// Parses what follows `#`.
fn parse_number(text: &str, number: &str) -> Result<Address, AddressError> {
    if let Some((number, _)) = number.split_once(['~', ':'])
        && number_of(number).is_some()
    {
        return Err(AddressError::Reserved(text.to_owned()));
    }
    number_of(number).map(Address::Number).ok_or_else(|| AddressError::NotANumber(text.to_owned()))
}

fn number_of(digits: &str) -> Option<TaskNumber> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| is_number).and_then(TaskNumber::new)
}

impl Address {
    /// Returns the task of `tree` that the address names.
    pub fn resolve<'t>(&self, tree: &'t Tree) -> Result<&'t TaskNode, AddressError> {
        let no_such = |number| AddressError::NoSuchNumber { number, last: tree.last_number() };
        match self {
            Self::Root => Ok(tree.root()),
            Self::Number(number) => tree.numbered(*number).ok_or_else(|| no_such(*number)),
            Self::NumberOrWords(number, words) => match tree.numbered(*number) {
                Some(node) => Ok(node),
                None => by_words(tree, words).map_err(|error| match error {
                    AddressError::TooShort(_) | AddressError::Unknown { .. } => no_such(*number),
                    error => error,
                }),
            },
            Self::Words(words) => by_words(tree, words),
        }
    }
}

impl Tree {
    /// Returns the task that `text` names.
    pub fn find(&self, text: &str) -> Result<&TaskNode, AddressError> {
        text.parse::<Address>()?.resolve(self)
    }
}

/// Returns the task with this id, the start of it, this title or part of it, in this order.
fn by_words<'t>(tree: &'t Tree, words: &str) -> Result<&'t TaskNode, AddressError> {
    let upper = words.to_ascii_uppercase();
    if let Some(node) = upper.parse().ok().and_then(|id| tree.get(id)) {
        return Ok(node);
    }
    if upper.len() >= SHORTEST_ID {
        let found = tree.all().filter(|node| node.id.to_string().starts_with(&upper)).collect();
        if let Some(found) = only(words, found) {
            return found;
        }
    }
    let lower = words.to_lowercase();
    let titles: Vec<(&TaskNode, String)> = tree.all().map(|node| (node, node.title.to_lowercase())).collect();
    let having = |is_it: &dyn Fn(&str) -> bool| -> Vec<&'t TaskNode> {
        titles.iter().filter(|(_, title)| is_it(title)).map(|(node, _)| *node).collect()
    };
    if let Some(found) = only(words, having(&|title| title == lower)) {
        return found;
    }
    if words.chars().count() < SHORTEST_TITLE {
        return Err(AddressError::TooShort(words.to_owned()));
    }
    only(words, having(&|title| title.contains(&lower)))
        .unwrap_or_else(|| Err(AddressError::Unknown { words: words.to_owned(), similar: nearest(&titles, &lower) }))
}

/// Returns the only task in `found`, an error if there are several, or `None` if there is none.
fn only<'t>(words: &str, mut found: Vec<&'t TaskNode>) -> Option<Result<&'t TaskNode, AddressError>> {
    match found.len() {
        0 | 1 => found.pop().map(Ok),
        _ => Some(Err(AddressError::Ambiguous {
            words: words.to_owned(),
            found: found.into_iter().map(Candidate::of).collect(),
        })),
    }
}

/// Returns the tasks with the most similar titles, best first. Compares word by word, because users type one of them.
fn nearest(titles: &[(&TaskNode, String)], words: &str) -> Vec<Candidate> {
    let score = |title: &str| {
        let parts = title.split_whitespace().chain([title]);
        parts.map(|part| strsim::jaro_winkler(part, words)).fold(0.0, f64::max)
    };
    let mut scored: Vec<(f64, &TaskNode)> = titles.iter().map(|(node, title)| (score(title), *node)).collect();
    scored.retain(|(score, _)| *score > 0.8);
    scored.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    scored.into_iter().take(SUGGESTIONS).map(|(_, node)| Candidate::of(node)).collect()
}

#[cfg(test)]
#[path = "address_tests.rs"]
mod tests;
