use std::path::Path;

use super::*;

const BEGIN: &str = "<!-- settings: generated from the table, do not edit -->\n";
const END: &str = "<!-- end of settings -->\n";

/// `MXD_UPDATE_DOCS=1 cargo test` rewrites the generated part of the page.
#[test]
fn the_page_about_settings_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/configuration.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (head, rest) = page.split_once(BEGIN).unwrap();
    let (written, tail) = rest.split_once(END).unwrap();
    let generated = format!("\n{}\n", reference());
    if std::env::var_os("MXD_UPDATE_DOCS").is_some() {
        std::fs::write(&path, format!("{head}{BEGIN}{generated}{END}{tail}")).unwrap();
        return;
    }
    assert_eq!(written, generated, "docs/configuration.md is stale: run MXD_UPDATE_DOCS=1 cargo test settings");
}

#[test]
fn every_key_has_a_section_with_its_fields() {
    let text = reference();
    assert_eq!(summary().lines().count(), KEYS.len());
    for key in KEYS {
        assert!(summary().contains(key.doc));
        assert!(text.contains(&format!("### `{}`\n", key.name)), "{}", key.name);
    }
    assert!(text.contains("| `mcpServers.<name>.timeoutMs` |"));
    assert!(text.contains("| `models.<id>.prices.cacheWrite1h` |"));
}
