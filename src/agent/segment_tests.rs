use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::base::{SystemClock, TaskId};

/// A source that has one more tool each time it is opened.
#[derive(Default)]
struct Growing(AtomicUsize);

impl ToolSource for Growing {
    fn open(&self) -> BoxFuture<'_, SegmentTools> {
        Box::pin(async move {
            let opened = self.0.fetch_add(1, Ordering::Relaxed);
            let mut registry = Registry::builtin();
            let names = registry.specs();
            registry.retain(|name| names.iter().take(opened + 1).any(|spec| spec.name == name));
            SegmentTools { registry: Arc::new(registry), notes: vec![format!("opened {opened}")] }
        })
    }
}

fn preparer(worktree: &Path) -> WorktreePreparer {
    let clock = Arc::new(SystemClock);
    let ids = IdSource::seeded(clock.clone(), 3);
    let brief = TaskBrief {
        task: TaskId::fresh(&ids),
        title: "Task".to_owned(),
        description: String::new(),
        parent: None,
        branch: None,
        folder: worktree.to_owned(),
        budget: None,
    };
    let config = SessionConfig { model: "first".to_owned(), ..SessionConfig::default() };
    WorktreePreparer {
        brief,
        worktree: worktree.to_owned(),
        config,
        tool_source: Arc::new(Growing::default()),
        notes: Vec::new(),
        cwd: Arc::new(Cwd::new(worktree.to_owned())),
        tools: Mutex::default(),
        ids,
        clock,
    }
}

#[tokio::test]
async fn the_work_context_names_the_cwd_of_the_shell() {
    let folder = tempfile::tempdir().unwrap();
    let preparer = preparer(folder.path());
    assert!(!preparer.prepare(true, true, None).await.work_context.unwrap().body.contains("[cwd"));
    preparer.cwd.set(folder.path().join("deep/er"));
    let body = preparer.prepare(true, true, None).await.work_context.unwrap().body;
    assert!(body.ends_with("\n\n[cwd: deep/er]"), "{body}");
}

#[tokio::test]
async fn a_segment_reads_the_current_memory_and_the_guides_that_differ() {
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
    assert!(body.contains("first guide") && body.contains("second guide"));
    std::fs::write(folder.path().join("CLAUDE.md"), "first guide\n").unwrap();
    let body = preparer.prepare(true, true, None).await.work_context.unwrap().body;
    assert_eq!(body.matches("first guide").count(), 1, "a guide that repeats another is left out");
}

#[tokio::test]
async fn only_requested_parts_are_prepared() {
    let folder = tempfile::tempdir().unwrap();
    let preparer = preparer(folder.path());
    let made = preparer.prepare(true, false, Some("chosen".to_owned())).await;
    assert_eq!(made.config.unwrap().model, "chosen");
    assert!(made.work_context.is_none());
    let made = preparer.prepare(false, true, None).await;
    assert!(made.config.is_none() && made.work_context.is_some());
}

#[tokio::test]
async fn only_text_files_are_guides() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("AGENTS.md")).unwrap();
    std::fs::write(folder.path().join("CLAUDE.md"), b"caf\xe9").unwrap();
    let body = preparer(folder.path()).prepare(false, true, None).await.work_context.unwrap().body;
    assert!(body.contains("# CLAUDE.md") && body.contains("caf\u{fffd}"));
}

#[tokio::test]
async fn each_configuration_gets_the_current_tools_and_a_context_alone_changes_none() {
    let folder = tempfile::tempdir().unwrap();
    let preparer = preparer(folder.path());
    preparer.prepare(false, true, None).await;
    assert!(preparer.tools().is_none(), "the run keeps the tools it has");
    for segment in 0..2 {
        let made = preparer.prepare(true, true, None).await;
        let tools = preparer.tools().unwrap();
        assert_eq!((made.config.unwrap().tools, tools.specs().len()), (tools.specs(), segment + 1));
        assert!(made.work_context.unwrap().body.contains(&format!("opened {segment}")));
    }
    let context = preparer.prepare(false, true, None).await.work_context.unwrap();
    assert_eq!(preparer.tools().unwrap().specs().len(), 2);
    assert!(context.body.contains("opened 1"));
}
