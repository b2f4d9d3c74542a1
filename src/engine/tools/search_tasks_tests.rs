use serde_json::json;

use super::*;
use crate::engine::query::TreeQuery;
use crate::engine::tools::testing::{query_of, rejection_of};

#[tokio::test]
async fn the_number_of_tasks_is_bounded() {
    for (limit, wanted) in [(json!(null), DEFAULT_LIMIT), (json!(3), 3), (json!(100_000), LARGEST_LIMIT)] {
        let wanted = TreeQuery::Search { words: "login".to_owned(), limit: wanted };
        assert_eq!(query_of("search_tasks", json!({"query": "login", "limit": limit})).await, wanted);
    }
}

#[tokio::test]
async fn a_query_is_required() {
    assert!(rejection_of("search_tasks", json!({"limit": 5})).await.contains("\"query\" is missing (a text)"));
    let none = rejection_of("search_tasks", json!({"query": "login", "limit": 0})).await;
    assert!(none.contains("\"limit\" must be at least 1, not 0"), "{none}");
}
