use super::*;
use crate::text::diff::between;

fn comment(lines: Option<(usize, usize)>, quote: &[&str]) -> Comment {
    Comment {
        path: "a.txt".to_owned(),
        side: Side::New,
        lines,
        quote: quote.iter().map(|line| (*line).to_owned()).collect(),
        text: " why? \n".to_owned(),
        sent: None,
    }
}

#[test]
fn a_comment_finds_its_line_again_after_it_has_moved() {
    let old = "a\nb\nc\n";
    let file = between("a.txt", old, "a\nB\nc\n", 3);
    let it = comment(Some((2, 2)), &["B"]);
    let (hunk, line) = it.place(&file).unwrap();
    assert_eq!(file.hunks[hunk].lines[line].text, "B");
    let file = between("a.txt", old, "new\nnew\na\nB\nc\nB\n", 3);
    let (hunk, line) = it.place(&file).unwrap();
    assert_eq!(file.hunks[hunk].lines[line].new, Some(4), "the nearest of two that say the same");
    assert_eq!(it.place(&between("a.txt", old, "a\nx\nc\n", 3)), None);
}

#[test]
fn a_comment_on_what_was_there_before_is_on_the_old_side() {
    let file = between("a.txt", "a\nb\n", "a\nB\n", 3);
    let it = Comment { side: Side::Old, ..comment(Some((2, 2)), &["b"]) };
    let (hunk, line) = it.place(&file).unwrap();
    assert_eq!((file.hunks[hunk].lines[line].old, file.hunks[hunk].lines[line].new), (Some(2), None));
    assert_eq!(it.about(), "line 2, as it was");
}

#[test]
fn the_agent_gets_file_lines_code_and_words() {
    let told = comment(Some((2, 3)), &["B", "C"]).told();
    assert_eq!(
        (told.file.as_str(), told.lines, told.quote.as_str(), told.text.as_str()),
        ("a.txt", Some((2, 3)), "B\nC", "why?")
    );
    let whole = comment(None, &[]).told();
    assert_eq!((whole.lines, whole.quote.as_str()), (None, ""));
    let long: Vec<String> = (0..100).map(|n| n.to_string()).collect();
    let long = comment(Some((1, 100)), &long.iter().map(String::as_str).collect::<Vec<_>>()).told();
    assert!(long.quote.ends_with("[60 more lines]"), "{}", long.quote);
}
