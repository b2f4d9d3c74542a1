//! Failures of a call, with messages for the model.

use std::error::Error;
use std::time::Duration;

use rmcp::model::ErrorData;
use rmcp::transport::DynamicTransportError;
use rmcp::transport::streamable_http_client::StreamableHttpError;

use crate::base::text;
use crate::net;

/// The longest part of a server's message that is repeated.
const LONGEST: usize = 2_000;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Failure {
    #[error("Not run: the server \"{server}\" cannot be used now. {reason}")]
    Unavailable { server: String, reason: String },
    #[error(
        "Not run: the server \"{server}\" no longer has the tool \"{tool}\". It may have others now; they are offered when your context is built anew."
    )]
    NotOffered { server: String, tool: String },
    #[error(
        "The server \"{server}\" went away while it worked on this ({how}). Whether the call took effect is unknown; look before you retry. The next call tries it anew.{last_words}"
    )]
    Gone { server: String, how: String, last_words: String },
    #[error(
        "\"{tool}\" gave no answer within {} (timeoutMs of the server \"{server}\") and was told to stop. Whether it took effect is unknown; look before you retry.",
        seconds(*limit)
    )]
    TimedOut { server: String, tool: String, limit: Duration },
    #[error("Interrupted. The server \"{server}\" was told to stop; what it had done by then is unknown.")]
    Interrupted { server: String },
    #[error("The server \"{server}\" refused the call: {message}")]
    Refused { server: String, message: String },
    #[error(
        "The server \"{server}\" asked for an answer of a model or a person to go on, which it does not get. Give it all it needs in the input."
    )]
    NeedsInput { server: String },
    #[error("The server \"{server}\" answered with something that cannot be read: {problem}")]
    Unreadable { server: String, problem: String },
}

/// Returns the server's own message.
pub(super) fn error_text(error: &ErrorData) -> String {
    let data = error.data.as_ref().map(|data| format!(" ({data})")).unwrap_or_default();
    cut(&format!("{}{data} [{}]", error.message, error.code.0))
}

/// Returns an error with all its causes.
pub(super) fn chain(error: &(dyn Error + 'static)) -> String {
    cut(&net::error_chain(error))
}

/// Returns why a message could not be sent, without the transport's own wrapping.
pub(super) fn unsent(error: &DynamicTransportError) -> String {
    match error.error.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
        // This error does not expose its cause as `source`.
        Some(StreamableHttpError::Client(error)) => chain(error),
        _ => chain(error.error.as_ref()),
    }
}

/// Formats a duration.
pub(super) fn seconds(duration: Duration) -> String {
    if duration.subsec_millis() == 0 || duration.as_secs() >= 10 {
        format!("{} s", duration.as_secs())
    } else {
        format!("{} ms", duration.as_millis())
    }
}

fn cut(message: &str) -> String {
    let prefix = text::prefix(message, LONGEST);
    if prefix.len() == message.len() { message.to_owned() } else { format!("{prefix} […]") }
}
