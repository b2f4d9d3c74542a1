use std::fs;

use super::*;

#[test]
fn only_lines_that_begin_or_end_a_conflict_are_markers() {
    for marked in ["a\n<<<<<<< ours\nb\n", ">>>>>>> theirs", "<<<<<<<\r\n", ">>>>>>>\n"] {
        assert!(has_markers(marked.as_bytes(), MARKER), "{marked:?}");
    }
    for plain in
        ["", "=======\n", "Title\n=======\n", "a <<<<<<< b\n", "<<<<<<<<< nine\n", "<<<<<<<x\n", "<<<<<< six\n"]
    {
        assert!(!has_markers(plain.as_bytes(), MARKER), "{plain:?}");
    }
    assert!(has_markers(b"<<<<<<<< eight\n", 8));
}

#[test]
fn draft_origins_round_trip_for_any_file_name() {
    let folder = tempfile::tempdir().unwrap();
    let names: [&[u8]; 4] = [b"a.txt", b"with space", b"line\nbreak", b"not utf8 \xff"];
    let name = |name: &&[u8]| (PathBuf::from(OsStr::from_bytes(name)), DraftOrigin::of("0123456789ab", name));
    let mut known: BTreeMap<PathBuf, DraftOrigin> = names.iter().map(name).collect();
    let unhashed = DraftOrigin { key: "ba9876543210".to_owned(), drafted: None };
    known.insert("written by an older version".into(), unhashed.clone());
    write_origins(&Dir::open(folder.path()).unwrap(), &known).unwrap();
    assert_eq!(read_origins(folder.path()), known);
    assert!(known[Path::new("a.txt")].is_unedited(b"a.txt") && !known[Path::new("a.txt")].is_unedited(b"b.txt"));
    assert!(!unhashed.is_unedited(b""), "without a hash it may be the user's work");
    assert_eq!(read_origins(&folder.path().join("nowhere")), BTreeMap::new());
}

#[test]
fn only_task_and_target_are_decisions() {
    let folder = tempfile::tempdir().unwrap();
    let page = "# task is x\n\n? 1 a\ntask 2 b\nTARGET 3 c\nboth 4 d\ntask\n";
    fs::write(folder.path().join(LIST), page).unwrap();
    let decisions = read_decisions(folder.path());
    assert_eq!(
        decisions.into_iter().collect::<Vec<_>>(),
        [("2".to_owned(), KeptSide::Task), ("3".to_owned(), KeptSide::Target)]
    );
}
