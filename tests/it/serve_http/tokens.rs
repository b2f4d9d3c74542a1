//! Tokens, logins of the page, and the rate of wrong ones.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use mxd::base::{ProjectId, Timestamp};
use mxd::serve::http::tokens::{TokenFile, TokenRequest};
use mxd::serve::http::{Scope, Timeouts, TlsFiles};
use serde_json::json;

use super::{Served, script};
use crate::cli_support::{Ran, World};
use crate::engine_support::PATIENCE;

/// Makes a token with these scopes.
pub fn token(world: &World, name: &str, scopes: &[Scope], projects: Option<Vec<ProjectId>>) -> String {
    let scopes: BTreeSet<Scope> = scopes.iter().copied().collect();
    let request = TokenRequest { name: name.to_owned(), scopes, projects, expires: None };
    TokenFile::new(&world.home()).add(request, Timestamp::EPOCH).unwrap().expose().to_owned()
}

fn get(served: &Served, path: &str, token: &str) -> Vec<u8> {
    let address = served.address;
    format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n\r\n")
        .into()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_revoked_token_loses_its_streams_and_its_access() {
    let world = World::new();
    let served = Served::start(&world).await;
    let phone = token(&world, "phone", &[Scope::Read], None);
    let request = get(&served, "/v1/projects/app/updates", &phone);
    let address = served.address;
    let (told, begun) = tokio::sync::oneshot::channel();
    let reading = tokio::task::spawn_blocking(move || {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(&request).unwrap();
        let (mut told, mut lines) = (Some(told), Vec::new());
        for line in BufReader::new(stream).lines() {
            let line = line.unwrap();
            if line == "event: snapshot" {
                told.take().unwrap().send(()).unwrap();
            }
            lines.push(line);
        }
        lines
    });
    begun.await.unwrap();
    TokenFile::new(&world.home()).revoke("phone").unwrap();
    let lines = tokio::time::timeout(PATIENCE, reading).await.unwrap().unwrap();
    assert!(lines.iter().any(|line| line == "event: fault"), "{lines:?}");
    assert_eq!(served.raw(get(&served, "/v1/projects", &phone)).await.status, 401);
    served.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_twenty_first_request_after_wrong_tokens_is_refused() {
    let world = World::new();
    let served = Served::start(&world).await;
    for number in 0..20 {
        let answer = served.raw(get(&served, "/v1/projects", "mxd_wrong")).await;
        assert_eq!(answer.status, 401, "wrong token {number}");
    }
    let refused = served.get("/v1/projects").await;
    assert_eq!(refused.status, 429, "also with the right one: {refused:?}");
    let seconds: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=61).contains(&seconds));
    assert_eq!(served.get("/v1/health").await.status, 200);
    served.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_logs_the_page_in_once_and_the_cookie_alone_is_worth_nothing() {
    let world = World::new();
    let served = Served::start(&world).await;
    let link = served.server.page_link().unwrap();
    let path = link.split_once(&served.address.to_string()).unwrap().1.to_owned();
    let open = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", served.address);
    let first = served.raw(open(&path).into()).await;
    assert_eq!(first.status, 303, "{first:?}");
    let cookie = first.header("set-cookie").unwrap().to_owned();
    for word in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(cookie.contains(word), "{cookie}");
    }
    let half = first.header("location").unwrap().strip_prefix("/#login=").unwrap().to_owned();
    assert_eq!(served.raw(open(&path).into()).await.status, 401, "a second time");
    let cookie = cookie.split(';').next().unwrap();
    let with = |headers: &str| {
        format!("GET /v1/me HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{headers}\r\n", served.address).into_bytes()
    };
    let me = served.raw(with(&format!("Cookie: {cookie}\r\nX-Mxd-Page: {half}\r\n"))).await.ok();
    assert_eq!(me["name"], "start");
    assert_eq!(served.raw(with(&format!("Cookie: {cookie}\r\n"))).await.status, 401);
    assert_eq!(served.raw(with(&format!("X-Mxd-Page: {half}\r\n"))).await.status, 401);
    let page = served.raw(open("/").into()).await;
    assert_eq!(page.status, 401, "the page asks for a token");
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.contains("script-src 'self'") && !policy.contains("unsafe"), "{policy}");
    served.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_for_another_token_needs_the_scope_admin() {
    let world = World::new();
    let served = Served::start(&world).await;
    token(&world, "phone", &[Scope::Read], None);
    let link = served.post("/v1/links", &json!({"token": "phone"})).await.ok();
    assert!(link["path"].as_str().unwrap().starts_with("/?t=mxd_"));
    assert_eq!(served.post("/v1/links", &json!({"token": "nobody"})).await.status, 404);
    served.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_and_idle_peers_are_disconnected() {
    let world = World::new();
    let short = Duration::from_millis(200);
    let timeouts = Timeouts { head: short, body: short, write: short };
    let served = Served::with(&world, script(), timeouts, None).await;
    // Half a head, and nothing more.
    let slow_head = served.raw(b"GET /v1/health HTTP/1.1\r\nHost: ".to_vec()).await;
    assert_eq!(slow_head.status, 0, "{slow_head:?}");
    // A whole request, then an idle connection: the server ends it.
    let idle = format!("GET /v1/health HTTP/1.1\r\nHost: {}\r\n\r\n", served.address);
    assert_eq!(served.raw(idle.into()).await.status, 200);
    // A body that never comes.
    let head = served.head("POST", &served.messages());
    let slow_body = format!("{head}Content-Type: application/json\r\nContent-Length: 30\r\n\r\n{{\"text\":");
    assert_eq!(served.raw(slow_body.into()).await.status, 408);
    served.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_a_certificate_https_is_served_and_plain_http_is_not() {
    let world = World::new();
    let files = TlsFiles { certificates: world.root().join("cert.pem"), key: world.root().join("key.pem") };
    let mut openssl = world.command("openssl", &world.root());
    openssl.args(["req", "-x509", "-newkey", "ed25519", "-nodes", "-days", "1", "-subj", "/CN=mxd.test"]);
    openssl.arg("-keyout").arg(&files.key).arg("-out").arg(&files.certificates);
    if !openssl.output().is_ok_and(|made| made.status.success()) {
        eprintln!("SKIPPED: openssl is not installed");
        return;
    }
    let served = Served::with(&world, script(), Timeouts::default(), Some(files)).await;
    let plain = served.get("/v1/health").await;
    assert_eq!(plain.status, 0, "{plain:?}");
    let mut curl = world.command("curl", &world.root());
    curl.args(["-sk", "-i", "-H"]).arg(format!("Authorization: Bearer {}", served.token));
    curl.arg(format!("https://{}/v1/session", served.address)).args(["-X", "POST"]);
    let answer = Ran::of(&tokio::task::spawn_blocking(move || curl.output()).await.unwrap().unwrap());
    assert!(answer.out.contains("200 OK") && answer.out.contains("; Secure"), "{answer:?}");
    assert!(served.server.page_link().unwrap().starts_with("https://127.0.0.1:"));
    served.end().await;
}
