//! `docs/tools.md` says what the registry says.

use std::fs;
use std::path::Path;

use mxd::tools::{Registry, docs};

#[test]
fn the_page_about_tools_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/tools.md");
    let page = docs::page(&Registry::builtin());
    let now = fs::read_to_string(&path).unwrap_or_default();
    let written = now.split(docs::MARK).next().unwrap_or_default();
    let wanted = format!("{written}{page}");
    if std::env::var_os("MXD_UPDATE_DOCS").is_some() {
        fs::write(&path, &wanted).unwrap();
        return;
    }
    assert!(now == wanted, "docs/tools.md is stale: run the tests once with MXD_UPDATE_DOCS=1");
}
