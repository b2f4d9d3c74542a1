use super::*;
use crate::base::ProjectId;
use crate::engine::command::{MESSAGE_CHARS, SetAside, StopScope, UNREAD_MESSAGES};
use crate::model::ask::Approval;
use crate::model::event::{MessagesConsumed, MessagesWithdrawn};
use crate::model::run::RunCommand;

fn word(to: TaskId) -> Command {
    Command::Message { to, body: "a word".to_owned(), request_reply: false }
}

#[test]
fn an_agent_speaks_to_those_above_it_and_to_its_own_sub_tasks() {
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
        let answer = rig.ask(from, word(to)).unwrap();
        assert_eq!(answer.is_ok(), allowed, "{from} to {to}: {answer:?}");
        assert_eq!(rig.messages(to).len(), usize::from(allowed));
        assert_eq!(rig.launched(), if allowed { vec![to] } else { Vec::new() });
    }
}

#[test]
fn what_an_agent_sends_is_bounded_in_length_and_in_number() {
    let Family { mut rig, root, child, .. } = family();
    let long = |chars: usize| Command::Message { to: root, body: "é".repeat(chars), request_reply: false };
    let refused = message_of(rig.ask(child, long(MESSAGE_CHARS + 1)));
    assert!(refused.contains(&MESSAGE_CHARS.to_string()), "{refused}");
    assert_eq!(rig.messages(root).len(), 0);
    assert!(rig.ask(child, long(MESSAGE_CHARS)).unwrap().is_ok());
    for _ in 1..UNREAD_MESSAGES {
        assert!(rig.ask(child, word(root)).unwrap().is_ok());
    }
    let refused = message_of(rig.ask(child, word(root)));
    assert!(refused.contains("has not read yet"), "{refused}");
    assert_eq!(rig.messages(root).len(), UNREAD_MESSAGES);
    // The user is never refused, and what was read makes room.
    assert!(matches!(rig.send(root, "Listen."), Some(Ok(Outcome::Sent { .. }))));
    rig.start(root);
    let read = rig.messages(root).iter().map(|message| message.id).collect();
    rig.run_writes(root, vec![MessagesConsumed { ids: read }.into()]);
    assert!(rig.ask(child, word(root)).unwrap().is_ok());
}

