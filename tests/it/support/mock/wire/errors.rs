//! How each vendor says that something is wrong: status, body, and the event in mid-stream.

use serde_json::{Value, json};

use super::sse;
use crate::support::mock::fault::ErrorKind;
use crate::support::mock::reply::Step;
use crate::support::mock::seen::Wire;

/// Returns the status line's number.
pub fn status(wire: Wire, kind: ErrorKind) -> u16 {
    match kind {
        ErrorKind::Overloaded => 529,
        ErrorKind::Server => 500,
        ErrorKind::Unavailable => 503,
        ErrorKind::Unauthorized => 401,
        ErrorKind::Forbidden => 403,
        ErrorKind::Credit if wire == Wire::Anthropic => 400,
        ErrorKind::RateLimit | ErrorKind::Credit => 429,
        ErrorKind::ContextOverflow | ErrorKind::Invalid => 400,
        ErrorKind::UnknownModel => 404,
        ErrorKind::TooLarge => 413,
    }
}

/// Returns the body, with the vendor's own sentence unless another is given.
pub fn body(wire: Wire, kind: ErrorKind, message: Option<&str>) -> Value {
    let message = message.unwrap_or_else(|| sentence(wire, kind));
    let (name, code) = names(wire, kind);
    match wire {
        Wire::Anthropic => {
            json!({"type": "error", "error": {"type": name, "message": message}, "request_id": "req_mock"})
        }
        Wire::Responses | Wire::Chat => {
            json!({"error": {"message": message, "type": name, "param": null, "code": code}})
        }
    }
}

/// Returns the event that ends a stream of which these steps have been sent.
pub fn event(wire: Wire, kind: ErrorKind, sent: &[Step]) -> Step {
    match wire {
        Wire::Anthropic => {
            let (name, _) = names(wire, kind);
            sse::event("error", &json!({"type": "error", "error": {"type": name, "message": sentence(wire, kind)}}))
        }
        Wire::Responses => {
            let (name, code) = names(wire, kind);
            let events: Vec<&str> = sent.iter().filter_map(sse::data_of).collect();
            let first: Value = events.first().and_then(|data| serde_json::from_str(data).ok()).unwrap_or_default();
            let mut response = first["response"].clone();
            response["status"] = json!("failed");
            response["error"] = json!({"code": code.unwrap_or(name), "message": sentence(wire, kind)});
            let data = json!({"type": "response.failed", "sequence_number": events.len(), "response": response});
            sse::event("response.failed", &data)
        }
        Wire::Chat => sse::data(&body(wire, kind, None)),
    }
}

fn names(wire: Wire, kind: ErrorKind) -> (&'static str, Option<&'static str>) {
    if wire == Wire::Anthropic {
        let name = match kind {
            ErrorKind::RateLimit => "rate_limit_error",
            ErrorKind::Overloaded | ErrorKind::Unavailable => "overloaded_error",
            ErrorKind::Server => "api_error",
            ErrorKind::Unauthorized => "authentication_error",
            ErrorKind::Forbidden => "permission_error",
            ErrorKind::Credit | ErrorKind::ContextOverflow | ErrorKind::Invalid => "invalid_request_error",
            ErrorKind::UnknownModel => "not_found_error",
            ErrorKind::TooLarge => "request_too_large",
        };
        return (name, None);
    }
    match kind {
        ErrorKind::RateLimit => ("requests", Some("rate_limit_exceeded")),
        ErrorKind::Overloaded | ErrorKind::Unavailable => ("server_error", Some("server_is_overloaded")),
        ErrorKind::Server => ("server_error", None),
        ErrorKind::Unauthorized => ("invalid_request_error", Some("invalid_api_key")),
        ErrorKind::Forbidden => ("invalid_request_error", Some("unsupported_country_region_territory")),
        ErrorKind::Credit => ("insufficient_quota", Some("insufficient_quota")),
        ErrorKind::ContextOverflow => ("invalid_request_error", Some("context_length_exceeded")),
        ErrorKind::Invalid | ErrorKind::TooLarge => ("invalid_request_error", None),
        ErrorKind::UnknownModel => ("invalid_request_error", Some("model_not_found")),
    }
}

fn sentence(wire: Wire, kind: ErrorKind) -> &'static str {
    let anthropic = wire == Wire::Anthropic;
    match kind {
        ErrorKind::RateLimit if anthropic => {
            "This request would exceed your account's rate limit. Please try again later."
        }
        ErrorKind::RateLimit => "Rate limit reached for requests. Please try again later.",
        ErrorKind::Overloaded | ErrorKind::Unavailable if anthropic => "Overloaded",
        ErrorKind::Overloaded | ErrorKind::Unavailable => {
            "Our servers are currently overloaded. Please try again later."
        }
        ErrorKind::Server if anthropic => "Internal server error",
        ErrorKind::Server => "The server had an error while processing your request. Sorry about that!",
        ErrorKind::Unauthorized if anthropic => "invalid x-api-key",
        ErrorKind::Unauthorized => "Incorrect API key provided.",
        ErrorKind::Forbidden => "Your API key does not have permission to use the specified resource.",
        ErrorKind::Credit if anthropic => {
            "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or \
             purchase credits."
        }
        ErrorKind::Credit => "You exceeded your current quota, please check your plan and billing details.",
        ErrorKind::ContextOverflow if anthropic => "prompt is too long: 208310 tokens > 200000 maximum",
        ErrorKind::ContextOverflow => {
            "Your input exceeds the context window of this model. Please adjust your input and try again."
        }
        ErrorKind::Invalid => "Invalid request.",
        ErrorKind::UnknownModel => "The requested model does not exist or you do not have access to it.",
        ErrorKind::TooLarge => "Request exceeds the maximum size",
    }
}
