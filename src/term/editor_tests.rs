use proptest::prelude::*;

use super::*;

fn with<'a>(variables: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<String> + 'a {
    |name| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
}

fn tool(program: &str, arguments: &[&str]) -> Tool {
    Tool { program: program.to_owned(), arguments: arguments.iter().map(ToString::to_string).collect() }
}

#[test]
fn visual_comes_before_editor_and_an_empty_one_counts_as_unset() {
    assert_eq!(editor(with(&[("VISUAL", "code --wait"), ("EDITOR", "vi")])), Ok(tool("code", &["--wait"])));
    assert_eq!(editor(with(&[("VISUAL", "  "), ("EDITOR", "vi")])), Ok(tool("vi", &[])));
}

#[test]
fn words_are_split_as_a_shell_does() {
    let path = r#""/Applications/My Editor.app/bin/edit" -n 'a b' c\ d "x\"y\n" """#;
    let words = split(path).unwrap();
    assert_eq!(words, ["/Applications/My Editor.app/bin/edit", "-n", "a b", "c d", "x\"y\\n", ""]);
    assert_eq!(split("a'b'\"c\"d").unwrap(), ["abcd"]);
    assert_eq!(split("$HOME/x `id` *").unwrap(), ["$HOME/x", "`id`", "*"], "nothing is expanded");
}

#[test]
fn a_missing_editor_is_an_error_with_a_hint() {
    let fault = Fault::from(editor(with(&[])).unwrap_err());
    assert_eq!(fault.message, "no editor is set: $VISUAL and $EDITOR are both empty");
    assert_eq!(fault.hints, ["set one in your shell, for example: export EDITOR=vim"]);
    let fault = Fault::from(editor(with(&[("EDITOR", "vim 'x")])).unwrap_err());
    assert_eq!(fault.message, "$EDITOR has an unclosed quote: `vim 'x`");
}

#[test]
fn the_pager_defaults_to_less() {
    assert_eq!(pager(with(&[])), Ok(tool("less", &["-R"])));
    assert_eq!(pager(with(&[("PAGER", "bat -p")])), Ok(tool("bat", &["-p"])));
}

proptest! {
    #[test]
    fn any_words_survive_being_quoted(words in prop::collection::vec("[^']*", 0..5)) {
        let line: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
        prop_assert_eq!(split(&line.join(" ")), Some(words));
    }

    #[test]
    fn no_line_makes_it_panic(line in any::<String>()) {
        let _ = split(&line);
    }
}
