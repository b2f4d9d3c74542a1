use serde_json::json;

use super::*;

#[test]
fn an_answer_is_checked_against_the_schema_with_or_without_a_fence() {
    let schema = json!({"type": "object", "required": ["kind"], "properties": {"kind": {"enum": ["bug", "wish"]}}});
    let validator = jsonschema::validator_for(&schema).unwrap();
    for text in [r#"{"kind": "bug"}"#, "```json\n{\"kind\": \"bug\"}\n```"] {
        assert_eq!(checked(&validator, text), Ok(json!({"kind": "bug"})));
    }
    assert!(checked(&validator, "a bug").unwrap_err().contains("not JSON"));
    assert!(checked(&validator, r#"{"kind": "chore"}"#).unwrap_err().starts_with("/kind"));
}

#[test]
fn records_are_appended_and_a_torn_line_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("oneshot.jsonl");
    let one = Record {
        at: Timestamp::from_millis(5),
        purpose: "prompt".to_owned(),
        profile: None,
        model: "m".to_owned(),
        requests: 2,
        tokens: Tokens { input: 3, ..Tokens::default() },
        cost: Some(MicroUsd(7)),
        ms: 1,
    };
    record(&path, &one).unwrap();
    std::fs::write(&path, [std::fs::read(&path).unwrap(), b"{\"at\": \n".to_vec()].concat()).unwrap();
    record(&path, &one).unwrap();
    assert_eq!(records(&path), [one.clone(), one]);
}
