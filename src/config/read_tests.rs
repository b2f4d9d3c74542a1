use super::*;
use crate::config::Severity;
use proptest::prelude::*;

fn read(text: &str) -> LayerFile {
    LayerFile::read(Layer::Global, Path::new("config.json"), text.as_bytes())
}

fn sentences(file: &LayerFile) -> Vec<String> {
    file.problems().iter().map(ToString::to_string).collect()
}

#[test]
fn an_empty_file_is_no_settings() {
    for text in ["", " \n\t\n", "{}"] {
        assert_eq!(read(text).problems(), []);
    }
}

#[test]
fn a_syntax_error_has_file_line_column_and_message() {
    let cases = [
        ("{\n  \"model\": \"a\"\n  \"theme\": \"b\"\n}", "config.json:3:3: invalid JSON: expected `,` or `}`"),
        ("{\"model\": }", "config.json:1:11: invalid JSON: expected value"),
        ("{} x", "config.json:1:4: invalid JSON: trailing characters"),
        ("{,}", "config.json:1:2: invalid JSON: key must be a string"),
        ("{\"model\": \"a\",,}", "config.json:1:15: invalid JSON: key must be a string"),
        ("{\"model\": [1,,]}", "config.json:1:14: invalid JSON: expected value"),
        ("{ # note\n}", "config.json:1:3: invalid JSON: key must be a string"),
        ("{ /* note\n}", "config.json:1:3: invalid JSON: key must be a string"),
        ("{'model': 1}", "config.json:1:2: invalid JSON: key must be a string"),
        ("{model: 1}", "config.json:1:2: invalid JSON: key must be a string"),
        ("{", "config.json:1:1: invalid JSON: EOF while parsing an object"),
    ];
    for (text, expected) in cases {
        assert_eq!(sentences(&read(text)), [expected], "{text}");
        assert!(read(text).values.is_empty());
    }
}

#[test]
fn comments_and_trailing_commas_are_accepted_and_keep_positions() {
    let text = "// é\n{\n  /* é\n \" */ \"model\": \"a // no comment\", // \"theme\": 1\n  \"keys\": {\"quit\": [\"q\", ], },\n /* é */ \"maxDepth\": 0,\n}\n";
    let file = read(text);
    assert_eq!(sentences(&file).len(), 1);
    assert!(sentences(&file)[0].starts_with("config.json:6:22: maxDepth must be"), "{:?}", sentences(&file));
    assert_eq!(file.value("model"), Some(&Value::from("a // no comment")));
    assert_eq!(file.value("keys"), Some(&serde_json::json!({"quit": ["q"]})));
    assert_eq!(read("// nothing\n").problems(), []);
}

#[test]
fn a_file_that_is_not_an_object_is_reported() {
    let of = |bytes: &[u8]| sentences(&LayerFile::read(Layer::Global, Path::new("c"), bytes)).join("|");
    assert!(of(b"{\"model\": \"\xff\"}").contains("first invalid byte at 11"), "{}", of(b"{\"model\": \"\xff\"}"));
    assert!(of(b"[1]").contains("not a list"));
    assert!(of(b"\"model\"").contains("not a string"));
    assert!(of(b"null").contains("not null"));
    assert!(of(b"{\"version\": 2}").contains("format 2"));
}

#[test]
fn a_byte_order_mark_is_named_and_ignored() {
    let file = read("\u{feff}{\"model\": 5}");
    assert_eq!(file.problems().len(), 2);
    assert!(matches!(file.problems()[0].kind, ProblemKind::ByteOrderMark));
    assert!(sentences(&file)[1].starts_with("config.json:1:11:"));
    assert_eq!(read("\u{feff}{\"model\": \"m\"}").value("model"), Some(&Value::from("m")));
}

#[test]
fn all_problems_are_reported_and_the_rest_is_used() {
    let file = read(
        r#"{
  "modle": "x",
  "maxDepth": 0,
  "budgetUsd": -1,
  "theme": "dark",
  "theme": "light",
  "authGroups": {
    "a": {"provider": "antropic", "apikey": "sk-secret-value-123456"},
    "b": {"provider": "openai", "baseUrl": "localhost:1"},
    "c": {"apiKey": "k"},
    "d": {"provider": "anthropic", "api": "chat"},
    "good": {"provider": "openai"}
  },
  "mcpServers": {
    "bad name": {"command": "x"},
    "both": {"command": "x", "url": "http://h/"},
    "none": {},
    "fine": {"url": "http://h/"}
  }
}"#,
    );
    let sentences = sentences(&file);
    let expected = [
        ("config.json:2:", "there is no setting modle; it is ignored (did you mean model?)"),
        ("config.json:3:15:", "maxDepth must be an integer from 1 to 64, not the number 0"),
        ("config.json:4:", "budgetUsd must be an amount in USD, 0.01 or more, not the number -1"),
        ("config.json:5:3:", "theme is set more than once"),
        ("config.json:8:", "authGroups.a.provider must be one of"),
        ("config.json:8:", "no setting authGroups.a.apikey; it is ignored (did you mean authGroups.a.apiKey?)"),
        ("config.json:9:", "authGroups.b.baseUrl must be a URL"),
        ("config.json:10:", "authGroups.c has no \"provider\""),
        ("config.json:11:", "authGroups.d has \"api\""),
        ("config.json:15:", "mcpServers.\"bad name\" has an invalid server name"),
        ("config.json:16:", "mcpServers.both has both"),
        ("config.json:17:", "mcpServers.none needs \"command\""),
    ];
    assert_eq!(sentences.len(), expected.len(), "{sentences:#?}");
    for (sentence, (place, words)) in sentences.iter().zip(expected) {
        assert!(sentence.starts_with(place) && sentence.contains(words), "{sentence}\nexpected {place} {words}");
    }
    assert!(!sentences.join("").contains("secret"));
    assert_eq!(file.value("theme"), Some(&Value::from("light")));
    let names = |key: &str| file.value(key).unwrap().as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(names("authGroups"), ["good"]);
    assert_eq!(names("mcpServers"), ["fine"]);
    assert!(file.fault().unwrap().message.starts_with("9 problems in the settings:"), "{}", file.fault().unwrap());
}

