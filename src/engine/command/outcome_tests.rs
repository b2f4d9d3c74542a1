use std::sync::Arc;

use super::*;
use crate::base::{IdSource, SystemClock};
use crate::engine::command::{Actor, Command, CommandId};
use crate::engine::json_port::through_json;
use crate::engine::query::{Query, QueryAnswer, TaskHits, TreeAnswer, TreeQuery, Unfinished};
use crate::model::ask::AskMode;
use crate::model::event::Verdict;

#[test]
fn commands_outcomes_and_answers_survive_json() {
    let ids = IdSource::new(Arc::new(SystemClock));
    let (task, message) = (TaskId::fresh(&ids), MessageId::fresh(&ids));
    let text = || "main".to_owned();
    let outcomes = [
        Outcome::Done,
        Outcome::Created { task, title: text(), start: StartOutcome::Delayed { reason: text() } },
        Outcome::Sent { message, wakes: true },
        Outcome::Asked(AskId::fresh(&ids)),
        Outcome::AgentAsked(message),
        Outcome::Stopped { agents: 2 },
        Outcome::Closed { task, recurs: true, set_aside: ArchivedWork { archived: true, ..ArchivedWork::default() } },
        Outcome::Reset { recurs: false },
        Outcome::Restored(RestoredWorktree::Archived(text())),
        Outcome::Revived(RevivedTask {
            title: text(),
            parent: text(),
            sub_tasks: 1,
            worktrees: vec![(text(), Ok(RestoredWorktree::Uncommitted(2))), (text(), Err(text()))],
        }),
        Outcome::Copied { events: 3 },
        Outcome::Merged { task, how: MergeStrategy::Squash, target: text(), checkout: Some("/here".into()) },
        Outcome::MergeQueued { task, target: text(), host: task, host_title: text() },
        Outcome::MergeCancelled { target: text() },
        Outcome::NothingToMerge { target: text() },
        Outcome::MergeUndone { target: text(), checkout: None },
        Outcome::UpToDate { target: text() },
        Outcome::Verified { command: text(), duration_ms: 1 },
        Outcome::Rewound { task, extent: RewindScope::Both },
        Outcome::Redone,
    ];
    for outcome in outcomes {
        assert_eq!(through_json(&outcome), outcome);
    }
    for actor in [Actor::User, Actor::Agent(task), Actor::Engine] {
        assert_eq!(through_json(&(CommandId(7), actor)), (CommandId(7), actor));
    }
    let (choices, default) = (vec![text()], Some(text()));
    let commands = [
        Command::Message { to: task, body: text(), request_reply: true },
        Command::Ask { question: text(), detail: text(), choices, default, mode: AskMode::Continues },
        Command::ForkContext { source: task, target: task },
        Command::CancelMerge { task },
    ];
    for command in commands {
        assert_eq!(through_json(&command), command);
    }
    let query = Query::Tree(TreeQuery::MayFinish { task, verdict: Verdict::Failed });
    assert_eq!(through_json(&query), query);
    for answer in [TreeAnswer::MayFinish(Some(Unfinished::Questions(1))), TreeAnswer::Search(TaskHits::default())] {
        let answer = QueryAnswer::Tree(answer);
        assert_eq!(through_json(&answer), answer);
    }
}
