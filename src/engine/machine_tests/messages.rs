use super::*;
use crate::base::ProjectId;
use crate::engine::command::{ArchivedWork, MESSAGE_CHARS, StopScope, UNREAD_MESSAGES};
use crate::engine::snapshot::Wait;
use crate::model::ask::Approval;
use crate::model::event::{MessagesConsumed, MessagesWithdrawn};
use crate::model::run::RunCommand;

fn message_to(to: TaskId) -> Command {
    Command::Message { to, body: "a word".to_owned(), request_reply: false }
}

#[test]
fn an_agent_messages_its_ancestors_and_its_direct_sub_tasks() {
    let Family { root, child, sibling, grandchild, deepest, .. } = family();
    let table = [
        (child, root, true),
        (grandchild, root, true),
        (grandchild, child, true),
        (child, grandchild, true),
        (child, deepest, false),
        (child, sibling, false),
        (child, child, false),
        (sibling, grandchild, false),
    ];
    for (from, to, allowed) in table {
        let mut rig = family().rig;
        let answer = rig.agent_command(from, message_to(to)).unwrap();
        assert_eq!(answer.is_ok(), allowed, "{from} to {to}: {answer:?}");
        assert_eq!(rig.messages(to).len(), usize::from(allowed));
        assert_eq!(rig.launched(), if allowed { vec![to] } else { Vec::new() });
    }
}

#[test]
fn agent_messages_are_limited_in_length_and_number() {
    let Family { mut rig, root, child, .. } = family();
    let long = |chars: usize| Command::Message { to: root, body: "é".repeat(chars), request_reply: false };
    let refused = message_of(rig.agent_command(child, long(MESSAGE_CHARS + 1)));
    assert!(refused.contains(&MESSAGE_CHARS.to_string()), "{refused}");
    assert_eq!(rig.messages(root).len(), 0);
    assert!(rig.agent_command(child, long(MESSAGE_CHARS)).unwrap().is_ok());
    for _ in 1..UNREAD_MESSAGES {
        assert!(rig.agent_command(child, message_to(root)).unwrap().is_ok());
    }
    let refused = message_of(rig.agent_command(child, message_to(root)));
    assert!(refused.contains("unread messages"), "{refused}");
    assert_eq!(rig.messages(root).len(), UNREAD_MESSAGES);
    // User messages are never refused, and read messages no longer count.
    assert!(matches!(rig.send(root, "Listen."), Some(Ok(Outcome::Sent { .. }))));
    rig.start(root);
    let read = rig.messages(root).iter().map(|message| message.id).collect();
    rig.run_writes(root, vec![MessagesConsumed { ids: read }.into()]);
    assert!(rig.agent_command(child, message_to(root)).unwrap().is_ok());
}

#[test]
fn a_message_to_a_finished_task_wakes_it() {
    for status in [Status::Passed, Status::Failed, Status::Closed] {
        let mut rig = Rig::new();
        let task = rig.make_busy(rig.root(), "Task");
        rig.exit(task, if status == Status::Failed { &Exit::DoneFailed } else { &Exit::DonePassed });
        if status == Status::Closed {
            rig.command(Command::Close { task });
            let Some(Effect::RemoveWorktree { then, .. }) = rig.effects.pop() else { panic!("no worktree is removed") };
            rig.feed(Input::WorktreeRemoved { then, result: Ok(ArchivedWork::default()) });
        }
        assert_eq!(rig.status(task), status);
        rig.effects.clear();
        assert!(matches!(rig.send(task, "one more thing"), Some(Ok(Outcome::Sent { .. }))));
        assert_eq!(rig.launched(), [task], "{status}");
        assert_eq!(rig.status(task), Status::InProgress, "{status}");
        assert!(rig.orders()[0].place.is_some(), "{status}: it has somewhere to work");
    }
}

#[test]
fn a_message_has_no_effect_before_it_is_on_disk() {
    let mut rig = Rig::new();
    let root = rig.root();
    rig.appends = DiskMode::Blocks;
    assert_eq!(rig.send(root, "begin"), None);
    assert!(rig.launched().is_empty());
    rig.wake_disk();
    assert!(matches!(rig.reply(rig.last_command()), Some(Ok(Outcome::Sent { .. }))));
    assert_eq!(rig.launched(), [root]);
    rig.appends = DiskMode::Fails;
    assert!(message_of(rig.send(root, "again")).contains("nothing was done"));
}

#[test]
fn ancestors_get_user_messages_without_being_woken() {
    let mut rig = Rig::new();
    let root = rig.root();
    rig.send(root, "begin");
    rig.start(root);
    rig.go_idle(root);
    let task = rig.make(root, "Task");
    rig.effects.clear();
    rig.send(task, "begin");
    let notes = |rig: &Rig| {
        rig.messages(root)
            .into_iter()
            .filter(|message| matches!(message.from, MessageSource::UserMessageForwarded { .. }))
            .count()
    };
    assert_eq!(notes(&rig), 1);
    assert_eq!(rig.launched(), [task]);
}

