//! Hostile requests: each is refused as `docs/serve.md` says, and changes nothing. The page has this table.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use mxd::base::Timestamp;
use mxd::serve::http::tokens::{TokenFile, TokenRequest};
use mxd::serve::http::{Scope, Timeouts};
use serde_json::{Value, json};

use super::tokens::token;
use super::{Served, script, until};
use crate::cli_support::World;

/// The tokens of the rows.
struct Tokens {
    read: String,
    send: String,
    other_project: String,
    expired: String,
    revoked: String,
}

/// What a row needs to build its request.
struct Rig<'a> {
    served: &'a Served,
    tokens: Tokens,
    /// The name of a blob of ten bytes.
    blob: String,
}

/// One hostile request.
struct Row {
    /// As the documentation names it.
    what: &'static str,
    /// The status, or 0 if the connection is closed without an answer.
    status: u16,
    request: fn(&Rig<'_>) -> Vec<u8>,
}

const fn row(what: &'static str, status: u16, request: fn(&Rig<'_>) -> Vec<u8>) -> Row {
    Row { what, status, request }
}

impl Rig<'_> {
    /// A request with these header lines and nothing else.
    #[allow(clippy::unused_self, reason = "the rows of the table read alike")]
    fn bare(&self, line: &str, headers: &str) -> Vec<u8> {
        format!("{line} HTTP/1.1\r\nConnection: close\r\n{headers}\r\n").into_bytes()
    }

    fn host(&self) -> String {
        format!("Host: {}\r\n", self.served.address)
    }

    /// A request without a body, with a valid token and more header lines.
    fn with(&self, line: &str, headers: &str) -> Vec<u8> {
        self.of(&self.served.token, line, headers)
    }

    fn of(&self, token: &str, line: &str, headers: &str) -> Vec<u8> {
        self.bare(line, &format!("{}Authorization: Bearer {token}\r\n{headers}", self.host()))
    }

    /// A post of any bytes.
    fn post(&self, token: &str, path: &str, headers: &str, body: &[u8]) -> Vec<u8> {
        let headers = format!("Content-Length: {}\r\n{headers}", body.len());
        [self.of(token, &format!("POST {path}"), &headers), body.to_vec()].concat()
    }

    fn json(&self, path: &str, body: &str) -> Vec<u8> {
        self.post(&self.served.token, path, JSON, body.as_bytes())
    }

    fn message(&self) -> String {
        self.served.messages()
    }
}

const JSON: &str = "Content-Type: application/json\r\n";
const COMMANDS: &str = "/v1/projects/app/commands";
const QUERIES: &str = "/v1/projects/app/queries";
const NO_BLOB: &str = "0000000000000000000000000000000000000000000000000000000000000000";

