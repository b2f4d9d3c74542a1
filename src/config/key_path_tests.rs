use super::*;
use proptest::prelude::*;

#[test]
fn dots_separate_and_quotes_protect() {
    let cases = [
        ("model", vec!["model"]),
        ("authGroups.main.apiKey", vec!["authGroups", "main", "apiKey"]),
        (r#"models."gpt-4.1".window"#, vec!["models", "gpt-4.1", "window"]),
        (r#"keys."a b""#, vec!["keys", "a b"]),
        (r#""a\"b""#, vec!["a\"b"]),
        (r#"a."""#, vec!["a", ""]),
    ];
    for (text, parts) in cases {
        let path: KeyPath = text.parse().unwrap();
        assert_eq!(path.parts(), parts, "{text}");
        assert_eq!(path.to_string(), text);
    }
}

#[test]
fn an_invalid_path_is_refused_with_the_reason() {
    for (text, why) in [
        ("", "empty"),
        (".", "empty"),
        ("a.", "empty"),
        ("a..b", "empty"),
        ("a b", "double quotes"),
        ("a\"b", "double quotes"),
        ("\"a", "not closed"),
        ("\"a\"b", "a dot must follow"),
    ] {
        let error = text.parse::<KeyPath>().unwrap_err().to_string();
        assert!(error.contains(why), "{text}: {error}");
    }
}

proptest! {
    #[test]
    fn a_path_has_one_written_form(parts in prop::collection::vec(any::<String>(), 1..5)) {
        let path = KeyPath(parts);
        prop_assert_eq!(path.to_string().parse::<KeyPath>().unwrap(), path);
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in any::<String>()) {
        if let Ok(path) = text.parse::<KeyPath>() {
            prop_assert_eq!(path.to_string().parse::<KeyPath>().unwrap(), path);
        }
    }
}
