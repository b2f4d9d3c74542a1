use super::call_text;

#[test]
fn a_tool_call_is_found_by_its_values() {
    let text = call_text("bash", r#"{"command":"cargo test","nested":{"list":["a",1,true,null]}}"#, None);
    assert_eq!(text, "bash command: cargo test nested: list: a 1 true");
    assert_eq!(call_text("bash", "{}", Some("{\"comm")), "bash {\"comm");
}
