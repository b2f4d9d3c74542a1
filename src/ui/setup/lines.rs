//! The set-up without a screen: each page as a question in lines, and a line as its answer.
//!
//! The same pages and the same decisions as on the screen; only the words for what can be typed are its own.

use crate::base::Secret;
use crate::ui::field::Field;
use crate::ui::setup::{Effect, Needs, Page, State};

/// How many models are listed; the name of another one can be typed.
const LISTED: usize = 40;

/// A page in lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    pub lines: Vec<String>,
    /// Whether the answer must not be seen while it is typed.
    pub secret: bool,
}

impl State {
    /// Returns the page as a question, after what was wrong with the last answer.
    pub fn question(&self) -> Question {
        let (title, note) = self.heading();
        let mut lines: Vec<String> = self.problem.iter().cloned().collect();
        if self.page == Page::Ways && self.problem.is_none() {
            lines.extend(self.start.found.iter().cloned());
        }
        lines.push(title);
        lines.extend(note);
        let numbered = |lines: &mut Vec<String>, at: usize, label: &str, note: &str| {
            lines.push(format!("{}. {label}, {note}", at + 1));
        };
        match self.page {
            Page::Repository => lines.push("yes, or Enter alone to leave.".to_owned()),
            Page::Ways => {
                for (at, way) in self.start.ways.iter().enumerate() {
                    numbered(&mut lines, at, &way.label, &way.note);
                }
                lines.push("A number. Enter alone skips; /back, /skip and /quit work everywhere.".to_owned());
            }
            Page::Address => lines.push("An address. Enter alone skips.".to_owned()),
            Page::Key if self.needs_key() => lines.push("The key; it is not shown. Enter alone skips.".to_owned()),
            Page::Key => lines.push("The key; it is not shown.".to_owned()),
            Page::Models => {
                for (at, model) in self.reached.models.iter().enumerate().take(LISTED) {
                    numbered(&mut lines, at, &model.id, &model.note);
                }
                let hidden = self.reached.models.len().saturating_sub(LISTED);
                if hidden > 0 {
                    lines.push(format!("and {hidden} more"));
                }
                let usual = self.reached.usual.as_ref();
                let usual = usual.map_or_else(String::new, |usual| format!(" Enter alone takes {usual}."));
                let what = if self.reached.models.is_empty() { "A name." } else { "A number or a name." };
                lines.push(format!("{what}{usual}"));
            }
            Page::Budget => lines.push("An amount such as 2.50. Enter alone: no limit.".to_owned()),
        }
        Question { lines, secret: self.page == Page::Key }
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
            Page::Repository => match line.to_lowercase().as_str() {
                "y" | "yes" => self.next(),
                "" | "n" | "no" => Some(Effect::Quit),
                _ => self.not_understood("write yes or no"),
            },
            Page::Ways if line.is_empty() => Some(Effect::Skip),
            Page::Ways => match number(line, self.start.ways.len()) {
                Some(at) => {
                    self.cursor.chosen = at;
                    self.next()
                }
                None => self.not_understood(&format!("write a number from 1 to {}", self.start.ways.len())),
            },
            Page::Address if line.is_empty() => Some(Effect::Skip),
            Page::Address => {
                self.address = Field::with(line);
                self.next()
            }
            Page::Key if line.is_empty() && self.needs_key() => Some(Effect::Skip),
            Page::Key => {
                self.key = Secret::new(line);
                self.next()
            }
            Page::Models => self.model_named(line),
            Page::Budget => {
                self.budget = Field::with(line);
                self.next()
            }
        }
    }

    fn needs_key(&self) -> bool {
        self.way().is_some_and(|way| way.needs == Needs::Key)
    }

    fn not_understood(&mut self, why: &str) -> Option<Effect> {
        self.problem = Some(why.to_owned());
        None
    }

    /// Takes a number of the list, a whole name, or a part of a name that only one model has; nothing: the usual one.
    fn model_named(&mut self, line: &str) -> Option<Effect> {
        let models = &self.reached.models;
        let wanted = line.to_lowercase();
        let like: Vec<_> = models.iter().filter(|model| model.id.to_lowercase().contains(&wanted)).collect();
        let exact = models.iter().position(|model| model.id == line);
        let place = match (number(line, models.len()), exact, like.as_slice()) {
            _ if line.is_empty() => Some(self.cursor.chosen),
            (Some(at), ..) | (None, Some(at), _) => Some(at),
            (None, None, [only]) => models.iter().position(|model| model.id == only.id),
            (None, None, []) => None,
            (None, None, several) => {
                let why = format!("{} models have {line:?} in their name: write more of it", several.len());
                return self.not_understood(&why);
            }
        };
        match place {
            Some(at) => self.cursor.chosen = at,
            // Lists are not always complete: what is not in it is taken as it is.
            None => self.filter = Field::with(line),
        }
        let effect = self.next();
        self.filter.take();
        effect
    }
}

/// Returns the place that a number from one to `count` means.
fn number(line: &str, count: usize) -> Option<usize> {
    line.trim_end_matches('.').parse::<usize>().ok()?.checked_sub(1).filter(|at| *at < count)
}

#[cfg(test)]
#[path = "lines_tests.rs"]
mod tests;
