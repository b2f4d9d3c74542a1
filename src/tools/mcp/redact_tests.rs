use serde_json::json;

use super::*;

fn redactor(entry: &serde_json::Value) -> Redactor {
    let mut entry = entry.clone();
    entry["timeoutMs"] = json!(1000);
    entry["disabled"] = json!(false);
    Redactor::new(&serde_json::from_value(entry).unwrap())
}

#[test]
fn headers_and_their_bare_tokens_never_show() {
    let redactor =
        redactor(&json!({"url": "https://h/mcp", "headers": {"Authorization": "Bearer abc-123-xyz", "X-Id": "me"}}));
    let said = redactor.clean("refused: Bearer abc-123-xyz, token abc-123-xyz of me");
    assert_eq!(said, "refused: ****, token **** of me");
}

#[test]
fn an_address_is_shown_without_its_secrets() {
    let redactor = redactor(&json!({
        "url": "https://anna:hunter22@host/s/0123456789abcdefghij/mcp?k=s3cr%2Fet-value", "headers": {},
    }));
    let said = redactor.clean(
        "error for url (https://anna:hunter22@host/s/0123456789abcdefghij/mcp?k=s3cr%2Fet-value): s3cr/et-value hunter22",
    );
    assert!(!["hunter22", "0123456789abcdefghij", "s3cr"].iter().any(|secret| said.contains(secret)), "{said}");
    assert!(said.contains("@host/s/****/mcp?k=****"), "{said}");
}

#[test]
fn variables_of_the_entry_are_removed_from_the_error_stream() {
    let redactor = redactor(&json!({
        "command": "x", "args": [], "env": {"TOKEN": "opensesame", "LONGER": "opensesame-and-more", "N": "1"},
    }));
    let said = redactor.clean("got opensesame-and-more\nand opensesame, 1 time");
    assert_eq!(said, "got ****\nand ****, 1 time");
}

#[test]
fn a_result_loses_the_servers_keys_and_nothing_else() {
    let stdio = redactor(&json!({
        "command": "x", "args": [], "env": {"BOX_TOKEN": "opensesame", "BOX_FOLDER": "/srv/box"},
    }));
    assert_eq!(stdio.without_keys("opensesame, /srv/box and --token=abc"), "****, /srv/box and --token=abc");
    let http = redactor(&json!({"url": "https://h/mcp", "headers": {"Authorization": "Bearer abc-123-xyz"}}));
    assert_eq!(http.without_keys("you sent abc-123-xyz"), "you sent ****");
}

#[test]
fn credential_like_text_is_masked_too() {
    let redactor = redactor(&json!({"command": "x", "args": [], "env": {}}));
    assert_eq!(redactor.clean("--token=abc and sk-ant-0123456789abcdef"), "--token=**** and ****cdef");
}
