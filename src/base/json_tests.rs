use super::*;

#[test]
fn the_spelling_of_a_value_is_kept() {
    let text = r#"{ "b":1.10, "a" :[1e3,  "\u00e9\n"]}"#;
    assert_eq!(Json::parse(text).unwrap().as_str(), text);
    let read: Json = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), text);
    assert_eq!(read.read::<serde_json::Value>().unwrap()["b"], 1.10);
}

#[test]
fn a_value_fits_on_a_line_however_it_arrived() {
    let pretty = "{\n  \"a\": \"x\\ny\",\r\n  \"b\": [\n1]\n}";
    let flat = "{   \"a\": \"x\\ny\",    \"b\": [ 1] }";
    let parsed = Json::parse(pretty).unwrap();
    let read: Json = serde_json::from_str(pretty).unwrap();
    let boxed: Box<RawValue> = serde_json::from_str(pretty).unwrap();
    for json in [parsed.clone(), read, Json::from(boxed.clone()), Json::of(&boxed).unwrap()] {
        assert_eq!(json.as_str(), flat);
        assert_eq!(json, parsed);
    }
    let value: serde_json::Value = serde_json::from_str(pretty).unwrap();
    assert_eq!(parsed.read::<serde_json::Value>().unwrap(), value, "it means the same");
}

#[test]
fn what_is_not_json_is_refused() {
    for text in ["", "{", "{}{}", "nul", "\u{0}"] {
        assert!(Json::parse(text).is_err(), "{text:?}");
    }
    assert_eq!(Json::default().as_str(), "{}");
    assert_eq!(format!("{:?}", Json::object()), "{}");
}
