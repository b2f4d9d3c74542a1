//! What can go wrong with a model API, in one vocabulary for all of them.
//!
//! An error is classified once, here, where its status, headers and body are known; everybody after that asks its
//! class. Messages are for people: cleaned, bounded, and never with a key in them.

mod classify;
mod retry_after;

use std::fmt;
use std::time::Duration;

pub use classify::{classify, classify_event};
pub use retry_after::{retry_after, retry_after_in_words};

use crate::base::{Secret, sanitize, text};
use crate::provider::response::Response;

const MESSAGE_BYTES: usize = 400;
const MASK: &str = "****";

/// The kinds of failure that lead to different decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorClass {
    /// The key is missing, wrong, or not allowed to do this.
    Auth,
    /// The account has no money or quota left.
    Credit,
    /// Too many requests or tokens for this credential.
    RateLimit,
    /// The API has more to do than it can.
    Overloaded,
    /// The API failed by its own account, or said something that makes no sense.
    Server,
    /// It could not be reached.
    Network,
    /// It was reached and did not answer in time.
    Timeout,
    /// The response broke off.
    Truncated,
    /// The response passed a limit of size or time without ending.
    Runaway,
    /// The API does not accept what was sent.
    InvalidRequest,
    /// The conversation does not fit the model's window.
    ContextOverflow,
    UnknownModel,
    /// The API will not answer this, by its rules.
    Refused,
    /// We stopped it.
    Cancelled,
}

impl ErrorClass {
    pub const ALL: [Self; 14] = [
        Self::Auth,
        Self::Credit,
        Self::RateLimit,
        Self::Overloaded,
        Self::Server,
        Self::Network,
        Self::Timeout,
        Self::Truncated,
        Self::Runaway,
        Self::InvalidRequest,
        Self::ContextOverflow,
        Self::UnknownModel,
        Self::Refused,
        Self::Cancelled,
    ];

    /// Returns the stable word that logs use.
    pub fn word(self) -> &'static str {
        match self {
            Self::Auth => "auth",
            Self::Credit => "credit",
            Self::RateLimit => "rate_limit",
            Self::Overloaded => "overloaded",
            Self::Server => "server",
            Self::Network => "network",
            Self::Timeout => "timeout",
            Self::Truncated => "truncated",
            Self::Runaway => "runaway",
            Self::InvalidRequest => "invalid_request",
            Self::ContextOverflow => "context_overflow",
            Self::UnknownModel => "unknown_model",
            Self::Refused => "refused",
            Self::Cancelled => "cancelled",
        }
    }

    /// Returns the class that [`Self::word`] stands for.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.word() == word)
    }

    /// Returns what happened and what to do next, for a person.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Auth => "The model API did not accept the key. Check the key of this credential group, then retry.",
            Self::Credit => "The account has no credit left. Add credit with the vendor or use another credential.",
            Self::RateLimit => "The model API limits this key. Wait and retry, or let fewer agents work at once.",
            Self::Overloaded => "The model API is overloaded. Wait and retry, or use another model.",
            Self::Server => "The model API keeps failing. Look at the vendor's status page, then retry.",
            Self::Network => "The model API cannot be reached. Check the network, the proxy and the base URL.",
            Self::Timeout => "The model API does not answer in time. A local model may still be loading; then retry.",
            Self::Truncated => {
                "The response keeps breaking off before its end. Check the network and the proxy, then retry."
            }
            Self::Runaway => "The response did not end and was cut off. Use another model, or ask for less at once.",
            Self::InvalidRequest => {
                "The model API does not accept the request. Check the model's settings; if they are right, this is a bug."
            }
            Self::ContextOverflow => "The conversation is too long for the model. Compact it, or use a larger window.",
            Self::UnknownModel => "The endpoint does not know the model. Check its name in the profile or the config.",
            Self::Refused => "The model API refuses to answer this. Rephrase the task or use another model.",
            Self::Cancelled => "The request was stopped.",
        }
    }
}

impl fmt::Display for ErrorClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// A request that did not give a response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.describe())]
pub struct ApiError {
    pub class: ErrorClass,
    pub status: Option<u16>,
    /// The API's own words, cleaned; or ours, if it had none.
    pub message: String,
    /// How long the API asked us to wait.
    pub retry_after: Option<Duration>,
    /// The vendor's name for the request, for its support.
    pub request_id: Option<String>,
    /// The text that had arrived.
    pub partial: Option<Box<Response>>,
}

impl ApiError {
    pub fn new(class: ErrorClass, message: impl AsRef<str>) -> Self {
        let message = presentable(message.as_ref());
        Self { class, status: None, message, retry_after: None, request_id: None, partial: None }
    }

    pub fn cancelled() -> Self {
        Self::new(ErrorClass::Cancelled, "stopped before the response was complete")
    }

    pub fn with_partial(mut self, partial: Response) -> Self {
        self.partial = Some(Box::new(partial));
        self
    }

    /// Takes `key` out of the message, should the other side have repeated it.
    pub fn without_key(mut self, key: Option<&Secret>) -> Self {
        if let Some(key) = key.filter(|key| !key.is_empty()) {
            self.message = self.message.replace(key.expose(), MASK);
            // A message that was cut may end in the middle of it.
            let shown = self.message.trim_end_matches('…');
            let mut cut = key.expose().char_indices().skip(8).map(|(end, _)| &key.expose()[..end]);
            if let Some(start) = cut.find_map(|start| shown.strip_suffix(start)).map(str::len) {
                self.message.replace_range(start.., MASK);
            }
        }
        self
    }

    fn describe(&self) -> String {
        let status = self.status.map(|status| format!(" ({status})")).unwrap_or_default();
        let request = self.request_id.as_ref().map(|id| format!(" [request {id}]")).unwrap_or_default();
        format!("{}{status}: {}{request}", self.class.word(), self.message)
    }
}

/// Returns foreign text as one clean line of bounded length, with anything that looks like a key masked.
fn presentable(message: &str) -> String {
    // Cut before cleaning, so that an enormous body costs nothing; the mask may shorten it further.
    let line = sanitize::line(text::prefix(message, MESSAGE_BYTES * 4)).trim().to_owned();
    let masked = mask_keys(&line);
    if masked.len() <= MESSAGE_BYTES {
        return masked;
    }
    format!("{}…", text::prefix(&masked, MESSAGE_BYTES).trim_end())
}

/// How keys begin, at the vendors whose messages quote them.
const KEY_PREFIXES: [&str; 4] = ["sk-", "sk_", "xai-", "gsk_"];

/// Masks every run of key characters that begins like a key.
fn mask_keys(line: &str) -> String {
    let in_key = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '*');
    let mut masked = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(start) = rest.find(in_key) {
        let (before, run) = rest.split_at(start);
        let (run, after) = run.split_at(run.find(|c| !in_key(c)).unwrap_or(run.len()));
        masked.push_str(before);
        let secret = run.len() >= 12 && KEY_PREFIXES.iter().any(|prefix| run.starts_with(prefix));
        masked.push_str(if secret { MASK } else { run });
        rest = after;
    }
    masked + rest
}

#[cfg(test)]
#[path = "error_tests.rs"]
mod tests;
