use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response as Reply;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{HttpProvider, SALT_BYTES, Timeouts, salt};
use crate::base::{Secret, SystemClock};
use crate::model::conversation::Wire;
use crate::model::event::StopReason;
use crate::provider::credential::Credential;
use crate::provider::decode::ResponseLimits;
use crate::provider::encode::BodyOptions;
use crate::provider::error::{ApiError, ErrorClass};
use crate::provider::response::{Response, Signal};
use crate::provider::testing::{Blobs, config, segments, stream, text, user};
use crate::provider::{Provider, ProviderRequest};

const KEY: &str = "local-test-key-0123456789";

/// A received request: method, path with query, headers and body.
type Seen = Arc<Mutex<Vec<(String, axum::http::HeaderMap, Bytes)>>>;

/// Serves every request with `reply`, on a free port.
async fn serve(reply: impl Fn() -> Reply + Clone + Send + Sync + 'static) -> (String, Seen) {
    let seen = Seen::default();
    let log = Arc::clone(&seen);
    let app = Router::new().fallback(move |request: Request| {
        let (log, reply) = (Arc::clone(&log), reply.clone());
        async move {
            let (parts, body) = request.into_parts();
            let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
            log.lock().unwrap().push((format!("{} {}", parts.method, parts.uri), parts.headers, body));
            reply()
        }
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    (base, seen)
}

fn events(pieces: Vec<io::Result<Bytes>>) -> Reply {
    let stream = futures::stream::iter(pieces);
    Reply::builder().header("content-type", "text/event-stream").body(Body::from_stream(stream)).unwrap()
}

/// Answers one request with a stream that promises more than it sends, and hangs up.
async fn serve_broken(text: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let wanted = call(Wire::Anthropic).body.len().min(call(Wire::OpenaiChat).body.len());
        let mut received = 0;
        while received < wanted {
            received += socket.read(&mut [0; 4096]).await.unwrap();
        }
        let length = text.len() + 100;
        let head = format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {length}\r\n\r\n");
        socket.write_all((head + &text).as_bytes()).await.unwrap();
        socket.shutdown().await.unwrap();
    });
    base
}

/// Returns a stream that sends these bytes and then stays open.
fn stuck(text: String) -> Reply {
    use futures::StreamExt as _;
    let stream = futures::stream::iter([io::Result::Ok(Bytes::from(text))]).chain(futures::stream::pending());
    Reply::builder().header("content-type", "text/event-stream").body(Body::from_stream(stream)).unwrap()
}

fn timeouts() -> Timeouts {
    let limit = Duration::from_secs(10);
    Timeouts { connect: limit, first_byte: limit, idle: limit, content: limit, response: Duration::from_secs(60) }
}

fn provider(wire: Wire, base_url: String, timeouts: Timeouts) -> HttpProvider {
    let api_key = Some(Secret::new(KEY));
    let credential = Credential { group: "test".to_owned(), wire, base_url, api_key };
    HttpProvider::new(credential, timeouts, Arc::new(SystemClock))
}

fn call(wire: Wire) -> ProviderRequest {
    let segments = segments(wire, &[user(vec![text("hi")])], &Blobs::default());
    ProviderRequest::respond(Arc::new(config(wire)), &segments, &BodyOptions::streaming())
}

async fn respond(provider: &HttpProvider) -> (Result<Response, ApiError>, Vec<Signal>) {
    let (sender, mut receiver) = mpsc::channel(64);
    let response = provider.respond(call(provider.credential().wire), sender, CancellationToken::new()).await;
    let signals = std::iter::from_fn(|| receiver.try_recv().ok()).collect();
    (response, signals)
}

const HELLO: [&str; 4] = [
    r#"{"type":"message_start","message":{"model":"m","usage":{"input_tokens":1}}}"#,
    r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hel"}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"lo."}}"#,
];
const END: [&str; 2] = [
    r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}"#,
    r#"{"type":"message_stop"}"#,
];

