use super::*;

#[test]
fn a_note_says_which_process_the_child_became_and_is_gone_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let read = || -> Record { serde_json::from_slice(&fs::read(folder.path().join("one.json")).unwrap()).unwrap() };
    let mut note = Note::announce(folder.path(), "one", "true").unwrap();
    assert_eq!(read(), note.record);
    assert_eq!(read().child, None);
    let child = Identity { pid: 7, start: 9 };
    note.started(Some(child)).unwrap();
    assert_eq!(read().child, Some(child));
    note.remove();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
