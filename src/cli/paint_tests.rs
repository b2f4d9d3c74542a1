use super::*;

type Variables = &'static [(&'static str, &'static str)];

fn paint(choice: ColorChoice, is_terminal: bool, variables: &[(&str, &str)]) -> Paint {
    let lookup = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
    Paint::detect(choice, is_terminal, lookup)
}

#[test]
fn colours_follow_the_terminal_the_variables_and_the_option() {
    use ColorChoice::{Always, Auto, Never};
    let cases: [(ColorChoice, bool, Variables, bool); 11] = [
        (Auto, true, &[], true),
        (Auto, false, &[], false),
        (Auto, true, &[("NO_COLOR", "1")], false),
        (Auto, true, &[("NO_COLOR", "")], true),
        (Auto, true, &[("TERM", "dumb")], false),
        (Auto, true, &[("CLICOLOR", "0")], false),
        (Auto, false, &[("CLICOLOR_FORCE", "1")], true),
        (Auto, false, &[("CLICOLOR_FORCE", "0")], false),
        (Auto, false, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], false),
        (Always, false, &[("NO_COLOR", "1")], true),
        (Never, true, &[("CLICOLOR_FORCE", "1")], false),
    ];
    for (choice, is_terminal, variables, wanted) in cases {
        assert_eq!(paint(choice, is_terminal, variables).color, wanted, "{choice:?} {is_terminal} {variables:?}");
    }
}

#[test]
fn ascii_is_used_on_a_terminal_without_utf_8() {
    let ascii = |is_terminal, variables: &[_]| paint(ColorChoice::Auto, is_terminal, variables).ascii;
    assert!(ascii(true, &[("LC_ALL", "C"), ("LANG", "en_US.UTF-8")]) && ascii(true, &[]));
    assert!(!ascii(true, &[("LANG", "en_US.UTF-8")]) && !ascii(true, &[("LC_ALL", "C.utf8")]));
    assert!(!ascii(false, &[("LC_ALL", "C")]), "programs get the same output everywhere");
    let text = Paint { color: false, ascii: true }.apply("├ ✓ Übung…", Style::Good);
    assert_eq!(text, "| + Übung~");
}

#[test]
fn only_the_sixteen_colours_are_used() {
    let paint = Paint { color: true, ascii: false };
    assert_eq!(paint.apply("ok", Style::Good), "\u{1b}[32mok\u{1b}[0m");
    assert_eq!(paint.apply("ok", Style::Plain), "ok");
    assert_eq!(paint.apply("", Style::Bad), "", "no sequences around nothing");
}
