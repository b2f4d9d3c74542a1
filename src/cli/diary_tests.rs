use super::*;

#[test]
fn nothing_is_created_before_there_is_something_to_say() {
    let folder = tempfile::tempdir().unwrap();
    let logs = folder.path().join("logs");
    let pages = Pages::new(logs.clone());
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(pages).finish();
    tracing::subscriber::with_default(subscriber, || {
        assert!(!logs.exists());
        tracing::warn!("a plate is loose");
    });
    let files: Vec<_> = std::fs::read_dir(&logs).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(files.len(), 1);
    assert!(std::fs::read_to_string(&files[0]).unwrap().contains("a plate is loose"));
}

#[test]
fn a_diary_that_cannot_be_kept_stops_nobody() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("taken"), "").unwrap();
    let pages = Pages::new(folder.path().join("taken"));
    assert_eq!(pages.make_writer().write(b"words").unwrap(), 5);
}
