use super::*;
use crate::engine::command::{Changes, Draft, FileCommand, OnConflict, Outgoing, Start, StopScope};
use crate::engine::query::Bytes;
use crate::engine::review::{Extent, Goal, How};
use crate::model::ask::{AskMode, Given};
use crate::model::message::Delivery;

#[test]
fn agents_cannot_give_the_commands_that_are_the_users() {
    let mut rig = Rig::new();
    let root = rig.root();
    let task = rig.make_busy(root, "Task");
    let (id, ask) = (MessageId::fresh(&rig.ids), AskId::fresh(&rig.ids));
    let text = || "a word".to_owned();
    let commands = [
        Command::Send { task, message: Outgoing { text: text(), images: Vec::new() }, mode: Delivery::Steer },
        Command::Withdraw { task, messages: vec![id] },
        Command::Answer { task, ask, reply: Given::Text(text()) },
        Command::Restore { task },
        Command::Resume { task },
        Command::Interrupt { task },
        Command::Stop { scope: StopScope::All },
        Command::Compact { task },
        Command::Background { task, call: text() },
        Command::Kill { task, process: text() },
        Command::Merge { task, into: Goal::Above, how: How::Merge, conflicts: OnConflict::Refuse },
        Command::UndoMerge { task },
        Command::CancelMerge { task },
        Command::Verify { task },
        Command::CatchUp { task },
        Command::Review { task, comments: Vec::new(), words: text(), state: None },
        Command::Rewind { task, to: None, extent: Extent::Both },
        Command::Redo { task },
        Command::Fork { task, at: None, draft: Draft::default(), start: Start::Now },
        Command::Resend { task, message: id, text: text(), extent: Extent::Both },
        Command::Files(FileCommand::AttachPicture { name: text(), data: Bytes::default() }),
        Command::Quit,
    ];
    for command in commands {
        rig.effects.clear();
        let name = format!("{command:?}");
        assert_eq!(message_of(rig.ask(root, command)), "only the user may do this", "{name}");
        assert_eq!(rig.effects.len(), 1, "{name}: {:?}", rig.effects);
    }
    assert!(rig.view(task).alive);
}

#[test]
fn the_user_does_not_speak_in_the_name_of_a_task() {
    let Family { mut rig, child, .. } = family();
    let message = Command::Message { to: child, body: "a word".to_owned(), request_reply: false };
    let (question, detail, choices) = ("Which?".to_owned(), String::new(), Vec::new());
    let ask = Command::Ask { question, detail, choices, default: None, mode: AskMode::Blocks };
    for command in [message, ask] {
        assert!(message_of(rig.command(command)).contains("only an agent"));
    }
    assert!(rig.messages(child).is_empty());
}

#[test]
fn the_tasks_above_are_told_of_what_the_user_changes_and_not_of_what_an_agent_does() {
    let mut rig = Rig::new();
    let root = rig.root();
    rig.send(root, "begin");
    rig.start(root);
    let task = rig.make(root, "Task");
    let told = |rig: &Rig| {
        let changes = rig.messages(root).into_iter().filter(|said| matches!(said.from, Source::TreeChange { .. }));
        changes.count()
    };
    let rename = || Command::Update { task, changes: Changes { title: Some("New".to_owned()), ..Changes::default() } };
    let before = told(&rig);
    assert_eq!(rig.ask(root, rename()), Some(Ok(Outcome::Done)));
    assert_eq!(told(&rig), before);
    assert_eq!(rig.command(rename()), Some(Ok(Outcome::Done)));
    assert_eq!(told(&rig), before + 1);
}

#[test]
fn a_task_that_is_moved_away_while_its_agent_ends_is_not_put_away_by_an_agent_any_more() {
    let Family { mut rig, root, child, sibling, .. } = family();
    let task = rig.make_busy(child, "Task");
    assert_eq!(rig.ask(child, Command::Reset { task }), None, "its agent is stopped first");
    let reset = rig.last_command();
    rig.stopped(task);
    assert_eq!(rig.worktree_done(Ok(())), task);
    assert!(matches!(rig.reply(reset), Some(Ok(Outcome::Reset { recurs: false }))));
    let moved = rig.command(Command::Move { task, parent: sibling, before: None });
    assert_eq!(moved, Some(Ok(Outcome::Done)));
    assert!(message_of(rig.ask(child, Command::Reset { task })).contains("not below yours"));
    assert!(rig.ask(root, Command::Reset { task }).is_none_or(|reply| reply.is_ok()), "everything is below the root");
}
