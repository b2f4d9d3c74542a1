use std::fs;

use super::*;

#[test]
fn only_lines_that_begin_or_end_a_conflict_are_marks() {
    for marked in ["a\n<<<<<<< ours\nb\n", ">>>>>>> theirs", "<<<<<<<\r\n", ">>>>>>>\n"] {
        assert!(has_marks(marked.as_bytes(), MARK), "{marked:?}");
    }
    for plain in
        ["", "=======\n", "Title\n=======\n", "a <<<<<<< b\n", "<<<<<<<<< nine\n", "<<<<<<<x\n", "<<<<<< six\n"]
    {
        assert!(!has_marks(plain.as_bytes(), MARK), "{plain:?}");
    }
    assert!(has_marks(b"<<<<<<<< eight\n", 8));
}

#[test]
fn what_drafts_were_made_of_is_read_as_it_was_written_whatever_the_name() {
    let folder = tempfile::tempdir().unwrap();
    let names: [&[u8]; 4] = [b"a.txt", b"with space", b"line\nbreak", b"not utf8 \xff"];
    let name = |name: &&[u8]| (PathBuf::from(OsStr::from_bytes(name)), Made::of("0123456789ab", name));
    let mut known: BTreeMap<PathBuf, Made> = names.iter().map(name).collect();
    let unnoted = Made { key: "ba9876543210".to_owned(), drafted: None };
    known.insert("noted by an older version".into(), unnoted.clone());
    write_made_of(&Dir::open(folder.path()).unwrap(), &known).unwrap();
    assert_eq!(made_of(folder.path()), known);
    assert!(known[Path::new("a.txt")].is_as_drafted(b"a.txt") && !known[Path::new("a.txt")].is_as_drafted(b"b.txt"));
    assert!(!unnoted.is_as_drafted(b""), "what nobody noted may be somebody's work");
    assert_eq!(made_of(&folder.path().join("nowhere")), BTreeMap::new());
}

#[test]
fn a_word_decides_and_everything_else_leaves_it_open() {
    let folder = tempfile::tempdir().unwrap();
    let page = "# task is x\n\n? 1 a\ntask 2 b\nTARGET 3 c\nboth 4 d\ntask\n";
    fs::write(folder.path().join(LIST), page).unwrap();
    let decided = decided(folder.path());
    assert_eq!(
        decided.into_iter().collect::<Vec<_>>(),
        [("2".to_owned(), Stays::Task), ("3".to_owned(), Stays::Target)]
    );
}
