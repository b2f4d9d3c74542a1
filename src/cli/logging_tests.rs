use super::*;

#[test]
fn no_file_is_created_before_the_first_line() {
    let folder = tempfile::tempdir().unwrap();
    let logs = folder.path().join("logs");
    let files = LogFiles::new(logs.clone());
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(files).finish();
    tracing::subscriber::with_default(subscriber, || {
        assert!(!logs.exists());
        tracing::warn!("a plate is loose");
    });
    let written: Vec<_> = std::fs::read_dir(&logs).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(written.len(), 1);
    assert!(std::fs::read_to_string(&written[0]).unwrap().contains("a plate is loose"));
}

#[test]
fn a_log_that_cannot_be_written_is_ignored() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("taken"), "").unwrap();
    let files = LogFiles::new(folder.path().join("taken"));
    assert_eq!(files.make_writer().write(b"words").unwrap(), 5);
}

#[test]
fn the_files_are_private_and_masked() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let logs = folder.path().join("logs");
    let files = LogFiles::new(logs.clone());
    known_secrets::remember(["logged-key-0123456789".to_owned()]);
    let line = b"fatal: https://h/mcp?token=abcdefgh1234 with logged-key-0123456789\n";
    files.make_writer().write_all(line).unwrap();
    let file = std::fs::read_dir(&logs).unwrap().next().unwrap().unwrap().path();
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(std::fs::metadata(&logs).unwrap().permissions().mode() & 0o777, 0o700);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(!text.contains("abcdefgh1234") && !text.contains("logged-key") && text.contains("fatal:"), "{text}");
}
