use super::*;

fn key(action: Action) -> String {
    format!("<{}>", action.name())
}

#[test]
fn commands_with_a_key_become_keys() {
    let quoted = |command: &str| format!("`{command}`");
    let cases = [
        (format!("stop it first: {}", quoted("mxd stop TASK")), "stop it first: <stop>".to_owned()),
        (
            format!("let its agent resolve them: {}", quoted("mxd merge TASK --resolve")),
            "let its agent resolve them: <merge>, then <tell_agent>".to_owned(),
        ),
        (format!("{} lists open questions", quoted("mxd asks")), "<next_ask> lists open questions".to_owned()),
        (quoted("mxd init --base BRANCH"), quoted("mxd init --base BRANCH")),
        (format!("{} failed after 3 s", quoted("cargo test")), format!("{} failed after 3 s", quoted("cargo test"))),
        ("an odd ` mark".to_owned(), "an odd ` mark".to_owned()),
    ];
    for (text, expected) in cases {
        assert_eq!(in_keys(&text, key), expected);
    }
}

#[test]
fn a_fault_does_not_point_to_the_tree_that_is_on_the_screen() {
    let it = Fault::user("there is no such task").hint(format!("`{TREE}` lists the tasks")).hint("make room");
    assert_eq!(fault(&it, key), "there is no such task\n  hint: make room");
}
