use super::*;
use crate::base::MicroUsd;
use crate::engine::command::{
    ArchivedWork, RestoredWorktree, StartOutcome, StopScope, TaskChanges, TaskDraft, TaskStart,
};
use crate::model::run::RunCommand;
use crate::model::task::EditedBy;

fn title(task: TaskId) -> Command {
    Command::Update { task, changes: TaskChanges { title: Some("Another".to_owned()), ..TaskChanges::default() } }
}

/// Makes a create command start the task at once.
fn now(command: Command) -> Command {
    match command {
        Command::Create { parent, before, draft, .. } => {
            Command::Create { parent, before, draft, start: TaskStart::Now }
        }
        other => other,
    }
}

/// Commands of the first task's agent about the second task.
type Asks = fn(TaskId, TaskId) -> Command;

#[test]
fn an_agent_changes_only_tasks_below_its_own() {
    let Family { root, child, sibling, grandchild, deepest, .. } = family();
    let changes: [(&str, Asks); 6] = [
        ("update", |_, task| title(task)),
        ("close", |_, task| Command::Close { task }),
        ("delete", |_, task| Command::Delete { task }),
        ("reset", |_, task| Command::Reset { task }),
        ("stop", |_, task| Command::Stop { scope: StopScope::Subtree(task) }),
        ("fork", |source, target| Command::ForkContext { source, target }),
    ];
    for (word, request) in changes {
        for (target, allowed) in [(root, false), (child, false), (sibling, false), (grandchild, true), (deepest, true)]
        {
            let mut rig = family().rig;
            let before = rig.machine.tree().clone();
            let answer = rig.agent_command(child, request(child, target));
            let refused = answer.as_ref().is_some_and(Result::is_err);
            assert_eq!(refused, !allowed, "{word} {target}: {answer:?}");
            if refused {
                assert!(message_of(answer).contains("not below yours"), "{word}");
                assert_eq!(rig.machine.tree(), &before, "{word}");
            }
        }
    }
}

#[test]
fn an_agent_creates_and_orders_tasks_only_in_its_own_subtree() {
    let Family { mut rig, root, child, sibling, grandchild, .. } = family();
    let order = vec![sibling, child];
    let orders = |parent: TaskId| Command::Reorder { parent, order: order.clone() };
    assert!(rig.agent_command(root, orders(root)).unwrap().is_ok());
    assert_eq!(rig.view(root).node.children, [sibling, child]);
    assert!(rig.agent_command(child, orders(root)).unwrap().is_err());
    for (parent, allowed) in [(root, false), (sibling, false), (grandchild, true), (child, true)] {
        assert_eq!(rig.agent_command(child, new_task(parent)).unwrap().is_ok(), allowed, "{parent:?}");
    }
    assert!(rig.agent_command(root, new_task(grandchild)).unwrap().is_ok(), "everything is below the root");
}

#[test]
fn a_task_starts_once_its_first_message_can_be_written() {
    let Family { mut rig, child, .. } = family();
    rig.appends = DiskMode::Fails;
    let outcome = rig.agent_command(child, now(new_task(child))).unwrap().unwrap();
    let made = *rig.view(child).node.children.last().unwrap();
    let start = StartOutcome::Delayed { reason: "the disk is full".to_owned() };
    assert_eq!(outcome, Outcome::Created { task: made, title: "New".to_owned(), start });
    assert!(!rig.launched().contains(&made) && !rig.machine.is_quiet(), "somebody waits for the disk");
    for _ in 0..2 {
        rig.feed(Input::Timer { timer: Timer::Retry { task: made } });
        assert_eq!(rig.messages(made), []);
    }
    rig.appends = DiskMode::Accepts;
    rig.feed(Input::Timer { timer: Timer::Retry { task: made } });
    assert_eq!(rig.messages(made).len(), 1);
    assert!(rig.launched().contains(&made));
    rig.feed(Input::Timer { timer: Timer::Retry { task: made } });
    assert_eq!(rig.messages(made).len(), 1, "it is told once");

    // The user gets the error at once.
    rig.appends = DiskMode::Fails;
    let draft = TaskDraft { title: "Another".to_owned(), ..TaskDraft::default() };
    let create = Command::Create { parent: child, before: None, draft, start: TaskStart::Now };
    assert!(message_of(rig.command(create)).contains("was created but could not be started"));
}

