use serde_json::json;

use crate::engine::query::TreeQuery;
use crate::engine::tools::testing::{id, query_of, rejection_of};

#[tokio::test]
async fn the_whole_tree_is_shown_by_default() {
    let whole = TreeQuery::Rows { below: None };
    assert_eq!(query_of("get_tree", json!({})).await, whole);
    assert_eq!(query_of("get_tree", json!({"below": ""})).await, whole);
    let part = TreeQuery::Rows { below: Some(id("01JZ")) };
    assert_eq!(query_of("get_tree", json!({"below": "01JZ", "include_closed": true})).await, part);
}

#[tokio::test]
async fn a_value_of_the_wrong_type_is_reported() {
    let reason = rejection_of("get_tree", json!({"include_closed": "yes"})).await;
    assert!(reason.contains("\"include_closed\" must be true or false, not \"yes\""), "{reason}");
}
