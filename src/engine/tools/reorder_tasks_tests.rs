use serde_json::json;

use super::*;
use crate::engine::tools::testing::{Scene, asked, refused};

#[tokio::test]
async fn it_is_ones_own_sub_tasks_unless_said_otherwise() {
    let mut scene = Scene::new();
    let (requests, _) = scene.call("reorder_tasks", json!({"order": ["01JB", "01JA"]}), Ok("")).await;
    let order = vec!["01JB".to_owned(), "01JA".to_owned()];
    assert_eq!(requests, [Request::ReorderTasks { parent: scene.own.to_string(), order: order.clone() }]);
    let said = json!({"order": ["01JB", "01JA"], "parent": "01JZ"});
    assert_eq!(asked("reorder_tasks", said).await, Request::ReorderTasks { parent: "01JZ".to_owned(), order });
}

#[tokio::test]
async fn an_order_must_be_given() {
    assert!(refused("reorder_tasks", json!({})).await.contains("\"order\" is missing (a list)"));
    assert!(refused("reorder_tasks", json!({"order": []})).await.contains("\"order\""));
    assert!(refused("reorder_tasks", json!({"order": [1]})).await.contains("\"order[0]\" must be a text"));
}