#[rustfmt::skip]
const ROWS: &[Row] = &[
    // Who may speak to the server at all.
    row("no `Host`", 400, |rig| rig.bare("GET /v1/health", "")),
    row("two `Host` headers", 400, |rig| rig.bare("GET /v1/health", &format!("{0}{0}", rig.host()))),
    row("another host name (DNS rebinding)", 403, |rig| rig.bare("GET /v1/health", "Host: evil.example\r\n")),
    row("a host name that begins like ours", 403, |rig| rig.bare("GET /v1/health", "Host: localhost.evil.example\r\n")),
    row("a host name that contains our address", 403, |rig| rig.bare("GET /v1/health", "Host: 127.0.0.1.nip.io\r\n")),
    row("another host in the request line", 403, |rig| rig.bare("GET http://evil.example/v1/health", &rig.host())),
    row("an origin of another site", 403, |rig| rig.with("GET /v1/projects", "Origin: http://evil.example\r\n")),
    row("the origin `null` of a sandboxed page", 403, |rig| rig.with("GET /v1/projects", "Origin: null\r\n")),
    row("our origin with another scheme", 403, |rig| rig.with("GET /v1/projects", &format!("Origin: https://{}\r\n", rig.served.address))),
    row("our origin with another port", 403, |rig| rig.with("GET /v1/projects", "Origin: http://127.0.0.1:1\r\n")),
    row("a CORS preflight of another site", 403, |rig| rig.bare("OPTIONS /v1/projects", &format!("{}Origin: http://evil.example\r\nAccess-Control-Request-Method: POST\r\n", rig.host()))),
    // Tokens.
    row("no token", 401, |rig| rig.bare("GET /v1/projects", &rig.host())),
    row("no token, for a path that does not exist", 401, |rig| rig.bare("GET /v1/nothing", &rig.host())),
    row("a wrong token", 401, |rig| rig.of("mxd_wrong", "GET /v1/projects", "")),
    row("an expired token", 401, |rig| rig.of(&rig.tokens.expired, "GET /v1/projects", "")),
    row("a revoked token", 401, |rig| rig.of(&rig.tokens.revoked, "GET /v1/projects", "")),
    row("another scheme than `Bearer`", 401, |rig| rig.bare("GET /v1/projects", &format!("{}Authorization: Basic {}\r\n", rig.host(), rig.served.token))),
    row("two `Authorization` headers", 401, |rig| rig.with("GET /v1/projects", "Authorization: Bearer x\r\n")),
    row("a token in the address", 401, |rig| rig.bare(&format!("GET /v1/projects?token={}", rig.served.token), &rig.host())),
    row("a cookie without the page's half", 401, |rig| rig.bare("GET /v1/projects", &format!("{}Cookie: mxd_page=a.b.c\r\n", rig.host()))),
    row("a forged cookie", 401, |rig| rig.bare("GET /v1/projects", &format!("{}Cookie: mxd_page={}.n.{}\r\nX-Mxd-Page: AAAA\r\n", rig.host(), "0".repeat(64), "0".repeat(64)))),
    row("a link that was never made", 401, |rig| rig.bare("GET /?t=mxd_wrong", &rig.host())),
    row("a message with a token that may only read", 403, |rig| rig.post(&rig.tokens.read, &rig.message(), JSON, br#"{"text":"x"}"#)),
    row("an answer with a token that may only read", 403, |rig| rig.post(&rig.tokens.read, "/v1/asks/01ARZ3NDEKTSV4RRFFQ69G5FAV", JSON, br#"{"text":"x"}"#)),
    row("reading with a token that may only send", 403, |rig| rig.of(&rig.tokens.send, "GET /v1/projects/app", "")),
    row("a new task with a token that may only send", 403, |rig| rig.post(&rig.tokens.send, COMMANDS, JSON, json!({"command": "create", "parent": rig.served.root, "before": null, "draft": {"title": "x"}, "start": "now"}).to_string().as_bytes())),
    row("stopping agents with a token that may only send", 403, |rig| rig.post(&rig.tokens.send, COMMANDS, JSON, br#"{"command":"stop","scope":"all"}"#)),
    row("a setting with a token that may only send", 403, |rig| rig.post(&rig.tokens.send, COMMANDS, JSON, br#"{"command":"files","files":"set_setting","layer":"global","key":"verify","value":"x"}"#)),
    row("quitting with a token that may only send", 403, |rig| rig.post(&rig.tokens.send, COMMANDS, JSON, br#"{"command":"quit"}"#)),
    row("a link for another token without the scope admin", 403, |rig| rig.post(&rig.tokens.read, "/v1/links", JSON, br#"{"token":"send"}"#)),
    row("a project that the token does not reach", 404, |rig| rig.of(&rig.tokens.other_project, "GET /v1/projects/app", "")),
    // Methods and paths.
    row("a method that a path does not have", 405, |rig| rig.with("PUT /v1/projects", "")),
    row("deleting a project", 405, |rig| rig.with("DELETE /v1/projects/app", "")),
    row("`TRACE`", 405, |rig| rig.with("TRACE /v1/projects", "")),
    row("an unknown method", 405, |rig| rig.with("BREW /v1/projects", "")),
    row("posting to the health", 405, |rig| rig.json("/v1/health", "{}")),
    row("a path that does not exist", 404, |rig| rig.with("GET /v1/nothing", "")),
    row("another version of the interface", 404, |rig| rig.with("GET /v2/projects", "")),
    row("a path that leads up", 404, |rig| rig.with("GET /v1/projects/../../etc/passwd", "")),
    row("an encoded path that leads up", 404, |rig| rig.with("GET /v1/projects/%2e%2e%2f%2e%2e%2fetc", "")),
    row("a zero byte in a path", 404, |rig| rig.with("GET /v1/projects/%00", "")),
    row("a path that is not UTF-8", 400, |rig| rig.with("GET /v1/projects/%ff", "")),
    row("an unknown project", 404, |rig| rig.with("GET /v1/projects/nope", "")),
    row("an unknown task", 404, |rig| rig.json("/v1/projects/app/tasks/nope/messages", r#"{"text":"x"}"#)),
    row("the id of a question that is none", 400, |rig| rig.json("/v1/asks/nope", r#"{"text":"x"}"#)),
    row("a question that is not open", 404, |rig| rig.json("/v1/asks/01ARZ3NDEKTSV4RRFFQ69G5FAV", r#"{"text":"x"}"#)),
    row("a blob name that leads up", 400, |rig| rig.with("GET /v1/projects/app/blobs/..%2f..%2fconfig.json", "")),
    row("a blob name in capitals", 400, |rig| rig.with(&format!("GET /v1/projects/app/blobs/{}", NO_BLOB.replace('0', "A")), "")),
    row("an unknown blob", 404, |rig| rig.with(&format!("GET /v1/projects/app/blobs/{NO_BLOB}"), "")),
    // Parameters and headers.
    row("an unknown parameter", 400, |rig| rig.json(&format!("{}?wiat=turn", rig.message()), r#"{"text":"x"}"#)),
    row("an unknown thing to wait for", 400, |rig| rig.json(&format!("{}?wait=ever", rig.message()), r#"{"text":"x"}"#)),
    row("a timeout of 0", 400, |rig| rig.json(&format!("{}?wait=turn&timeout=0", rig.message()), r#"{"text":"x"}"#)),
    row("a negative timeout", 400, |rig| rig.json(&format!("{}?wait=turn&timeout=-1", rig.message()), r#"{"text":"x"}"#)),
    row("a timeout of a day", 400, |rig| rig.json(&format!("{}?wait=turn&timeout=86400", rig.message()), r#"{"text":"x"}"#)),
    row("a `Last-Event-ID` that is none", 400, |rig| rig.with("GET /v1/projects/app/updates", "Last-Event-ID: 17\r\n")),
    row("a `Last-Event-ID` with a number out of range", 400, |rig| rig.with("GET /v1/projects/app/updates", "Last-Event-ID: 01ARZ3NDEKTSV4RRFFQ69G5FAV.99999999999999999999\r\n")),
    row("an empty `Idempotency-Key`", 400, |rig| rig.post(&rig.served.token, &rig.message(), &format!("{JSON}Idempotency-Key: \r\n"), br#"{"text":"x"}"#)),
    row("two `Idempotency-Key` headers", 400, |rig| rig.post(&rig.served.token, &rig.message(), &format!("{JSON}Idempotency-Key: a\r\nIdempotency-Key: b\r\n"), br#"{"text":"x"}"#)),
    row("an `Idempotency-Key` of 300 characters", 400, |rig| rig.post(&rig.served.token, &rig.message(), &format!("{JSON}Idempotency-Key: {}\r\n", "k".repeat(300)), br#"{"text":"x"}"#)),
    // Bodies.
    row("a body that is not JSON", 400, |rig| rig.json(&rig.message(), "hello")),
    row("an empty body", 400, |rig| rig.json(&rig.message(), "")),
    row("JSON that is cut off", 400, |rig| rig.json(&rig.message(), r#"{"text":"x"#)),
    row("two JSON values", 400, |rig| rig.json(&rig.message(), r#"{"text":"x"} {"text":"y"}"#)),
    row("100,000 nested lists", 400, |rig| rig.json(COMMANDS, &"[".repeat(100_000))),
    row("a body that is not UTF-8", 400, |rig| rig.post(&rig.served.token, &rig.message(), JSON, b"{\"text\":\"\xff\xfe\"}")),
    row("a field of the wrong type", 400, |rig| rig.json(&rig.message(), r#"{"text":7}"#)),
    row("a missing field", 400, |rig| rig.json(&rig.message(), r#"{"mode":"steer"}"#)),
    row("an unknown field", 400, |rig| rig.json(&rig.message(), r#"{"text":"x","sudo":true}"#)),
    row("an unknown command", 400, |rig| rig.json(COMMANDS, r#"{"command":"format_disk"}"#)),
    row("an unknown query", 400, |rig| rig.json(QUERIES, r#"{"query":"passwords"}"#)),
    row("a command in place of a query", 400, |rig| rig.json(QUERIES, r#"{"command":"quit"}"#)),
    row("no `Content-Type`", 415, |rig| rig.post(&rig.served.token, &rig.message(), "", br#"{"text":"x"}"#)),
    row("the `Content-Type` of a plain form", 415, |rig| rig.post(&rig.served.token, &rig.message(), "Content-Type: text/plain\r\n", br#"{"text":"x"}"#)),
    row("a body that is announced with 100 MB", 413, |rig| rig.with(&format!("POST {}", rig.message()), &format!("{JSON}Content-Length: 104857600\r\n"))),
    row("a body in chunks that is too long", 413, |rig| {
        let head = rig.with(&format!("POST {}", rig.message()), &format!("{JSON}Transfer-Encoding: chunked\r\n"));
        let chunk = [b"10000\r\n".as_slice(), &[b' '; 0x10000], b"\r\n"].concat();
        [head, chunk.repeat(17), b"0\r\n\r\n".to_vec()].concat()
    }),
    row("an empty message", 409, |rig| rig.json(&rig.message(), r#"{"text":"  "}"#)),
    row("a command that only agents give", 409, |rig| rig.json(COMMANDS, &json!({"command": "message", "to": rig.served.root, "body": "x", "request_reply": false}).to_string())),
    row("deleting the root", 409, |rig| rig.json(COMMANDS, &json!({"command": "delete", "task": rig.served.root}).to_string())),
    // Ranges.
    row("a range past the end", 416, |rig| rig.with(&blob(rig), "Range: bytes=99999999-\r\n")),
    row("a range that is none", 416, |rig| rig.with(&blob(rig), "Range: bytes=b-a\r\n")),
    row("several ranges", 416, |rig| rig.with(&blob(rig), "Range: bytes=0-1,4-5\r\n")),
    // Below HTTP.
    row("a request line that is none", 400, |_| b"\x16\x03\x01 hello\r\n\r\n".to_vec()),
    row("the preface of HTTP/2", 0, |_| b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec()),
    row("a length that is no number", 400, |rig| rig.with(&format!("POST {}", rig.message()), &format!("{JSON}Content-Length: many\r\n"))),
    row("two different lengths", 400, |rig| rig.with(&format!("POST {}", rig.message()), &format!("{JSON}Content-Length: 1\r\nContent-Length: 2\r\n"))),
    row("a zero byte in a header", 400, |rig| rig.with("GET /v1/projects", "X-A: a\0b\r\n")),
    row("200 headers", 431, |rig| rig.with("GET /v1/projects", &"X-A: b\r\n".repeat(200))),
    row("a head of 100 kB", 431, |rig| rig.with("GET /v1/projects", &format!("X-A: {}\r\n", "a".repeat(100_000)))),
    row("half a request, then silence", 0, |rig| format!("GET /v1/health HTTP/1.1\r\n{}", rig.host()).into_bytes()),
];

fn blob(rig: &Rig<'_>) -> String {
    format!("GET /v1/projects/app/blobs/{}", rig.blob)
}

/// Returns the table for the documentation.
fn table() -> String {
    let mut table = "| request | answer |\n|---|---|\n".to_owned();
    for Row { what, status, .. } in ROWS {
        let answer = if *status == 0 { "the connection is closed".to_owned() } else { status.to_string() };
        let _ = writeln!(table, "| {what} | {answer} |");
    }
    table
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_requests_are_refused_as_documented_and_change_nothing() {
    let world = World::new();
    let timeouts = Timeouts { head: std::time::Duration::from_millis(500), ..Timeouts::default() };
    let served = Served::with(&world, script(), timeouts, None).await;
    let reply = served.post(&format!("{}?wait=turn", served.messages()), &json!({"text": "Begin"})).await;
    assert_eq!(reply.status, 200);
    // The reply is there before the agent has put its turn away.
    until("the root is idle", async || served.snapshot().await["quiet"] == true).await;
    let expired = TokenRequest {
        name: "expired".to_owned(),
        scopes: BTreeSet::from([Scope::Read]),
        projects: None,
        expires: Some(Timestamp::from_millis(1)),
    };
    let file = TokenFile::new(&world.home());
    let elsewhere = "01ARZ3NDEKTSV4RRFFQ69G5FAV".parse().unwrap();
    let tokens = Tokens {
        read: token(&world, "read", &[Scope::Read], None),
        send: token(&world, "send", &[Scope::Send], None),
        other_project: token(&world, "other", &[Scope::Read], Some(vec![elsewhere])),
        expired: file.add(expired, Timestamp::EPOCH).unwrap().expose().to_owned(),
        revoked: token(&world, "revoked", &[Scope::Read], None),
    };
    file.revoke("revoked").unwrap();
    let folder = world.home().project(served.project.parse().unwrap());
    let content = b"0123456789";
    let name = blake3::hash(content).to_hex();
    std::fs::create_dir_all(folder.blobs()).unwrap();
    std::fs::write(folder.blob(&name.as_str().parse().unwrap()), content).unwrap();
    let state = async || {
        (served.snapshot().await, read(&folder.session(served.root.parse().unwrap())), read(&world.home().tokens()))
    };
    let before = state().await;
    let rig = Rig { served: &served, tokens, blob: name.to_string() };
    let mut wrong = Vec::new();
    for row in ROWS {
        let answer = served.raw((row.request)(&rig)).await;
        // What is below HTTP is refused without a body.
        let is_ours = !matches!(row.status, 0 | 431) && !answer.body.is_empty();
        let is_fault = || serde_json::from_slice::<Value>(&answer.body).is_ok_and(|body| body["message"].is_string());
        let is_page = answer.header("content-type").is_some_and(|kind| kind.starts_with("text/html"));
        if answer.status != row.status || (is_ours && !is_page && !is_fault()) {
            wrong.push(format!("{}: {} {}", row.what, answer.status, String::from_utf8_lossy(&answer.body)));
        }
        let text = String::from_utf8_lossy(&answer.body);
        assert!(!text.contains(&served.token), "{}: the token is in the answer", row.what);
    }
    let after = state().await;
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(before, after);
    served.end().await;
}

fn read(path: &std::path::Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn the_documentation_has_this_table_and_that_of_the_routes() {
    assert!(ROWS.len() >= 60);
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/serve.md")).unwrap();
    for table in [table(), mxd::serve::http::openapi::table()] {
        assert!(page.contains(&table), "docs/serve.md does not have this table:\n{table}");
    }
}
