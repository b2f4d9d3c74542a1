//! Matchers: which tools, kinds or reasons a hook is for.

use fancy_regex::Regex;

/// A pattern of names, in Claude Code's form.
///
/// Empty and `*` match everything. Letters, digits, `_`, `-`, spaces, `,` and `|` are exact names, separated by `|` or
/// `,`. Anything else is a regular expression that may match a part of the name.
#[derive(Clone, Debug)]
pub enum Matcher {
    All,
    Names(Vec<String>),
    Pattern(Box<Regex>),
}

/// A text that is no regular expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is no valid regular expression: {why}")]
pub struct InvalidMatcher {
    pub text: String,
    pub why: String,
}

impl Matcher {
    pub fn parse(text: &str) -> Result<Self, InvalidMatcher> {
        let trimmed = text.trim();
        if trimmed.is_empty() || trimmed == "*" {
            return Ok(Self::All);
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-,| ".contains(c);
        if trimmed.chars().all(is_plain) {
            let names = trimmed.split(['|', ',']).map(str::trim).filter(|name| !name.is_empty());
            return Ok(Self::Names(names.map(str::to_owned).collect()));
        }
        Regex::new(trimmed)
            .map(|regex| Self::Pattern(Box::new(regex)))
            .map_err(|error| InvalidMatcher { text: text.to_owned(), why: error.to_string() })
    }

    /// Returns true if one of the names matches. A pattern that is too costly to decide matches: a guard must not be
    /// passed because of that.
    pub fn matches(&self, names: &[String]) -> bool {
        match self {
            Self::All => true,
            Self::Names(wanted) => names.iter().any(|name| wanted.contains(name)),
            Self::Pattern(regex) => names.iter().any(|name| regex.is_match(name).unwrap_or(true)),
        }
    }
}