#[tokio::test]
async fn a_response_is_streamed_and_the_request_is_authenticated() {
    let (base, seen) = serve(|| events(vec![Ok(stream(&HELLO).into()), Ok(stream(&END).into())])).await;
    let (response, signals) = respond(&provider(Wire::Anthropic, base, timeouts())).await;
    let response = response.unwrap();
    assert_eq!((response.text().as_str(), response.stop), ("Hello.", StopReason::EndTurn));
    let shown: String = signals
        .iter()
        .map(|signal| match signal {
            Signal::Text(text) => text.as_str(),
            Signal::Begun => "",
            Signal::Thinking(_) | Signal::Call { .. } => panic!("{signal:?}"),
        })
        .collect();
    assert_eq!(shown, "Hello.");
    let (line, headers, body) = seen.lock().unwrap()[0].clone();
    assert_eq!(line, "POST /v1/messages");
    assert_eq!(headers["x-api-key"], KEY);
    assert_eq!(headers["anthropic-version"], "2023-06-01");
    assert_eq!(headers["user-agent"], concat!("mxd/", env!("CARGO_PKG_VERSION")));
    assert_eq!(body, call(Wire::Anthropic).body.to_bytes());
    // Sent in pieces but with a content length, because not every server accepts chunked requests.
    assert_eq!(headers["content-length"], body.len().to_string());
    assert!(!headers.contains_key("transfer-encoding"));
}

#[tokio::test]
async fn openai_wires_send_a_bearer() {
    let done = r#"{"choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}]}"#;
    let (base, seen) = serve(move || events(vec![Ok(stream(&[done]).into())])).await;
    let (response, _) = respond(&provider(Wire::OpenaiChat, base, timeouts())).await;
    assert_eq!(response.unwrap().text(), "ok");
    let (line, headers, _) = seen.lock().unwrap()[0].clone();
    assert_eq!(line, "POST /v1/chat/completions");
    assert_eq!(headers["authorization"], format!("Bearer {KEY}"));
}

