//! The set-up without a screen: each page as a question in lines, and a line as its answer.
//!
//! Uses the same pages and decisions as the screen; only the input instructions differ.

use crate::base::Secret;
use crate::ui::field::Field;
use crate::ui::setup::{Effect, INTRODUCTION, Needs, SetupPage, State};

/// How many models are listed. Other names can be typed.
const LISTED: usize = 40;

/// A page in lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    pub lines: Vec<String>,
    /// Whether the input must be hidden.
    pub secret: bool,
}

impl State {
    /// Returns the page as a question, after the problem with the last answer.
    pub fn question(&self) -> Question {
        let (title, note) = self.heading();
        let mut lines: Vec<String> = self.problem.iter().cloned().collect();
        let is_first = matches!(self.page, SetupPage::Repository | SetupPage::Connections);
        if is_first && self.problem.is_none() {
            lines.push(INTRODUCTION.to_owned());
        }
        if self.page == SetupPage::Connections && self.problem.is_none() {
            lines.extend(self.start.found.iter().chain(&self.start.missing).cloned());
        }
        lines.push(title);
        lines.extend(note);
        let numbered = |lines: &mut Vec<String>, at: usize, label: &str, note: &str| {
            lines.push(format!("{}. {label}, {note}", at + 1));
        };
        match self.page {
            SetupPage::Repository => lines.push("Type yes, or press Enter to quit.".to_owned()),
            SetupPage::Connections => {
                for (at, way) in self.start.connections.iter().enumerate() {
                    numbered(&mut lines, at, &way.label, &way.note);
                }
                lines
                    .push("Enter a number, or press Enter to skip. /back, /skip and /quit work everywhere.".to_owned());
            }
            SetupPage::Address => lines.push("Enter a URL, or press Enter to skip.".to_owned()),
            SetupPage::Key if self.needs_key() => {
                lines.push("Enter the key (hidden), or press Enter to skip.".to_owned());
            }
            SetupPage::Key => lines.push("Enter the key (hidden).".to_owned()),
            SetupPage::Models => {
                for (at, model) in self.available.models.iter().enumerate().take(LISTED) {
                    numbered(&mut lines, at, &model.id, &model.note);
                }
                let hidden = self.available.models.len().saturating_sub(LISTED);
                if hidden > 0 {
                    lines.push(format!("and {hidden} more"));
                }
                let default_model = self.available.default_model.as_ref();
                let default_model = default_model
                    .map_or_else(String::new, |default_model| format!(" Press Enter for {default_model}."));
                let what = if self.available.models.is_empty() { "Enter a name." } else { "Enter a number or a name." };
                lines.push(format!("{what}{default_model}"));
            }
            SetupPage::Budget => lines.push("Enter an amount such as 2.50, or press Enter for no limit.".to_owned()),
        }
        Question { lines, secret: self.page == SetupPage::Key }
    }

    /// Takes a line as the answer to the page.
    pub fn answer(&mut self, line: &str) -> Option<Effect> {
        let line = line.trim();
        self.problem = None;
        match line {
            "/quit" | "/q" => return Some(Effect::Quit),
            "/skip" => return Some(self.skip()),
            "/back" => return self.back(),
            _ => {}
        }
        match self.page {
            SetupPage::Repository => match line.to_lowercase().as_str() {
                "y" | "yes" => self.next(),
                "" | "n" | "no" => Some(Effect::Quit),
                _ => self.reject("Type yes or no."),
            },
            SetupPage::Connections if line.is_empty() => Some(Effect::Skip),
            SetupPage::Connections => match number(line, self.start.connections.len()) {
                Some(at) => {
                    self.cursor.chosen = at;
                    self.next()
                }
                None => self.reject(&format!("Enter a number from 1 to {}.", self.start.connections.len())),
            },
            SetupPage::Address if line.is_empty() => Some(Effect::Skip),
            SetupPage::Address => {
                self.address = Field::with(line);
                self.next()
            }
            SetupPage::Key if line.is_empty() && self.needs_key() => Some(Effect::Skip),
            SetupPage::Key => {
                self.key = Secret::new(line);
                self.next()
            }
            SetupPage::Models => self.select_model(line),
            SetupPage::Budget => {
                self.budget = Field::with(line);
                self.next()
            }
        }
    }

    fn needs_key(&self) -> bool {
        self.connection().is_some_and(|way| way.needs == Needs::Key)
    }

    fn reject(&mut self, why: &str) -> Option<Effect> {
        self.problem = Some(why.to_owned());
        None
    }

    /// Selects a model by number, by name, or by a part of a name that only one has. An empty line selects the default.
    fn select_model(&mut self, line: &str) -> Option<Effect> {
        let models = &self.available.models;
        let wanted = line.to_lowercase();
        let like: Vec<_> = models.iter().filter(|model| model.id.to_lowercase().contains(&wanted)).collect();
        let exact = models.iter().position(|model| model.id == line);
        let place = match (number(line, models.len()), exact, like.as_slice()) {
            _ if line.is_empty() => Some(self.cursor.chosen),
            (Some(at), ..) | (None, Some(at), _) => Some(at),
            (None, None, [only]) => models.iter().position(|model| model.id == only.id),
            (None, None, []) => None,
            (None, None, several) => {
                let why = format!("{line:?} matches {} models. Enter more of the name.", several.len());
                return self.reject(&why);
            }
        };
        match place {
            Some(at) => self.cursor.chosen = at,
            // Lists may be incomplete: accept any name.
            None => self.filter = Field::with(line),
        }
        let effect = self.next();
        self.filter.take();
        effect
    }
}

/// Parses a number from one to `count` into an index.
fn number(line: &str, count: usize) -> Option<usize> {
    line.trim_end_matches('.').parse::<usize>().ok()?.checked_sub(1).filter(|at| *at < count)
}

#[cfg(test)]
#[path = "lines_tests.rs"]
mod tests;
