use super::*;

#[tokio::test]
async fn what_serves_the_clipboard_outlives_the_program_that_took_the_text() {
    let folder = tempfile::tempdir().unwrap();
    let (taken, served) = (folder.path().join("taken"), folder.path().join("served"));
    // As clipboard programs do: the text is taken, somebody is left behind, the program ends.
    rustix::fs::mknodat(rustix::fs::CWD, &served, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let script = format!("cat > '{}'; (echo here > '{}') & exit 0", taken.display(), served.display());
    let status = hand_text("sh", &["-c", &script], "a text\n").await.unwrap();
    assert!(status.success());
    assert_eq!(std::fs::read_to_string(&taken).unwrap(), "a text\n");
    let heard = tokio::task::spawn_blocking(move || std::fs::read_to_string(served)).await.unwrap().unwrap();
    assert_eq!(heard, "here\n", "the one who waits to serve was not ended");
}

#[tokio::test]
async fn a_program_that_takes_nothing_says_so() {
    assert!(hand_text("mxd-no-such-program", &[], "x").await.is_err());
    assert!(!hand_text("false", &[], "").await.unwrap().success());
}
