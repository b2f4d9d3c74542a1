use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::base::FaultKind;
use crate::config::{Environment, holds_secret, merge};
use crate::model::ask::Approval;

fn edit(text: &str) -> SettingsEdit<'_> {
    SettingsEdit { layer: Layer::Global, file: Path::new("config.json"), text }
}

fn sentence(result: Result<String, EditError>) -> String {
    Fault::from(result.unwrap_err()).to_string()
}

#[test]
fn plain_text_needs_no_quotes_and_json_is_accepted() {
    let cases = [
        ("model", "claude-sonnet-4-6", json!({"model": "claude-sonnet-4-6"})),
        ("model", "\"quoted\"", json!({"model": "quoted"})),
        ("model", "5", json!({"model": "5"})),
        ("model", "two words", json!({"model": "two words"})),
        ("budgetUsd", "5", json!({"budgetUsd": 5})),
        ("budgetUsd", " 2.50 ", json!({"budgetUsd": 2.50})),
        ("budgetUsd", "null", json!({"budgetUsd": null})),
        ("durability", "os", json!({"durability": "os"})),
        ("keys.quit", "q", json!({"keys": {"quit": "q"}})),
        ("keys.quit", "[", json!({"keys": {"quit": "["}})),
        ("keys.quit", "[\"q\", \"x\"]", json!({"keys": {"quit": ["q", "x"]}})),
        ("keys.quit", "null", json!({"keys": {"quit": null}})),
        ("models.\"gpt-4.1\".window", "1000", json!({"models": {"gpt-4.1": {"window": 1000}}})),
        ("cache.root", "5m", json!({"cache": {"root": "5m"}})),
        ("authGroups.a", r#"{"provider": "openai"}"#, json!({"authGroups": {"a": {"provider": "openai"}}})),
        ("mcpServers.s.command", "npx", json!({"mcpServers": {"s": {"command": "npx"}}})),
        ("notify.bell", "true", json!({"notify": {"bell": true}})),
    ];
    for (path, value, expected) in cases {
        let text = edit("").set(path, value).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), expected, "{path} {value}");
        assert!(text.ends_with("}\n"));
    }
}