#[tokio::test]
async fn a_limit_is_classified_with_its_wait_and_without_the_key() {
    let (base, _) = serve(|| {
        let body = format!(r#"{{"error":{{"type":"rate_limit_error","message":"too fast for {KEY}"}}}}"#);
        Reply::builder().status(429).header("retry-after", "3").body(Body::from(body)).unwrap()
    })
    .await;
    let error = respond(&provider(Wire::Anthropic, base, timeouts())).await.0.unwrap_err();
    assert_eq!((error.class, error.status), (ErrorClass::RateLimit, Some(429)));
    assert_eq!(error.retry_after, Some(Duration::from_secs(3)));
    assert_eq!(error.message, "too fast for ****");
}

#[tokio::test]
async fn a_stream_that_ends_or_breaks_in_the_middle_is_truncated_and_keeps_its_text() {
    let (ended, _) = serve(|| events(vec![Ok(stream(&HELLO).into())])).await;
    let broken = serve_broken(stream(&HELLO) + "data: {\"ty").await;
    for base in [ended, broken] {
        let (response, signals) = respond(&provider(Wire::Anthropic, base, timeouts())).await;
        let error = response.unwrap_err();
        assert_eq!(error.class, ErrorClass::Truncated, "{error}");
        assert_eq!(error.partial.unwrap().text(), "Hello.");
        assert!(!signals.is_empty());
    }
}

#[tokio::test]
async fn a_break_after_the_whole_response_loses_nothing() {
    let base = serve_broken(stream(&[r#"{"choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}]}"#])).await;
    assert_eq!(respond(&provider(Wire::OpenaiChat, base, timeouts())).await.0.unwrap().text(), "ok");
}

#[tokio::test]
async fn a_stream_that_keeps_the_connection_open_after_its_end_is_over() {
    let (base, _) = serve(|| stuck(stream(&HELLO) + &stream(&END))).await;
    assert_eq!(respond(&provider(Wire::Anthropic, base, timeouts())).await.0.unwrap().text(), "Hello.");
}

#[tokio::test]
async fn silence_times_out_before_and_within_a_stream() {
    let (silent, _) = serve(|| stuck(String::new())).await;
    let short = Timeouts { first_byte: Duration::from_millis(400), ..timeouts() };
    let error = respond(&provider(Wire::Anthropic, silent, short)).await.0.unwrap_err();
    assert_eq!(error.class, ErrorClass::Timeout);

    let (stalled, _) = serve(|| stuck(stream(&HELLO))).await;
    let short = Timeouts { idle: Duration::from_millis(400), ..timeouts() };
    let error = respond(&provider(Wire::Anthropic, stalled, short)).await.0.unwrap_err();
    assert_eq!((error.class, error.partial.unwrap().text()), (ErrorClass::Timeout, "Hello.".to_owned()));
}

/// Returns a stream that sends `head` once and then `piece` for ever.
fn endless(head: String, piece: String, every: Duration) -> Reply {
    use futures::StreamExt as _;
    let pieces = futures::stream::unfold((), move |()| {
        let piece = piece.clone();
        async move {
            // Without a pause the stream never yields to the reader's own timers.
            tokio::time::sleep(every).await;
            Some((io::Result::Ok(Bytes::from(piece)), ()))
        }
    });
    let stream = futures::stream::iter([io::Result::Ok(Bytes::from(head))]).chain(pieces);
    Reply::builder().header("content-type", "text/event-stream").body(Body::from_stream(stream)).unwrap()
}

/// Returns the events that start a text and that add one word to it.
fn text_events(wire: Wire) -> (String, String) {
    match wire {
        Wire::Anthropic => (stream(&HELLO[..2]), stream(&HELLO[2..3])),
        Wire::OpenaiResponses => (
            stream(&[r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"message"}}"#]),
            stream(&[r#"{"type":"response.output_text.delta","output_index":0,"delta":"Hel"}"#]),
        ),
        Wire::OpenaiChat | Wire::Scripted => (String::new(), stream(&[r#"{"choices":[{"delta":{"content":"Hel"}}]}"#])),
    }
}

const WIRES: [Wire; 3] = [Wire::Anthropic, Wire::OpenaiResponses, Wire::OpenaiChat];

#[tokio::test]
async fn a_response_that_never_ends_is_cut_off_on_every_wire_and_its_text_is_kept() {
    for wire in WIRES {
        let (head, word) = text_events(wire);
        let (base, _) = serve(move || endless(head.clone(), word.repeat(50), Duration::ZERO)).await;
        let limits = ResponseLimits { content_bytes: 10_000, ..ResponseLimits::default() };
        let (response, _) = respond(&provider(wire, base, timeouts()).with_limits(limits)).await;
        let error = response.unwrap_err();
        assert_eq!(error.class, ErrorClass::Runaway, "{wire:?}: {error}");
        let text = error.partial.unwrap().text();
        assert!(text.len() > 10_000 && text.len() < 11_000, "{wire:?}: {}", text.len());
        assert!(text.starts_with("HelHel"), "{wire:?}");
    }
}

#[tokio::test]
async fn calls_without_end_and_events_without_content_are_cut_off_too() {
    let call = |number: &str| {
        format!(r#"{{"choices":[{{"delta":{{"tool_calls":[{{"id":"{number}","function":{{"name":"bash"}}}}]}}}}]}}"#)
    };
    let calls: String = (0..50).map(|number| stream(&[&call(&format!("c{number}"))])).collect();
    let (many_calls, _) = serve(move || events(vec![Ok(calls.clone().into())])).await;
    let limits = ResponseLimits { blocks: 20, ..ResponseLimits::default() };
    let error = respond(&provider(Wire::OpenaiChat, many_calls, timeouts()).with_limits(limits)).await.0.unwrap_err();
    assert_eq!(error.class, ErrorClass::Runaway, "{error}");

    let (comments, _) = serve(|| endless(String::new(), ": still here\n\n".repeat(100), Duration::ZERO)).await;
    let limits = ResponseLimits { wire_bytes: 100_000, ..ResponseLimits::default() };
    let error = respond(&provider(Wire::Anthropic, comments, timeouts()).with_limits(limits)).await.0.unwrap_err();
    assert_eq!(error.class, ErrorClass::Runaway, "{error}");
}

fn gzip(text: &str) -> Vec<u8> {
    use std::io::Write as _;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test]
async fn the_size_limit_applies_after_decompression() {
    // 4 MB of comments in 4 kB.
    let packed = gzip(&": still here\n\n".repeat(300_000));
    assert!(packed.len() < 40_000, "{}", packed.len());
    let (base, _) = serve(move || {
        let reply = Reply::builder().header("content-type", "text/event-stream").header("content-encoding", "gzip");
        reply.body(Body::from(packed.clone())).unwrap()
    })
    .await;
    let limits = ResponseLimits { wire_bytes: 1_000_000, ..ResponseLimits::default() };
    let error = respond(&provider(Wire::Anthropic, base, timeouts()).with_limits(limits)).await.0.unwrap_err();
    assert_eq!(error.class, ErrorClass::Runaway, "{error}");
}

#[tokio::test]
async fn an_answer_in_one_piece_has_a_limit() {
    let whole =
        format!(r#"{{"stop_reason":"end_turn","content":[{{"type":"text","text":"{}"}}]}}"#, "x".repeat(9 << 20));
    let (base, _) = serve(move || {
        Reply::builder().header("content-type", "application/json").body(Body::from(whole.clone())).unwrap()
    })
    .await;
    let error = respond(&provider(Wire::Anthropic, base, timeouts())).await.0.unwrap_err();
    assert_eq!(error.class, ErrorClass::Runaway, "{error}");
}

#[tokio::test]
async fn a_stream_of_keep_alives_counts_as_silence() {
    let ping = stream(&[r#"{"type":"ping"}"#]) + ": still here\n\n";
    let empty = stream(&[r#"{"choices":[{"delta":{"content":""}}]}"#]);
    for (wire, ping) in [(Wire::Anthropic, ping), (Wire::OpenaiChat, empty)] {
        let (head, word) = text_events(wire);
        let (base, _) = serve(move || endless(head.clone() + &word, ping.clone(), Duration::from_millis(10))).await;
        let short = Timeouts { content: Duration::from_millis(400), ..timeouts() };
        let error = respond(&provider(wire, base, short)).await.0.unwrap_err();
        assert_eq!((error.class, error.partial.unwrap().text()), (ErrorClass::Timeout, "Hel".to_owned()), "{wire:?}");
    }
}

#[tokio::test]
async fn a_steady_response_has_a_time_limit() {
    let (head, word) = text_events(Wire::Anthropic);
    let (base, _) = serve(move || endless(head.clone(), word.clone(), Duration::from_millis(10))).await;
    let short = Timeouts { response: Duration::from_millis(400), ..timeouts() };
    let error = respond(&provider(Wire::Anthropic, base, short)).await.0.unwrap_err();
    assert_eq!(error.class, ErrorClass::Runaway, "{error}");
    assert!(error.partial.unwrap().text().starts_with("Hel"));
}

#[tokio::test]
async fn begun_is_signalled_before_any_text() {
    let (base, _) = serve(|| stuck(stream(&HELLO[..1]))).await;
    let provider = provider(Wire::Anthropic, base, timeouts());
    let (sender, mut receiver) = mpsc::channel(64);
    let cancel = CancellationToken::new();
    let response = provider.respond(call(Wire::Anthropic), sender, cancel.clone());
    let watch = async {
        assert_eq!(receiver.recv().await, Some(Signal::Begun));
        cancel.cancel();
    };
    let (response, ()) = tokio::join!(response, watch);
    assert_eq!(response.unwrap_err().class, ErrorClass::Cancelled);
}

#[tokio::test]
async fn a_stream_that_begins_with_an_error_has_not_begun() {
    let overloaded = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let (base, _) = serve(|| events(vec![Ok(stream(&[overloaded]).into())])).await;
    let (response, signals) = respond(&provider(Wire::Anthropic, base, timeouts())).await;
    assert_eq!((response.unwrap_err().class, signals), (ErrorClass::Overloaded, Vec::new()));
}

#[tokio::test]
async fn cancelling_in_mid_stream_keeps_the_text() {
    let (base, _) = serve(|| stuck(stream(&HELLO))).await;
    let provider = provider(Wire::Anthropic, base, timeouts());
    let (sender, mut receiver) = mpsc::channel(64);
    let cancel = CancellationToken::new();
    let response = provider.respond(call(Wire::Anthropic), sender, cancel.clone());
    let watch = async {
        assert_eq!(receiver.recv().await, Some(Signal::Begun));
        assert_eq!(receiver.recv().await, Some(Signal::Text("Hello.".to_owned())));
        cancel.cancel();
    };
    let (response, ()) = tokio::join!(response, watch);
    let error = response.unwrap_err();
    assert_eq!(error.class, ErrorClass::Cancelled);
    let partial = error.partial.unwrap();
    assert_eq!((partial.text().as_str(), &partial.stop), ("Hello.", &StopReason::Interrupted));
}

#[tokio::test]
async fn cancelling_before_anything_came_is_prompt() {
    let (base, _) = serve(|| stuck(String::new())).await;
    let cancel = CancellationToken::new();
    cancel.cancel();
    let provider = provider(Wire::Anthropic, base, timeouts());
    let error = provider.respond(call(Wire::Anthropic), mpsc::channel(1).0, cancel).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Cancelled);
}

#[tokio::test]
async fn other_content_types_are_recognised() {
    let reply = |kind: &'static str, body: &'static str| {
        move || Reply::builder().header("content-type", kind).body(Body::from(body)).unwrap()
    };
    let (page, _) = serve(reply("text/html; charset=utf-8", "<html>Log in")).await;
    let (error, _) = serve(reply("application/json", r#"{"error":{"type":"overloaded_error","message":"x"}}"#)).await;
    let (other, _) = serve(reply("application/json", r#"{"content":[]}"#)).await;
    let table = [(page, ErrorClass::Network), (error, ErrorClass::Overloaded), (other, ErrorClass::InvalidRequest)];
    for (base, class) in table {
        assert_eq!(respond(&provider(Wire::Anthropic, base, timeouts())).await.0.unwrap_err().class, class);
    }
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_supported() {
    let whole = r#"{"stop_reason":"end_turn","content":[{"type":"text","text":"Hello."}]}"#;
    let (base, _) =
        serve(move || Reply::builder().header("content-type", "application/json").body(Body::from(whole)).unwrap())
            .await;
    let (response, signals) = respond(&provider(Wire::Anthropic, base, timeouts())).await;
    assert_eq!(response.unwrap().text(), "Hello.");
    assert_eq!(signals, [Signal::Text("Hello.".to_owned())]);
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let (base, seen) = serve(|| {
        Reply::builder().status(StatusCode::FOUND).header("location", "/elsewhere").body(Body::empty()).unwrap()
    })
    .await;
    let error = respond(&provider(Wire::Anthropic, base, timeouts())).await.0.unwrap_err();
    assert_eq!(error.class, ErrorClass::InvalidRequest);
    assert!(error.message.contains("/elsewhere"));
    assert_eq!(seen.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_closed_port_is_a_network_error_with_a_cause() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let error = respond(&provider(Wire::Anthropic, base.clone(), timeouts())).await.0.unwrap_err();
    assert_eq!(error.class, ErrorClass::Network);
    assert!(error.message.to_lowercase().contains("refused"), "{}", error.message);
    let odd = provider(Wire::Anthropic, "nonsense".to_owned(), timeouts());
    assert_eq!(respond(&odd).await.0.unwrap_err().class, ErrorClass::InvalidRequest);
}

#[tokio::test]
async fn a_key_that_no_header_can_hold_is_an_auth_error_that_hides_it() {
    let mut credential = provider(Wire::Anthropic, "http://127.0.0.1:9".to_owned(), timeouts()).credential;
    credential.api_key = Some(Secret::new("bad\nkey"));
    let provider = HttpProvider::new(credential, timeouts(), Arc::new(SystemClock));
    let error = respond(&provider).await.0.unwrap_err();
    assert_eq!(error.class, ErrorClass::Auth);
    assert!(!error.to_string().contains("bad"));
}

#[tokio::test]
async fn a_conversation_for_another_wire_is_not_sent() {
    let (base, seen) = serve(|| Reply::new(Body::empty())).await;
    let provider = provider(Wire::Anthropic, base, timeouts());
    let response = provider.respond(call(Wire::OpenaiChat), mpsc::channel(1).0, CancellationToken::new()).await;
    assert_eq!(response.unwrap_err().class, ErrorClass::InvalidRequest);
    assert!(seen.lock().unwrap().is_empty());
}

#[tokio::test]
async fn tokens_are_counted_where_the_api_can() {
    let (base, seen) = serve(|| Reply::new(Body::from(r#"{"input_tokens":42}"#))).await;
    let count = ProviderRequest::count(Arc::new(config(Wire::Anthropic)), &[]);
    let anthropic = provider(Wire::Anthropic, base.clone(), timeouts());
    assert_eq!(anthropic.count_tokens(count.clone(), CancellationToken::new()).await, Ok(Some(42)));
    assert_eq!(seen.lock().unwrap()[0].0, "POST /v1/messages/count_tokens");
    let chat = provider(Wire::OpenaiChat, base, timeouts());
    assert_eq!(chat.count_tokens(count, CancellationToken::new()).await, Ok(None));
    assert_eq!(seen.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn models_are_listed() {
    let (base, seen) = serve(|| Reply::new(Body::from(r#"{"data":[{"id":"m","context_length":9}]}"#))).await;
    let listed = provider(Wire::Anthropic, base, timeouts()).models(CancellationToken::new()).await.unwrap();
    assert_eq!((listed[0].id.as_str(), listed[0].window), ("m", Some(9)));
    assert_eq!(seen.lock().unwrap()[0].0, "GET /v1/models?limit=1000");
    let (broken, _) = serve(|| Reply::new(Body::from("no json"))).await;
    let error = provider(Wire::OpenaiChat, broken, timeouts()).models(CancellationToken::new()).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Server);
}

#[test]
fn requests_of_one_conversation_have_distinct_salts() {
    let (short, long) = (vec![b'a'; SALT_BYTES], vec![b'a'; SALT_BYTES + 1]);
    let mut other = long.clone();
    other[SALT_BYTES] = b'b';
    let salt = |body: Vec<u8>| salt(&crate::provider::ByteChunks::from(body));
    assert_eq!(salt(short.clone()), salt(short.clone()));
    assert_ne!(salt(short), salt(long.clone()));
    assert_ne!(salt(long), salt(other));
    assert_eq!(salt(Vec::new()).len(), 16);
}
