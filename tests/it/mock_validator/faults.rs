//! Every fault happens on the wire as it would from a real server, and the retry after it is answered.

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::requests::{ANTHROPIC, CHAT, RESPONSES, go_on, hello};
use super::{events, post, send};
use crate::support::mock::{ErrorKind, Fault, Mock, Outcome, Script, answer, gate, say};

const WIRES: [&str; 3] = [ANTHROPIC, RESPONSES, CHAT];

fn faulty(fault: Fault) -> Mock {
    Mock::start(Script::new().turn(answer().text("All is well at last.").fault(fault)).fail_when_exhausted())
}

/// Sends a request over a bare connection and returns every byte that came, and how the connection ended.
async fn raw(mock: &Mock, path: &str, stream: bool) -> (String, std::io::Result<()>) {
    let body = hello(path, "Hello", stream).to_string();
    let mut connection = TcpStream::connect(mock.address()).await.unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: mock\r\nx-api-key: k\r\nanthropic-version: 2023-06-01\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    connection.write_all(head.as_bytes()).await.unwrap();
    connection.write_all(body.as_bytes()).await.unwrap();
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    let end = loop {
        match connection.read(&mut piece).await {
            Ok(0) => break Ok(()),
            Ok(length) => bytes.extend_from_slice(&piece[..length]),
            Err(error) => break Err(error),
        }
        // A connection that is kept alive would be read forever.
        if bytes.ends_with(b"\r\n0\r\n\r\n") {
            break Ok(());
        }
    };
    (String::from_utf8_lossy(&bytes).into_owned(), end)
}

async fn answered(mock: &Mock, path: &str) {
    let (status, body) = post(mock, path, &hello(path, "Hello", true)).await;
    assert_eq!(status, 200, "{body}");
    assert!(body.contains("All is well"), "{body}");
    mock.assert_finished();
}

#[tokio::test]
async fn refusals_have_the_status_the_header_and_the_words_of_the_vendor() {
    let cases = [
        (Fault::rate_limited("7"), [429, 429], ["rate_limit_error", "rate_limit_exceeded"]),
        (Fault::rate_limited_without_advice(), [429, 429], ["rate_limit_error", "rate_limit_exceeded"]),
        (Fault::overloaded(), [529, 529], ["overloaded_error", "server_is_overloaded"]),
        (Fault::server_error(), [500, 500], ["api_error", "server_error"]),
        (Fault::unavailable(), [503, 503], ["overloaded_error", "server_is_overloaded"]),
        (Fault::unauthorized(), [401, 401], ["authentication_error", "invalid_api_key"]),
        (Fault::no_credit(), [400, 429], ["credit balance is too low", "insufficient_quota"]),
        (Fault::context_overflow(), [400, 400], ["prompt is too long", "context_length_exceeded"]),
        (Fault::unknown_model(), [404, 404], ["not_found_error", "model_not_found"]),
        (Fault::invalid_request("tools: no"), [400, 400], ["tools: no", "tools: no"]),
        (Fault::status(ErrorKind::TooLarge, "too much"), [413, 413], ["request_too_large", "too much"]),
    ];
    for (fault, statuses, words) in cases {
        for path in WIRES {
            let mock = faulty(fault.clone());
            let vendor = usize::from(path != ANTHROPIC);
            let response = send(&mock, path, &hello(path, "Hello", true).to_string(), &[]).await.unwrap();
            assert_eq!(response.status().as_u16(), statuses[vendor], "{fault:?} on {path}");
            let advice = response.headers().get("retry-after").map(|value| value.to_str().unwrap().to_owned());
            assert_eq!(advice.as_deref(), (fault == Fault::rate_limited("7")).then_some("7"));
            let body = response.text().await.unwrap();
            assert!(body.contains(words[vendor]), "{fault:?} on {path}: {body}");
            answered(&mock, path).await;
        }
    }
}

