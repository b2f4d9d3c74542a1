use super::*;
use crate::base::MicroUsd;
use crate::engine::command::{Begun, Changes, Draft, RestoredWorktree, SetAside, Start, StopScope};
use crate::model::run::RunCommand;
use crate::model::task::EditedBy;

fn title(task: TaskId) -> Command {
    Command::Update { task, changes: Changes { title: Some("Another".to_owned()), ..Changes::default() } }
}

/// The same task, to begin at once.
fn now(command: Command) -> Command {
    match command {
        Command::Create { parent, before, draft, .. } => Command::Create { parent, before, draft, start: Start::Now },
        other => other,
    }
}

/// What the agent of the first task asks about the second.
type Asks = fn(TaskId, TaskId) -> Command;

#[test]
fn an_agent_changes_only_what_is_below_its_own_task() {
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
            let answer = rig.ask(child, request(child, target));
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
fn an_agent_orders_and_makes_tasks_in_its_own_sub_tree_only() {
    let Family { mut rig, root, child, sibling, grandchild, .. } = family();
    let order = vec![sibling, child];
    let orders = |parent: TaskId| Command::Reorder { parent, order: order.clone() };
    assert!(rig.ask(root, orders(root)).unwrap().is_ok());
    assert_eq!(rig.view(root).node.children, [sibling, child]);
    assert!(rig.ask(child, orders(root)).unwrap().is_err());
    for (parent, allowed) in [(root, false), (sibling, false), (grandchild, true), (child, true)] {
        assert_eq!(rig.ask(child, new_task(parent)).unwrap().is_ok(), allowed, "{parent:?}");
    }
    assert!(rig.ask(root, new_task(grandchild)).unwrap().is_ok(), "everything is below the root");
}

#[test]
fn a_task_whose_first_message_the_disk_refuses_begins_when_the_disk_takes_it() {
    let Family { mut rig, child, .. } = family();
    rig.appends = Mood::Refuses;
    let said = rig.ask(child, now(new_task(child))).unwrap().unwrap();
    let made = *rig.view(child).node.children.last().unwrap();
    let start = Begun::Delayed { reason: "the disk is full".to_owned() };
    assert_eq!(said, Outcome::Created { task: made, title: "New".to_owned(), start });
    assert!(!rig.launched().contains(&made) && !rig.machine.is_quiet(), "somebody waits for the disk");
    for _ in 0..2 {
        rig.feed(Input::Timer { timer: Timer::TryAgain { task: made } });
        assert_eq!(rig.messages(made), []);
    }
    rig.appends = Mood::Takes;
    rig.feed(Input::Timer { timer: Timer::TryAgain { task: made } });
    assert_eq!(rig.messages(made).len(), 1);
    assert!(rig.launched().contains(&made));
    rig.feed(Input::Timer { timer: Timer::TryAgain { task: made } });
    assert_eq!(rig.messages(made).len(), 1, "it is told once");

    // The user is told at once, and decides.
    rig.appends = Mood::Refuses;
    let draft = Draft { title: "Another".to_owned(), ..Draft::default() };
    let create = Command::Create { parent: child, before: None, draft, start: Start::Now };
    assert!(message_of(rig.command(create)).contains("was made, but was not told to begin"));
}

#[test]
fn a_task_that_is_made_to_begin_is_begun_or_not_there_whenever_the_program_dies() {
    for by_agent in [true, false] {
        for moment in 0..8 {
            let Family { mut rig, child, .. } = family();
            let known: Vec<TaskId> = rig.machine.tree().all().map(|node| node.id).collect();
            (rig.appends, rig.saves) = (Mood::Sleeps, Mood::Sleeps);
            if by_agent {
                rig.ask(child, now(new_task(child)));
            } else {
                let draft = Draft { title: "New".to_owned(), ..Draft::default() };
                rig.command(Command::Create { parent: child, before: None, draft, start: Start::Now });
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
fn a_task_whose_first_message_was_taken_back_or_that_was_stopped_is_not_begun_by_a_restart() {
    for word in ["taken back", "stopped", "made a draft"] {
        let mut rig = Rig::with(Limits { max_running: 1, ..Limits::default() });
        let root = rig.root();
        rig.make_busy(root, "Busy");
        let draft = Draft { title: "New".to_owned(), ..Draft::default() };
        rig.command(Command::Create { parent: root, before: None, draft, start: Start::Now });
        let task = *rig.view(root).node.children.last().unwrap();
        let messages = rig.view(task).unread.iter().map(|message| message.id).collect();
        match word {
            "taken back" => rig.command(Command::Withdraw { task, messages }),
            "stopped" => rig.command(Command::Stop { scope: StopScope::Task(task) }),
            _ => {
                rig.command(Command::Withdraw { task, messages });
                rig.command(Command::Update { task, changes: Changes { draft: Some(true), ..Changes::default() } });
                rig.command(Command::Update { task, changes: Changes { draft: Some(false), ..Changes::default() } })
            }
        };
        rig.crash();
        assert!(!rig.launched().contains(&task), "{word}");
        assert_eq!(rig.status(task), Status::Pending, "{word}");
    }
}

#[test]
fn nothing_is_made_or_moved_below_the_deepest_level() {
    let Family { mut rig, child, sibling, grandchild, deepest, .. } = family();
    let draft = || Draft { title: "Too deep".to_owned(), ..Draft::default() };
    let create = Command::Create { parent: deepest, before: None, draft: draft(), start: Start::Now };
    assert!(message_of(rig.command(create)).contains("3 levels below the root"));
    assert!(message_of(rig.ask(deepest, new_task(deepest))).contains("may not go deeper"));
    // What is below a task counts, wherever it goes.
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
fn an_update_is_checked_as_a_whole_before_anything_changes() {
    let text = |text: &str| Some(text.to_owned());
    let refused = [
        ("empty", Changes::default(), "nothing is to be changed"),
        (
            "blank title",
            Changes { title: text(" \n"), description: text("kept out"), ..Changes::default() },
            "needs a title",
        ),
        (
            "draft",
            Changes { draft: Some(true), description: text("kept out"), ..Changes::default() },
            "cannot be made a draft",
        ),
        (
            "ready",
            Changes { draft: Some(false), title: text("kept out"), ..Changes::default() },
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
    let changes = Changes {
        title: text("  A\ttitle \n"),
        budget: Some(Some(MicroUsd(5))),
        draft: Some(true),
        ..Changes::default()
    };
    assert_eq!(rig.command(Command::Update { task, changes }), Some(Ok(Outcome::Done)));
    let node = rig.view(task).node;
    assert_eq!((node.title.as_str(), node.budget, node.status), ("A title", Some(MicroUsd(5)), Status::Draft));
    assert_eq!(node.edited_by, EditedBy::User);
}

#[test]
fn a_task_is_not_closed_while_anybody_in_it_is_at_work_or_in_progress() {
    let mut rig = Rig::new();
    let root = rig.root();
    assert!(message_of(rig.command(Command::Close { task: root })).contains("the root"));
    let parent = rig.make(root, "Parent");
    let busy = rig.make_busy(parent, "Busy");
    assert!(message_of(rig.command(Command::Close { task: busy })).contains("at work"));
    assert!(message_of(rig.command(Command::Close { task: parent })).contains("\"Busy\" is at work"));
    rig.rest(busy);
    rig.start(parent);
    rig.rest(parent);
    assert!(message_of(rig.command(Command::Close { task: busy })).contains("in progress"));
    assert!(message_of(rig.command(Command::Close { task: parent })).contains("\"Busy\" are in progress"));
    // What the person stopped may be put away.
    rig.command(Command::Stop { scope: StopScope::Subtree(parent) });
    assert_eq!(rig.command(Command::Close { task: busy }), None, "its worktree is being put away");
    let Some(Effect::Clear { then, task, branch, .. }) = rig.effects.pop() else { panic!("nothing is put away") };
    assert_eq!((task, branch), (busy, BranchFate::Keep));
    let set_aside = SetAside { archived: true, ..SetAside::default() };
    rig.feed(Input::Cleared { then, result: Ok(set_aside.clone()) });
    let closed = Outcome::Closed { task: busy, recurs: false, set_aside };
    assert_eq!(rig.reply(rig.last_command()), Some(Ok(closed)));
    assert_eq!((rig.status(busy), rig.view(busy).node.worktree), (Status::Closed, None));
    assert!(message_of(rig.command(Command::Close { task: busy })).contains("closed already"));
    let never_begun = rig.make(root, "Never begun");
    let closed = Outcome::Closed { task: never_begun, recurs: false, set_aside: SetAside::default() };
    assert_eq!(rig.command(Command::Close { task: never_begun }), Some(Ok(closed)), "it has no worktree");
}

#[test]
fn what_is_said_while_a_worktree_is_put_away_is_not_forgotten() {
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
            Effect::Restore { then, .. } => Some(then.clone()),
            _ => None,
        });
        rig.feed(Input::Restored { then: then.unwrap(), result });
        assert_eq!(rig.launched(), [task], "{word}");
    }
}

#[test]
fn a_reset_takes_back_what_nobody_has_read() {
    let mut rig = Rig::new();
    let task = rig.make(rig.root(), "Task");
    rig.send(task, "begin");
    rig.feed(Input::LaunchFailed { task, failure: LaunchFailure::Refused(Fault::config("no model")) });
    rig.effects.clear();
    rig.command(Command::Reset { task });
    let then = rig.effects.iter().find_map(|effect| match effect {
        Effect::Clear { then, .. } => Some(then.clone()),
        _ => None,
    });
    rig.feed(Input::Cleared { then: then.unwrap(), result: Ok(SetAside::default()) });
    let view = rig.view(task);
    assert_eq!(view.node.status, Status::Pending);
    assert!(view.unread.is_empty() && view.asks.is_empty(), "{view:?}");
    rig.crash();
    assert!(!rig.launched().contains(&task), "it starts when it is spoken to");
}

#[test]
fn nothing_is_over_while_something_is_done_outside() {
    let mut rig = Rig::new();
    assert!(rig.machine.is_quiet());
    let task = TaskId::from_ulid(ulid::Ulid::from_parts(1, 1));
    rig.command(Command::Restore { task });
    assert!(!rig.machine.is_quiet(), "a deleted task is looked for");
    let Some(Effect::Recall { then, .. }) = rig.effects.pop() else { panic!("nobody looks for it") };
    rig.command(Command::Quit);
    let is_over = |rig: &Rig| rig.effects.iter().any(|effect| matches!(effect, Effect::Ended));
    assert!(!is_over(&rig), "whoever asked has no answer yet");
    rig.feed(Input::Recalled { then, result: Ok(Vec::new()) });
    assert!(is_over(&rig) && rig.machine.is_quiet());
}

#[test]
fn a_deleted_task_that_the_disk_keeps_is_as_it_was() {
    let mut rig = Rig::new();
    let task = rig.make_asleep(rig.root(), "Task");
    rig.saves = Mood::Refuses;
    rig.command(Command::Delete { task });
    let then = rig.effects.iter().find_map(|effect| match effect {
        Effect::Clear { then, .. } => Some(then.clone()),
        _ => None,
    });
    rig.feed(Input::Cleared { then: then.unwrap(), result: Ok(SetAside::default()) });
    assert!(message_of(rig.reply(rig.last_command())).contains("nothing was changed"));
    assert_eq!(rig.view(task).turns, 1, "its session is known as before");
}

#[test]
fn money_that_a_deleted_task_spent_stays_spent() {
    let mut rig = Rig::with(Limits { project_budget: Some(MicroUsd(100)), ..Limits::default() });
    let root = rig.root();
    let task = rig.make_asleep(root, "Task");
    rig.start(root);
    rig.rest(root);
    rig.command(Command::Delete { task });
    let Some(Effect::Clear { then, .. }) = rig.effects.pop() else { panic!("nothing is put away") };
    rig.feed(Input::Cleared { then, result: Ok(SetAside::default()) });
    rig.effects.clear();
    rig.send(root, "go on");
    let accounts: Vec<AccountOrder> = rig.orders().iter().flat_map(|order| order.accounts.clone()).collect();
    assert_eq!(accounts.iter().map(|account| account.spent).collect::<Vec<_>>(), [MicroUsd(20)]);
}

#[test]
fn an_agent_stops_a_task_below_it_with_everything_below_that() {
    let mut rig = Rig::new();
    let root = rig.root();
    let task = rig.make_busy(root, "Task");
    let below = rig.make_busy(task, "Below");
    let other = rig.make_busy(root, "Other");
    rig.effects.clear();
    let stop = |task: TaskId| Command::Stop { scope: StopScope::Subtree(task) };
    assert!(rig.ask(root, stop(task)).unwrap().is_ok());
    let mut torn: Vec<TaskId> = rig
        .effects
        .iter()
        .filter_map(|effect| {
            if let Effect::Tell { task, command: RunCommand::Teardown(_) } = effect { Some(*task) } else { None }
        })
        .collect();
    torn.sort_unstable();
    assert_eq!(torn, [task, below]);
    rig.stopped(below);
    rig.stopped(task);
    assert!(rig.view(other).alive);
    assert!(rig.ask(below, stop(other)).unwrap().is_err(), "not below it");
    rig.ask(root, Command::Close { task });
    assert_eq!(rig.worktree_done(Ok(())), task, "what was stopped can be closed");
    assert_eq!(rig.status(task), Status::Closed);
}

#[test]
fn a_task_that_is_at_work_is_stopped_before_it_is_reset_or_deleted() {
    for delete in [true, false] {
        let mut rig = Rig::new();
        let root = rig.root();
        let task = rig.make_busy(root, "Task");
        rig.effects.clear();
        let command = if delete { Command::Delete { task } } else { Command::Reset { task } };
        assert_eq!(rig.ask(root, command), None, "it waits for the end of the run");
        let asked = rig.last_command();
        assert_eq!(
            rig.count_effects(|effect| matches!(effect, Effect::Tell { command: RunCommand::Teardown(_), .. })),
            1
        );
        rig.send(task, "what about this?");
        rig.stopped(task);
        assert!(!rig.launched().contains(&task), "nobody begins in between");
        rig.worktree_done(Ok(()));
        assert!(matches!(rig.reply(asked), Some(Ok(_))));
        match rig.machine.tree().get(task) {
            None => assert!(delete),
            Some(node) => assert_eq!((node.status, node.branch.clone(), delete), (Status::Pending, None, false)),
        }
    }
}

#[test]
fn whoever_was_told_of_an_end_may_put_the_task_away_at_once() {
    // The end is written and the run is not over; the message is above and the tree does not know.
    for (word, writes) in [("the run is not over", 9), ("the end is being written", 1)] {
        for verb in ["close", "reset", "delete"] {
            let mut rig = Rig::new();
            let root = rig.root();
            let task = rig.make_busy(root, "Task");
            if word == "the end is being written" {
                (rig.appends, rig.saves) = (Mood::Sleeps, Mood::Sleeps);
            }
            rig.declare(task, &Exit::DonePassed);
            for _ in 0..writes {
                rig.wake_disk_once();
            }
            assert_eq!(rig.completions(root).len(), 1, "{word}");
            let command = match verb {
                "close" => Command::Close { task },
                "reset" => Command::Reset { task },
                _ => Command::Delete { task },
            };
            let answer = rig.ask(root, command);
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
fn a_change_that_waits_for_an_end_is_refused_when_the_program_ends() {
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
fn a_conversation_is_copied_from_any_task_that_has_one() {
    let mut rig = Rig::new();
    let root = rig.root();
    let known = rig.make_asleep(root, "Known");
    let empty = rig.make(root, "Empty");
    let copy = rig.make(root, "Copy");
    let fork = |source: TaskId| Command::ForkContext { source, target: copy };
    assert!(message_of(rig.ask(root, fork(empty))).contains("no conversation"));
    assert!(rig.ask(known, fork(root)).unwrap().is_err(), "the copy goes below the asking task only");
    rig.effects.clear();
    assert_eq!(rig.ask(root, fork(known)), None);
    let copied = |effect: &Effect| matches!(effect, Effect::Copy { from, to, .. } if (*from, *to) == (known, copy));
    assert_eq!(rig.count_effects(copied), 1);
}
