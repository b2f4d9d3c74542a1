use serde_json::json;

use crate::engine::query::TreeQuery;
use crate::engine::tools::testing::{id, queried, refused};

#[tokio::test]
async fn it_is_the_whole_tree_unless_said_otherwise() {
    let whole = TreeQuery::Rows { below: None };
    assert_eq!(queried("get_tree", json!({})).await, whole);
    assert_eq!(queried("get_tree", json!({"below": ""})).await, whole);
    let part = TreeQuery::Rows { below: Some(id("01JZ")) };
    assert_eq!(queried("get_tree", json!({"below": "01JZ", "include_closed": true})).await, part);
}

#[tokio::test]
async fn a_wrong_kind_of_value_is_named() {
    let reason = refused("get_tree", json!({"include_closed": "yes"})).await;
    assert!(reason.contains("\"include_closed\" must be true or false, not \"yes\""), "{reason}");
}
