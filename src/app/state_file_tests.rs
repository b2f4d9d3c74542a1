use super::*;

#[tokio::test]
async fn the_last_state_is_on_disk_when_it_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drafts.json");
    let keeper = StateFile::new(path.clone());
    for number in 0..500 {
        keeper.save(&number);
    }
    keeper.close().await;
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "499");
}

#[tokio::test]
async fn a_state_that_never_changed_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drafts.json");
    StateFile::new(path.clone()).close().await;
    assert!(!path.exists());
}