#[test]
fn after_a_crash_a_created_task_has_started_or_does_not_exist() {
    for by_agent in [true, false] {
        for moment in 0..8 {
            let Family { mut rig, child, .. } = family();
            let known: Vec<TaskId> = rig.machine.tree().all().map(|node| node.id).collect();
            (rig.appends, rig.saves) = (DiskMode::Blocks, DiskMode::Blocks);
            if by_agent {
                rig.agent_command(child, now(new_task(child)));
            } else {
                let draft = TaskDraft { title: "New".to_owned(), ..TaskDraft::default() };
                rig.command(Command::Create { parent: child, before: None, draft, start: TaskStart::Now });
            }
            for _ in 0..moment {
                rig.wake_disk_once();
            }
            rig.crash();
            let made: Vec<TaskId> =
                rig.machine.tree().all().map(|node| node.id).filter(|task| !known.contains(task)).collect();
            assert_eq!(rig.launched(), made, "after {moment} writes, by agent: {by_agent}");
            for task in made {
                assert_eq!(rig.messages(task).len(), 1, "after {moment} writes: it is told once");
                assert_eq!((rig.status(task), rig.view(task).node.starting), (Status::InProgress, false));
                rig.crash();
                assert_eq!(rig.messages(task).len(), 1, "after {moment} writes and another restart");
            }
        }
    }
}

#[test]
fn a_restart_does_not_start_a_stopped_task_or_one_whose_first_message_was_withdrawn() {
    for word in ["taken back", "stopped", "made a draft"] {
        let mut rig = Rig::with(EngineLimits { max_running: 1, ..EngineLimits::default() });
        let root = rig.root();
        rig.make_busy(root, "Busy");
        let draft = TaskDraft { title: "New".to_owned(), ..TaskDraft::default() };
        rig.command(Command::Create { parent: root, before: None, draft, start: TaskStart::Now });
        let task = *rig.view(root).node.children.last().unwrap();
        let messages = rig.view(task).unread.iter().map(|message| message.id).collect();
        match word {
            "taken back" => rig.command(Command::Withdraw { task, messages }),
            "stopped" => rig.command(Command::Stop { scope: StopScope::Task(task) }),
            _ => {
                rig.command(Command::Withdraw { task, messages });
                rig.command(Command::Update {
                    task,
                    changes: TaskChanges { draft: Some(true), ..TaskChanges::default() },
                });
                rig.command(Command::Update {
                    task,
                    changes: TaskChanges { draft: Some(false), ..TaskChanges::default() },
                })
            }
        };
        rig.crash();
        assert!(!rig.launched().contains(&task), "{word}");
        assert_eq!(rig.status(task), Status::Pending, "{word}");
    }
}

#[test]
fn no_task_is_created_or_moved_below_the_maximum_depth() {
    let Family { mut rig, child, sibling, grandchild, deepest, .. } = family();
    let draft = || TaskDraft { title: "Too deep".to_owned(), ..TaskDraft::default() };
    let create = Command::Create { parent: deepest, before: None, draft: draft(), start: TaskStart::Now };
    assert!(message_of(rig.command(create)).contains("3 levels below the root, which is the maximum"));
    assert!(message_of(rig.agent_command(deepest, new_task(deepest))).contains("levels below the root"));
    // The height of the moved subtree counts.
    let moves = [(sibling, deepest, false), (child, sibling, false), (grandchild, sibling, true)];
    for (task, parent, allowed) in moves {
        let reply = rig.command(Command::Move { task, parent, before: None });
        assert_eq!(reply.unwrap().is_ok(), allowed, "{task} below {parent}");
    }
    rig.send(deepest, "begin");
    rig.send(child, "begin");
    let delegates: Vec<bool> = rig.orders().iter().map(|order| order.may_delegate).collect();
    assert_eq!(delegates, [false, true]);
}

