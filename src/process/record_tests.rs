use super::*;

fn files(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn inode(path: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    fs::metadata(path).unwrap().ino()
}

#[test]
fn the_file_of_a_note_that_is_gone_becomes_the_next_note() {
    let folder = tempfile::tempdir().unwrap();
    let first = Note::announce(folder.path(), "first", &"a long command ".repeat(20)).unwrap();
    let number = inode(&first.path);
    first.remove();
    assert_eq!(files(folder.path()), ["first.spare"]);
    let second = Note::announce(folder.path(), "second", "true").unwrap();
    assert_eq!(files(folder.path()), ["second.json"]);
    assert_eq!(inode(&second.path), number, "no file was made");
    let read: Record = serde_json::from_slice(&fs::read(&second.path).unwrap()).unwrap();
    assert_eq!(read, second.record, "nothing of the longer note is left");
}

#[test]
fn a_spare_file_that_somebody_removed_is_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    Note::announce(folder.path(), "first", "true").unwrap().remove();
    assert_eq!(crate::process::sweep(folder.path()), []);
    assert_eq!(files(folder.path()), Vec::<String>::new());
    let second = Note::announce(folder.path(), "second", "true").unwrap();
    assert_eq!(files(folder.path()), ["second.json"]);
    assert!(fs::read_to_string(&second.path).unwrap().contains("second"));
}

#[test]
fn only_a_few_files_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let notes: Vec<_> =
        (0..3 * MOST_SPARE).map(|number| Note::announce(folder.path(), &number.to_string(), "true").unwrap()).collect();
    notes.into_iter().for_each(Note::remove);
    assert!(files(folder.path()).len() <= MOST_SPARE);
}

#[test]
fn a_file_that_grew_long_is_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    Note::announce(folder.path(), "long", &"x".repeat(LONGEST_SPARE)).unwrap().remove();
    assert_eq!(files(folder.path()), Vec::<String>::new());
}
