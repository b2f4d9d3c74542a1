use serde_json::json;

use crate::engine::tools::testing::{Scene, refused};

#[tokio::test]
async fn the_other_project_gets_the_message() {
    let said = json!({"project": " web ", "message": "The interface changes.\n"});
    let (requests, reply) = Scene::new().call("send_message_to_project", said).await;
    assert!(requests.is_empty(), "{requests:?}");
    assert_eq!((reply.text.as_str(), reply.is_error), ("web has: The interface changes.", false));
}

#[tokio::test]
async fn what_cannot_be_sent_is_refused() {
    let unknown = refused("send_message_to_project", json!({"project": "moon", "message": "Hello."})).await;
    assert_eq!(unknown, "there is no project moon");
    assert!(refused("send_message_to_project", json!({"project": "web", "message": " "})).await.contains("empty"));
    let missing = refused("send_message_to_project", json!({"project": "web"})).await;
    assert!(missing.contains("\"message\" is missing (a text)"), "{missing}");
}
