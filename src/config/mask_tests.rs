use super::*;

#[test]
fn passwords_in_addresses_are_never_shown() {
    let cases = [
        ("https://ann:hunter2@host/v1", "https://****@host/v1"),
        ("https://hunter2@host", "https://****@host"),
        ("--url=postgres://u:hunter2@h:5432/db", "--url=postgres://****@h:5432/db"),
        ("see https://a:hunter2@b and https://c:hunter2@d/", "see https://****@b and https://****@d/"),
        ("https://host/?api_key=hunter2&q=1#top", "https://host/?api_key=****&q=1#top"),
        ("https://host/a?next=https://u:hunter2@h", "https://host/a?next=https://****@h"),
        ("https://host/@scope/package", "https://host/@scope/package"),
        ("ann@example.com", "ann@example.com"),
        ("plain words stay = as they are", "plain words stay = as they are"),
    ];
    for (text, shown) in cases {
        assert_eq!(scrub(text), shown);
    }
}

#[test]
fn known_credentials_are_recognised_by_their_prefix() {
    assert_eq!(scrub("sk-ant-api03-hunter2-wxyz"), "****wxyz");
    assert_eq!(scrub("X=ghp_hunter2hunter2"), "X=****");
    assert_eq!(scrub("sk-x"), "sk-x");
}

#[test]
fn arguments_after_a_secret_flag_are_masked() {
    let args = ["--api-key", "hunter2", "--port", "80", "--token=hunter2", "--secret", "--verbose", "PASSWORD=hunter2"];
    let args = args.map(str::to_owned);
    let shown = scrub_args(&args);
    assert_eq!(shown, ["--api-key", "****", "--port", "80", "--token=****", "--secret", "--verbose", "PASSWORD=****"]);
}

#[test]
fn a_file_with_a_secret_anywhere_holds_a_secret() {
    for text in [
        r#"{"authGroups": {"a": {"provider": "anthropic", "apiKey": "k"}}}"#,
        r#"{"authGroups": {"a": {"provider": "openai", "baseUrl": "http://u:p@h"}}}"#,
        r#"{"mcpServers": {"a": {"command": "x", "env": {"A": "b"}}}}"#,
        r#"{"mcpServers": {"a": {"url": "http://h", "headers": {"A": "b"}}}}"#,
        r#"{"mcpServers": {"a": {"command": "x", "args": ["--token", "b"]}}}"#,
        r#"{"authGroups": {"a": {"apikey": "k"}}}"#,
        r#"{"authgroups": {"a": {"apiKey": "k"}}}"#,
        r#"{"authGroups": {"a": {"provider": "openai", "apiKey": ["sk-ant-api03-hunter2-wxyz"]}}}"#,
        r#"{"theme": "sk-ant-api03-hunter2-wxyz", "theme": "dark"}"#,
        "{\"authGroups\": {\"a\": {\"apiKey\": \"k\"",
        "[]",
        "// \"apiKey\": \"k\"\n",
        "{} // sk-ant-api03-hunter2-wxyz",
        "{ /* see http://u:p@h */ }",
    ] {
        assert!(holds_secret(text), "{text}");
    }
    for text in [
        "",
        "\u{feff}{}",
        "// how I like my keys\n{\"theme\": \"dark\",}",
        r#"{"model": "m", "budgetUsd": 5, "keys": {"quit": ["q"]}}"#,
        r#"{"authGroups": {"a": {"provider": "openai", "baseUrl": "http://localhost:11434/v1"}}}"#,
        r#"{"mcpServers": {"a": {"command": "npx", "args": ["-y", "@scope/server", "."]}}}"#,
    ] {
        assert!(!holds_secret(text), "{text}");
    }
}