#[tokio::test]
async fn a_reset_comes_as_a_reset_after_the_bytes_it_was_given() {
    for path in WIRES {
        let mock = faulty(Fault::ResetAfter(100));
        let (bytes, end) = raw(&mock, path, true).await;
        assert_eq!(end.unwrap_err().kind(), std::io::ErrorKind::ConnectionReset);
        let (_, body) = bytes.split_once("\r\n\r\n").unwrap();
        assert!(body.len() > 100 && body.len() < 150, "100 bytes and the sizes of their chunks: {body}");
        answered(&mock, path).await;
        assert_eq!(mock.requests()[0].outcome, Outcome::Faulted(Fault::ResetAfter(100)));
    }
}

#[tokio::test]
async fn a_cut_stream_ends_without_the_end_of_its_encoding() {
    let mock = faulty(Fault::CutAfter(100));
    let (bytes, end) = raw(&mock, ANTHROPIC, true).await;
    assert!(end.is_ok());
    assert!(bytes.starts_with("HTTP/1.1 200") && !bytes.ends_with("0\r\n\r\n"));
    answered(&mock, ANTHROPIC).await;
}

#[tokio::test]
async fn a_truncated_stream_ends_in_good_order_without_its_last_event() {
    for (path, last) in [(ANTHROPIC, "message_stop"), (RESPONSES, "response.completed"), (CHAT, "[DONE]")] {
        let mock = faulty(Fault::Truncated(3));
        let (status, body) = post(&mock, path, &hello(path, "Hello", true)).await;
        assert_eq!((status, events(&body).len()), (200, 3));
        assert!(!body.contains(last));
        answered(&mock, path).await;
    }
}

#[tokio::test]
async fn malformed_json_stands_between_good_events() {
    for path in WIRES {
        let mock = faulty(Fault::MalformedJson(2));
        let (_, body) = post(&mock, path, &hello(path, "Hello", true)).await;
        let data: Vec<_> = body.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
        let good = |data: &&str| *data == "[DONE]" || serde_json::from_str::<Value>(data).is_ok();
        assert!(good(&data[1]) && !good(&data[2]) && data[3..].iter().all(good), "{data:?}");
        answered(&mock, path).await;
    }
}

#[tokio::test]
async fn an_error_event_ends_a_stream_that_had_begun() {
    let cases = [(ANTHROPIC, "overloaded_error"), (RESPONSES, "response.failed"), (CHAT, "server_is_overloaded")];
    for (path, words) in cases {
        let mock = faulty(Fault::ErrorEvent { after: 3, kind: ErrorKind::Overloaded });
        let (status, body) = post(&mock, path, &hello(path, "Hello", true)).await;
        let events = events(&body);
        assert_eq!((status, events.len()), (200, 4));
        assert!(events[3].to_string().contains(words), "{}", events[3]);
        answered(&mock, path).await;
    }
}

#[tokio::test]
async fn a_drip_sends_the_same_bytes_in_small_pieces() {
    let smooth = Mock::start(Script::new().turn(answer().text("Grüße, Welt")));
    let (_, whole) = post(&smooth, ANTHROPIC, &hello(ANTHROPIC, "Hello", true)).await;
    let mock =
        Mock::start(Script::new().turn(answer().text("Grüße, Welt").fault(Fault::SlowDrip { bytes: 1, every_ms: 0 })));
    let (bytes, _) = raw(&mock, ANTHROPIC, true).await;
    assert!(bytes.contains("\r\n1\r\n"), "every byte is a chunk of its own");
    let mut chunks = bytes.split_once("\r\n\r\n").unwrap().1.split("1\r\n").skip(1);
    assert!(chunks.all(|chunk| chunk.len() <= 8));
    let (_, again) = post(&mock, ANTHROPIC, &hello(ANTHROPIC, "Hello", true)).await;
    assert_eq!(again, whole);
}

#[tokio::test]
async fn a_web_page_comes_where_an_answer_was_expected() {
    let mock = faulty(Fault::WrongContentType);
    let response = send(&mock, CHAT, &hello(CHAT, "Hello", true).to_string(), &[]).await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/html; charset=utf-8");
    assert!(response.text().await.unwrap().starts_with("<html>"));
    answered(&mock, CHAT).await;
}

