//! Reads the values of fields, and collects problems.

use super::fields::{self, FieldMeaning};
use super::{ListedName, ProfileProblem, ProfileProblemKind};
use crate::base::MicroUsd;
use crate::config::yaml::{Entry, Node, Value};
use crate::permit::Mode;

pub(super) struct Reader<'a> {
    file: &'a str,
    pub(super) errors: Vec<ProfileProblem>,
    pub(super) warnings: Vec<ProfileProblem>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(file: &'a str) -> Self {
        Self { file, errors: Vec::new(), warnings: Vec::new() }
    }

    pub(super) fn fail(&mut self, line: Option<usize>, kind: ProfileProblemKind) {
        self.errors.push(ProfileProblem::new(self.file, line, kind));
    }

    pub(super) fn warn(&mut self, line: usize, kind: ProfileProblemKind) {
        self.warnings.push(ProfileProblem::new(self.file, Some(line), kind));
    }

    /// Returns the canonical name of an entry's field, or `None` if it is ignored. A typo is an error: ignoring a
    /// misspelt limit would let the agent do more than intended.
    pub(super) fn field(&mut self, entry: &Entry) -> Option<&'static str> {
        let (line, key) = (entry.at.line, entry.key.clone());
        match fields::meaning(&entry.key, &entry.value) {
            FieldMeaning::Known(field) => return Some(field),
            FieldMeaning::Silent => {}
            FieldMeaning::Typo(nearest) => self.fail(Some(line), ProfileProblemKind::UnknownField { key, nearest }),
            FieldMeaning::Wrong(instead) => self.fail(Some(line), ProfileProblemKind::NoField { key, instead }),
            FieldMeaning::Unsupported(instead) => self.warn(line, ProfileProblemKind::Unsupported { key, instead }),
            FieldMeaning::Unknown => self.warn(line, ProfileProblemKind::Unused(key)),
        }
        None
    }

    fn wrong(&mut self, field: &'static str, entry: &Entry, expected: &'static str) {
        self.fail(Some(entry.at.line), ProfileProblemKind::Wrong { field, expected });
    }

    pub(super) fn text(&mut self, field: &'static str, entry: &Entry) -> Option<String> {
        let text = plain(&entry.value).filter(|text| !text.is_empty()).map(str::to_owned);
        if text.is_none() {
            self.wrong(field, entry, "a string");
        }
        text
    }

    pub(super) fn names(&mut self, field: &'static str, entry: &Entry) -> Option<Vec<ListedName>> {
        let listed =
            |item: &Node| plain(&item.value).map(|name| ListedName { name: name.to_owned(), line: item.at.line });
        let names: Option<Vec<ListedName>> = match &entry.value {
            Value::List(items) => items.iter().map(listed).collect(),
            Value::Text { text, .. } if !text.trim().is_empty() => {
                let line = entry.at.line;
                Some(split_list(text).map(|name| ListedName { name: name.to_owned(), line }).collect())
            }
            Value::Text { .. } | Value::Null | Value::Map(_) => None,
        };
        if names.is_none() {
            self.wrong(field, entry, "names separated by commas; [] for none, or omit the line for all");
        }
        names.map(|names| names.into_iter().filter(|listed| !listed.name.is_empty()).collect())
    }

    /// Returns the allowed tools and the tools that are taken away. Some programs write a map of names to true or false,
    /// where only false says something.
    pub(super) fn tools(&mut self, field: &'static str, entry: &Entry) -> (Option<Vec<ListedName>>, Vec<ListedName>) {
        let Value::Map(tools) = &entry.value else { return (self.names(field, entry), Vec::new()) };
        let mut denied = Vec::new();
        for tool in tools {
            match plain(&tool.value).and_then(truth) {
                Some(true) => {}
                Some(false) => denied.push(ListedName { name: tool.key.clone(), line: tool.at.line }),
                None => self.wrong(field, tool, "a list of names, or a map of names to true or false"),
            }
        }
        (None, denied)
    }

    pub(super) fn number(&mut self, field: &'static str, entry: &Entry) -> Option<u64> {
        let number = plain(&entry.value).and_then(|text| text.parse().ok()).filter(|number| *number > 0);
        if number.is_none() {
            self.wrong(field, entry, "an integer, 1 or more");
        }
        number
    }

    pub(super) fn depth(&mut self, field: &'static str, entry: &Entry) -> Option<u32> {
        let depth = plain(&entry.value).and_then(|text| text.parse().ok());
        if depth.is_none() {
            self.wrong(field, entry, "an integer, 0 or more");
        }
        depth
    }

    pub(super) fn flag(&mut self, field: &'static str, entry: &Entry) -> Option<bool> {
        let flag = plain(&entry.value).and_then(truth);
        if flag.is_none() {
            self.wrong(field, entry, "true or false");
        }
        flag
    }

    pub(super) fn mode(&mut self, field: &'static str, entry: &Entry) -> Option<Mode> {
        let mode = plain(&entry.value).and_then(|text| text.parse().ok());
        if mode.is_none() {
            self.wrong(field, entry, "a mode: ask, edits, sandboxed, plan, refuse, bypass or delegate");
        }
        mode
    }

    pub(super) fn choice<T: Copy>(
        &mut self,
        field: &'static str,
        entry: &Entry,
        expected: &'static str,
        choices: &[(&str, T)],
    ) -> Option<T> {
        let text = plain(&entry.value).unwrap_or_default();
        let chosen = choices.iter().find(|(word, _)| *word == text).map(|(_, choice)| *choice);
        if chosen.is_none() {
            self.wrong(field, entry, expected);
        }
        chosen
    }

    pub(super) fn dollars(&mut self, field: &'static str, entry: &Entry) -> Option<MicroUsd> {
        let amount = plain(&entry.value).and_then(|text| text.trim_start_matches('$').parse::<f64>().ok());
        let amount = amount.and_then(MicroUsd::from_dollars).filter(|amount| *amount > MicroUsd::ZERO);
        if amount.is_none() {
            self.wrong(field, entry, "an amount in USD, such as 2.50");
        }
        amount
    }
}

/// Returns the trimmed text of a scalar.
fn plain(value: &Value) -> Option<&str> {
    match value {
        Value::Text { text, .. } => Some(text.trim()),
        Value::Null | Value::List(_) | Value::Map(_) => None,
    }
}

fn truth(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" => Some(true),
        "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

/// Splits a comma-separated list. A comma inside parentheses belongs to its item.
fn split_list(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_usize;
    let items = text.split(move |c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    });
    items.map(str::trim).filter(|item| !item.is_empty())
}
