#![allow(clippy::needless_pass_by_value, reason = "values are written where they are needed")]

use super::*;

fn request(options: Value) -> PermissionRequest {
    PermissionRequest::read(json!(4), &json!({"toolCall": {"toolCallId": "t"}, "options": options}))
}

#[test]
fn an_option_is_chosen_by_its_kind_and_never_always_if_once_is_offered() {
    let request = request(json!([
        {"optionId": "server", "kind": "allow_always", "name": "Always"},
        {"optionId": "p1", "kind": "allow_once", "name": "Yes"},
        {"optionId": "no!", "kind": "reject_once"},
    ]));
    assert_eq!(request.result(PermissionAnswer::Allow)["outcome"]["optionId"], "p1");
    assert_eq!(request.result(PermissionAnswer::Reject)["outcome"]["optionId"], "no!");
    assert_eq!(request.result(PermissionAnswer::Cancel), json!({"outcome": {"outcome": "cancelled"}}));
}

#[test]
fn a_request_without_a_fitting_option_is_cancelled() {
    for options in
        [json!([]), json!(null), json!([{"optionId": "x", "kind": "maybe"}]), json!([{"kind": "allow_once"}])]
    {
        let request = request(options);
        assert!(!request.can_allow());
        assert_eq!(request.result(PermissionAnswer::Allow)["outcome"]["outcome"], "cancelled");
    }
}