#[tokio::test]
async fn a_connection_is_closed_without_a_word() {
    let mock = faulty(Fault::CloseWithoutResponse);
    let (bytes, end) = raw(&mock, ANTHROPIC, true).await;
    assert!(bytes.is_empty() && end.is_ok());
    answered(&mock, ANTHROPIC).await;
}

#[tokio::test]
async fn a_stalled_stream_goes_on_when_the_test_says_so() {
    let mock = faulty(Fault::Stall { after: 4, gate: "silence".to_owned() });
    let mut response = send(&mock, ANTHROPIC, &hello(ANTHROPIC, "Hello", true).to_string(), &[]).await.unwrap();
    let mut body = Vec::new();
    while String::from_utf8_lossy(&body).matches("data: ").count() < 4 {
        body.extend(response.chunk().await.unwrap().unwrap());
    }
    mock.reached("silence").await;
    assert_eq!(mock.requests()[0].outcome, Outcome::Pending);
    mock.open("silence");
    while let Some(chunk) = response.chunk().await.unwrap() {
        body.extend(chunk);
    }
    assert!(String::from_utf8(body).unwrap().contains("message_stop"));
}

#[tokio::test]
async fn answers_in_one_piece_have_faults_too() {
    for path in WIRES {
        for fault in [Fault::Truncated(0), Fault::MalformedJson(0)] {
            let mock = faulty(fault.clone());
            let (status, body) = post(&mock, path, &hello(path, "Hello", false)).await;
            assert_eq!(status, 200);
            assert!(serde_json::from_str::<Value>(&body).is_err(), "{fault:?} on {path}: {body}");
            answered(&mock, path).await;
        }
        let mock = faulty(Fault::ErrorEvent { after: 3, kind: ErrorKind::Server });
        assert_eq!(post(&mock, path, &hello(path, "Hello", false)).await.0, 500);
        let mock = faulty(Fault::ResetAfter(10));
        let (_, end) = raw(&mock, path, false).await;
        assert_eq!(end.unwrap_err().kind(), std::io::ErrorKind::ConnectionReset);
    }
}

#[tokio::test]
async fn faults_go_by_number_too_and_take_no_turn() {
    let script = Script::new().turn(answer().text("first")).turn(answer().text("second"));
    let mock = Mock::start(script.fault_at(1, Fault::overloaded()).fault_at(3, Fault::server_error()));
    let mut request = hello(ANTHROPIC, "Hello", false);
    assert_eq!(post(&mock, ANTHROPIC, &request).await.0, 529);
    assert!(post(&mock, ANTHROPIC, &request).await.1.contains("first"));
    go_on(&mut request, "first", "And?");
    assert_eq!(post(&mock, ANTHROPIC, &request).await.0, 500);
    // A message that arrived during the backoff makes the request longer; the model has still not spoken.
    request["messages"][2]["content"].as_array_mut().unwrap().push(serde_json::json!({"type": "text", "text": "Hm?"}));
    assert!(post(&mock, ANTHROPIC, &request).await.1.contains("second"));
    mock.assert_finished();
}

#[tokio::test]
async fn a_client_that_leaves_in_mid_word_is_noticed_and_gets_the_next_turn() {
    let script =
        Script::new().turn(answer().chunks([say("Hel"), gate("mid-word"), say("lo")])).turn(answer().text("next"));
    let mock = Mock::start(script);
    let mut request = hello(ANTHROPIC, "Hello", true);
    let response = send(&mock, ANTHROPIC, &request.to_string(), &[]).await.unwrap();
    mock.reached("mid-word").await;
    drop(response);
    mock.until("the client is gone", |mind| mind.records[0].outcome == Outcome::ClientGone).await;
    go_on(&mut request, "Hel", "Stop that.");
    assert!(post(&mock, ANTHROPIC, &request).await.1.contains("next"));
}
