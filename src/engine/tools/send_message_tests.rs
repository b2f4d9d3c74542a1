use serde_json::json;

use super::*;
use crate::base::MessageId;
use crate::engine::tools::testing::{command_of, id, ids, rejection_of, reply_to};

#[tokio::test]
async fn a_reply_is_requested_only_if_the_input_says_so() {
    for (input, request_reply) in [
        (json!({"task": "01JZ", "message": "Stop."}), false),
        (json!({"task": "01JZ", "message": "Stop.", "request_reply": true}), true),
    ] {
        let (command, words) = command_of("send_message", input).await;
        assert_eq!(command, Command::Message { to: id("01JZ"), body: "Stop.".to_owned(), request_reply });
        assert_eq!(words, "Sent, and \"Task\" is being started.");
    }
}

#[tokio::test]
async fn a_message_to_a_running_task_does_not_start_it() {
    let sent = Outcome::Sent { message: MessageId::fresh(&ids()), wakes: false };
    let words = reply_to("send_message", json!({"task": "01JZ", "message": "Stop."}), sent).await;
    assert_eq!(words, "Sent to \"Task\".");
}

#[tokio::test]
async fn a_message_needs_a_text_and_a_task() {
    assert!(rejection_of("send_message", json!({"task": "01JZ"})).await.contains("\"message\" is missing (a text)"));
    assert!(rejection_of("send_message", json!({"message": "Stop."})).await.contains("\"task\" is missing (a text)"));
}
