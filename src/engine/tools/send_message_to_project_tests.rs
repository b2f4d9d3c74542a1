use serde_json::json;

use crate::engine::tools::testing::{Fixture, rejection_of};

#[tokio::test]
async fn the_other_project_gets_the_message() {
    let input = json!({"project": " web ", "message": "The interface changes.\n"});
    let (requests, reply) = Fixture::new().call("send_message_to_project", input).await;
    assert!(requests.is_empty(), "{requests:?}");
    assert_eq!((reply.text.as_str(), reply.is_error), ("web has: The interface changes.", false));
}

#[tokio::test]
async fn an_unknown_project_or_an_empty_message_is_refused() {
    let unknown = rejection_of("send_message_to_project", json!({"project": "moon", "message": "Hello."})).await;
    assert_eq!(unknown, "there is no project moon");
    assert!(rejection_of("send_message_to_project", json!({"project": "web", "message": " "})).await.contains("empty"));
    let missing = rejection_of("send_message_to_project", json!({"project": "web"})).await;
    assert!(missing.contains("\"message\" is missing (a text)"), "{missing}");
}
