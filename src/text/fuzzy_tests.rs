use super::*;
use crate::base::fuzzy::{Fuzzy, Names};

#[test]
fn matched_letters_are_marked_in_any_script() {
    let name = "日本 session e\u{301}tat";
    let hits = Fuzzy::new(Names::Words).rank("sess", [name], 1);
    let row = row(name, &hits[0].letters, Role::Text);
    assert_eq!(row.shown(), name);
    assert!(row.spans.iter().any(|span| span.text == "sess" && span.ink.over == Some(Role::Match)));
}
