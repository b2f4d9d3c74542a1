use serde_json::json;

use super::*;
use crate::engine::tools::testing::{asked, refused};

#[tokio::test]
async fn a_reply_is_asked_for_only_when_it_is_wanted() {
    for (said, request_reply) in [
        (json!({"task": "01JZ", "message": "Stop."}), false),
        (json!({"task": "01JZ", "message": "Stop.", "request_reply": true}), true),
    ] {
        let wanted = Request::SendMessage { task: "01JZ".to_owned(), message: "Stop.".to_owned(), request_reply };
        assert_eq!(asked("send_message", said).await, wanted);
    }
}

#[tokio::test]
async fn a_message_has_a_text_and_somebody_to_read_it() {
    assert!(refused("send_message", json!({"task": "01JZ"})).await.contains("\"message\" is missing (a text)"));
    assert!(refused("send_message", json!({"message": "Stop."})).await.contains("\"task\" is missing (a text)"));
}
