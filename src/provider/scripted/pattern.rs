//! Text patterns of scenarios.

use std::fmt;

use grep_matcher::{Captures as _, Matcher as _};
use grep_regex::RegexMatcher;
use serde::Deserialize;

/// A regular expression, validated when the scenario is parsed.
#[derive(Clone, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Regex {
    source: String,
    matcher: RegexMatcher,
}

impl Regex {
    fn finds(&self, text: &str) -> bool {
        self.matcher.is_match(text.as_bytes()).unwrap_or(false)
    }

    /// Returns the match of the first group, or the whole match if there is no group.
    pub(super) fn capture<'a>(&self, text: &'a str) -> Option<&'a str> {
        let mut captures = self.matcher.new_captures().ok()?;
        self.matcher.captures(text.as_bytes(), &mut captures).ok()?.then_some(())?;
        let found = captures.get(1).or_else(|| captures.get(0))?;
        text.get(found.start()..found.end())
    }
}

impl TryFrom<String> for Regex {
    type Error = String;

    fn try_from(source: String) -> Result<Self, String> {
        let matcher =
            RegexMatcher::new(&source).map_err(|problem| format!("\"{source}\" is not a regex: {problem}"))?;
        Ok(Self { source, matcher })
    }
}

impl fmt::Debug for Regex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}/", self.source)
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Pattern {
    Contains(String),
    Rule(Rule),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    #[serde(default)]
    contains: Option<String>,
    #[serde(default)]
    regex: Option<Regex>,
    #[serde(default)]
    not: bool,
}

impl Pattern {
    fn matches(&self, text: &str) -> bool {
        match self {
            Self::Contains(part) => text.contains(part),
            Self::Rule(rule) => {
                let contains = rule.contains.as_ref().is_none_or(|part| text.contains(part));
                let finds = rule.regex.as_ref().is_none_or(|regex| regex.finds(text));
                (contains && finds) != rule.not
            }
        }
    }
}

/// Patterns that must all match. An empty list always matches.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(from = "OneOrMany")]
pub(super) struct Patterns(Vec<Pattern>);

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(Pattern),
    Many(Vec<Pattern>),
}

impl From<OneOrMany> for Patterns {
    fn from(patterns: OneOrMany) -> Self {
        match patterns {
            OneOrMany::One(pattern) => Self(vec![pattern]),
            OneOrMany::Many(patterns) => Self(patterns),
        }
    }
}

impl Patterns {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn match_all(&self, text: &str) -> bool {
        self.0.iter().all(|pattern| pattern.matches(text))
    }
}
