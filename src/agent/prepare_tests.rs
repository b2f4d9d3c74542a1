use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::base::{SystemClock, TaskId};

/// A box that has one tool more each time it is opened.
#[derive(Default)]
struct Growing(AtomicUsize);

impl Toolbox for Growing {
    fn open(&self) -> BoxFuture<'_, Tools> {
        Box::pin(async move {
            let opened = self.0.fetch_add(1, Ordering::Relaxed);
            let mut registry = Registry::builtin();
            let names = registry.specs();
            registry.retain(|name| names.iter().take(opened + 1).any(|spec| spec.name == name));
            Tools { registry: Arc::new(registry), notes: vec![format!("opened {opened}")] }
        })
    }
}

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
    WorktreePreparer {
        card,
        worktree: worktree.to_owned(),
        config,
        toolbox: Arc::new(Growing::default()),
        notes: Vec::new(),
        cwd: Arc::new(Cwd::new(worktree.to_owned())),
        tools: Mutex::default(),
        ids,
        clock,
    }
}

#[tokio::test]
async fn a_segment_says_where_the_shell_stands_if_not_at_the_top() {
    let folder = tempfile::tempdir().unwrap();
    let preparer = preparer(folder.path());
    assert!(!preparer.prepare(true, true, None).await.work_context.unwrap().body.contains("[cwd"));
    preparer.cwd.set(folder.path().join("deep/er"));
    let body = preparer.prepare(true, true, None).await.work_context.unwrap().body;
    assert!(body.ends_with("\n\n[cwd: deep/er]"), "{body}");
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

#[tokio::test]
async fn every_segment_has_the_tools_of_its_time_and_a_context_alone_changes_none() {
    let folder = tempfile::tempdir().unwrap();
    let preparer = preparer(folder.path());
    preparer.prepare(false, true, None).await;
    assert!(preparer.tools().is_none(), "the run goes on with those it has");
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
