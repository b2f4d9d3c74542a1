use super::*;

fn line(kind: LineKind, text: &str, hidden: usize) -> Line {
    Line { kind, old: None, new: Some(1), text: text.to_owned(), hidden, unended: false }
}

#[test]
fn a_line_is_shown_without_its_carriage_return_and_with_a_note_about_the_rest() {
    assert_eq!(line(LineKind::Added, "a\r", 0).shown(), "a");
    assert_eq!(line(LineKind::Added, "a", 3).shown(), "a … 3 B more");
}

#[test]
fn changed_line_endings_are_a_remark() {
    let lines = vec![line(LineKind::Removed, "a", 0), line(LineKind::Added, "a\r", 0)];
    let file = FileDiff { hunks: vec![Hunk { lines, ..Hunk::default() }], ..FileDiff::default() };
    assert_eq!(file.remarks(), ["line endings changed from LF to CRLF"]);
}
