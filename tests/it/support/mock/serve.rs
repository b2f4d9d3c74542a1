//! The connections: requests in, deliveries carried out byte by byte, pauses ended by gates or by the client's leaving.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};

use super::delivery::{Delivery, Ending, Framing};
use super::http::{Connection, HttpRequest};
use super::mind::Outcome;
use super::reply::Step;
use super::script::Script;
use super::seen::Wire;
use super::shared::Shared;

/// Accepts connections until it is dropped.
pub async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        if let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(talk(stream, Arc::clone(&shared)));
        }
    }
}

async fn talk(stream: TcpStream, shared: Arc<Shared>) {
    // Each event is its own write; without this they would wait for one another.
    let _ = stream.set_nodelay(true);
    let mut connection = Connection::new(stream);
    while let Ok(Some(request)) = connection.next_request().await {
        let (delivery, record) = route(&request, &shared);
        let kept = carry_out(&mut connection, &delivery, &shared, record).await;
        if let (Some(record), Err(_)) = (record, &kept) {
            shared.finish(record, Outcome::ClientGone);
        }
        if !matches!(kept, Ok(true)) {
            return;
        }
    }
}

fn route(request: &HttpRequest, shared: &Shared) -> (Delivery, Option<usize>) {
    let path = request.path.as_str();
    let (wire, counting) = match (request.method.as_str(), path) {
        ("POST", "/v1/messages") => (Wire::Anthropic, false),
        ("POST", "/v1/messages/count_tokens") => (Wire::Anthropic, true),
        ("POST", "/v1/responses") => (Wire::Responses, false),
        ("POST", "/v1/chat/completions") => (Wire::Chat, false),
        ("GET", path) if path.starts_with("/v1/models") => return (shared.models(request), None),
        (_, path) if path.starts_with("/__mock/") => return (control(request, shared), None),
        (method, path) => {
            let message = format!("there is no {method} {path} here");
            let body = json!({"type": "error", "error": {"type": "not_found_error", "message": message}});
            return (Delivery::json(404, &body), None);
        }
    };
    let (delivery, record) = shared.admit(request, wire, counting);
    (delivery, Some(record))
}

/// What a script or a user outside the process can ask.
fn control(request: &HttpRequest, shared: &Shared) -> Delivery {
    let body = match (request.method.as_str(), request.path.as_str()) {
        ("GET", "/__mock/violations") => {
            let violations = shared.read(|mind| mind.violations.clone());
            let list: Vec<Value> = violations
                .iter()
                .map(|v| {
                    json!({"request": v.request, "conversation": v.conversation, "rule": format!("{:?}", v.rule),
                        "sentence": v.sentence})
                })
                .collect();
            json!(list)
        }
        ("GET", "/__mock/requests") => {
            let records = shared.read(|mind| mind.records.clone());
            let list: Vec<Value> = records
                .iter()
                .map(|r| {
                    json!({"number": r.number, "conversation": r.conversation, "path": r.path, "body": r.body,
                        "outcome": format!("{:?}", r.outcome)})
                })
                .collect();
            json!(list)
        }
        ("POST", "/__mock/script") => match Script::from_json(&String::from_utf8_lossy(&request.body)) {
            Ok(script) => {
                shared.restart(script);
                json!({"ok": true})
            }
            Err(error) => return Delivery::json(400, &json!({"error": error.to_string()})),
        },
        ("POST", path) if path.starts_with("/__mock/gates/") => {
            shared.open(path.trim_start_matches("/__mock/gates/"));
            json!({"ok": true})
        }
        (_, path) => return Delivery::json(404, &json!({"error": format!("there is no {path} here")})),
    };
    Delivery::json(200, &body)
}

/// Returns whether the connection may be used again; an error means that the client is gone.
///
/// The record is finished just before the last byte leaves: a client that has it all finds it finished.
async fn carry_out(
    connection: &mut Connection,
    delivery: &Delivery,
    shared: &Shared,
    record: Option<usize>,
) -> io::Result<bool> {
    let finish = || record.into_iter().for_each(|record| shared.finish(record, shared.planned_outcome(record)));
    for step in &delivery.before {
        pause(connection, step, shared).await?;
    }
    let Some(status) = delivery.status else {
        finish();
        return Ok(false);
    };
    let chunked = delivery.framing == Framing::Chunked;
    if !chunked {
        // The length is told before the body, so what is to come is waited for first.
        for step in &delivery.steps {
            pause(connection, step, shared).await?;
        }
    }
    let length = (!chunked).then(|| delivery.steps.iter().map(sent).map(str::len).sum());
    connection.head(status, &delivery.headers, length).await?;
    let mut allowed = match delivery.ending {
        Ending::Clean => usize::MAX,
        Ending::Cut(bytes) | Ending::Reset(bytes) => bytes,
    };
    let last = delivery.steps.len().saturating_sub(1);
    if delivery.steps.is_empty() {
        finish();
    }
    for (index, step) in delivery.steps.iter().enumerate() {
        if chunked {
            pause(connection, step, shared).await?;
        }
        if index == last || sent(step).len() >= allowed {
            finish();
        }
        let bytes = sent(step).as_bytes();
        let bytes = &bytes[..bytes.len().min(allowed)];
        allowed -= bytes.len();
        drip(connection, bytes, chunked, delivery.drip).await?;
        if allowed == 0 {
            break;
        }
    }
    match delivery.ending {
        Ending::Clean if chunked => connection.end_of_chunks().await.map(|()| true),
        Ending::Clean => Ok(true),
        Ending::Cut(_) => Ok(false),
        Ending::Reset(_) => {
            connection.stream.set_zero_linger()?;
            Ok(false)
        }
    }
}

async fn drip(connection: &mut Connection, bytes: &[u8], chunked: bool, drip: Option<(usize, u64)>) -> io::Result<()> {
    let Some((size, every_ms)) = drip else { return connection.piece(bytes, chunked).await };
    for piece in bytes.chunks(size) {
        connection.piece(piece, chunked).await?;
        // With no time between them, the pieces still leave in writes of their own.
        tokio::time::sleep(Duration::from_millis(every_ms)).await;
    }
    Ok(())
}

fn sent(step: &Step) -> &str {
    match step {
        Step::Send(text) => text,
        Step::Gate(_) | Step::DelayMs(_) => "",
    }
}

async fn pause(connection: &Connection, step: &Step, shared: &Shared) -> io::Result<()> {
    let waits = async {
        match step {
            Step::Send(_) => {}
            Step::Gate(name) => shared.pass(name).await,
            Step::DelayMs(ms) => tokio::time::sleep(Duration::from_millis(*ms)).await,
        }
    };
    tokio::select! {
        biased;
        () = waits => Ok(()),
        () = connection.client_gone() => Err(io::ErrorKind::ConnectionAborted.into()),
    }
}
