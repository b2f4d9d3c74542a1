use serde_json::json;

use super::*;
use crate::base::Json;

fn words(name: &str, input: &Value) -> String {
    let call =
        ToolUse { call: "1".to_owned(), name: name.to_owned(), input: Json::of(input).unwrap(), malformed: None };
    sentence(&call)
}

#[test]
fn a_call_is_a_verb_and_its_object() {
    let cases = [
        ("bash", json!({ "command": "cargo test\ncargo fmt" }), "runs cargo test …"),
        ("read_file", json!({ "files": [{ "path": "a.rs" }, { "path": "b.rs" }] }), "reads a.rs, b.rs"),
        ("edit_file", json!({ "path": "src/app.rs", "edits": [] }), "edits src/app.rs"),
        ("search", json!({ "pattern": "ttl", "path": "src" }), "searches for \"ttl\" in src"),
        ("list_files", json!({}), "lists files"),
        ("list_files", json!({ "path": "src", "globs": ["*.rs"] }), "lists *.rs in src"),
        ("background", json!({ "action": "kill", "id": "b2" }), "stops background process b2"),
        ("create_task", json!({ "title": "Docs", "description": "x" }), "creates task \"Docs\""),
        ("send_message", json!({ "task": "12", "message": "Go on." }), "writes to task #12: Go on."),
        ("close_task", json!({ "task": "#3" }), "closes task #3"),
        ("done", json!({ "status": "passed", "result": "All." }), "finishes: passed"),
        ("yield", json!({}), "waits for messages"),
        ("clarify", json!({ "question": "Which one?" }), "asks \"Which one?\""),
    ];
    for (name, input, wanted) in cases {
        assert_eq!(words(&names::wire(name), &input), wanted);
        assert_eq!(words(name, &input), wanted, "the name without its prefix");
    }
}

#[test]
fn arguments_are_listed_where_the_sentence_leaves_some_out() {
    let list = |input: &Value| {
        arguments(&ToolUse {
            call: "1".to_owned(),
            name: "bash".to_owned(),
            input: Json::of(input).unwrap(),
            malformed: None,
        })
    };
    assert_eq!(list(&json!({ "command": "cargo test" })), "");
    assert_eq!(list(&json!({ "command": "a\nb", "timeout_seconds": 5 })), "command:\na\nb\ntimeout_seconds: 5");
}

#[test]
fn every_built_in_tool_has_words_of_its_own() {
    for name in names::ALL {
        let words = words(name, &json!({}));
        assert!(!words.starts_with("calls"), "{name}: {words}");
    }
}

#[test]
fn external_tools_show_simple_arguments_and_never_json() {
    let name = names::external("github", "list_issues");
    let input = json!({ "repo": "a/b", "filter": { "open": true }, "labels": ["x"], "limit": 5, "all": false, "z": 1 });
    assert_eq!(words(&name, &input), "calls github/list_issues: repo a/b, limit 5, all false");
    assert_eq!(words(&name, &json!({})), "calls github/list_issues");
}

#[test]
fn hostile_input_is_cut_and_sanitized() {
    let words = words("bash", &json!({ "command": format!("\u{1b}[31m{}", "x".repeat(5_000)) }));
    assert!(words.len() < 500 && !words.contains('\u{1b}'), "{words}");
    for input in [json!([]), json!("text"), json!({ "command": 5 })] {
        assert_eq!(super::tests::words("bash", &input), "runs");
    }
}
