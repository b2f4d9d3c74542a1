use serde_json::json;

use super::*;

fn listed(tools: serde_json::Value) -> Offers {
    Offers::new("box", serde_json::from_value(tools).unwrap())
}

#[test]
fn a_schema_passes_through_in_its_own_order() {
    let schema = r##"{"type":"object","required":["z","a"],"properties":{"z":{"const":1.5},"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{}},"x-own":null}"##;
    let offers = listed(json!([{
        "name": "one", "description": "Does it.", "inputSchema": serde_json::from_str::<Value>(schema).unwrap(),
    }]));
    let spec = &offers.tools[0].spec;
    assert_eq!((spec.name.as_str(), spec.description.as_str()), ("mcp__box__one", "Does it."));
    assert_eq!(spec.schema.as_str(), schema);
}

#[test]
fn only_a_declared_tool_is_read_only() {
    let schema = json!({"type": "object"});
    let offers = listed(json!([
        {"name": "a", "inputSchema": schema, "annotations": {"readOnlyHint": true}},
        {"name": "b", "inputSchema": schema, "annotations": {"readOnlyHint": false, "destructiveHint": false}},
        {"name": "c", "inputSchema": schema},
    ]));
    let effects: Vec<ToolEffect> = offers.tools.iter().map(|offer| offer.effect).collect();
    assert_eq!(effects, [ToolEffect::Reads, ToolEffect::Opaque, ToolEffect::Opaque]);
}

#[test]
fn tools_that_cannot_be_offered_are_named_with_a_reason() {
    let schema = json!({"type": "object"});
    let long = "n".repeat(120);
    let huge = json!({"type": "object", "description": "d".repeat(70_000)});
    let offers = listed(json!([
        {"name": "good", "inputSchema": schema},
        {"name": "good", "inputSchema": schema},
        {"name": long, "inputSchema": schema},
        {"name": "two words", "inputSchema": schema},
        {"name": "", "inputSchema": schema},
        {"name": "list", "inputSchema": {"type": "array"}},
        {"name": "huge", "inputSchema": huge},
    ]));
    assert_eq!(offers.tools.len(), 1);
    for (said, why) in
        offers.left_out.iter().zip(["twice", "has 130 bytes", "spaces", "empty", "not an object", "at most 64.0 KB"])
    {
        assert!(said.contains(why), "{said} / {why}");
    }
    assert_eq!(offers.left_out.len(), 6);
}

#[test]
fn a_schema_without_a_type_becomes_an_object() {
    let offers = listed(json!([{"name": "bare", "inputSchema": {"properties": {}}}, {"name": "b", "inputSchema": {}}]));
    assert_eq!(offers.tools[0].spec.schema.as_str(), r#"{"type":"object","properties":{}}"#);
    assert_eq!(offers.tools[1].spec.schema.as_str(), r#"{"type":"object"}"#);
}

#[test]
fn a_tool_without_a_description_is_described_by_its_title() {
    let schema = json!({"type": "object"});
    let offers = listed(json!([
        {"name": "a", "title": "Title", "inputSchema": schema},
        {"name": "b", "annotations": {"title": "Hint"}, "inputSchema": schema},
        {"name": "c", "inputSchema": schema},
        {"name": "d", "description": "x".repeat(20_000), "inputSchema": schema},
    ]));
    let said: Vec<&str> = offers.tools.iter().map(|offer| offer.spec.description.as_str()).collect();
    assert_eq!(said[..3], ["Title", "Hint", ""]);
    assert!(said[3].len() < 9_000 && said[3].contains("cut here"));
}