#[test]
fn an_unread_message_can_be_withdrawn() {
    let mut rig = Rig::with(EngineLimits { max_running: 1, ..EngineLimits::default() });
    let (busy, waiting) = (rig.make_busy(rig.root(), "Busy"), rig.make(rig.root(), "Waiting"));
    let sent = |reply| match reply {
        Some(Ok(Outcome::Sent { message: id, .. })) => id,
        other => panic!("not sent: {other:?}"),
    };
    // Without a run, the message is withdrawn from the session and starts no run.
    let id = sent(rig.send(waiting, "never mind"));
    assert_eq!(rig.command(Command::Withdraw { task: waiting, messages: vec![id] }), Some(Ok(Outcome::Done)));
    assert!(rig.view(waiting).unread.is_empty());
    assert_eq!(rig.view(waiting).waits, None, "it is not queued for a slot without work");
    let again = rig.command(Command::Withdraw { task: waiting, messages: vec![id] });
    assert!(message_of(again).contains("already read"));
    // A run decides itself.
    let id = sent(rig.send(busy, "never mind"));
    assert_eq!(rig.command(Command::Withdraw { task: busy, messages: vec![id] }), None);
    let first = rig.last_command();
    assert_eq!(
        rig.count_effects(|effect| matches!(effect, Effect::SendToRun { command: RunCommand::Withdraw(_), .. })),
        1
    );
    assert_eq!(rig.view(busy).unread.len(), 1, "until the run says so");
    rig.run_writes(busy, vec![MessagesConsumed { ids: vec![id] }.into()]);
    assert!(message_of(rig.reply(first)).contains("already read"), "it had been handed over");
    assert!(message_of(rig.command(Command::Withdraw { task: busy, messages: vec![id] })).contains("already read"));
    let (one, two) = (sent(rig.send(busy, "one")), sent(rig.send(busy, "two")));
    assert_eq!(rig.command(Command::Withdraw { task: busy, messages: vec![one, two] }), None);
    rig.run_writes(busy, vec![MessagesConsumed { ids: vec![one] }.into()]);
    assert_eq!(rig.reply(rig.last_command()), None, "the other one may still be taken back");
    rig.run_writes(busy, vec![MessagesWithdrawn { ids: vec![two] }.into()]);
    assert_eq!(rig.reply(rig.last_command()), Some(Ok(Outcome::Done)));
}

#[test]
fn a_message_that_an_ended_run_never_read_is_withdrawn_and_starts_no_run() {
    let mut rig = Rig::new();
    let task = rig.make_busy(rig.root(), "Task");
    let Some(Ok(Outcome::Sent { message: id, .. })) = rig.send(task, "never mind") else { panic!("not sent") };
    assert_eq!(rig.command(Command::Withdraw { task, messages: vec![id] }), None);
    let command = rig.last_command();
    rig.effects.clear();
    rig.go_idle(task);
    assert_eq!(rig.reply(command), Some(Ok(Outcome::Done)));
    assert!(rig.view(task).unread.is_empty());
    assert!(!rig.launched().contains(&task));
}

#[test]
fn a_project_message_is_delivered_once_however_often_its_file_is_seen() {
    let mut rig = Rig::new();
    let root = rig.root();
    let (project, message) = (ProjectId::fresh(&rig.ids), MessageId::fresh(&rig.ids));
    rig.machine.approvals.decide(Approval::Project { project }, true);
    let letter = || Input::FromProject { project, name: "there".to_owned(), message, body: "hello".to_owned() };
    rig.appends = DiskMode::Blocks;
    for _ in 0..3 {
        rig.feed(letter());
    }
    assert_eq!(rig.held(), 1, "the disk does not know it yet, but it is on its way");
    rig.refuse_held();
    rig.feed(letter());
    assert_eq!(rig.messages(root).len(), 1, "a refused one is taken in when it is seen again");
    rig.feed(letter());
    assert_eq!(rig.messages(root).len(), 1);
}

