//! Builds the HTTP client and its headers, and maps its errors.

use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Url};

use crate::model::conversation::Wire;
use crate::net;
use crate::provider::credential::Credential;
use crate::provider::error::{ApiError, ErrorClass};

/// Returns a client for the endpoint at `url`.
pub(super) fn build(url: &Url, connect: Duration) -> Result<Client, ApiError> {
    let built = net::client(url, connect, |builder| builder.redirect(Policy::none()));
    built.map_err(|error| ApiError::new(ErrorClass::Network, error.to_string()))
}

/// Returns the headers that authenticate the request.
pub(super) fn headers(credential: &Credential) -> Result<HeaderMap, ApiError> {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
    if credential.wire == Wire::Anthropic {
        headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
    }
    let Some(key) = credential.api_key.as_ref().filter(|key| !key.is_empty()) else { return Ok(headers) };
    let key = key.expose().trim();
    let (name, value) = match credential.wire {
        Wire::Anthropic => (HeaderName::from_static("x-api-key"), key.to_owned()),
        Wire::OpenaiResponses | Wire::OpenaiChat | Wire::Scripted => (AUTHORIZATION, format!("Bearer {key}")),
    };
    let mut value = HeaderValue::from_str(&value).map_err(|_| {
        let group = &credential.group;
        ApiError::new(ErrorClass::Auth, format!("the key of credential group \"{group}\" has invalid characters"))
    })?;
    value.set_sensitive(true);
    headers.insert(name, value);
    Ok(headers)
}

/// Returns the error for a request without a response.
pub(super) fn failure(error: reqwest::Error) -> ApiError {
    let class = if error.is_timeout() && !error.is_connect() { ErrorClass::Timeout } else { ErrorClass::Network };
    ApiError::new(class, describe(error))
}

/// Returns the error and its causes in one line, without the URL.
pub(super) fn describe(error: reqwest::Error) -> String {
    net::error_chain(&error.without_url())
}
