//! Reads bodies within limits of size and time, and writes answers without secrets.

use axum::body::Body;
use axum::extract::{FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::connection::Timeouts;
use super::error::HttpError;
use crate::base::{Fault, known_secrets};

/// The largest body of most requests.
pub const MAX_BODY: usize = 1 << 20;
/// The largest body of a command: a picture as base64.
pub const MAX_COMMAND: usize = 32 << 20;

/// The parts of a path, as text or a tuple of texts.
pub struct PathParts<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for PathParts<T> {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, HttpError> {
        let found = Path::<T>::from_request_parts(parts, state).await;
        found.map(|Path(found)| Self(found)).map_err(|error| HttpError::bad_request(error.body_text()))
    }
}

/// The parameters of a query.
pub struct Parameters<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Parameters<T> {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, HttpError> {
        let found = Query::<T>::from_request_parts(parts, state).await;
        found.map(|Query(found)| Self(found)).map_err(|error| HttpError::bad_request(error.body_text()))
    }
}

/// Reads a JSON body.
pub async fn read_json<T: DeserializeOwned>(request: Request, limit: usize) -> Result<T, HttpError> {
    parse(&read_body(request, limit).await?)
}

pub fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, HttpError> {
    serde_json::from_slice(body).map_err(|error| {
        HttpError::bad_request(format!("the body cannot be read: {error}"))
            .hint("nothing was changed; /v1/openapi.json describes every request")
    })
}

/// Reads a body that must be declared as JSON.
pub async fn read_body(request: Request, limit: usize) -> Result<Bytes, HttpError> {
    check_content_type(request.headers())?;
    let too_long = || {
        let fault = Fault::user(format!("the body is too long: at most {limit} bytes are allowed"));
        HttpError::new(StatusCode::PAYLOAD_TOO_LARGE, fault)
    };
    let announced = request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    if announced.is_some_and(|length: u64| length > limit as u64) {
        return Err(too_long());
    }
    let timeout = request.extensions().get::<Timeouts>().copied().unwrap_or_default().body;
    match tokio::time::timeout(timeout, axum::body::to_bytes(request.into_body(), limit)).await {
        Ok(Ok(body)) => Ok(body),
        Ok(Err(error)) if is_too_long(&error) => Err(too_long()),
        Ok(Err(_)) => Err(HttpError::bad_request("the body ended early")),
        Err(_) => {
            let fault = Fault::user(format!("the body did not arrive within {} seconds", timeout.as_secs()));
            Err(HttpError::new(StatusCode::REQUEST_TIMEOUT, fault))
        }
    }
}

fn is_too_long(error: &axum::Error) -> bool {
    std::error::Error::source(error).is_some_and(<dyn std::error::Error>::is::<http_body_util::LengthLimitError>)
}

fn check_content_type(headers: &HeaderMap) -> Result<(), HttpError> {
    let given = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = given.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    let fault = Fault::user("the body must be JSON").hint("send the header Content-Type: application/json");
    Err(HttpError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, fault))
}

/// Returns a value as a JSON answer, with known secrets masked.
pub fn json(status: StatusCode, value: &impl Serialize) -> Response {
    match serde_json::to_string(value) {
        Ok(text) => raw_json(status, known_secrets::mask(&text).into_owned()),
        Err(error) => {
            tracing::error!(%error, "an answer cannot be encoded");
            raw_json(
                StatusCode::INTERNAL_SERVER_ERROR,
                r#"{"kind":"internal","message":"the answer cannot be encoded"}"#,
            )
        }
    }
}

/// Returns finished JSON as an answer.
pub fn raw_json(status: StatusCode, text: impl Into<Body>) -> Response {
    let mut response = Response::new(text.into());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
