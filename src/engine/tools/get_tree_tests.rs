use serde_json::json;

use super::*;
use crate::engine::tools::testing::{asked, refused};

#[tokio::test]
async fn it_is_the_whole_tree_unless_said_otherwise() {
    let whole = Request::GetTree { below: None, include_closed: false };
    assert_eq!(asked("get_tree", json!({})).await, whole);
    assert_eq!(asked("get_tree", json!({"below": ""})).await, whole);
    let part = Request::GetTree { below: Some("01JZ".to_owned()), include_closed: true };
    assert_eq!(asked("get_tree", json!({"below": "01JZ", "include_closed": true})).await, part);
}

#[tokio::test]
async fn a_wrong_kind_of_value_is_named() {
    let reason = refused("get_tree", json!({"include_closed": "yes"})).await;
    assert!(reason.contains("\"include_closed\" must be true or false, not \"yes\""), "{reason}");
}
