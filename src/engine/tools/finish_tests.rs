use super::*;
use crate::engine::tools::testing::door;

/// A worktree that looks as the test says.
struct Worktree(Result<Vec<String>, String>);

impl Clean for Worktree {
    fn uncommitted(&self) -> BoxFuture<'_, Result<Vec<String>, String>> {
        std::future::ready(self.0.clone()).boxed()
    }
}

/// Asks to finish, with an engine that answers `engine`.
async fn refusal(verdict: Verdict, engine: Result<(), &str>, worktree: Option<Worktree>) -> Option<String> {
    let (door, mut knocks) = door();
    let finish = Finish::new(door, worktree.map(|worktree| Arc::new(worktree) as Arc<dyn Clean>));
    let answering = async {
        let knock = knocks.recv().await.unwrap();
        assert_eq!(knock.request, Request::MayFinish { verdict });
        knock.answer.send(engine.map(|()| String::new()).map_err(str::to_owned)).unwrap();
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
        assert_eq!(refusal(verdict, Ok(()), Some(files(0))).await, None);
        assert_eq!(refusal(verdict, Ok(()), None).await, None, "the root has no worktree of its own");
    }
}

#[tokio::test]
async fn what_the_engine_says_comes_first() {
    for worktree in [None, Some(files(3))] {
        let reason = refusal(Verdict::Passed, Err("sub tasks are still in progress"), worktree).await;
        assert_eq!(reason.as_deref(), Some("sub tasks are still in progress"));
    }
}

#[tokio::test]
async fn nothing_uncommitted_is_left_behind() {
    for verdict in BOTH {
        let reason = refusal(verdict, Ok(()), Some(files(2))).await.unwrap();
        assert!(reason.contains("uncommitted changes: src/file00.rs, src/file01.rs. Commit"), "{reason}");
    }
    let reason = refusal(Verdict::Passed, Ok(()), Some(files(NAMED + 7))).await.unwrap();
    assert!(reason.contains(&format!("src/file{:02}.rs and 7 more.", NAMED - 1)), "{reason}");
}

#[tokio::test]
async fn a_broken_worktree_can_fail_and_not_pass() {
    let broken = || Some(Worktree(Err("not a git repository".to_owned())));
    assert_eq!(refusal(Verdict::Failed, Ok(()), broken()).await, None);
    let reason = refusal(Verdict::Passed, Ok(()), broken()).await.unwrap();
    assert!(reason.contains("not a git repository"), "{reason}");
}
