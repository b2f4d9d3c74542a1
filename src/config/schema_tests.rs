use super::*;

/// Validates `value` with the subset of JSON Schema that is used here.
fn check(schema: &Value, value: &Value, at: &str, wrong: &mut Vec<String>) {
    let kinds = match &schema["type"] {
        Value::Array(kinds) => kinds.clone(),
        one => vec![one.clone()],
    };
    let fits = |kind: &Value| match kind.as_str().unwrap() {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64(),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        other => panic!("{other} is not checked here"),
    };
    if !kinds.iter().any(fits) {
        wrong.push(format!("{at}: {value} is none of {kinds:?}"));
        return;
    }
    if let Some(words) = schema["enum"].as_array()
        && !words.contains(value)
    {
        wrong.push(format!("{at}: {value} is not in {words:?}"));
    }
    for item in value.as_array().into_iter().flatten() {
        check(&schema["items"], item, at, wrong);
    }
    for (name, entry) in value.as_object().into_iter().flatten() {
        let at = format!("{at}.{name}");
        match (schema["properties"].get(name), &schema["additionalProperties"]) {
            (Some(property), _) => check(property, entry, &at, wrong),
            (None, Value::Bool(false)) => wrong.push(format!("{at}: unknown")),
            (None, rest) => check(rest, entry, &at, wrong),
        }
    }
    for required in schema["required"].as_array().into_iter().flatten() {
        if value.get(required.as_str().unwrap()).is_none() {
            wrong.push(format!("{at}: {required} is missing"));
        }
    }
}

fn wrong(value: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    check(&schema(), value, "", &mut wrong);
    wrong
}

#[test]
fn every_key_is_in_the_schema_and_accepts_its_example() {
    for key in KEYS {
        let example: Value = serde_json::from_str(key.example).unwrap();
        assert_eq!(wrong(&json!({ key.name: example })), Vec::<String>::new(), "{}", key.name);
        if let Need::Default(default) = key.need {
            let default: Value = serde_json::from_str(default).unwrap();
            assert_eq!(wrong(&json!({ key.name: default })), Vec::<String>::new(), "{}", key.name);
        }
        let is_described = schema()["properties"][key.name]["description"].as_str().unwrap().starts_with(key.doc);
        assert!(is_described, "{}", key.name);
    }
}

#[test]
fn the_schema_refuses_what_the_program_refuses() {
    for value in [
        json!({ "modle": "x" }),
        json!({ "maxDepth": "3" }),
        json!({ "durability": "maybe" }),
        json!({ "authGroups": { "main": { "apiKey": "k" } } }),
        json!({ "notify": { "desktop": "yes" } }),
        json!([]),
    ] {
        assert_ne!(wrong(&value), Vec::<String>::new(), "{value}");
    }
    assert_eq!(wrong(&json!({ "$schema": "x", "version": 1, "model": null })), Vec::<String>::new());
}
