//! Refusals: a status and a fault as JSON, `{"kind": …, "message": …, "hints": […]}`.

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use super::request::json;
use crate::base::{Fault, FaultKind, MessageId};
use crate::model::Ask;

/// Why a request is refused.
#[derive(Debug)]
pub struct HttpError {
    status: StatusCode,
    body: Box<ErrorBody>,
    header: Option<(HeaderName, HeaderValue)>,
}

#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(rename = "Error")]
pub struct ErrorBody {
    #[serde(flatten)]
    pub fault: Fault,
    /// The message that was sent nevertheless.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent: Option<MessageId>,
    /// The question that the task waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ask: Option<Ask>,
}

impl HttpError {
    pub fn new(status: StatusCode, fault: Fault) -> Self {
        Self { status, body: Box::new(ErrorBody { fault, sent: None, ask: None }), header: None }
    }

    /// A request that cannot be understood.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, Fault::user(message))
    }

    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, Fault::user(message))
    }

    pub fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, Fault::user(message))
    }

    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, Fault::user(message))
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.body.fault.hints.push(hint.into());
        self
    }

    pub fn header(self, name: HeaderName, value: HeaderValue) -> Self {
        Self { header: Some((name, value)), ..self }
    }

    /// The message was sent, and its task waits for this question.
    pub fn waiting(sent: MessageId, ask: Option<Ask>) -> Self {
        let mut error = Self::conflict("the message was sent, but the task waits for an answer")
            .hint("answer with POST /v1/asks/{ask}");
        (error.body.sent, error.body.ask) = (Some(sent), ask);
        error
    }

    pub fn status(&self) -> StatusCode {
        self.status
    }

    pub fn body(&self) -> &ErrorBody {
        &self.body
    }
}

impl From<Fault> for HttpError {
    /// The engine refused it.
    fn from(fault: Fault) -> Self {
        let status = match fault.kind {
            FaultKind::User | FaultKind::Config => StatusCode::CONFLICT,
            FaultKind::Environment => StatusCode::SERVICE_UNAVAILABLE,
            FaultKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(status, fault)
    }
}

impl IntoResponse for HttpError {
    fn into_response(self) -> Response {
        let mut response = json(self.status, &self.body);
        if let Some((name, value)) = self.header {
            response.headers_mut().insert(name, value);
        }
        if self.status == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Bearer realm=\"mxd\"");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
        }
        response
    }
}
