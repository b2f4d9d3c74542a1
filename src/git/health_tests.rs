use super::*;

#[test]
fn versions_are_read_as_vendors_spell_them() {
    for (said, version) in [
        ("git version 2.39.5 (Apple Git-154)", Some(Version(2, 39, 5))),
        ("git version 2.47.0.windows.1", Some(Version(2, 47, 0))),
        ("git version 2.50", Some(Version(2, 50, 0))),
        ("git version 2.41.0-rc1", Some(Version(2, 41, 0))),
        ("git version unknown", None),
        ("", None),
    ] {
        assert_eq!(parse(said), version, "{said}");
    }
    assert!(NEEDED < WANTED && Version(2, 9, 0) < NEEDED);
}

#[test]
fn only_a_lock_that_nobody_touched_for_minutes_is_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let lock = folder.path().join("index.lock");
    assert!(!is_forgotten(&lock));
    let file = std::fs::File::create(&lock).unwrap();
    assert!(!is_forgotten(&lock));
    file.set_modified(SystemTime::now() - FORGOTTEN * 2).unwrap();
    assert!(is_forgotten(&lock));
}
