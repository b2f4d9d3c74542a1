//! The format of scenarios. The parent module documents it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::model::event::StopReason;
use crate::provider::error::ErrorClass;
use crate::provider::scripted::pattern::{Patterns, Regex};

/// The supported version of the format.
const VERSION: u32 = 1;

/// A scenario that cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    #[error("cannot read the scenario {path}: {source}")]
    Read { path: PathBuf, source: io::Error },
    #[error("invalid scenario: {0}")]
    Shape(#[from] serde_json::Error),
    #[error("rule {0} has no `when` and would match everything")]
    Rule(String),
    #[error("the scenario has version {0}; this mxd supports version {VERSION}")]
    Version(u32),
}

/// A set of scripted conversations.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    version: u32,
    #[serde(default)]
    pub(super) pacing: Pacing,
    #[serde(default)]
    pub(super) rules: Vec<ScriptedTurn>,
    #[serde(default)]
    pub(super) conversations: Vec<ScriptedConversation>,
    #[serde(default)]
    pub(super) otherwise: Option<Box<ScriptedTurn>>,
}

impl Scenario {
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        Self::checked(serde_json::from_str(text)?)
    }

    pub fn from_value(value: Value) -> Result<Self, ScenarioError> {
        Self::checked(serde_json::from_value(value)?)
    }

    pub fn load(path: &Path) -> Result<Self, ScenarioError> {
        let text = fs::read_to_string(path).map_err(|source| ScenarioError::Read { path: path.to_owned(), source })?;
        Self::parse(&text)
    }

    fn checked(scenario: Self) -> Result<Self, ScenarioError> {
        if scenario.version != VERSION {
            return Err(ScenarioError::Version(scenario.version));
        }
        let own = scenario.conversations.iter().map(|conversation| (conversation.name.as_str(), &conversation.rules));
        for (place, rules) in own.chain([("scenario", &scenario.rules)]) {
            if let Some(index) = rules.iter().position(|rule| rule.when.is_none()) {
                return Err(ScenarioError::Rule(format!("{} of \"{place}\"", index + 1)));
            }
        }
        Ok(scenario)
    }
}

/// The answers to one agent.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptedConversation {
    #[serde(default)]
    pub(super) name: String,
    #[serde(default)]
    pub(super) when: Selector,
    #[serde(default)]
    pub(super) rules: Vec<ScriptedTurn>,
    #[serde(default)]
    pub(super) turns: Vec<ScriptedTurn>,
    #[serde(default)]
    pub(super) otherwise: Option<Box<ScriptedTurn>>,
}

/// Selects the requests that belong to a conversation.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Selector {
    pub(super) system: Patterns,
    pub(super) first: Patterns,
    pub(super) anchor: Patterns,
}

/// A condition on the user's input since the last answer.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Condition {
    pub(super) text: Patterns,
    pub(super) result: Patterns,
    pub(super) last: Patterns,
}

/// One answer.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ScriptedTurn {
    pub(super) when: Option<Condition>,
    pub(super) capture: BTreeMap<String, Capture>,
    pub(super) thinking: Option<String>,
    pub(super) text: Option<String>,
    pub(super) calls: Vec<ScriptedCall>,
    pub(super) stop: Option<StopReason>,
    pub(super) errors: Vec<ScriptedError>,
    pub(super) pacing: Option<Pacing>,
    pub(super) otherwise: Option<Box<Self>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptedCall {
    pub(super) tool: String,
    #[serde(default)]
    pub(super) input: Value,
    /// Input that is not JSON, to test malformed calls.
    #[serde(default)]
    pub(super) malformed: Option<String>,
}

/// The text that a capture searches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CaptureSource {
    Text,
    Result,
    #[default]
    Last,
    First,
    All,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Capture {
    #[serde(default)]
    pub(super) from: CaptureSource,
    pub(super) regex: Regex,
}

/// An error to play instead of an answer.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptedError {
    #[serde(deserialize_with = "class")]
    pub(super) class: ErrorClass,
    #[serde(default)]
    pub(super) status: Option<u16>,
    #[serde(default)]
    pub(super) retry_after_ms: Option<u64>,
    /// Number of characters of text before the error.
    #[serde(default)]
    pub(super) after_chars: Option<usize>,
}

fn class<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ErrorClass, D::Error> {
    let word = String::deserialize(deserializer)?;
    ErrorClass::from_word(&word).ok_or_else(|| {
        let words: Vec<_> = ErrorClass::ALL.iter().map(|class| class.word()).collect();
        serde::de::Error::custom(format!("unknown error class \"{word}\"; expected one of {}", words.join(", ")))
    })
}

/// The speed of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Pacing {
    pub(super) first_token_ms: u64,
    /// Zero: all at once.
    pub(super) chars_per_second: u64,
}

impl Default for Pacing {
    fn default() -> Self {
        Self { first_token_ms: 600, chars_per_second: 240 }
    }
}

/// Pacing multiplied by the provider's factor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ScaledPacing {
    pub(super) first_token: Duration,
    /// `None`: all at once.
    pub(super) per_char: Option<Duration>,
}

impl Pacing {
    pub(super) fn scaled(self, factor: f64) -> ScaledPacing {
        let per_char = (self.chars_per_second > 0 && factor > 0.0)
            .then(|| Duration::from_secs_f64(factor.min(1e3) / self.chars_per_second as f64));
        ScaledPacing {
            first_token: Duration::from_millis(self.first_token_ms.min(3_600_000)).mul_f64(factor.min(1e3)),
            per_char,
        }
    }
}