#[test]
fn a_message_to_a_finished_task_wakes_it() {
    for status in [Status::Passed, Status::Failed, Status::Closed] {
        let mut rig = Rig::new();
        let task = rig.make_busy(rig.root(), "Task");
        rig.exit(task, if status == Status::Failed { &Exit::DoneFailed } else { &Exit::DonePassed });
        if status == Status::Closed {
            rig.command(Command::Close { task });
            let Some(Effect::Clear { then, .. }) = rig.effects.pop() else { panic!("nothing is put away") };
            rig.feed(Input::Cleared { then, result: Ok(SetAside::default()) });
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
fn nothing_happens_before_the_message_is_on_the_disk() {
    let mut rig = Rig::new();
    let root = rig.root();
    rig.appends = Mood::Sleeps;
    assert_eq!(rig.send(root, "begin"), None);
    assert!(rig.launched().is_empty());
    rig.wake_disk();
    assert!(matches!(rig.reply(rig.last_command()), Some(Ok(Outcome::Sent { .. }))));
    assert_eq!(rig.launched(), [root]);
    rig.appends = Mood::Refuses;
    assert!(message_of(rig.send(root, "again")).contains("nothing was done"));
}

#[test]
fn those_above_learn_what_the_person_said_without_being_woken() {
    let mut rig = Rig::new();
    let root = rig.root();
    rig.send(root, "begin");
    rig.start(root);
    rig.rest(root);
    let task = rig.make(root, "Task");
    rig.effects.clear();
    rig.send(task, "begin");
    let notes = |rig: &Rig| {
        rig.messages(root)
            .into_iter()
            .filter(|message| matches!(message.from, Source::UserMessageForwarded { .. }))
            .count()
    };
    assert_eq!(notes(&rig), 1);
    assert_eq!(rig.launched(), [task]);
}

#[test]
fn what_has_not_been_read_can_be_taken_back() {
    let mut rig = Rig::with(Limits { max_running: 1, ..Limits::default() });
    let (busy, waiting) = (rig.make_busy(rig.root(), "Busy"), rig.make(rig.root(), "Waiting"));
    let sent = |reply| match reply {
        Some(Ok(Outcome::Sent { message: id, .. })) => id,
        other => panic!("not sent: {other:?}"),
    };
    // Nobody is there yet: it is taken out of the session, and nobody is started for it.
    let id = sent(rig.send(waiting, "never mind"));
    assert_eq!(rig.command(Command::Withdraw { task: waiting, messages: vec![id] }), Some(Ok(Outcome::Done)));
    assert!(rig.view(waiting).unread.is_empty());
    assert_eq!(rig.view(waiting).waits, None, "nobody waits for a slot without need");
    let again = rig.command(Command::Withdraw { task: waiting, messages: vec![id] });
    assert!(message_of(again).contains("too late"));
    // A run decides for itself.
    let id = sent(rig.send(busy, "never mind"));
    assert_eq!(rig.command(Command::Withdraw { task: busy, messages: vec![id] }), None);
    let first = rig.last_command();
    assert_eq!(rig.count_effects(|effect| matches!(effect, Effect::Tell { command: RunCommand::Withdraw(_), .. })), 1);
    assert_eq!(rig.view(busy).unread.len(), 1, "until the run says so");
    rig.run_writes(busy, vec![MessagesConsumed { ids: vec![id] }.into()]);
    assert!(message_of(rig.reply(first)).contains("too late"), "it had been handed over");
    assert!(message_of(rig.command(Command::Withdraw { task: busy, messages: vec![id] })).contains("too late"));
    let (one, two) = (sent(rig.send(busy, "one")), sent(rig.send(busy, "two")));
    assert_eq!(rig.command(Command::Withdraw { task: busy, messages: vec![one, two] }), None);
    rig.run_writes(busy, vec![MessagesConsumed { ids: vec![one] }.into()]);
    assert_eq!(rig.reply(rig.last_command()), None, "the other one may still be taken back");
    rig.run_writes(busy, vec![MessagesWithdrawn { ids: vec![two] }.into()]);
    assert_eq!(rig.reply(rig.last_command()), Some(Ok(Outcome::Done)));
}

#[test]
fn what_a_run_that_left_never_heard_is_taken_back_and_starts_no_other_run() {
    let mut rig = Rig::new();
    let task = rig.make_busy(rig.root(), "Task");
    let Some(Ok(Outcome::Sent { message: id, .. })) = rig.send(task, "never mind") else { panic!("not sent") };
    assert_eq!(rig.command(Command::Withdraw { task, messages: vec![id] }), None);
    let command = rig.last_command();
    rig.effects.clear();
    rig.rest(task);
    assert_eq!(rig.reply(command), Some(Ok(Outcome::Done)));
    assert!(rig.view(task).unread.is_empty());
    assert!(!rig.launched().contains(&task));
}

#[test]
fn a_letter_whose_file_is_seen_several_times_is_taken_in_once() {
    let mut rig = Rig::new();
    let root = rig.root();
    let (project, message) = (ProjectId::fresh(&rig.ids), MessageId::fresh(&rig.ids));
    rig.machine.approvals.decide(Approval::Project { project }, true);
    let letter = || Input::FromProject { project, name: "there".to_owned(), message, body: "hello".to_owned() };
    rig.appends = Mood::Sleeps;
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
fn a_launch_under_way_decides_what_can_be_taken_back_when_it_is_a_run() {
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
                rig.count_effects(|effect| matches!(effect, Effect::Tell { command: RunCommand::Withdraw(_), .. })),
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
fn an_agent_that_sleeps_without_being_done_is_reported_to_the_task_above() {
    let mut rig = Rig::new();
    let root = rig.root();
    let task = rig.make_asleep(root, "Task");
    let notices: Vec<_> = rig.messages(root).into_iter().filter(|message| message.from == Source::Notice).collect();
    assert_eq!(notices.len(), 1);
    assert!(notices[0].body.contains("without calling done") && notices[0].body.contains(&task.to_string()));
    assert_eq!(rig.launched().last(), Some(&root));
}