#[test]
fn an_update_is_validated_as_a_whole_before_it_changes_anything() {
    let text = |text: &str| Some(text.to_owned());
    let refused = [
        ("empty", TaskChanges::default(), "nothing to change"),
        (
            "blank title",
            TaskChanges { title: text(" \n"), description: text("kept out"), ..TaskChanges::default() },
            "needs a title",
        ),
        (
            "draft",
            TaskChanges { draft: Some(true), description: text("kept out"), ..TaskChanges::default() },
            "cannot be made a draft",
        ),
        (
            "ready",
            TaskChanges { draft: Some(false), title: text("kept out"), ..TaskChanges::default() },
            "cannot be made ready",
        ),
    ];
    for (word, changes, reason) in refused {
        let mut rig = Rig::new();
        let task = rig.make_busy(rig.root(), "Busy");
        let before = rig.machine.tree().clone();
        assert!(message_of(rig.command(Command::Update { task, changes })).contains(reason), "{word}");
        assert_eq!(rig.machine.tree(), &before, "{word}");
    }
    let mut rig = Rig::new();
    let task = rig.make(rig.root(), "Quiet");
    let changes = TaskChanges {
        title: text("  A\ttitle \n"),
        budget: Some(Some(MicroUsd(5))),
        draft: Some(true),
        ..TaskChanges::default()
    };
    assert_eq!(rig.command(Command::Update { task, changes }), Some(Ok(Outcome::Done)));
    let node = rig.view(task).node;
    assert_eq!((node.title.as_str(), node.budget, node.status), ("A title", Some(MicroUsd(5)), Status::Draft));
    assert_eq!(node.edited_by, EditedBy::User);
}

#[test]
fn a_task_is_not_closed_while_its_subtree_is_in_progress() {
    let mut rig = Rig::new();
    let root = rig.root();
    assert!(message_of(rig.command(Command::Close { task: root })).contains("the root"));
    let parent = rig.make(root, "Parent");
    let busy = rig.make_busy(parent, "Busy");
    assert!(message_of(rig.command(Command::Close { task: busy })).contains("at work"));
    assert!(message_of(rig.command(Command::Close { task: parent })).contains("\"Busy\" is at work"));
    rig.go_idle(busy);
    rig.start(parent);
    rig.go_idle(parent);
    assert!(message_of(rig.command(Command::Close { task: parent })).contains("\"Busy\" is in progress"));
    // An idle task may be closed.
    assert_eq!(rig.command(Command::Close { task: busy }), None, "its worktree is being removed");
    let Some(Effect::RemoveWorktree { then, task, branch, .. }) = rig.effects.pop() else {
        panic!("no worktree is removed")
    };
    assert_eq!((task, branch), (busy, BranchFate::Keep));
    let set_aside = ArchivedWork { archived: true, ..ArchivedWork::default() };
    rig.feed(Input::WorktreeRemoved { then, result: Ok(set_aside.clone()) });
    let closed = Outcome::Closed { task: busy, recurs: false, set_aside };
    assert_eq!(rig.reply(rig.last_command()), Some(Ok(closed)));
    assert_eq!((rig.status(busy), rig.view(busy).node.worktree), (Status::Closed, None));
    assert!(message_of(rig.command(Command::Close { task: busy })).contains("already closed"));
    let never_begun = rig.make(root, "Never begun");
    let closed = Outcome::Closed { task: never_begun, recurs: false, set_aside: ArchivedWork::default() };
    assert_eq!(rig.command(Command::Close { task: never_begun }), Some(Ok(closed)), "it has no worktree");
}

#[test]
fn a_message_sent_while_a_worktree_is_removed_is_delivered() {
    for (word, result) in
        [("refused", Err(Fault::environment("git said no"))), ("restored", Ok(RestoredWorktree::Clean))]
    {
        let mut rig = Rig::new();
        let task = rig.make_asleep(rig.root(), "Task");
        rig.effects.clear();
        rig.command(Command::Restore { task });
        rig.send(task, "are you there?");
        assert!(rig.launched().is_empty(), "{word}: nothing begins before the worktree is back");
        let then = rig.effects.iter().find_map(|effect| match effect {
            Effect::RestoreWorktree { then, .. } => Some(then.clone()),
            _ => None,
        });
        rig.feed(Input::WorktreeRestored { then: then.unwrap(), result });
        assert_eq!(rig.launched(), [task], "{word}");
    }
}

