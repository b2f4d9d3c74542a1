use super::*;

#[tokio::test]
async fn a_process_that_serves_the_clipboard_is_left_running() {
    let folder = tempfile::tempdir().unwrap();
    let (copied, served) = (folder.path().join("copied"), folder.path().join("served"));
    // As clipboard programs do: read the text, leave a process behind, exit.
    rustix::fs::mknodat(rustix::fs::CWD, &served, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let script = format!("cat > '{}'; (echo here > '{}') & exit 0", copied.display(), served.display());
    let status = run_with_input("sh", &["-c", &script], "a text\n").await.unwrap();
    assert!(status.success());
    assert_eq!(std::fs::read_to_string(&copied).unwrap(), "a text\n");
    let served = tokio::task::spawn_blocking(move || std::fs::read_to_string(served)).await.unwrap().unwrap();
    assert_eq!(served, "here\n", "the serving process is still alive");
}

#[tokio::test]
async fn a_program_that_fails_is_reported() {
    assert!(run_with_input("mxd-no-such-program", &[], "x").await.is_err());
    assert!(!run_with_input("false", &[], "").await.unwrap().success());
}