#[test]
fn a_wrong_value_is_shown_unless_it_may_be_a_secret() {
    let shown = |text: &str| sentences(&read(text)).join("|");
    assert!(shown(r#"{"durability": "never"}"#).contains("not the string \"never\""));
    assert!(shown(r#"{"maxDepth": 1e999}"#).contains("not the number 1e999"));
    assert!(shown(r#"{"maxDepth": true}"#).contains("not true"));
    for hidden in [
        r#"{"authGroups": "hunter2"}"#,
        r#"{"authGroups": {"a": {"provider": "openai", "apiKey": "hunter2 with spaces"}}}"#,
        r#"{"authGroups": {"a": {"provider": "openai", "apiKey": ["hunter2"]}}}"#,
        r#"{"authGroups": {"a": {"provider": "openai", "baseUrl": "ftp://u:hunter2@h"}}}"#,
        r#"{"authGroups": {"a": {"provider": "sk-ant-hunter2-hunter2-abcd"}}}"#,
        r#"{"mcpServers": {"a": {"url": "http://h", "headers": {"A": "hunter2\nB: c"}}}}"#,
    ] {
        let sentence = shown(hidden);
        assert!(!sentence.is_empty() && !sentence.contains("hunter2"), "{sentence}");
    }
}

#[test]
fn a_masked_secret_is_refused() {
    let masked = r#"{"authGroups": {"a": {"provider": "anthropic", "apiKey": "****abcd"}}}"#;
    assert!(sentences(&read(masked))[0].contains("not the masked form"));
    let masked = r#"{"authGroups": {"a": {"provider": "openai", "baseUrl": "http://****@host/v1"}}}"#;
    assert_eq!(read(masked).problems().len(), 1);
}

#[test]
fn control_characters_in_a_name_are_escaped() {
    let sentence = sentences(&read("{\"\\u001b]0;x\\u0007mod\u{202e}el\": 1}")).join("");
    assert!(!sentence.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{sentence:?}");
}

#[test]
fn half_a_character_and_endless_nesting_are_errors_and_not_crashes() {
    assert!(sentences(&read("{\"\\ud800\": 1}"))[0].contains("invalid JSON"));
    let deep = format!("{{\"mcpServers\": {}{}}}", "[".repeat(200_000), "]".repeat(200_000));
    assert!(read(&deep).fault().is_some());
    let deep = format!("{{\"other\": {}{}}}", "[".repeat(200_000), "]".repeat(200_000));
    assert!(read(&deep).fault().is_none());
}

#[test]
fn null_means_not_set() {
    let file = read(r#"{"model": null, "budgetUsd": null, "keys": {"quit": null}, "cache": {"root": null}}"#);
    assert_eq!(file.problems(), []);
    assert_eq!(read(r#"{"keys": null}"#).problems().len(), 1);
}

fn jsonish() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "\"model\"",
        "\"authGroups\"",
        "\"mcpServers\"",
        "\"provider\"",
        "\"a\"",
        "1",
        "-0.5",
        "1e999",
        "null",
        "true",
        "\"\\ud800\"",
        "\n",
        " ",
        "\u{feff}",
        "\"env\"",
        "\"command\"",
        "\"é\"",
    ]);
    prop::collection::vec(word, 0..24).prop_map(|words| words.concat())
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        LayerFile::read(Layer::Repo, Path::new("f"), &bytes);
    }

    #[test]
    fn nothing_that_looks_like_json_makes_the_reader_panic(text in jsonish()) {
        for layer in Layer::ALL {
            let file = LayerFile::read(layer, Path::new("f"), text.as_bytes());
            for problem in file.problems() {
                if let Some(at) = problem.place.at {
                    prop_assert!(at.line >= 1 && at.line <= text.matches('\n').count() + 1);
                }
                prop_assert!(matches!(problem.severity(), Severity::Warning | Severity::Error));
            }
        }
    }
}
