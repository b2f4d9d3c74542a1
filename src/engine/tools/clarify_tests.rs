use serde_json::json;

use super::*;
use crate::engine::tools::testing::{command_of, rejection_of};

#[tokio::test]
async fn a_question_blocks_by_default() {
    let wanted = |mode| Command::Ask {
        question: "Which port?".to_owned(),
        detail: String::new(),
        choices: Vec::new(),
        default: None,
        mode,
    };
    let (command, words) = command_of("clarify", json!({"question": "Which port?"})).await;
    assert_eq!(command, wanted(AskMode::Blocks));
    assert!(words.contains("Call yield now"), "{words}");
    let (command, words) = command_of("clarify", json!({"question": "Which port?", "block": false})).await;
    assert_eq!(command, wanted(AskMode::Continues));
    assert!(words.contains("Go on with what does not depend on it"), "{words}");
}

#[tokio::test]
async fn further_lines_of_a_question_go_into_the_detail() {
    let input = json!({
        "question": " Which port?\r\nBoth are free.\n", "detail": "8080 is the old one.",
        "choices": ["8080", " ", "9090"], "default": "9090",
    });
    let wanted = Command::Ask {
        question: "Which port?".to_owned(),
        detail: "Both are free.\n\n8080 is the old one.".to_owned(),
        choices: vec!["8080".to_owned(), "9090".to_owned()],
        default: Some("9090".to_owned()),
        mode: AskMode::Blocks,
    };
    assert_eq!(command_of("clarify", input).await.0, wanted);
}

#[tokio::test]
async fn a_question_is_required() {
    let reason = rejection_of("clarify", json!({"choices": ["a", "b"]})).await;
    assert!(reason.contains("\"question\" is missing (a text)"), "{reason}");
}
