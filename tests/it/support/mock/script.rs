//! The script: which conversations there are, what each is answered, and what goes wrong on the way.
//!
//! Plain data with builders; the same shapes load from JSON for the stand-alone server. Nothing here decides anything.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::Deserialize;

use super::fault::Fault;
use super::models::Model;
use super::seen::Seen;
use super::turn::Turn;

/// The name of the conversation that takes every request no other conversation claims.
pub const MAIN: &str = "main";

/// Everything the mock knows before the first request.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Script {
    pub conversations: Vec<Conversation>,
    /// The queue of [`MAIN`].
    pub turns: Vec<Turn>,
    /// Faults by number of the request, over all conversations, from 1.
    pub faults: BTreeMap<usize, Fault>,
    /// Models beside the built-in ones; the same id replaces.
    pub models: Vec<Model>,
    pub exhausted: Exhausted,
    pub summary: Option<Summary>,
    /// The only key that is let in. Nothing: any key, but one there must be.
    pub api_key: Option<String>,
    /// Fields that are accepted although the vendor's reference does not know them.
    pub known_fields: Vec<String>,
    /// How a tool's failure starts on the wires that have no flag for it.
    pub tool_error_marker: String,
    /// Prefixes shorter than this many tokens are not cached.
    pub cache_minimum: u64,
    /// A request header that names the conversation.
    pub identify_header: Option<String>,
    #[serde(skip)]
    pub identify: Option<Identify>,
    #[serde(skip)]
    pub reason: Option<Reason>,
}

/// A model that thinks for itself: what it answers follows from the request alone, however often it is asked.
#[derive(Clone)]
pub struct Reason(pub Arc<ReasonRule>);

type ReasonRule = dyn Fn(&str, &Seen) -> Option<Turn> + Send + Sync;

impl fmt::Debug for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reason(..)")
    }
}

/// A rule of the test's own for telling conversations apart.
#[derive(Clone)]
pub struct Identify(pub Arc<IdentifyRule>);

type IdentifyRule = dyn Fn(&Seen) -> Option<String> + Send + Sync;

impl fmt::Debug for Identify {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Identify(..)")
    }
}

/// What happens to a request whose conversation has no turn left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exhausted {
    /// It is answered "Acknowledged."
    #[default]
    Acknowledge,
    /// It is a violation.
    Fail,
}

/// How a request for a summary is recognised, and what it is answered.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// A text in the last user turn.
    pub marker: String,
    /// What stands between the `<summary>` tags. Its first line recognises the segment that starts from it.
    pub text: String,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            conversations: Vec::new(),
            turns: Vec::new(),
            faults: BTreeMap::new(),
            models: Vec::new(),
            exhausted: Exhausted::default(),
            summary: None,
            api_key: None,
            known_fields: Vec::new(),
            tool_error_marker: "Error".to_owned(),
            cache_minimum: 0,
            identify_header: None,
            identify: None,
            reason: None,
        }
    }
}

impl Script {
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the script that `json` holds, or what is wrong with it.
    pub fn from_json(json: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(json)
    }

    /// Adds a conversation.
    pub fn with(mut self, conversation: Conversation) -> Self {
        self.conversations.push(conversation);
        self
    }

    /// Adds a turn to the queue of requests that no conversation claims.
    pub fn turn(mut self, turn: Turn) -> Self {
        self.turns.push(turn);
        self
    }

    /// Adds `turn` to that queue `times` over. `${turn}` in it counts.
    pub fn repeat(mut self, times: usize, turn: &Turn) -> Self {
        self.turns.extend(std::iter::repeat_n(turn, times).cloned());
        self
    }

    /// Lets request number `n` (over all conversations, from 1) meet `fault`.
    pub fn fault_at(mut self, n: usize, fault: Fault) -> Self {
        self.faults.insert(n, fault);
        self
    }

    pub fn model(mut self, model: Model) -> Self {
        self.models.push(model);
        self
    }

    /// Makes a request beyond the end of its queue a violation.
    pub fn fail_when_exhausted(mut self) -> Self {
        self.exhausted = Exhausted::Fail;
        self
    }

    /// Answers requests whose last user turn contains `marker` with `text` in `<summary>` tags.
    pub fn summarise_when(mut self, marker: &str, text: &str) -> Self {
        self.summary = Some(Summary { marker: marker.to_owned(), text: text.to_owned() });
        self
    }

    pub fn require_key(mut self, key: &str) -> Self {
        self.api_key = Some(key.to_owned());
        self
    }

    pub fn known_field(mut self, name: &str) -> Self {
        self.known_fields.push(name.to_owned());
        self
    }

    pub fn tool_error_marker(mut self, marker: &str) -> Self {
        marker.clone_into(&mut self.tool_error_marker);
        self
    }

    pub fn cache_minimum(mut self, tokens: u64) -> Self {
        self.cache_minimum = tokens;
        self
    }

    /// Takes the conversation's name from a request header.
    pub fn identify_by_header(mut self, header: &str) -> Self {
        self.identify_header = Some(header.to_ascii_lowercase());
        self
    }

    /// Takes the conversation's name from `rule`; where it says nothing, markers decide.
    pub fn identify_by(mut self, rule: impl Fn(&Seen) -> Option<String> + Send + Sync + 'static) -> Self {
        self.identify = Some(Identify(Arc::new(rule)));
        self
    }

    /// Answers with what `rule` makes of a conversation and its request; where it makes nothing, the queue answers.
    pub fn reason(mut self, rule: impl Fn(&str, &Seen) -> Option<Turn> + Send + Sync + 'static) -> Self {
        self.reason = Some(Reason(Arc::new(rule)));
        self
    }
}

/// One conversation: how its requests are known, and its queue of turns.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Conversation {
    pub name: String,
    /// A text that only this conversation has in its first user turn or its system prompt. Nothing: its name.
    pub marker: Option<String>,
    /// The conversation that this one continues. Its marker may then stand anywhere in its user turns.
    pub fork_of: Option<String>,
    pub turns: Vec<Turn>,
    /// What requests for a summary are answered, before the script's own.
    pub summaries: Vec<Turn>,
    /// Faults by number of the request in this conversation, from 1.
    pub faults: BTreeMap<usize, Fault>,
    pub exhausted: Option<Exhausted>,
}

impl Conversation {
    /// Returns an empty conversation that is known by its name.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    pub fn marker(mut self, marker: &str) -> Self {
        self.marker = Some(marker.to_owned());
        self
    }

    /// Declares that the first request continues one of `parent`'s.
    pub fn expect_fork_of(mut self, parent: &str) -> Self {
        self.fork_of = Some(parent.to_owned());
        self
    }

    pub fn turn(mut self, turn: Turn) -> Self {
        self.turns.push(turn);
        self
    }

    pub fn repeat(mut self, times: usize, turn: &Turn) -> Self {
        self.turns.extend(std::iter::repeat_n(turn, times).cloned());
        self
    }

    /// Answers `times` over with `step`, then with `end`.
    pub fn looping(self, times: usize, step: &Turn, end: Turn) -> Self {
        self.repeat(times, step).turn(end)
    }

    pub fn summary(mut self, turn: Turn) -> Self {
        self.summaries.push(turn);
        self
    }

    pub fn fault_at(mut self, n: usize, fault: Fault) -> Self {
        self.faults.insert(n, fault);
        self
    }

    pub fn fail_when_exhausted(mut self) -> Self {
        self.exhausted = Some(Exhausted::Fail);
        self
    }

    pub(super) fn known_by(&self) -> &str {
        self.marker.as_deref().unwrap_or(&self.name)
    }
}
