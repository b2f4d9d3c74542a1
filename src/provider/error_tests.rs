use std::collections::HashSet;
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::json;

use super::{ApiError, ErrorClass, classify, classify_event, retry_after, retry_after_in_message};
use crate::base::{Secret, Timestamp};
use crate::model::conversation::Wire;

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    let pair =
        |(name, value): &(&'static str, &str)| (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap());
    pairs.iter().map(pair).collect()
}

fn class(wire: Wire, status: u16, body: &str) -> ErrorClass {
    classify(wire, status, &HeaderMap::new(), body.as_bytes(), Timestamp::EPOCH).class
}

#[test]
fn api_errors_are_classified() {
    use ErrorClass as Class;
    let anthropic = |kind: &str, message: &str| {
        json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}).to_string()
    };
    let openai = |kind: &str, code: &str, message: &str| {
        json!({"error": {"message": message, "type": kind, "param": null, "code": code}}).to_string()
    };
    let table = [
        (Wire::Anthropic, 401, anthropic("authentication_error", "invalid x-api-key"), Class::Auth),
        (Wire::Anthropic, 403, anthropic("permission_error", "no"), Class::Auth),
        (
            Wire::Anthropic,
            400,
            anthropic("invalid_request_error", "Your credit balance is too low to …"),
            Class::Credit,
        ),
        (Wire::Anthropic, 402, anthropic("billing_error", "pay"), Class::Credit),
        (
            Wire::Anthropic,
            400,
            anthropic("invalid_request_error", "prompt is too long: 210000 tokens > 200000"),
            Class::ContextOverflow,
        ),
        (
            Wire::Anthropic,
            400,
            anthropic("invalid_request_error", "input length and `max_tokens` exceed context limit: 1"),
            Class::ContextOverflow,
        ),
        (
            Wire::Anthropic,
            413,
            anthropic("request_too_large", "Request exceeds the maximum size"),
            Class::ContextOverflow,
        ),
        (Wire::Anthropic, 404, anthropic("not_found_error", "model: claude-9"), Class::UnknownModel),
        (Wire::Anthropic, 404, anthropic("not_found_error", "no such route"), Class::InvalidRequest),
        (Wire::Anthropic, 400, anthropic("invalid_request_error", "messages.1: bad role"), Class::InvalidRequest),
        (Wire::Anthropic, 429, anthropic("rate_limit_error", "per-minute limit"), Class::RateLimit),
        (Wire::Anthropic, 529, anthropic("overloaded_error", "Overloaded"), Class::Overloaded),
        (Wire::Anthropic, 429, anthropic("overloaded_error", "Overloaded"), Class::Overloaded),
        (Wire::Anthropic, 500, anthropic("api_error", "Internal server error"), Class::Server),
        (Wire::Anthropic, 504, anthropic("timeout_error", "took too long"), Class::Timeout),
        (Wire::OpenaiChat, 401, openai("invalid_request_error", "invalid_api_key", "Incorrect API key"), Class::Auth),
        (
            Wire::OpenaiChat,
            429,
            openai("insufficient_quota", "insufficient_quota", "You exceeded your current quota"),
            Class::Credit,
        ),
        (Wire::OpenaiChat, 429, openai("tokens", "rate_limit_exceeded", "Rate limit reached"), Class::RateLimit),
        (
            Wire::OpenaiChat,
            400,
            openai("invalid_request_error", "context_length_exceeded", "This model's maximum context length is 8192"),
            Class::ContextOverflow,
        ),
        (
            Wire::OpenaiResponses,
            404,
            openai("invalid_request_error", "model_not_found", "The model `x` does not exist"),
            Class::UnknownModel,
        ),
        (Wire::OpenaiResponses, 400, openai("invalid_request_error", "invalid_prompt", "flagged"), Class::Refused),
        (
            Wire::OpenaiChat,
            400,
            openai("invalid_request_error", "unsupported_parameter", "Unknown"),
            Class::InvalidRequest,
        ),
        (Wire::OpenaiChat, 503, openai("server_error", "", "That model is busy"), Class::Overloaded),
        (
            Wire::OpenaiChat,
            404,
            r#"{"error":"model \"x\" not found, try pulling it first"}"#.to_owned(),
            Class::UnknownModel,
        ),
        (
            Wire::OpenaiChat,
            400,
            r#"{"error":{"code":400,"message":"x","type":"exceed_context_size_error"}}"#.to_owned(),
            Class::ContextOverflow,
        ),
        (Wire::OpenaiChat, 400, r#"{"object":"error","message":"bad","code":40001}"#.to_owned(), Class::InvalidRequest),
        (Wire::OpenaiChat, 422, r#"{"detail":"field required"}"#.to_owned(), Class::InvalidRequest),
        (Wire::OpenaiChat, 502, "<html>Bad gateway</html>".to_owned(), Class::Server),
        (Wire::OpenaiChat, 408, String::new(), Class::Timeout),
        (Wire::OpenaiChat, 302, String::new(), Class::InvalidRequest),
        (Wire::OpenaiChat, 418, "\u{fffd}".to_owned(), Class::InvalidRequest),
    ];
    for (wire, status, body, expected) in table {
        assert_eq!(class(wire, status, &body), expected, "{status} {body}");
    }
}

#[test]
fn a_conversation_that_is_too_long_is_recognised_in_every_vendors_words() {
    for words in [
        "prompt is too long: 210000 tokens > 200000 maximum",
        "The number of tokens to keep from the initial prompt is greater than the context length",
        "The input token count (1100000) exceeds the maximum number of tokens allowed (1048576).",
        "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
        "the request exceeds the available context size, try increasing it",
    ] {
        let body = json!({ "error": { "message": words } }).to_string();
        assert_eq!(class(Wire::OpenaiChat, 400, &body), ErrorClass::ContextOverflow, "{words}");
    }
}

#[test]
fn errors_within_a_stream_are_classified_by_their_words() {
    let table = [
        (json!({"type": "error", "error": {"type": "rate_limit_error", "message": "m"}}), ErrorClass::RateLimit),
        (
            json!({"type": "error", "error": {"type": "invalid_request_error", "message": "m"}}),
            ErrorClass::InvalidRequest,
        ),
        (json!({"type": "error", "error": {"type": "api_error", "message": "m"}}), ErrorClass::Server),
        (json!({"type": "error", "code": "rate_limit_exceeded", "message": "m"}), ErrorClass::RateLimit),
        (json!({"error": {"code": 503, "message": "m"}}), ErrorClass::Overloaded),
        (json!({"error": {"type": "something_new"}}), ErrorClass::Server),
        (json!("not even an object"), ErrorClass::Server),
    ];
    for (event, expected) in table {
        assert_eq!(classify_event(Wire::Anthropic, &event).class, expected, "{event}");
    }
}

#[test]
fn waits_are_parsed_in_every_format() {
    let now: Timestamp = "2026-11-16T06:00:00Z".parse().unwrap();
    let wait = |pairs: &[(&'static str, &str)]| retry_after(&headers(pairs), now);
    assert_eq!(wait(&[("retry-after", "30")]), Some(Duration::from_secs(30)));
    assert_eq!(wait(&[("retry-after", " 1.5 ")]), Some(Duration::from_millis(1500)));
    assert_eq!(wait(&[("retry-after-ms", "250"), ("retry-after", "30")]), Some(Duration::from_millis(250)));
    assert_eq!(wait(&[("retry-after", "Mon, 16 Nov 2026 06:00:45 GMT")]), Some(Duration::from_secs(45)));
    assert_eq!(wait(&[("retry-after", "Mon, 16 Nov 2026 05:59:00 GMT")]), Some(Duration::ZERO));
    for nonsense in ["-3", "soon", "NaN", "inf", ""] {
        assert_eq!(wait(&[("retry-after", nonsense)]), None, "{nonsense}");
    }
    assert_eq!(wait(&[]), None);
}

#[test]
fn waits_are_parsed_from_messages_without_headers() {
    let millis = |message: &str| retry_after_in_message(message).map(|wait| wait.as_millis());
    assert_eq!(millis("Rate limit reached. Please try again in 1.898s. Visit …"), Some(1898));
    assert_eq!(millis("Please try again in 20ms."), Some(20));
    assert_eq!(millis("please TRY again in 1m2.5s"), Some(62_500));
    assert_eq!(millis("try again in 35 seconds"), Some(35_000));
    for nothing in ["try again in a while", "try again later", "try again in 5", "try again in 1..2s", "", "in 5s"] {
        assert_eq!(millis(nothing), None, "{nothing}");
    }
    let event = json!({"type": "error", "code": "rate_limit_exceeded", "message": "Please try again in 3s."});
    assert_eq!(classify_event(Wire::OpenaiResponses, &event).retry_after, Some(Duration::from_secs(3)));
    let header = headers(&[("retry-after", "9")]);
    let error = classify(Wire::OpenaiChat, 429, &header, event.to_string().as_bytes(), Timestamp::EPOCH);
    assert_eq!(error.retry_after, Some(Duration::from_secs(9)));
}

#[test]
fn an_error_carries_what_support_and_the_gate_need() {
    let headers = headers(&[("retry-after", "7"), ("request-id", "req_9")]);
    let error = classify(Wire::Anthropic, 429, &headers, br#"{"error":{"message":"slow"}}"#, Timestamp::EPOCH);
    assert_eq!(error.retry_after, Some(Duration::from_secs(7)));
    assert_eq!(error.to_string(), "rate_limit (429): slow [request req_9]");
}

#[test]
fn a_redirect_names_its_target() {
    let headers = headers(&[("location", "https://elsewhere.example/v1")]);
    let error = classify(Wire::OpenaiChat, 301, &headers, b"", Timestamp::EPOCH);
    assert!(error.message.contains("https://elsewhere.example/v1"), "{}", error.message);
}

#[test]
fn messages_are_one_clean_bounded_line_without_keys() {
    let error =
        ApiError::new(ErrorClass::Auth, "Incorrect API key provided: sk-proj-abcdefghijkl, \u{1b}[31mred\nline");
    assert_eq!(error.message, "Incorrect API key provided: ****, red line");
    let long = ApiError::new(ErrorClass::Server, "é".repeat(100_000));
    assert!(long.message.len() <= 404 && long.message.ends_with('…'));
    let quoted = ApiError::new(ErrorClass::Auth, "key my-own-secret-key is wrong");
    let clean = quoted.without_key(Some(&Secret::new("my-own-secret-key")));
    assert_eq!(clean.message, "key **** is wrong");
    assert_eq!(clean.clone().without_key(Some(&Secret::new(""))), clean);
    let cut = ApiError::new(ErrorClass::Auth, format!("{}my-own-secret-key", "x".repeat(390)));
    let clean = cut.without_key(Some(&Secret::new("my-own-secret-key")));
    assert!(clean.message.ends_with("xx****"), "{}", clean.message);
}

#[test]
fn a_web_page_is_not_quoted() {
    let error = classify(Wire::Anthropic, 502, &HeaderMap::new(), b"<!doctype html><h1>x", Timestamp::EPOCH);
    assert_eq!(error.message, "the endpoint answered with a web page");
}

#[test]
fn every_class_has_a_unique_name_and_a_next_step() {
    let words: HashSet<_> = ErrorClass::ALL.iter().map(|class| class.word()).collect();
    assert_eq!(words.len(), ErrorClass::ALL.len());
    assert_eq!(ErrorClass::from_word("bad_luck"), None);
    for class in ErrorClass::ALL {
        assert_eq!(ErrorClass::from_word(class.word()), Some(class));
        assert!(class.word().bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{class}");
        assert!(class.sentence().ends_with('.'), "{class}");
    }
}
