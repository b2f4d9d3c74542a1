use super::*;

#[test]
fn paths_into_a_git_folder_are_not_safe() {
    for path in [
        ".git/config",
        "a/.GIT/hooks/x",
        "a/git~1/x",
        ".git./x",
        ".gi\u{200c}t/config",
        "../x",
        "a//b",
        "/x",
        "",
        "./x",
    ] {
        assert!(!is_safe(path.as_bytes()), "{path:?}");
    }
    for path in ["a", ".gitignore", "a/.github/x", "x.git/y", "...", "\u{200c}name", "caf\u{e9}"] {
        assert!(is_safe(path.as_bytes()), "{path:?}");
    }
}

#[test]
fn a_file_is_not_replaced_under_the_lock_of_another() {
    let folder = tempfile::tempdir().unwrap();
    let dir = Dir::open(folder.path()).unwrap();
    assert!(replace(&dir, "HEAD", b"one\n").unwrap());
    fs::write(folder.path().join("HEAD.lock"), "").unwrap();
    assert!(!replace(&dir, "HEAD", b"two\n").unwrap());
    assert_eq!(fs::read(folder.path().join("HEAD")).unwrap(), b"one\n");
}

#[test]
fn a_link_in_a_shadow_is_not_followed() {
    let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let target = outside.path().join("target");
    fs::write(&target, "secret").unwrap();
    std::os::unix::fs::symlink(&target, folder.path().join("HEAD")).unwrap();
    std::os::unix::fs::symlink(&target, folder.path().join("index")).unwrap();
    let dir = Dir::open(folder.path()).unwrap();
    assert_eq!(Seen::read(&dir), Seen::default());
    assert!(replace(&dir, "HEAD", b"ref: refs/heads/x\n").unwrap());
    assert_eq!(fs::read_to_string(&target).unwrap(), "secret");
}
