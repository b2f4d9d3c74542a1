//! From what an API says to what it means. One table for statuses and words, for errors before and within a stream.
//!
//! Words come before statuses: the same 400 is a typing error, an empty account or a conversation that is too long.

use std::time::Duration;

use reqwest::header::HeaderMap;
use serde_json::Value;

use crate::base::Timestamp;
use crate::model::conversation::Wire;
use crate::provider::decode::json::text;
use crate::provider::error::{ApiError, ErrorClass, retry_after, retry_after_in_words};

/// Returns the error that an HTTP response with a status other than success means.
pub fn classify(wire: Wire, status: u16, headers: &HeaderMap, body: &[u8], now: Timestamp) -> ApiError {
    let said = Said::read(body);
    let class = said.named(wire).unwrap_or_else(|| by_status(status, &said));
    let message = match (said.message.is_empty(), status) {
        (false, _) => said.message.clone(),
        (true, 300..=399) => {
            let target = headers.get("location").and_then(|value| value.to_str().ok()).unwrap_or("another address");
            format!("the endpoint redirects to {target}; set the base URL to where it leads")
        }
        (true, 404) => "the endpoint does not know this path; check the base URL".to_owned(),
        (true, _) => "the endpoint gave no reason".to_owned(),
    };
    let request_id = ["request-id", "x-request-id", "cf-ray"]
        .iter()
        .find_map(|name| headers.get(*name).and_then(|value| value.to_str().ok()))
        .map(|id| id.chars().filter(char::is_ascii_graphic).take(80).collect());
    ApiError {
        status: Some(status),
        retry_after: retry_after(headers, now).or_else(|| said.wait(class)),
        request_id,
        ..ApiError::new(class, message)
    }
}

/// Returns the error that an error event of a stream means. Unknown words are the API's fault, and tried again.
pub fn classify_event(wire: Wire, event: &Value) -> ApiError {
    let said = Said::of(event);
    let class = said.named(wire).or_else(|| said.status.map(|status| by_status(status, &said)));
    let message = if said.message.is_empty() { "the API reported an error in mid-stream" } else { &said.message };
    let class = class.unwrap_or_else(|| said.general());
    ApiError { status: said.status, retry_after: said.wait(class), ..ApiError::new(class, message) }
}

/// What an API said about an error, whatever the shape.
struct Said {
    /// Type and code, in lower case.
    kind: String,
    message: String,
    lower: String,
    status: Option<u16>,
}

impl Said {
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
        // Lists of one error, errors within errors, and servers that put everything at the top.
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

    fn is(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.kind.contains(word))
    }

    fn says(&self, phrases: &[&str]) -> bool {
        phrases.iter().any(|phrase| self.lower.contains(phrase))
    }

    /// Returns the class that the words alone settle.
    fn named(&self, wire: Wire) -> Option<ErrorClass> {
        let overflow = self.is(&["context_length_exceeded", "exceed_context_size", "request_too_large"])
            || self.says(&[
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
        let broke = self.is(&["insufficient_quota", "billing", "spend_limit", "insufficient_credits", "credit"])
            || self.says(&["credit balance is too low", "exceeded your current quota", "insufficient credits"]);
        let no_model = self.is(&["model_not_found", "model_not_exist"])
            || (self.lower.contains("model")
                && self.says(&["not found", "does not exist", "not a valid model", "unknown model", "no such model"]))
            || (wire == Wire::Anthropic && self.is(&["not_found_error"]) && self.lower.starts_with("model:"));
        let table = [
            (overflow, ErrorClass::ContextOverflow),
            (broke, ErrorClass::Credit),
            (no_model, ErrorClass::UnknownModel),
            (self.is(&["authentication", "permission", "invalid_api_key", "unauthorized"]), ErrorClass::Auth),
            (self.is(&["overloaded", "slow_down", "unavailable"]), ErrorClass::Overloaded),
            (self.is(&["rate_limit", "too_many_requests"]), ErrorClass::RateLimit),
            (self.is(&["content_filter", "content_policy", "invalid_prompt", "moderation"]), ErrorClass::Refused),
            (self.is(&["timeout"]), ErrorClass::Timeout),
        ];
        table.into_iter().find_map(|(holds, class)| holds.then_some(class))
    }

    /// Returns the wait that a limit asks for in its message.
    fn wait(&self, class: ErrorClass) -> Option<Duration> {
        matches!(class, ErrorClass::RateLimit | ErrorClass::Overloaded)
            .then(|| retry_after_in_words(&self.message))
            .flatten()
    }

    /// Returns the class where there is neither a telling word nor a status.
    fn general(&self) -> ErrorClass {
        if self.is(&["invalid_request"]) { ErrorClass::InvalidRequest } else { ErrorClass::Server }
    }
}

fn by_status(status: u16, said: &Said) -> ErrorClass {
    match status {
        401 | 403 | 407 => ErrorClass::Auth,
        402 => ErrorClass::Credit,
        408 | 504 | 524 => ErrorClass::Timeout,
        413 => ErrorClass::ContextOverflow,
        429 if said.lower.contains("overloaded") => ErrorClass::Overloaded,
        429 => ErrorClass::RateLimit,
        503 | 529 => ErrorClass::Overloaded,
        // A conflict and a request that came too early pass by themselves.
        409 | 425 | 500.. => ErrorClass::Server,
        _ => ErrorClass::InvalidRequest,
    }
}
