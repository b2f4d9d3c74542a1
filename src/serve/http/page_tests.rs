use super::*;

#[test]
fn the_page_is_small_and_loads_nothing_from_elsewhere() {
    let whole = [HTML, SCRIPT, STYLE].concat();
    assert!(whole.len() < 100_000, "{} bytes", whole.len());
    for outside in ["http://", "https://", "//cdn", "@import", "url("] {
        let found = whole.replace("http://www.w3.org/2000/svg", "");
        assert!(!found.contains(outside), "the page contains {outside}");
    }
}

#[test]
fn the_page_has_no_inline_script_or_style() {
    for inline in ["<script>", "<style", " style=", " onclick", " onload", "javascript:"] {
        assert!(!HTML.contains(inline), "the page contains {inline}");
    }
    for dangerous in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"] {
        assert!(!SCRIPT.contains(dangerous), "the script contains {dangerous}");
    }
}
