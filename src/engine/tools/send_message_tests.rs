use serde_json::json;

use super::*;
use crate::base::MessageId;
use crate::engine::tools::testing::{commanded, id, ids, refused, said};

#[tokio::test]
async fn a_reply_is_asked_for_only_when_it_is_wanted() {
    for (input, request_reply) in [
        (json!({"task": "01JZ", "message": "Stop."}), false),
        (json!({"task": "01JZ", "message": "Stop.", "request_reply": true}), true),
    ] {
        let (command, words) = commanded("send_message", input).await;
        assert_eq!(command, Command::Message { to: id("01JZ"), body: "Stop.".to_owned(), request_reply });
        assert_eq!(words, "Sent, and \"Task\" is being started.");
    }
}

#[tokio::test]
async fn a_task_at_work_reads_it_without_being_started() {
    let sent = Outcome::Sent { message: MessageId::fresh(&ids()), wakes: false };
    let words = said("send_message", json!({"task": "01JZ", "message": "Stop."}), sent).await;
    assert_eq!(words, "Sent to \"Task\".");
}

#[tokio::test]
async fn a_message_has_a_text_and_somebody_to_read_it() {
    assert!(refused("send_message", json!({"task": "01JZ"})).await.contains("\"message\" is missing (a text)"));
    assert!(refused("send_message", json!({"message": "Stop."})).await.contains("\"task\" is missing (a text)"));
}