#[test]
fn a_withdrawal_during_a_launch_is_decided_by_the_run() {
    let mut rig = Rig::new();
    for becomes_a_run in [true, false] {
        let task = rig.make(rig.root(), "Task");
        let Some(Ok(Outcome::Sent { message: id, .. })) = rig.send(task, "begin") else { panic!("not sent") };
        rig.effects.clear();
        let reply = rig.command(Command::Withdraw { task, messages: vec![id] });
        assert_eq!(reply, None, "the run may be reading its log right now");
        let command = rig.last_command();
        if becomes_a_run {
            rig.feed(Input::Launched { task, model: "m".to_owned() });
            assert_eq!(
                rig.count_effects(|effect| matches!(
                    effect,
                    Effect::SendToRun { command: RunCommand::Withdraw(_), .. }
                )),
                1
            );
            rig.run_writes(task, vec![MessagesWithdrawn { ids: vec![id] }.into()]);
        } else {
            rig.command(Command::Stop { scope: StopScope::Task(task) });
            rig.feed(Input::LaunchFailed { task, failure: LaunchFailure::Cancelled });
            assert!(rig.view(task).unread.is_empty());
        }
        assert_eq!(rig.reply(command), Some(Ok(Outcome::Done)), "{becomes_a_run}");
    }
}

#[test]
fn an_agent_that_idles_without_done_is_reported_to_the_parent() {
    let mut rig = Rig::new();
    let root = rig.root();
    let task = rig.make_started(root, "Task");
    rig.go_idle(task);
    let notices: Vec<_> =
        rig.messages(root).into_iter().filter(|message| message.from == MessageSource::Notice).collect();
    assert_eq!(notices.len(), 1);
    assert!(notices[0].body.contains("without calling done") && notices[0].body.contains(&task.to_string()));
    assert_eq!(rig.launched().last(), Some(&root));
}

#[test]
fn an_answer_to_the_user_does_not_wake_the_parent() {
    let mut rig = Rig::new();
    let root = rig.root();
    rig.send(root, "begin");
    rig.start(root);
    rig.go_idle(root);
    let task = rig.make_started(root, "Task");
    rig.go_idle(task);
    rig.start(root);
    rig.go_idle(root);
    let told = rig.messages(root).len();
    rig.effects.clear();
    rig.send(task, "What is this?");
    rig.start(task);
    rig.go_idle(task);
    let wakes = |message: &Message| message.from.wakes();
    assert!(!rig.messages(root)[told..].iter().any(wakes), "{:?}", &rig.messages(root)[told..]);
    assert_eq!(rig.launched(), [task], "only the task that was asked");
    // It is visible as what needs the user, once.
    assert!(matches!(&rig.view(task).waits, Some(Wait::Stalled { chain, .. }) if *chain == [task]));
    assert_eq!(rig.view(root).waits, Some(Wait::Task { task }));
}

#[test]
fn watchers_learn_of_a_wait_that_changes_because_of_another_task() {
    let mut rig = Rig::new();
    let root = rig.root();
    rig.send(root, "begin");
    rig.start(root);
    let (idle, busy) = (rig.make_asleep(root, "Idle"), rig.make_busy(root, "Busy"));
    rig.go_idle(root);
    assert_eq!(rig.view(idle).waits, Some(Wait::Idle), "the root can go on with the other one");
    rig.machine.take_changes();
    rig.go_idle(busy);
    assert!(matches!(rig.view(idle).waits, Some(Wait::Stalled { .. })), "{:?}", rig.view(idle).waits);
    assert!(rig.machine.take_changes().0.contains(&idle));
}

#[test]
fn a_finished_task_that_answers_stays_finished() {
    for (exit, status) in [(Exit::DonePassed, Status::Passed), (Exit::DoneFailed, Status::Failed)] {
        let mut rig = Rig::new();
        let root = rig.root();
        let task = rig.make_started(root, "Task");
        rig.exit(task, &exit);
        assert_eq!(rig.status(task), status);
        rig.send(task, "Why this way?");
        assert_eq!(rig.status(task), Status::InProgress, "it is at work");
        rig.start(task);
        rig.crash();
        assert_eq!(rig.status(task), status, "a crash before its status is restored");
        rig.send(task, "And the tests?");
        rig.start(task);
        rig.go_idle(task);
        assert_eq!((rig.status(task), rig.view(task).waits), (status, None));
        assert_eq!(rig.machine.tree().get(task).unwrap().results.len(), 1, "it reported once");
    }
}

#[test]
fn a_finished_task_that_starts_new_work_is_in_progress() {
    let mut rig = Rig::new();
    let root = rig.root();
    let task = rig.make_started(root, "Task");
    rig.exit(task, &Exit::DonePassed);
    rig.send(task, "Do more.");
    rig.start(task);
    rig.make_busy(task, "Below");
    rig.go_idle(task);
    assert_eq!(rig.status(task), Status::InProgress);
}

#[test]
fn an_idle_task_can_be_closed() {
    let mut rig = Rig::new();
    let root = rig.root();
    let task = rig.make_asleep(root, "Task");
    assert_eq!(rig.status(task), Status::InProgress);
    rig.effects.clear();
    rig.command(Command::Close { task });
    assert_eq!(rig.count_effects(|effect| matches!(effect, Effect::RemoveWorktree { .. })), 1);
}
