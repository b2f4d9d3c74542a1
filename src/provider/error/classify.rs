//! Classifies errors by status and message, before and within a stream.
//!
//! Messages come before statuses, because the same 400 may mean an invalid request, an empty account or a conversation
//! that is too long.

use std::time::Duration;

use reqwest::header::HeaderMap;
use serde_json::Value;

use crate::base::Timestamp;
use crate::model::conversation::Wire;
use crate::provider::decode::json::text;
use crate::provider::error::{ApiError, ErrorClass, retry_after, retry_after_in_message};

/// Returns the error for an HTTP response with an error status.
pub fn classify(wire: Wire, status: u16, headers: &HeaderMap, body: &[u8], now: Timestamp) -> ApiError {
    let error_body = ErrorBody::read(body);
    let class = error_body.class_from_words(wire).unwrap_or_else(|| by_status(status, &error_body));
    let message = match (error_body.message.is_empty(), status) {
        (false, _) => error_body.message.clone(),
        (true, 300..=399) => {
            let target = headers.get("location").and_then(|value| value.to_str().ok()).unwrap_or("another address");
            format!("the endpoint redirects to {target}; set the base URL to that address")
        }
        (true, 404) => "the path does not exist on the endpoint; check the base URL".to_owned(),
        (true, _) => "the endpoint gave no reason".to_owned(),
    };
    let request_id = ["request-id", "x-request-id", "cf-ray"]
        .iter()
        .find_map(|name| headers.get(*name).and_then(|value| value.to_str().ok()))
        .map(|id| id.chars().filter(char::is_ascii_graphic).take(80).collect());
    ApiError {
        status: Some(status),
        retry_after: retry_after(headers, now).or_else(|| error_body.wait(class)),
        request_id,
        ..ApiError::new(class, message)
    }
}

/// Returns the error for an error event of a stream. Unknown errors count as server errors, which are retried.
pub fn classify_event(wire: Wire, event: &Value) -> ApiError {
    let error_body = ErrorBody::of(event);
    let class =
        error_body.class_from_words(wire).or_else(|| error_body.status.map(|status| by_status(status, &error_body)));
    let message =
        if error_body.message.is_empty() { "the API reported an error in mid-stream" } else { &error_body.message };
    let class = class.unwrap_or_else(|| error_body.default_class());
    ApiError { status: error_body.status, retry_after: error_body.wait(class), ..ApiError::new(class, message) }
}

/// The body of an error, in any of the known formats.
struct ErrorBody {
    /// Type and code, in lower case.
    kind: String,
    message: String,
    lower: String,
    status: Option<u16>,
}

impl ErrorBody {
    fn read(body: &[u8]) -> Self {
        if let Ok(value) = serde_json::from_slice::<Value>(body) {
            return Self::of(&value);
        }
        let text = String::from_utf8_lossy(&body[..body.len().min(2048)]);
        let text = text.trim();
        if text.starts_with('<') {
            return Self::new("", "the endpoint answered with a web page".to_owned(), None);
        }
        Self::new("", text.to_owned(), None)
    }

    fn of(value: &Value) -> Self {
        // Formats: a list of one error, an error within an error, and all fields at the top level.
        let value = value.as_array().and_then(|list| list.first()).unwrap_or(value);
        let error = value.get("error").filter(|error| !error.is_null()).unwrap_or(value);
        if let Some(message) = error.as_str() {
            return Self::new("", message.to_owned(), None);
        }
        let words = ["type", "code", "status"].iter().filter_map(|key| text(error, key));
        let message = ["message", "detail", "msg", "error"].iter().find_map(|key| text(error, key));
        let status = ["code", "status", "status_code"].iter().find_map(|key| error.get(*key).and_then(Value::as_u64));
        let status = status.and_then(|status| u16::try_from(status).ok()).filter(|status| *status >= 400);
        Self::new(&words.collect::<Vec<_>>().join(" "), message.unwrap_or_default().to_owned(), status)
    }

    fn new(kind: &str, message: String, status: Option<u16>) -> Self {
        Self { kind: kind.to_lowercase(), lower: message.to_lowercase(), message, status }
    }

    fn has_kind(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.kind.contains(word))
    }

    fn mentions(&self, phrases: &[&str]) -> bool {
        phrases.iter().any(|phrase| self.lower.contains(phrase))
    }

    /// Returns the class that kind and message determine without the status.
    fn class_from_words(&self, wire: Wire) -> Option<ErrorClass> {
        let overflow = self.has_kind(&["context_length_exceeded", "exceed_context_size", "request_too_large"])
            || self.mentions(&[
                "prompt is too long",
                "maximum context length",
                "exceeds the context window",
                "exceed context limit",
                "exceeds the available context size",
                "input is too long",
                "context length exceeded",
                "context window of this model",
                "greater than the context length",
                "exceeds the maximum number of tokens",
                "maximum prompt length",
            ]);
        let no_credit =
            self.has_kind(&["insufficient_quota", "billing", "spend_limit", "insufficient_credits", "credit"])
                || self.mentions(&["credit balance is too low", "exceeded your current quota", "insufficient credits"]);
        let no_model = self.has_kind(&["model_not_found", "model_not_exist"])
            || (self.lower.contains("model")
                && self.mentions(&[
                    "not found",
                    "does not exist",
                    "not a valid model",
                    "unknown model",
                    "no such model",
                ]))
            || (wire == Wire::Anthropic && self.has_kind(&["not_found_error"]) && self.lower.starts_with("model:"));
        let table = [
            (overflow, ErrorClass::ContextOverflow),
            (no_credit, ErrorClass::Credit),
            (no_model, ErrorClass::UnknownModel),
            (self.has_kind(&["authentication", "permission", "invalid_api_key", "unauthorized"]), ErrorClass::Auth),
            (self.has_kind(&["overloaded", "slow_down", "unavailable"]), ErrorClass::Overloaded),
            (self.has_kind(&["rate_limit", "too_many_requests"]), ErrorClass::RateLimit),
            (self.has_kind(&["content_filter", "content_policy", "invalid_prompt", "moderation"]), ErrorClass::Refused),
            (self.has_kind(&["timeout"]), ErrorClass::Timeout),
        ];
        table.into_iter().find_map(|(holds, class)| holds.then_some(class))
    }

    /// Returns the wait that the message of a rate limit asks for.
    fn wait(&self, class: ErrorClass) -> Option<Duration> {
        matches!(class, ErrorClass::RateLimit | ErrorClass::Overloaded)
            .then(|| retry_after_in_message(&self.message))
            .flatten()
    }

    /// Returns the class if neither the message nor a status determines it.
    fn default_class(&self) -> ErrorClass {
        if self.has_kind(&["invalid_request"]) { ErrorClass::InvalidRequest } else { ErrorClass::Server }
    }
}

fn by_status(status: u16, error_body: &ErrorBody) -> ErrorClass {
    match status {
        401 | 403 | 407 => ErrorClass::Auth,
        402 => ErrorClass::Credit,
        408 | 504 | 524 => ErrorClass::Timeout,
        413 => ErrorClass::ContextOverflow,
        429 if error_body.lower.contains("overloaded") => ErrorClass::Overloaded,
        429 => ErrorClass::RateLimit,
        503 | 529 => ErrorClass::Overloaded,
        // 409 and 425 are temporary.
        409 | 425 | 500.. => ErrorClass::Server,
        _ => ErrorClass::InvalidRequest,
    }
}