#[test]
fn a_reset_withdraws_unread_messages() {
    let mut rig = Rig::new();
    let task = rig.make(rig.root(), "Task");
    rig.send(task, "begin");
    rig.feed(Input::LaunchFailed { task, failure: LaunchFailure::Refused(Fault::config("no model")) });
    rig.effects.clear();
    rig.command(Command::Reset { task });
    let then = rig.effects.iter().find_map(|effect| match effect {
        Effect::RemoveWorktree { then, .. } => Some(then.clone()),
        _ => None,
    });
    rig.feed(Input::WorktreeRemoved { then: then.unwrap(), result: Ok(ArchivedWork::default()) });
    let view = rig.view(task);
    assert_eq!(view.node.status, Status::Pending);
    assert!(view.unread.is_empty() && view.asks.is_empty(), "{view:?}");
    rig.crash();
    assert!(!rig.launched().contains(&task), "it starts when it is spoken to");
}

#[test]
fn the_machine_does_not_end_while_effects_are_outstanding() {
    let mut rig = Rig::new();
    assert!(rig.machine.is_quiet());
    let task = TaskId::from_ulid(ulid::Ulid::from_parts(1, 1));
    rig.command(Command::Restore { task });
    assert!(!rig.machine.is_quiet(), "a deleted task is looked for");
    let Some(Effect::ReadDeletedTask { then, .. }) = rig.effects.pop() else { panic!("its session is not read") };
    rig.command(Command::Quit);
    let is_over = |rig: &Rig| rig.effects.iter().any(|effect| matches!(effect, Effect::Ended));
    assert!(!is_over(&rig), "the command has no reply yet");
    rig.feed(Input::DeletedTaskRead { then, result: Ok(Vec::new()) });
    assert!(is_over(&rig) && rig.machine.is_quiet());
}

#[test]
fn a_task_whose_deletion_was_not_saved_is_unchanged() {
    let mut rig = Rig::new();
    let task = rig.make_asleep(rig.root(), "Task");
    rig.saves = DiskMode::Fails;
    rig.command(Command::Delete { task });
    let then = rig.effects.iter().find_map(|effect| match effect {
        Effect::RemoveWorktree { then, .. } => Some(then.clone()),
        _ => None,
    });
    rig.feed(Input::WorktreeRemoved { then: then.unwrap(), result: Ok(ArchivedWork::default()) });
    assert!(message_of(rig.reply(rig.last_command())).contains("nothing was changed"));
    assert_eq!(rig.view(task).turns, 1, "its session is known as before");
}

#[test]
fn the_cost_of_a_deleted_task_still_counts() {
    let mut rig = Rig::with(EngineLimits { project_budget: Some(MicroUsd(100)), ..EngineLimits::default() });
    let root = rig.root();
    let task = rig.make_asleep(root, "Task");
    rig.start(root);
    rig.go_idle(root);
    rig.command(Command::Delete { task });
    let Some(Effect::RemoveWorktree { then, .. }) = rig.effects.pop() else { panic!("no worktree is removed") };
    rig.feed(Input::WorktreeRemoved { then, result: Ok(ArchivedWork::default()) });
    rig.effects.clear();
    rig.send(root, "go on");
    let accounts: Vec<BudgetLimit> = rig.orders().iter().flat_map(|order| order.accounts.clone()).collect();
    assert_eq!(accounts.iter().map(|account| account.spent).collect::<Vec<_>>(), [MicroUsd(20)]);
}

#[test]
fn an_agent_stops_a_sub_task_with_its_subtree() {
    let mut rig = Rig::new();
    let root = rig.root();
    let task = rig.make_busy(root, "Task");
    let below = rig.make_busy(task, "Below");
    let other = rig.make_busy(root, "Other");
    rig.effects.clear();
    let stop = |task: TaskId| Command::Stop { scope: StopScope::Subtree(task) };
    assert!(rig.agent_command(root, stop(task)).unwrap().is_ok());
    let mut torn: Vec<TaskId> = rig
        .effects
        .iter()
        .filter_map(|effect| {
            if let Effect::SendToRun { task, command: RunCommand::Teardown(_) } = effect { Some(*task) } else { None }
        })
        .collect();
    torn.sort_unstable();
    assert_eq!(torn, [task, below]);
    rig.exit_stopped(below);
    rig.exit_stopped(task);
    assert!(rig.view(other).alive);
    assert!(rig.agent_command(below, stop(other)).unwrap().is_err(), "not below it");
    rig.agent_command(root, Command::Close { task });
    assert_eq!(rig.worktree_done(Ok(())), task, "what was stopped can be closed");
    assert_eq!(rig.status(task), Status::Closed);
}

