use serde_json::json;

use super::*;
use crate::engine::tools::testing::{Fixture, Request, command_of, id, rejection_of};

#[tokio::test]
async fn the_callers_sub_tasks_are_reordered_by_default() {
    let mut fixture = Fixture::new();
    let (requests, reply) = fixture.call("reorder_tasks", json!({"order": ["01JB", "01JA"]})).await;
    let order = vec![id("01JB"), id("01JA")];
    assert_eq!(requests, [Request::Command(Command::Reorder { parent: fixture.own, order: order.clone() })]);
    assert_eq!(reply.text, "The sub tasks are in the new order.");
    let input = json!({"order": ["01JB", "01JA"], "parent": "01JZ"});
    assert_eq!(command_of("reorder_tasks", input).await.0, Command::Reorder { parent: id("01JZ"), order });
}

#[tokio::test]
async fn an_order_must_be_given() {
    assert!(rejection_of("reorder_tasks", json!({})).await.contains("\"order\" is missing (a list)"));
    assert!(rejection_of("reorder_tasks", json!({"order": []})).await.contains("\"order\""));
    assert!(rejection_of("reorder_tasks", json!({"order": [1]})).await.contains("\"order[0]\" must be a text"));
}
