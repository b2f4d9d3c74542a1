use super::*;
use crate::base::{TaskId, Timestamp};
use crate::engine::profiles::Profiles;

fn node(profile: Option<&str>) -> TaskNode {
    let mut node = TaskNode::new(TaskId::from_ulid(1_u128.into()), "t", "", Timestamp::from_millis(0));
    node.profile = profile.map(str::to_owned);
    node
}

fn profiles(selection: &str) -> Profiles {
    Profiles::built_in().with_selection(selection)
}

#[test]
fn every_combination_of_binding_choice_and_selection_has_one_outcome() {
    let bind = |name: &str| Admission::Bind(name.to_owned());
    let unknown = |admission: &Admission| matches!(admission, Admission::NeedsProfile(Some(_)));
    for (bound, chosen, above, selection, expected) in [
        (Some("engineer"), None, None, "ask", Admission::Run),
        (Some("engineer"), None, None, "nobody", Admission::Run),
        (Some("engineer"), Some("reviewer"), None, "engineer", bind("reviewer")),
        (Some("engineer"), Some("builtin:engineer"), None, "reviewer", bind("engineer")),
        (None, None, None, "ask", Admission::NeedsProfile(None)),
        (None, None, Some("reviewer"), "ask", Admission::NeedsProfile(None)),
        (None, None, None, "reviewer", bind("reviewer")),
        (None, None, Some("reviewer"), "inherit", bind("reviewer")),
        (None, None, None, "inherit", Admission::NeedsProfile(None)),
        (None, Some("researcher"), None, "ask", bind("researcher")),
        (None, Some("researcher"), None, "nobody", bind("researcher")),
    ] {
        let admission = admit(&node(bound), chosen, above, &profiles(selection));
        assert_eq!(admission, expected, "{bound:?} {chosen:?} {above:?} {selection}");
    }
    assert!(unknown(&admit(&node(None), None, None, &profiles("nobody"))), "a missing selection is never replaced");
    assert!(unknown(&admit(&node(None), Some("nobody"), None, &profiles("engineer"))), "nor is a missing choice");
}

#[test]
fn a_task_that_groups_others_never_starts() {
    let mut folder = node(Some("engineer"));
    folder.extra.insert("imported".to_owned(), serde_json::json!({"shelf": "claude"}));
    assert_eq!(admit(&folder, None, None, &profiles("engineer")), Admission::Never);
}

#[test]
fn an_exact_name_never_means_another_profile() {
    assert_eq!(exact_name("engineer"), "builtin:engineer");
    assert_eq!(exact_name("user:engineer"), "user:engineer");
}
