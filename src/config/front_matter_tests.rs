use proptest::prelude::*;

use super::*;

fn entries(text: &str) -> Vec<(String, serde_json::Value, usize)> {
    let parsed = parse(text).unwrap();
    parsed.entries.into_iter().map(|entry| (entry.key, entry.value.to_json(), entry.at.line)).collect()
}

#[test]
fn fields_have_their_lines_and_the_rest_is_the_body() {
    let file = "---\nname: a b # why\r\none: \"say \\\"x\\\": y\"\ntwo: 'it''s'\nfold: >-\n  a\n  b\nkeep: |\n  a\n\n    b\nmap: {a: [1, b]}\n---\nbody\n---\n";
    let expected = serde_json::json!([
        ["name", "a b", 2],
        ["one", "say \"x\": y", 3],
        ["two", "it's", 4],
        ["fold", "a b", 5],
        ["keep", "a\n\n  b\n", 8],
        ["map", {"a": [1, "b"]}, 12],
    ]);
    assert_eq!(serde_json::json!(entries(file)), expected);
    assert_eq!(parse(file).unwrap().body, "body\n---\n");
    assert_eq!(parse(file).unwrap().repaired, None);
}

#[test]
fn errors_have_line_and_column() {
    for (file, line, start) in [
        ("", 1, NO_START),
        ("name: x\n", 1, NO_START),
        ("---\nname: x\n", 2, NO_END),
        ("---\nname\n---\n", 2, NO_FIELDS),
        ("---\n- name\n---\n", 2, NO_FIELDS),
        ("---\na: b\nname: [x\n---\n", 3, ""),
        ("---\na: \"x\n---\n", 3, ""),
    ] {
        let error = parse(file).unwrap_err();
        assert!(error.message.starts_with(start), "{file:?}: {error:?}");
        assert_eq!(error.at.line, line, "{file:?}: {error:?}");
    }
}

#[test]
fn text_that_other_programs_accept_without_quotes_is_read_and_reported() {
    let file = "---\nname: a\ndescription: Use it when: x.\\n\\n<example>\nContext: y\nuser says: \"z\"\n</example>\n\ntools: Read, Bash\nmodel: opus\n---\np";
    let read = parse(file).unwrap();
    assert_eq!(read.repaired.as_ref().unwrap().at.line, 3);
    let fields = entries(file);
    let words = "Use it when: x.\n\n<example> Context: y user says: \"z\" </example>";
    assert_eq!(fields[1], ("description".to_owned(), words.into(), 3));
    assert_eq!(fields[2], ("tools".to_owned(), "Read, Bash".into(), 8));
}

#[test]
fn a_repair_never_hides_a_field() {
    let fields = entries("---\ndescription: a: b\ntools: Read\nmax_turns: 3\n---\n");
    let keys: Vec<_> = fields.iter().map(|(key, ..)| key.as_str()).collect();
    assert_eq!(keys, ["description", "tools", "max_turns"]);
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in any::<String>(), front in "(?s)([a-z]{1,4}: ?|- |[|]|>|\"|'|\\[|\\]|\\{|&a |[*]a|,|#|\t| {1,3}|日|---|\n){0,40}") {
        let _ = parse(&text);
        let _ = parse(&format!("---\n{front}\n---\n{text}"));
    }
}
