use std::path::Path;

use super::*;

#[test]
fn the_command_line_reference_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/cli.md");
    let now = std::fs::read_to_string(&path).unwrap_or_default();
    let written_by_hand = now.split(MARK).next().unwrap_or_default();
    let wanted = format!("{written_by_hand}{}", page());
    if std::env::var_os("MXD_UPDATE_DOCS").is_some() {
        std::fs::write(&path, &wanted).unwrap();
        return;
    }
    assert!(now == wanted, "docs/cli.md is stale: run MXD_UPDATE_DOCS=1 cargo test --lib reference");
}

#[test]
fn every_command_has_a_section_with_its_arguments() {
    let page = page();
    for heading in ["\n## mxd run\n", "\n### mxd task new\n", "\n### mxd config set\n"] {
        assert!(page.contains(heading), "{heading}");
    }
    assert!(page.contains("| `-n, --last <N>` |") && page.contains("`--draft <true\\|false>`"), "{page}");
}
