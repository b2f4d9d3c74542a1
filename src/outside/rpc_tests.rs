use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

use super::*;

fn connection() -> (Rpc, tokio::io::DuplexStream, tokio::io::DuplexStream) {
    let (input, theirs) = duplex(1 << 20);
    let (ours, output) = duplex(1 << 20);
    (Rpc::new(input, output, WireLog::open(None)), theirs, ours)
}

#[test]
fn every_form_of_a_message_is_told_apart() {
    let one = |line: &str| parse(line).remove(0);
    assert_eq!(
        one(r#"{"jsonrpc":"2.0","id":0,"method":"a","params":{"x":1}}"#),
        Incoming::Request { id: json!(0), method: "a".to_owned(), params: json!({"x": 1}) }
    );
    assert_eq!(one(r#"{"method":"b"}"#), Incoming::Notification { method: "b".to_owned(), params: Value::Null });
    assert_eq!(
        one(r#"{"id":null,"method":"b"}"#),
        Incoming::Notification { method: "b".to_owned(), params: Value::Null },
        "a request without an id needs no answer"
    );
    assert_eq!(one(r#"{"id":"7","result":null}"#), Incoming::Response { id: RequestId(7), result: Ok(Value::Null) });
    let Incoming::Response { result: Err(error), .. } =
        one(r#"{"id":1,"error":{"code":400,"message":"bad","data":{"details":"no model"}}}"#)
    else {
        panic!("no error")
    };
    assert_eq!((error.code, error.in_full().as_str()), (400, "bad: no model"));
    assert_eq!(parse(r#"[{"method":"a"},{"method":"b"},3]"#).len(), 3, "a batch");
    for garbage in ["not json", "[]", "3", "{}", r#"{"id":{},"result":1}"#, "{\"method\":"] {
        assert!(matches!(one(garbage), Incoming::Garbage(_)), "{garbage}");
    }
}

#[tokio::test]
async fn garbage_empty_lines_and_split_messages_do_not_lose_a_message() {
    let (mut rpc, _theirs, mut ours) = connection();
    ours.write_all(b"Debugger attached.\n\n\r\n{\"meth").await.unwrap();
    ours.write_all(b"od\":\"a\"}\n{\"method\":\"b\"}").await.unwrap();
    drop(ours);
    assert_eq!(rpc.next().await, Incoming::Garbage("Debugger attached.".to_owned()));
    assert!(matches!(rpc.next().await, Incoming::Notification { method, .. } if method == "a"));
    assert!(matches!(rpc.next().await, Incoming::Notification { method, .. } if method == "b"), "without a line end");
    assert_eq!(rpc.next().await, Incoming::Closed);
    assert_eq!(rpc.next().await, Incoming::Closed, "it stays closed");
}

#[tokio::test]
async fn answers_arrive_in_order_with_what_came_before_them() {
    let (mut rpc, mut theirs, mut ours) = connection();
    let id = rpc.request("session/prompt", &json!({}));
    let mut sent = vec![0; 200];
    let length = theirs.read(&mut sent).await.unwrap();
    assert!(sent[..length].ends_with(b"\n"));
    ours.write_all(b"{\"method\":\"u\"}\n{\"id\":1,\"result\":{}}\n{\"id\":1,\"result\":{}}\n").await.unwrap();
    assert!(matches!(rpc.next().await, Incoming::Notification { .. }));
    assert_eq!(rpc.next().await, Incoming::Response { id, result: Ok(json!({})) });
}

#[tokio::test]
async fn a_program_that_floods_is_slowed_down() {
    let (rpc, _theirs, mut ours) = connection();
    let line = format!("{{\"method\":\"u\",\"params\":\"{}\"}}\n", "x".repeat(10_000));
    let flood = async {
        for _ in 0..10_000 {
            ours.write_all(line.as_bytes()).await.unwrap();
        }
    };
    let blocked = tokio::time::timeout(std::time::Duration::from_millis(500), flood).await.is_err();
    assert!(blocked, "100 MB were taken although nobody reads");
    drop(rpc);
}
