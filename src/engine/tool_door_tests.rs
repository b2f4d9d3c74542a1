use std::fmt::Write as _;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpStream, UnixStream};

use super::*;
use crate::model::ToolSpec;
use crate::tools::mcp_server::{ServedCall, ServedReply};

struct Nothing;

impl ToolServer for Nothing {
    fn specs(&self) -> Vec<ToolSpec> {
        Vec::new()
    }

    fn instructions(&self) -> String {
        String::new()
    }

    fn call(&self, _: ServedCall) -> BoxFuture<'_, ServedReply> {
        std::future::ready(ServedReply::error("")).boxed()
    }
}

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

async fn post(url: &str, headers: &[(&str, &str)], body: &str) -> String {
    let place = url.strip_prefix("http://").unwrap().split('/').next().unwrap();
    let mut stream = TcpStream::connect(place).await.unwrap();
    let mut request = format!("POST /mcp HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
    if !headers.iter().any(|(name, _)| *name == "Host") {
        write!(request, "Host: {place}\r\n").unwrap();
    }
    for (name, value) in headers {
        write!(request, "{name}: {value}\r\n").unwrap();
    }
    stream.write_all(format!("{request}\r\n{body}").as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn a_token_opens_both_doors_until_its_key_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let door = ToolDoor::new(folder.path());
    let addresses = door.open().await;
    let (url, socket) = (addresses.url.clone().unwrap(), addresses.socket.clone().unwrap());
    let key = door.admit(Arc::new(Nothing)).unwrap();
    let bearer = format!("Bearer {}", key.token());
    assert!(post(&url, &[("Authorization", &bearer)], PING).await.contains(r#""result":{}"#));
    let mut stream = BufReader::new(UnixStream::connect(&socket).await.unwrap());
    stream.write_all(format!("{}\n{PING}\n", key.token()).as_bytes()).await.unwrap();
    let mut line = String::new();
    stream.read_line(&mut line).await.unwrap();
    assert!(line.contains(r#""result":{}"#), "{line}");
    drop(key);
    assert!(post(&url, &[("Authorization", &bearer)], PING).await.starts_with("HTTP/1.1 401"));
    stream.write_all(format!("{PING}\n").as_bytes()).await.unwrap();
    line.clear();
    stream.read_line(&mut line).await.unwrap();
    assert!(line.contains("-32001"), "{line}");
    assert_eq!(door.open().await, addresses, "it opens once");
    drop(door);
    assert!(!socket.exists());
}

#[tokio::test]
async fn nothing_but_a_program_of_this_machine_with_a_token_gets_in() {
    let folder = tempfile::tempdir().unwrap();
    let door = ToolDoor::new(folder.path());
    let url = door.open().await.url.unwrap();
    let key = door.admit(Arc::new(Nothing)).unwrap();
    let bearer = format!("Bearer {}", key.token());
    for (headers, status) in [
        (vec![], "401"),
        (vec![("Authorization", "Bearer nonsense")], "401"),
        (vec![("Authorization", key.token())], "401"),
        (vec![("Authorization", bearer.as_str()), ("Host", "evil.example")], "403"),
        (vec![("Authorization", bearer.as_str()), ("Origin", "http://evil.example")], "403"),
    ] {
        let answer = post(&url, &headers, PING).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{headers:?}: {answer}");
    }
    let accepted = post(&url, &[("Authorization", &bearer)], r#"{"method":"notifications/initialized"}"#).await;
    assert!(accepted.starts_with("HTTP/1.1 202"), "{accepted}");
}

#[tokio::test]
async fn a_socket_with_a_long_path_moves_to_a_private_folder() {
    let folder = tempfile::tempdir().unwrap();
    let long = folder.path().join("x".repeat(90));
    std::fs::create_dir(&long).unwrap();
    let door = ToolDoor::new(&long);
    let socket = door.open().await.socket.unwrap();
    assert!(!socket.starts_with(&long) && UnixStream::connect(&socket).await.is_ok());
}
