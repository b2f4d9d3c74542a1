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

#[test]
fn the_files_are_private_and_masked() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let logs = folder.path().join("logs");
    let pages = Pages::new(logs.clone());
    known_secrets::remember(["diary-key-0123456789".to_owned()]);
    let said = b"fatal: https://h/mcp?token=abcdefgh1234 with diary-key-0123456789\n";
    pages.make_writer().write_all(said).unwrap();
    let file = std::fs::read_dir(&logs).unwrap().next().unwrap().unwrap().path();
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(std::fs::metadata(&logs).unwrap().permissions().mode() & 0o777, 0o700);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(!text.contains("abcdefgh1234") && !text.contains("diary-key") && text.contains("fatal:"), "{text}");
}