#[test]
fn an_invalid_value_is_refused_with_an_example() {
    let cases = [
        ("budgetUsd", "five", "\"budgetUsd\": 5"),
        ("budgetUsd", "-1", "\"budgetUsd\": 5"),
        ("maxDepth", "3.5", "integer from"),
        ("durability", "never", "\"sync\""),
        ("keys.quit", "[1]", "keys.quit"),
        ("model", "", "non-empty"),
        ("authGroups.a.apiKey", "k", "set it first: `mxd config set --global authGroups.a.provider"),
        ("authGroups.a", r#"{"provider": "openai", "apikey": "k"}"#, "did you mean authGroups.a.apiKey?"),
        ("authGroups", "null", "must be an object"),
        ("mcpServers.s", r#"{"command": "a", "command": "b"}"#, "more than once"),
        ("mcpServers.mxd.command", "a", "an invalid server name"),
        ("modle", "x", "did you mean model?"),
        ("model.name", "x", "has no fields"),
        ("", "x", "not the name of a setting"),
        ("approvedMcpServers", "[]", "--local"),
    ];
    for (path, value, words) in cases {
        let sentence = sentence(edit("{}").set(path, value));
        assert!(sentence.contains(words), "{path} {value}: {sentence}");
    }
}

#[test]
fn a_secret_that_is_refused_is_not_repeated() {
    let group = r#"{"authGroups": {"a": {"provider": "openai"}}}"#;
    for (path, value) in [
        ("authGroups.a.apiKey", "hunter2 hunter2"),
        ("authGroups.a.apiKey", "****hunter2"),
        ("authGroups.a.baseUrl", "u:hunter2@host"),
        ("authGroups.a", "hunter2"),
    ] {
        let sentence = sentence(edit(group).set(path, value));
        assert!(!sentence.contains("hunter2"), "{sentence}");
    }
}

#[test]
fn a_layer_refuses_what_it_may_not_set() {
    let repo = SettingsEdit { layer: Layer::Repo, file: Path::new(".mxd/config.json"), text: "" };
    for (path, value) in [
        ("authGroups.a.provider", "openai"),
        ("verify", "make"),
        ("notify.command", "say"),
        ("defaultAuth", "a"),
        ("approvedMcpServers", "[]"),
    ] {
        let sentence = sentence(repo.set(path, value));
        assert!(sentence.contains("mxd config set --"), "{sentence}");
    }
    repo.set("model", "m").unwrap();
    repo.set("mcpServers.s.command", "x").unwrap();
}

#[test]
fn the_rest_of_the_file_stays_unchanged() {
    let text = "{\"zeta\":1e5, \"model\":\"a\",\"big\":123456789012345678901234567890,\n\"x\":1,\"x\":2.0,\
                \"maxDepth\":\"wrong\",\"nested\":{\"b\":[1, {\"c\":null}],\"a\":\"\\u0041\"}}";
    let after = edit(text).set("model", "b").unwrap();
    let expected = text.replace("\"model\":\"a\"", "\"model\":\"b\"") + "\n";
    assert_eq!(after, expected);
    assert_eq!(edit(&after).set("model", "b").unwrap(), expected);
}

#[test]
fn comments_and_trailing_commas_stay() {
    let text = "// mine\n{\n    \"model\": \"a\", // the good one\n    /* keys */\n    \"keys\": { \"quit\": \"q\" }, // why\n}\n";
    let set = edit(text).set("model", "b").unwrap();
    assert_eq!(set, text.replace("\"a\"", "\"b\""));
    let added = edit(text).set("maxDepth", "3").unwrap();
    assert_eq!(added, text.replace("why\n", "why\n    \"maxDepth\": 3,\n"));
    assert_eq!(edit(&added).unset("maxDepth").unwrap(), text);
    assert_eq!(edit("// only this\n").set("model", "m").unwrap(), "// only this\n{\n  \"model\": \"m\"\n}\n");
}

#[test]
fn the_last_of_duplicate_keys_is_changed() {
    let after = edit(r#"{"model": "a", "model": "b"}"#).set("model", "c").unwrap();
    assert_eq!(after, "{\"model\": \"a\", \"model\": \"c\"}\n");
}

#[test]
fn an_unparseable_file_is_not_changed() {
    for text in ["{\"model\": ", "[]", "{\"version\": 2}", "{\"\\ud800\": 1}"] {
        for result in [edit(text).set("model", "m"), edit(text).unset("model")] {
            let fault = Fault::from(result.unwrap_err());
            assert_eq!(fault.kind, FaultKind::Config);
            assert!(fault.message.starts_with("config.json:1:"), "{fault}");
        }
    }
}

#[test]
fn a_value_where_an_object_is_needed_is_named_and_kept() {
    let sentence = sentence(edit("{\n\"keys\": 5}").set("keys.quit", "q"));
    assert!(sentence.starts_with("config.json:2:9: keys must be an object"), "{sentence}");
}

#[test]
fn unset_removes_a_value_and_fails_if_it_is_not_set() {
    let text = r#"{"model": "a", "modle": "b", "model": "c", "keys": {"quit": "q", "help": "h"}}"#;
    let without = edit(text).unset("model").unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(&without).unwrap(),
        json!({"modle": "b", "keys": {"quit": "q", "help": "h"}})
    );
    let without = edit(&without).unset("modle").unwrap();
    let without = edit(&without).unset("keys.quit").unwrap();
    assert_eq!(serde_json::from_str::<Value>(&without).unwrap(), json!({"keys": {"help": "h"}}));
    for path in ["model", "keys.quit", "keys.help.x", "theme"] {
        assert!(sentence(edit(&without).unset(path)).contains("is not set in config.json"));
    }
}

#[test]
fn unset_does_not_leave_half_an_entry() {
    let text = r#"{"authGroups": {"a": {"provider": "openai", "api": "chat"}}}"#;
    assert!(sentence(edit(text).unset("authGroups.a.provider")).contains("authGroups.a has no \"provider\""));
    assert!(
        sentence(edit(text).set("authGroups.a.provider", "anthropic")).contains("only for the provider \"openai\"")
    );
    edit(text).unset("authGroups.a.api").unwrap();
    edit(text).unset("authGroups.a").unwrap();
}

#[test]
fn a_repository_can_be_cleaned_of_what_it_may_not_set() {
    let repo = SettingsEdit { layer: Layer::Repo, file: Path::new("c"), text: r#"{"verify": "make"}"# };
    assert_eq!(repo.unset("verify").unwrap(), "{}\n");
}

#[test]
fn an_approval_is_added_once_and_can_be_withdrawn() {
    let hash = "a".repeat(64);
    let local = |text: &str| SettingsEdit { layer: Layer::Local, file: Path::new("c"), text }.approve(&hash);
    let once = local("{\"model\": \"m\"}").unwrap();
    assert_eq!(local(&once).unwrap(), once);
    let taken = SettingsEdit { layer: Layer::Local, file: Path::new("c"), text: &once }.withdraw(&hash).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&taken).unwrap(), json!({"model": "m", "approvedMcpServers": []}));
    assert!(local("").is_ok());
    assert!(SettingsEdit { layer: Layer::Local, file: Path::new("c"), text: "" }.approve("../../etc").is_err());
}

#[test]
fn an_edit_removes_a_byte_order_mark() {
    assert_eq!(edit("\u{feff}{\"x\":1}").set("model", "m").unwrap(), "{\n  \"x\":1,\n  \"model\": \"m\"\n}\n");
}

#[test]
fn a_file_that_only_the_reader_accepts_is_not_changed() {
    let half = "{\n\"x\": \"\\ud800\"}";
    let sentence_of = |text: &str| sentence(edit(text).set("model", "m"));
    assert!(sentence_of(half).starts_with("config.json:2:"), "{}", sentence_of(half));
    let nested = |depth| format!("{{\n\"x\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(edit(&nested(200)).set("model", "m").unwrap().matches('[').count(), 200);
    let sentence = sentence_of(&nested(100_000));
    assert!(sentence.starts_with("config.json:2:") && sentence.contains("cannot edit this file"), "{sentence}");
}

fn settable() -> impl Strategy<Value = (&'static str, String)> {
    let name = "[a-z]{1,6}";
    prop_oneof![
        "[ -~]{1,20}"
            .prop_filter("blank", |s| !s.trim().is_empty())
            .prop_map(|s| ("model", Value::from(s).to_string())),
        (1u64..=64).prop_map(|n| ("maxDepth", n.to_string())),
        (1u64..=1_000_000).prop_map(|cents| ("budgetUsd", format!("{}.{:02}", cents / 100 + 1, cents % 100))),
        name.prop_map(|key| ("keys.quit", json!([key]).to_string())),
        (1u64..).prop_map(|n| ("models.\"a.b\".window", n.to_string())),
        name.prop_map(|word| ("mcpServers.s.command", Value::from(word).to_string())),
        prop::bool::ANY.prop_map(|on| ("notify.bell", on.to_string())),
    ]
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(".{0,4}", inner, 0..4).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn a_value_that_is_set_can_be_read_back((path, value) in settable()) {
        let text = edit("").set(path, &value).unwrap();
        let file = LayerFile::read(Layer::Global, Path::new("c"), text.as_bytes());
        prop_assert_eq!(file.problems(), &[]);
        let merged = merge(&Environment::default(), &[file]).unwrap();
        let got = merged.get(&path.parse().unwrap()).unwrap().unwrap();
        prop_assert_eq!(got.value, serde_json::from_str::<Value>(&value).unwrap());
    }

    #[test]
    fn an_edit_changes_nothing_else(
        others in prop::collection::btree_map("zz.{0,4}", any_json(), 0..6),
        (path, value) in settable(),
    ) {
        let before: Value = Value::Object(others.into_iter().collect());
        let key: KeyPath = path.parse().unwrap();
        // Compared as text: reading numbers as floats would hide a digit that changed.
        let pretty = serde_json::to_string_pretty(&before).unwrap() + "\n";
        let set = edit(&pretty).set(path, &value).unwrap();
        prop_assert!(set.starts_with(pretty.trim_end_matches("}\n").trim_end()), "{}", set);
        prop_assert_eq!(edit(&set).unset(key.key()).unwrap(), pretty);
    }

    #[test]
    fn no_text_makes_the_editor_panic(text in any::<String>(), path in any::<String>(), value in any::<String>()) {
        let _ = edit(&text).set(&path, &value);
        let _ = edit(&text).set("authGroups.a", &value);
        let _ = edit(&text).unset(&path);
        let _ = holds_secret(&text);
    }
}

#[test]
fn a_decision_is_stored_once_and_replaces_the_opposite() {
    let project = "01M3250WAT5819AEQBE1KKWAEB".parse().unwrap();
    let hash = || "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262".to_owned();
    let cases = [
        (Approval::SetupHook { hash: hash() }, "approvedHooks", "declinedHooks"),
        (Approval::RecurringTask { hash: hash() }, "approvedTasks", "declinedTasks"),
        (Approval::McpServer { hash: hash() }, "approvedMcpServers", "declinedMcpServers"),
        (Approval::Project { project }, "approvedProjects", "declinedProjects"),
    ];
    for (approval, approved, declined) in cases {
        let mut text = String::new();
        for (decision, counts) in [(true, (1, 0)), (true, (1, 0)), (false, (0, 1)), (true, (1, 0))] {
            let edit = SettingsEdit { layer: Layer::Local, file: Path::new("config.json"), text: &text };
            let new = edit.decide(&approval, decision).unwrap();
            let value: Value = serde_json::from_str(&new).unwrap();
            let count = |key: &str| value[key].as_array().map_or(0, Vec::len);
            assert_eq!((count(approved), count(declined)), counts, "{approval:?} {decision}");
            text = new;
        }
    }
}
