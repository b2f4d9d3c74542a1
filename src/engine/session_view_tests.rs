use super::*;
use crate::base::{IdSource, SystemClock, TaskId, Timestamp};
use crate::engine::snapshot::Wait;
use crate::model::fold::{LastExit, Turns};

fn node(status: Status) -> TaskNode {
    let ids = IdSource::new(std::sync::Arc::new(SystemClock));
    TaskNode { status, ..TaskNode::new(TaskId::fresh(&ids), "Task", "engineer", Timestamp::EPOCH) }
}

fn session(last_role: Role) -> SessionState {
    SessionState { turns: Turns { last_role: Some(last_role), ..Turns::default() }, ..SessionState::default() }
}

#[test]
fn words_are_the_same_with_and_without_an_engine() {
    let state_of = |status, session: &SessionState, has_engine| state(&view(node(status), session), has_engine);
    let answered = session(Role::Assistant);
    for has_engine in [true, false] {
        assert_eq!(state_of(Status::InProgress, &answered, has_engine), TaskState::Idle);
        assert_eq!(state_of(Status::Passed, &answered, has_engine), TaskState::Passed);
        assert_eq!(state_of(Status::Pending, &SessionState::default(), has_engine), TaskState::Pending);
    }
    let owes = session(Role::User);
    assert_eq!(state_of(Status::InProgress, &owes, true), TaskState::Thinking);
    assert_eq!(state_of(Status::InProgress, &owes, false), TaskState::Paused, "nobody thinks without an engine");
}

#[test]
fn a_stopped_task_is_stopped_and_a_stalled_one_is_stuck() {
    let ids = IdSource::new(std::sync::Arc::new(SystemClock));
    let mut stopped = session(Role::Assistant);
    stopped.turns.last_exit = Some(LastExit {
        exit: Exit::Interrupted(InterruptReason::Stopped),
        result: String::new(),
        event: crate::base::EventId::fresh(&ids),
        decided: None,
        notified: false,
    });
    let stopped = view(node(Status::InProgress), &stopped);
    assert_eq!((stopped.state(), progress(&stopped)), (TaskState::Stopped, TaskProgress::Stopped));
    let idle = view(node(Status::InProgress), &session(Role::Assistant));
    let stuck = TaskView { waits: Some(Wait::Stalled { chain: vec![idle.node.id], reason: String::new() }), ..idle };
    assert!(stuck.state().needs_user() && stuck.state().word() == "stuck");
}