#[test]
fn a_running_task_is_stopped_before_it_is_reset_or_deleted() {
    for delete in [true, false] {
        let mut rig = Rig::new();
        let root = rig.root();
        let task = rig.make_busy(root, "Task");
        rig.effects.clear();
        let command = if delete { Command::Delete { task } } else { Command::Reset { task } };
        assert_eq!(rig.agent_command(root, command), None, "it waits for the end of the run");
        let asked = rig.last_command();
        assert_eq!(
            rig.count_effects(|effect| matches!(effect, Effect::SendToRun { command: RunCommand::Teardown(_), .. })),
            1
        );
        rig.send(task, "what about this?");
        rig.exit_stopped(task);
        assert!(!rig.launched().contains(&task), "no run starts in between");
        rig.worktree_done(Ok(()));
        assert!(matches!(rig.reply(asked), Some(Ok(_))));
        match rig.machine.tree().get(task) {
            None => assert!(delete),
            Some(node) => assert_eq!((node.status, node.branch.clone(), delete), (Status::Pending, None, false)),
        }
    }
}

#[test]
fn a_notified_parent_may_close_or_delete_the_task_at_once() {
    // The end is written but the run is not over; the parent has the message but the tree does not have the verdict.
    for (word, writes) in [("the run is not over", 9), ("the end is being written", 1)] {
        for verb in ["close", "reset", "delete"] {
            let mut rig = Rig::new();
            let root = rig.root();
            let task = rig.make_busy(root, "Task");
            if word == "the end is being written" {
                (rig.appends, rig.saves) = (DiskMode::Blocks, DiskMode::Blocks);
            }
            rig.write_exit(task, &Exit::DonePassed);
            for _ in 0..writes {
                rig.wake_disk_once();
            }
            assert_eq!(rig.completions(root).len(), 1, "{word}");
            let command = match verb {
                "close" => Command::Close { task },
                "reset" => Command::Reset { task },
                _ => Command::Delete { task },
            };
            let answer = rig.agent_command(root, command);
            let asked = rig.last_command();
            assert_eq!(answer, None, "{word}, {verb}: not refused");
            rig.feed(Input::RunOver { task, ending: Ok(crate::model::run::Ending::Exited(Exit::DonePassed)) });
            rig.wake_disk();
            rig.wake_disk();
            rig.worktree_done(Ok(()));
            assert!(matches!(rig.reply(asked), Some(Ok(_))), "{word}, {verb}");
        }
    }
}

#[test]
fn a_deferred_change_is_refused_on_quit() {
    let mut rig = Rig::new();
    let root = rig.root();
    let task = rig.make_busy(root, "Task");
    assert_eq!(rig.command(Command::Delete { task }), None);
    let id = rig.last_command();
    rig.command(Command::Quit);
    assert!(matches!(rig.reply(id), Some(Err(_))));
    assert!(rig.machine.tree().get(task).is_some());
}

#[test]
fn a_conversation_can_be_copied_from_any_task_that_has_one() {
    let mut rig = Rig::new();
    let root = rig.root();
    let known = rig.make_asleep(root, "Known");
    let empty = rig.make(root, "Empty");
    let copy = rig.make(root, "Copy");
    let fork = |source: TaskId| Command::ForkContext { source, target: copy };
    assert!(message_of(rig.agent_command(root, fork(empty))).contains("no conversation"));
    assert!(rig.agent_command(known, fork(root)).unwrap().is_err(), "the copy goes below the asking task only");
    rig.effects.clear();
    assert_eq!(rig.agent_command(root, fork(known)), None);
    let copied =
        |effect: &Effect| matches!(effect, Effect::CopyConversation { from, to, .. } if (*from, *to) == (known, copy));
    assert_eq!(rig.count_effects(copied), 1);
}
