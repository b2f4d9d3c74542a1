//! Errors of model APIs, with the same classes for all vendors.
//!
//! An error is classified once, here, where status, headers and body are known. Later decisions depend only on the
//! class. Messages are for users: sanitised, bounded, and without keys.

mod classify;
mod retry_after;

use std::fmt;
use std::time::Duration;

pub use classify::{classify, classify_event};
pub use retry_after::{retry_after, retry_after_in_message};

use crate::base::{Secret, sanitize, text};
use crate::provider::response::Response;

const MESSAGE_BYTES: usize = 400;
const MASK: &str = "****";

/// The kinds of failure that need different handling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorClass {
    /// The key is missing, wrong, or not allowed to do this.
    Auth,
    /// The account has no credit or quota left.
    Credit,
    /// Too many requests or tokens for this credential.
    RateLimit,
    /// The API is overloaded.
    Overloaded,
    /// The API reported an internal error, or sent something invalid.
    Server,
    /// The API could not be reached.
    Network,
    /// The API did not answer in time.
    Timeout,
    /// The response broke off.
    Truncated,
    /// The response passed a limit of size or time without ending.
    Runaway,
    /// The API rejected the request as invalid.
    InvalidRequest,
    /// The conversation does not fit the model's window.
    ContextOverflow,
    UnknownModel,
    /// The API refused to answer, by its content rules.
    Refused,
    /// The request was cancelled by this program.
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

    /// Returns the stable name of the class in logs.
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

    /// Returns the class with this name.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.word() == word)
    }

    /// Returns what happened and what to do next, for users.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Auth => "The provider rejected the API key. Check the key of this credential group, then retry.",
            Self::Credit => "The provider's account has no credit left. Add credit, or use another credential.",
            Self::RateLimit => "The provider's rate limit was exceeded. Wait and retry, or run fewer agents at once.",
            Self::Overloaded => "The provider is overloaded. Wait and retry, or use another model.",
            Self::Server => "The provider failed. Check its status page, then retry.",
            Self::Network => "The provider cannot be reached. Check the network, the proxy and the base URL.",
            Self::Timeout => "The provider did not answer in time. Retry: a local model may still be loading.",
            Self::Truncated => "The response broke off. Check the network and the proxy, then retry.",
            Self::Runaway => "The response did not end and was cut off. Retry, or use another model.",
            Self::InvalidRequest => {
                "The provider rejected the request. Check the model's settings; if they are correct, this is a bug."
            }
            Self::ContextOverflow => {
                "The conversation does not fit the model's window. Compact it, or use a model with a larger one."
            }
            Self::UnknownModel => "The provider does not know the model. Check its name in the profile or the config.",
            Self::Refused => "The provider refused to answer. Rephrase the task, or use another model.",
            Self::Cancelled => "The request was cancelled.",
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
    /// The API's own message, sanitised, or a default if it had none.
    pub message: String,
    /// How long the API asked to wait.
    pub retry_after: Option<Duration>,
    /// The vendor's id of the request, for support.
    pub request_id: Option<String>,
    /// The text that had arrived.
    pub partial: Option<Box<Response>>,
}

impl ApiError {
    pub fn new(class: ErrorClass, message: impl AsRef<str>) -> Self {
        let message = clean_message(message.as_ref());
        Self { class, status: None, message, retry_after: None, request_id: None, partial: None }
    }

    pub fn cancelled() -> Self {
        Self::new(ErrorClass::Cancelled, "stopped before the response was complete")
    }

    pub fn with_partial(mut self, partial: Response) -> Self {
        self.partial = Some(Box::new(partial));
        self
    }

    /// Masks `key` in the message, in case the API repeated it.
    pub fn without_key(mut self, key: Option<&Secret>) -> Self {
        if let Some(key) = key.filter(|key| !key.is_empty()) {
            self.message = self.message.replace(key.expose(), MASK);
            // A truncated message may end within the key.
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

/// Returns untrusted text as one sanitised line of bounded length, with everything masked that looks like a key.
fn clean_message(message: &str) -> String {
    // Cut first, so that a huge body costs nothing. Masking may shorten it further.
    let line = sanitize::line(text::prefix(message, MESSAGE_BYTES * 4)).trim().to_owned();
    let masked = mask_keys(&line);
    if masked.len() <= MESSAGE_BYTES {
        return masked;
    }
    format!("{}…", text::prefix(&masked, MESSAGE_BYTES).trim_end())
}

/// Prefixes of keys, of the vendors whose messages quote them.
const KEY_PREFIXES: [&str; 4] = ["sk-", "sk_", "xai-", "gsk_"];

/// Masks every sequence of key characters that starts with a key prefix.
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
