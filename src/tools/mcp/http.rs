//! The HTTP client for remote servers: headers, redirects, and handling of incomplete refusals.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::common::client_side_sse::{BoxedSseResponse, ExponentialBackoff};
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpClientTransportConfig, StreamableHttpError, StreamableHttpPostResponse,
};

use crate::base::Secret;
use crate::config::settings::Endpoint;
use crate::net;
use crate::tools::mcp::message_limit::LONGEST;

const CONNECT: Duration = Duration::from_secs(10);
const REDIRECTS: usize = 5;
/// The longest delay before a broken event stream is reopened.
const LONGEST_RETRY: Duration = Duration::from_secs(10);
/// The most calls that wait for response headers at once.
const CONCURRENT: usize = 256;

/// Returns the transport to the server at `url`.
pub(super) fn transport(
    url: &Endpoint,
    headers: &BTreeMap<String, Secret>,
) -> Result<StreamableHttpClientTransport<McpHttpClient>, String> {
    let mut sent = HeaderMap::new();
    for (header, value) in headers {
        let unusable = || format!("The header \"{header}\" of its entry cannot be sent.");
        let name = HeaderName::from_bytes(header.as_bytes()).map_err(|_| unusable())?;
        let mut value = HeaderValue::from_str(value.expose()).map_err(|_| unusable())?;
        value.set_sensitive(true);
        sent.insert(name, value);
    }
    let caller = McpHttpClient(client(url, &sent)?);
    let mut config = StreamableHttpClientTransportConfig::with_uri(url.expose())
        .max_concurrent_requests(CONCURRENT)
        .max_sse_event_size(LONGEST);
    let mut retries = ExponentialBackoff::default();
    retries.max_delay = Some(LONGEST_RETRY);
    config.retry_config = Arc::new(retries);
    Ok(StreamableHttpClientTransport::with_client(caller, config))
}

fn client(url: &Endpoint, headers: &HeaderMap) -> Result<reqwest::Client, String> {
    let address = Url::parse(url.expose()).map_err(|error| format!("Its address cannot be used: {error}."))?;
    let built = net::client(&address, CONNECT, |builder| {
        // Reusing a connection right after a half-read response stalls on delayed acknowledgements.
        builder.default_headers(headers.clone()).redirect(same_origin()).pool_max_idle_per_host(0)
    });
    built.map_err(|error| sentence(&error.to_string()))
}

/// Returns a message as a sentence of its own.
fn sentence(message: &str) -> String {
    let mut letters = message.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}

/// Headers are sent only to the host that the user configured.
fn same_origin() -> Policy {
    Policy::custom(|attempt| {
        let first = attempt.previous().first().map(Url::origin);
        if attempt.previous().len() > REDIRECTS {
            attempt.error("too many redirects")
        } else if first == Some(attempt.url().origin()) {
            attempt.follow()
        } else {
            attempt.stop()
        }
    })
}

/// Sends requests, and makes sure that every one is answered.
///
/// A server may refuse a request without naming it, mostly after a restart, when it does not know the session. The
/// caller would wait forever; so a session that is refused in this way counts as expired, which renews it.
#[derive(Clone)]
pub(super) struct McpHttpClient(reqwest::Client);

type Answered = Result<StreamableHttpPostResponse, StreamableHttpError<reqwest::Error>>;

impl StreamableHttpClient for McpHttpClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Answered {
        let most = LONGEST;
        self.post_message_with_max_sse_event_size(uri, message, session_id, auth_header, custom_headers, most).await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
        max_sse_event_size: usize,
    ) -> Answered {
        let request = match &message {
            JsonRpcMessage::Request(request) => Some(request.id.clone()),
            JsonRpcMessage::Response(_) | JsonRpcMessage::Notification(_) | JsonRpcMessage::Error(_) => None,
        };
        let in_session = session_id.is_some();
        let size = max_sse_event_size;
        let posted =
            self.0.post_message_with_max_sse_event_size(uri, message, session_id, auth_header, custom_headers, size);
        match (posted.await?, request) {
            (StreamableHttpPostResponse::Json(JsonRpcMessage::Error(error), _), Some(_))
                if error.id.is_none() && in_session =>
            {
                Err(StreamableHttpError::SessionExpired)
            }
            (StreamableHttpPostResponse::Json(JsonRpcMessage::Error(mut error), session), Some(request))
                if error.id.is_none() =>
            {
                error.id = Some(request);
                Ok(StreamableHttpPostResponse::Json(JsonRpcMessage::Error(error), session))
            }
            (answer, _) => Ok(answer),
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), StreamableHttpError<Self::Error>> {
        self.0.delete_session(uri, session_id, auth_header, custom_headers).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxedSseResponse, StreamableHttpError<Self::Error>> {
        self.0.get_stream(uri, session_id, last_event_id, auth_header, custom_headers).await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
        max_sse_event_size: usize,
    ) -> Result<BoxedSseResponse, StreamableHttpError<Self::Error>> {
        let size = max_sse_event_size;
        let opened = self.0.get_stream_with_max_sse_event_size(
            uri,
            session_id,
            last_event_id,
            auth_header,
            custom_headers,
            size,
        );
        opened.await
    }
}
