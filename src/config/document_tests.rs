use super::*;

#[test]
fn a_part_has_a_line_and_a_column_in_characters() {
    let text = "{\n  \"é\": 1, \"漢\": {\n    \"x\": true}}";
    let document = Document::new("f", text);
    let root = document.root().ok().unwrap().unwrap();
    let members = document.members(root).ok().unwrap();
    assert_eq!(document.position_of(members[0].key), Some(Position { line: 2, column: 3 }));
    assert_eq!(document.position_of(members[1].key), Some(Position { line: 2, column: 11 }));
    let inner = document.members(members[1].value).ok().unwrap();
    assert_eq!(inner[0].name, "x");
    assert_eq!(document.position_of(inner[0].value.get()), Some(Position { line: 3, column: 10 }));
}

#[test]
fn a_slice_of_another_text_has_no_position() {
    let other = String::from("elsewhere");
    assert_eq!(Document::new("f", "{}").position_of(&other), None);
}

#[test]
fn an_error_inside_a_part_has_its_position_in_the_whole_text() {
    let text = "{\n \"a\": {\n   \"\\ud800\": 1}}";
    let document = Document::new("f", text);
    let members = document.members(document.root().ok().unwrap().unwrap()).ok().unwrap();
    let rejected = document.members(members[0].value).err().unwrap();
    assert_eq!(rejected.at.unwrap().line, 3);
    assert!(rejected.message.contains("surrogate") || rejected.message.contains("hex"), "{}", rejected.message);
}

#[test]
fn members_keep_order_and_duplicates() {
    let document = Document::new("f", r#"{"b":1,"a":2,"b":3}"#);
    let members = document.members(document.root().ok().unwrap().unwrap()).ok().unwrap();
    let seen: Vec<_> = members.iter().map(|member| (member.name.as_str(), member.value.get())).collect();
    assert_eq!(seen, [("b", "1"), ("a", "2"), ("b", "3")]);
}
