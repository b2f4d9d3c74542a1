use super::*;

#[test]
fn a_wire_name_can_be_taken_apart() {
    assert_eq!(wire(BASH), "mcp__mxd__bash");
    assert_eq!(split("mcp__git__log__all"), Some(("git", "log__all")));
    assert_eq!(split("bash"), None);
    assert_eq!(split("mcp____x"), None);
    assert_eq!((display_name("mcp__mxd__bash"), display_name("mcp__git__log")), ("bash".into(), "git/log".into()));
}

#[test]
fn old_names_and_bare_names_mean_the_current_tool() {
    assert_eq!(canonical("mcp__mxd__grep"), "mcp__mxd__search");
    assert_eq!(canonical("Bash"), "mcp__mxd__Bash", "only known names are guessed at");
    assert_eq!(canonical("bash"), "mcp__mxd__bash");
    assert_eq!(canonical("Grep"), "mcp__mxd__search");
    assert_eq!(canonical("mcp__git__grep"), "mcp__git__grep", "an external tool is nobody's alias");
}
