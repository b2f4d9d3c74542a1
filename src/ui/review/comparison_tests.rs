use super::*;
use crate::model::diff::{CutReason, FileVersion};
use crate::text::diff::between;

fn lines(count: usize) -> String {
    (1..=count).map(|n| format!("line {n}\n")).collect::<Vec<_>>().concat()
}

fn compare(old: &str, new: &str, context: usize) -> ChangedFile {
    let mut comparison = Comparison::new(vec![between("a.txt", old, new, context)], 0);
    comparison.files.remove(0)
}

fn all(file: &ChangedFile) -> Vec<u64> {
    file.marks.iter().flatten().copied().collect()
}

#[test]
fn mark_survives_moves_and_more_context() {
    let old = lines(60);
    let new = old.replace("line 20\n", "twenty\n").replace("line 30\n", "thirty\n");
    let two = compare(&old, &new, 3);
    assert_eq!(two.marks.len(), 2);
    let one = compare(&old, &new, 30);
    assert_eq!(one.marks.len(), 1, "with enough around them, both changes are in one hunk");
    assert_eq!(all(&two), all(&one));
    let moved = compare(&old, &format!("first\n{new}"), 3);
    assert_eq!(all(&moved)[1..], all(&two)[..]);
}

#[test]
fn different_changes_have_different_marks() {
    let old = lines(60);
    let new = old.replace("line 20\n", "twenty\n");
    let mark = all(&compare(&old, &new, 3))[0];
    assert_ne!(all(&compare(&old, &new.replace("twenty", "20"), 3))[0], mark);
    let elsewhere = Comparison::new(vec![between("b.txt", &old, &new, 3)], 0);
    assert_ne!(elsewhere.files[0].marks[0][0], mark);
    let same = "x\n".repeat(40);
    let twice = compare(&same, &format!("new\n{same}new\n"), 3);
    let marks = all(&twice);
    assert_eq!(marks.len(), 2);
    assert_ne!(marks[0], marks[1], "the same change twice is two things to look at");
}

#[test]
fn hunk_is_seen_when_all_marks_are() {
    let old = lines(30);
    let new = old.replace("line 10\n", "ten\n").replace("line 13\n", "thirteen\n");
    let file = compare(&old, &new, 3);
    assert_eq!(file.marks.iter().map(Vec::len).collect::<Vec<_>>(), [2]);
    let mut seen = BTreeSet::from([file.marks[0][0]]);
    assert!(!file.is_seen(0, &seen));
    seen.insert(file.marks[0][1]);
    assert!(file.is_seen(0, &seen));
    assert_eq!(file.seen(&seen), 1);
}

#[test]
fn file_without_lines_can_be_marked_seen() {
    let binary = |note: &str| FileDiff {
        new: Some(FileVersion::named("a.png")),
        notes: vec![note.to_owned()],
        ..FileDiff::default()
    };
    let comparison = Comparison::new(vec![binary("binary, 3 B to 4 B"), binary("binary, 3 B to 5 B")], 0);
    let marks: Vec<_> = comparison.files.iter().map(all).collect();
    assert_eq!((marks[0].len(), marks[1].len()), (1, 1));
    assert_ne!(marks[0], marks[1]);
}

#[test]
fn content_id_distinguishes_invisible_changes() {
    let binary = |id: &str| FileDiff {
        new: Some(FileVersion { id: id.to_owned(), bytes: 4, ..FileVersion::named("a.png") }),
        cut: Some(CutReason::Binary),
        ..FileDiff::default()
    };
    let [one, other] = ["f00", "ba4"].map(|id| all(&Comparison::new(vec![binary(id)], 0).files[0]));
    assert_ne!(one, other, "of the same size, and not the same");

    let old = lines(30);
    let plain = between("run.sh", &old, &old.replace("line 10\n", "ten\n"), 3);
    let program = FileDiff { notes: vec!["is now an executable".to_owned()], ..plain.clone() };
    let [plain, program] = [plain, program].map(|file| Comparison::new(vec![file], 0).files.remove(0));
    let seen: BTreeSet<u64> = all(&plain).into_iter().collect();
    assert!(plain.is_seen(0, &seen) && !program.is_seen(0, &seen), "its lines were seen, what it became was not");
    assert_eq!(plain.id(0), program.id(0), "it is the same hunk, and stays folded");
}
