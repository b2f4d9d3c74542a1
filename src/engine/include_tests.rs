use super::*;

#[test]
fn files_are_included_up_to_a_limit_and_never_from_outside() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().join("repo");
    std::fs::create_dir(&top).unwrap();
    std::fs::write(top.join("style.md"), "Be brief.").unwrap();
    std::fs::write(top.join("long.md"), "x".repeat(FILE_BYTES + 1)).unwrap();
    std::fs::write(folder.path().join("secret.md"), "secret").unwrap();
    std::os::unix::fs::symlink("../secret.md", top.join("link.md")).unwrap();
    let named = |name: &str| ListedName { name: name.to_owned(), line: 1 };
    let names = ["style.md", "long.md", "link.md", "../secret.md", "none.md"].map(named);
    let read = read(Some(&top), &names);
    assert!(read[0].contains("style.md") && read[0].ends_with("Be brief."), "{}", read[0]);
    assert!(read[1].ends_with("[cut here: read the file if you need the rest]"), "{}", &read[1][..80]);
    for refused in &read[2..] {
        assert!(refused.starts_with('[') && !refused.contains("secret\n"), "{refused}");
    }
    assert!(read[4].contains("does not exist"), "{}", read[4]);
}
