use schemars::JsonSchema;
use serde::Deserialize;

use super::*;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only read by serde")]
struct Sample {
    path: String,
    #[serde(default)]
    depth: Option<u32>,
    #[serde(default)]
    mode: Option<Mode>,
    #[serde(default)]
    items: Vec<Item>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Mode {
    One,
    Two,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only read by serde")]
struct Item {
    old: String,
}

fn problem(input: &str) -> String {
    let mut generator = schemars::generate::SchemaSettings::draft2020_12();
    generator.inline_subschemas = true;
    let schema = generator.into_generator().into_root_schema_for::<Sample>().to_value();
    let error = read::<Sample>(&Json::parse(input).unwrap(), &schema, r#"{"path":"a"}"#).unwrap_err();
    assert!(error.to_string().ends_with(r#"A valid input: {"path":"a"}"#), "{error}");
    error.problem
}

#[test]
fn a_refusal_names_the_field_and_what_was_expected() {
    assert_eq!(problem("{}"), "\"path\" is missing (a text)");
    assert_eq!(problem(r#"{"path":5}"#), "\"path\" must be a text, not 5");
    assert_eq!(problem(r#"{"path":"a","depth":"x"}"#), "\"depth\" must be a whole number, not \"x\"");
    assert_eq!(problem(r#"{"path":"a","depth":-1}"#), "\"depth\" must be at least 0, not -1");
    assert_eq!(problem(r#"{"path":"a","mode":"three"}"#), "\"mode\" must be one of \"one\", \"two\", not \"three\"");
    assert_eq!(
        problem(r#"{"path":"a","file":1}"#),
        "\"file\" is not a field of this tool; the fields are path, depth, mode, items"
    );
    assert_eq!(
        problem(r#"{"path":"a","items":[{"old":"x"},{"old":[]}]}"#),
        "\"items[1].old\" must be a text, not a list"
    );
    assert_eq!(problem("[]"), "the input must be an object, not a list");
}

#[test]
fn an_absent_option_may_also_be_null() {
    let schema = serde_json::json!({});
    let sample: Sample = read(&Json::parse(r#"{"path":"a","depth":null}"#).unwrap(), &schema, "").unwrap();
    assert_eq!(sample.path, "a");
}
