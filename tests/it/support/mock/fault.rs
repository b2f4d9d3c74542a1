//! What can go wrong between a model API and its client, as data.

use serde::Deserialize;

/// One thing that goes wrong. Positions in a stream count events, or bytes of the body.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// A refusal with a status line.
    Http {
        kind: ErrorKind,
        #[serde(default)]
        retry_after: Option<String>,
        #[serde(default)]
        message: Option<String>,
    },
    /// The connection is reset (RST) after this many bytes of the body.
    ResetAfter(usize),
    /// The connection is closed in mid-body after this many bytes, without the end of the encoding.
    CutAfter(usize),
    /// The body ends in good order after this many events, without the one that says so.
    Truncated(usize),
    /// After this many events comes one whose data is not JSON; the rest follows.
    MalformedJson(usize),
    /// After this many events comes the wire's own error event, and the stream ends.
    ErrorEvent { after: usize, kind: ErrorKind },
    /// After this many events nothing comes until the test opens the gate.
    Stall { after: usize, gate: String },
    /// The body comes in pieces of so many bytes.
    SlowDrip { bytes: usize, every_ms: u64 },
    /// 200 with a web page, as a captive portal answers.
    WrongContentType,
    /// The connection is closed before a status line.
    CloseWithoutResponse,
}

/// The errors that the vendors document, whatever each calls them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    RateLimit,
    Overloaded,
    Server,
    Unavailable,
    Unauthorized,
    Forbidden,
    Credit,
    ContextOverflow,
    Invalid,
    UnknownModel,
    TooLarge,
}

impl Fault {
    fn http(kind: ErrorKind) -> Self {
        Self::Http { kind, retry_after: None, message: None }
    }

    /// 429 with a `Retry-After` header: seconds or a date.
    pub fn rate_limited(retry_after: &str) -> Self {
        Self::Http { kind: ErrorKind::RateLimit, retry_after: Some(retry_after.to_owned()), message: None }
    }

    /// 429 without a word on when to come back.
    pub fn rate_limited_without_advice() -> Self {
        Self::http(ErrorKind::RateLimit)
    }

    /// 529.
    pub fn overloaded() -> Self {
        Self::http(ErrorKind::Overloaded)
    }

    /// 500.
    pub fn server_error() -> Self {
        Self::http(ErrorKind::Server)
    }

    /// 503.
    pub fn unavailable() -> Self {
        Self::http(ErrorKind::Unavailable)
    }

    /// 401.
    pub fn unauthorized() -> Self {
        Self::http(ErrorKind::Unauthorized)
    }

    /// The account has no money left.
    pub fn no_credit() -> Self {
        Self::http(ErrorKind::Credit)
    }

    /// 400: the conversation is longer than the model's window.
    pub fn context_overflow() -> Self {
        Self::http(ErrorKind::ContextOverflow)
    }

    /// 400 with a sentence of the test's.
    pub fn invalid_request(message: &str) -> Self {
        Self::Http { kind: ErrorKind::Invalid, retry_after: None, message: Some(message.to_owned()) }
    }

    /// 404: no such model.
    pub fn unknown_model() -> Self {
        Self::http(ErrorKind::UnknownModel)
    }

    pub fn status(kind: ErrorKind, message: &str) -> Self {
        Self::Http { kind, retry_after: None, message: Some(message.to_owned()) }
    }
}
