use super::*;
use crate::base::{SystemClock, TaskId};

fn preparer(worktree: &Path) -> WorktreePreparer {
    let clock = Arc::new(SystemClock);
    let ids = IdSource::seeded(clock.clone(), 3);
    let card = Card {
        task: TaskId::fresh(&ids),
        title: "Task".to_owned(),
        description: String::new(),
        above: None,
        branch: None,
        folder: worktree.to_owned(),
        budget: None,
    };
    let config = SessionConfig { model: "first".to_owned(), ..SessionConfig::default() };
    WorktreePreparer { card, worktree: worktree.to_owned(), config, notes: Vec::new(), ids, clock }
}

#[tokio::test]
async fn a_segment_reads_memory_and_the_first_guide_as_they_are_now() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join(".mxd")).unwrap();
    std::fs::write(folder.path().join(".mxd/memory.md"), "old fact").unwrap();
    std::fs::write(folder.path().join("CLAUDE.md"), "second guide").unwrap();
    let preparer = preparer(folder.path());
    let body = preparer.prepare(true, true, None).await.work_context.unwrap().body;
    assert!(body.contains("old fact") && body.contains("second guide"));

    std::fs::write(folder.path().join(".mxd/memory.md"), "new fact").unwrap();
    std::fs::write(folder.path().join("AGENTS.md"), "first guide").unwrap();
    let body = preparer.prepare(true, true, None).await.work_context.unwrap().body;
    assert!(body.contains("new fact") && !body.contains("old fact"));
    assert!(body.contains("first guide") && !body.contains("second guide"));
}

#[tokio::test]
async fn only_what_is_asked_for_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let preparer = preparer(folder.path());
    let made = preparer.prepare(true, false, Some("chosen".to_owned())).await;
    assert_eq!(made.config.unwrap().model, "chosen");
    assert!(made.work_context.is_none());
    let made = preparer.prepare(false, true, None).await;
    assert!(made.config.is_none() && made.work_context.is_some());
}

#[tokio::test]
async fn what_is_no_text_file_is_no_guide() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("AGENTS.md")).unwrap();
    std::fs::write(folder.path().join("CLAUDE.md"), b"caf\xe9").unwrap();
    let body = preparer(folder.path()).prepare(false, true, None).await.work_context.unwrap().body;
    assert!(body.contains("# CLAUDE.md") && body.contains("caf\u{fffd}"));
}
