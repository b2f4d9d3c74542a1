use serde_json::json;

use super::*;
use crate::engine::tools::testing::{Asked, Scene, commanded, id, refused};

#[tokio::test]
async fn it_is_ones_own_sub_tasks_unless_said_otherwise() {
    let mut scene = Scene::new();
    let (asked, reply) = scene.call("reorder_tasks", json!({"order": ["01JB", "01JA"]})).await;
    let order = vec![id("01JB"), id("01JA")];
    assert_eq!(asked, [Asked::Command(Command::Reorder { parent: scene.own, order: order.clone() })]);
    assert_eq!(reply.text, "The sub tasks are in the new order.");
    let said = json!({"order": ["01JB", "01JA"], "parent": "01JZ"});
    assert_eq!(commanded("reorder_tasks", said).await.0, Command::Reorder { parent: id("01JZ"), order });
}

#[tokio::test]
async fn an_order_must_be_given() {
    assert!(refused("reorder_tasks", json!({})).await.contains("\"order\" is missing (a list)"));
    assert!(refused("reorder_tasks", json!({"order": []})).await.contains("\"order\""));
    assert!(refused("reorder_tasks", json!({"order": [1]})).await.contains("\"order[0]\" must be a text"));
}
