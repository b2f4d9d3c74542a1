use super::*;

#[test]
fn a_record_names_the_child_and_is_removed_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let read = || -> Record { serde_json::from_slice(&fs::read(folder.path().join("one.json")).unwrap()).unwrap() };
    let mut record_file = RecordFile::create(folder.path(), "one", "true").unwrap();
    assert_eq!(read(), record_file.record);
    assert_eq!(read().child, None);
    let child = ProcessIdentity { pid: 7, start: 9 };
    record_file.set_child(Some(child)).unwrap();
    assert_eq!(read().child, Some(child));
    record_file.remove();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
