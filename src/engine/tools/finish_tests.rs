use super::*;
use crate::base::Fault;
use crate::engine::agent_port::AgentCall;
use crate::engine::query::{TaskRef, TreeAnswer, TreeQuery};
use crate::engine::tools::testing::{id, port};

/// A worktree with a fixed state.
struct Worktree(Result<Vec<String>, String>);

impl WorktreeInspector for Worktree {
    fn uncommitted(&self) -> BoxFuture<'_, Result<Vec<String>, String>> {
        std::future::ready(self.0.clone()).boxed()
    }
}

/// Returns the refusal if the engine answers with `engine`.
async fn refusal(
    verdict: Verdict,
    engine: Result<Option<Unfinished>, Fault>,
    worktree: Option<Worktree>,
) -> Option<String> {
    let (port, mut requests) = port();
    let task = port.task();
    let finish = EngineDoneCheck::new(
        port,
        worktree.map(|worktree| Arc::new(worktree) as Arc<dyn WorktreeInspector>),
        Arc::new(OpenGate),
    );
    let answering = async {
        let request = requests.recv().await.unwrap();
        let AgentCall::Query { query, answer } = request.call else { panic!("{request:?}") };
        assert_eq!(query, TreeQuery::MayFinish { task, verdict });
        answer.send(engine.map(TreeAnswer::MayFinish)).unwrap();
    };
    tokio::join!(finish.refuse(verdict), answering).0.map(|refusal| refusal.reason)
}

const BOTH: [Verdict; 2] = [Verdict::Passed, Verdict::Failed];

fn files(count: usize) -> Worktree {
    Worktree(Ok((0..count).map(|n| format!("src/file{n:02}.rs")).collect()))
}

#[tokio::test]
async fn a_clean_task_may_finish() {
    for verdict in BOTH {
        assert_eq!(refusal(verdict, Ok(None), Some(files(0))).await, None);
        assert_eq!(refusal(verdict, Ok(None), None).await, None, "the root has no worktree of its own");
    }
}

#[tokio::test]
async fn a_refusal_of_the_engine_comes_before_uncommitted_changes() {
    let below = TaskRef { id: id("01JZ"), title: "Below".to_owned(), parent: None };
    let answers = [
        (Ok(Some(Unfinished::SubTasks(vec![below]))), format!("still in progress: \"Below\" ({}).", id("01JZ"))),
        (Ok(Some(Unfinished::Questions(1))), "1 of your questions to the user is not".to_owned()),
        (Ok(Some(Unfinished::Questions(2))), "2 of your questions to the user are not".to_owned()),
        (Err(Fault::environment("shutting down")), "shutting down".to_owned()),
    ];
    for (engine, wanted) in answers {
        for worktree in [None, Some(files(3))] {
            let reason = refusal(Verdict::Passed, engine.clone(), worktree).await.unwrap();
            assert!(reason.contains(&wanted), "{reason}");
        }
    }
}

#[tokio::test]
async fn uncommitted_changes_block_done() {
    for verdict in BOTH {
        let reason = refusal(verdict, Ok(None), Some(files(2))).await.unwrap();
        assert!(reason.contains("uncommitted changes: src/file00.rs, src/file01.rs. Commit"), "{reason}");
    }
    let reason = refusal(Verdict::Passed, Ok(None), Some(files(MAX_LISTED + 7))).await.unwrap();
    assert!(reason.contains(&format!("src/file{:02}.rs and 7 more.", MAX_LISTED - 1)), "{reason}");
}

#[tokio::test]
async fn a_broken_worktree_can_fail_and_not_pass() {
    let broken = || Some(Worktree(Err("not a git repository".to_owned())));
    assert_eq!(refusal(Verdict::Failed, Ok(None), broken()).await, None);
    let reason = refusal(Verdict::Passed, Ok(None), broken()).await.unwrap();
    assert!(reason.contains("not a git repository"), "{reason}");
}
