use tokio::io::AsyncReadExt as _;

use super::*;

async fn read(output: &[u8]) -> Vec<String> {
    let mut out = Vec::new();
    LineReader::new(output).read_to_end(&mut out).await.unwrap();
    String::from_utf8(out).unwrap().lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn short_messages_pass_unchanged() {
    let output = "{\"id\":1}\r\n\nnot json\n{\"unfinished\"";
    let mut out = String::new();
    LineReader::new(output.as_bytes()).read_to_string(&mut out).await.unwrap();
    assert_eq!(out, output);
}

#[tokio::test]
async fn an_answer_that_is_too_long_is_followed_by_a_refusal_with_its_id() {
    let much = "x".repeat(LONGEST);
    for (line, id) in [
        (format!("{{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{{\"id\":1,\"text\":\"{much}\"}}}}"), json!(7)),
        (format!("{{\"result\":{{\"id\":1,\"text\":\"{much}\"}},\"jsonrpc\":\"2.0\",\"id\":\"a\"}}"), json!("a")),
    ] {
        let lines = read(format!("{line}\n{{\"id\":8}}\n").as_bytes()).await;
        assert_eq!((lines.len(), lines[2].as_str()), (3, "{\"id\":8}"));
        let refusal: Value = serde_json::from_str(&lines[1]).unwrap();
        assert_eq!((&refusal["id"], &refusal["error"]["code"]), (&id, &json!(-32000)));
        assert!(refusal["error"]["message"].as_str().unwrap().contains("its answer has 16.8 MB"), "{refusal}");
    }
    for line in [
        format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{{\"id\":7,\"text\":\"{much}\"}}}}"
        ),
        format!("{{\"result\":{{\"text\":\"{much}\",\"id\":7}}}}"),
        much.clone(),
    ] {
        assert_eq!(read(format!("{line}\n").as_bytes()).await.len(), 1, "nobody waits for it");
    }
}
