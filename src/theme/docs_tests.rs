use std::path::Path;

use super::*;

/// `MXD_UPDATE_DOCS=1 cargo test` rewrites the generated part of the page.
#[test]
fn the_themes_page_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/themes.md");
    let written = std::fs::read_to_string(&path).unwrap();
    let (head, tail) = written.split_once(MARK).unwrap();
    if std::env::var_os("MXD_UPDATE_DOCS").is_some() {
        std::fs::write(&path, format!("{head}{}", page())).unwrap();
        return;
    }
    assert_eq!(format!("{MARK}{tail}"), page(), "docs/themes.md is stale: run MXD_UPDATE_DOCS=1 cargo test themes");
}
