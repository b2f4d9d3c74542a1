use super::*;
use crate::text::diff::between;

fn comment(lines: Option<(usize, usize)>, quote: &[&str]) -> Comment {
    Comment {
        path: "a.txt".to_owned(),
        side: DiffSide::New,
        lines,
        quote: quote.iter().map(|line| (*line).to_owned()).collect(),
        text: " why? \n".to_owned(),
        sent: None,
    }
}

#[test]
fn comment_follows_its_moved_line() {
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
fn comment_on_removed_lines_is_on_the_old_side() {
    let file = between("a.txt", "a\nb\n", "a\nB\n", 3);
    let it = Comment { side: DiffSide::Old, ..comment(Some((2, 2)), &["b"]) };
    let (hunk, line) = it.place(&file).unwrap();
    assert_eq!((file.hunks[hunk].lines[line].old, file.hunks[hunk].lines[line].new), (Some(2), None));
    assert_eq!(it.about(), "line 2 (old)");
}

#[test]
fn agent_gets_file_lines_code_and_text() {
    let told = comment(Some((2, 3)), &["B", "C"]).to_review_comment();
    assert_eq!(
        (told.file.as_str(), told.lines, told.quote.as_str(), told.text.as_str()),
        ("a.txt", Some((2, 3)), "B\nC", "why?")
    );
    let whole = comment(None, &[]).to_review_comment();
    assert_eq!((whole.lines, whole.quote.as_str()), (None, ""));
    let long: Vec<String> = (0..100).map(|n| n.to_string()).collect();
    let long = comment(Some((1, 100)), &long.iter().map(String::as_str).collect::<Vec<_>>()).to_review_comment();
    assert!(long.quote.ends_with("[60 more lines]"), "{}", long.quote);
}
