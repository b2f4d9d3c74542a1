use serde_json::json;

use super::*;
use crate::engine::tools::testing::{FakeProjects, Fixture};

#[tokio::test]
async fn every_project_is_listed_with_its_id_and_path() {
    let (requests, reply) = Fixture::new().call("list_projects", json!({})).await;
    assert!(requests.is_empty(), "{requests:?}");
    let wanted = "- 01JZ8Q4W3M5N0000000000000A web (/src/web, open)\n- 01JZ8Q4W3M5N0000000000000B docs (/src/docs)\n";
    assert_eq!((reply.text.as_str(), reply.is_error), (wanted, false));
}

#[test]
fn a_long_list_is_cut_and_an_empty_one_is_reported() {
    assert!(listing(&[]).contains("no other project"));
    let many: Vec<OtherProject> = FakeProjects.list().into_iter().cycle().take(SHOWN + 3).collect();
    let text = listing(&many);
    assert_eq!(text.lines().count(), SHOWN + 1);
    assert!(text.ends_with("[3 more not shown]\n"), "{text}");
}
