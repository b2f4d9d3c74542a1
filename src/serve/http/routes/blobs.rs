//! Serves stored content, whole or in part.

use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;

use super::super::access::Client;
use super::super::error::HttpError;
use super::super::range;
use super::super::request::PathParts;
use super::super::scope::Scope;
use super::{Answer, Server, project};
use crate::base::{Fault, FaultKind, known_secrets};
use crate::model::content::BlobId;

pub async fn blob(
    State(shared): Server,
    Extension(client): Extension<Client>,
    PathParts((name, blob)): PathParts<(String, String)>,
    headers: HeaderMap,
) -> Answer {
    let project = project(&shared, &client, &name, Scope::Read)?;
    let id: BlobId = blob.parse().map_err(|_| HttpError::bad_request("a blob is named by 64 lower-case hex digits"))?;
    let mut bytes = project.handle.blob(id.clone()).await.map_err(|fault| match fault.kind {
        FaultKind::User => HttpError::new(StatusCode::NOT_FOUND, fault),
        FaultKind::Config | FaultKind::Environment | FaultKind::Internal => fault.into(),
    })?;
    known_secrets::known().blank(&mut bytes);
    let (status, bytes, part) = match headers.get(header::RANGE) {
        None => (StatusCode::OK, bytes, None),
        Some(wanted) => {
            let length = bytes.len();
            let Ok(range) = range::parse(wanted.to_str().unwrap_or_default(), length) else {
                let fault = Fault::user(format!("the range is not in the {length} bytes of this blob"))
                    .hint("one range is served, as in bytes=0-99");
                let error = HttpError::new(StatusCode::RANGE_NOT_SATISFIABLE, fault);
                return Err(error.header(header::CONTENT_RANGE, text(format!("bytes */{length}"))?));
            };
            let part = format!("bytes {}-{}/{length}", range.start, range.end - 1);
            (StatusCode::PARTIAL_CONTENT, bytes[range].to_vec(), Some(text(part)?))
        }
    };
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    // Never shown by a browser as a page of this origin.
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(header::CONTENT_DISPOSITION, HeaderValue::from_static("attachment"));
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(header::ETAG, text(format!("\"{id}\""))?);
    if let Some(part) = part {
        headers.insert(header::CONTENT_RANGE, part);
    }
    Ok(response)
}

fn text(value: String) -> Result<HeaderValue, HttpError> {
    HeaderValue::try_from(value).map_err(|error| Fault::internal(error.to_string()).into())
}
