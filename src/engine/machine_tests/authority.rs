use super::*;
use crate::engine::command::{FileCommand, OnConflict, Outgoing, StopScope, TaskChanges, TaskDraft, TaskStart};
use crate::engine::query::Bytes;
use crate::engine::review::{MergeStrategy, MergeTarget, RewindScope};
use crate::model::ask::{AskMode, AskReply};
use crate::model::message::Delivery;

#[test]
fn agents_cannot_give_user_commands() {
    let mut rig = Rig::new();
    let root = rig.root();
    let task = rig.make_busy(root, "Task");
    let (id, ask) = (MessageId::fresh(&rig.ids), AskId::fresh(&rig.ids));
    let text = || "a word".to_owned();
    let commands = [
        Command::Send { task, message: Outgoing { text: text(), ..Outgoing::default() }, mode: Delivery::Steer },
        Command::Withdraw { task, messages: vec![id] },
        Command::Answer { task, ask, reply: AskReply::Text(text()), by: None },
        Command::Restore { task },
        Command::Resume { task },
        Command::Interrupt { task },
        Command::Stop { scope: StopScope::All },
        Command::Compact { task },
        Command::Background { task, call: text() },
        Command::Kill { task, process: text() },
        Command::Merge { task, into: MergeTarget::Parent, how: MergeStrategy::Merge, conflicts: OnConflict::Refuse },
        Command::UndoMerge { task },
        Command::CancelMerge { task },
        Command::Verify { task },
        Command::CatchUp { task },
        Command::Review { task, comments: Vec::new(), words: text(), state: None },
        Command::Rewind { task, to: None, extent: RewindScope::Both },
        Command::Redo { task },
        Command::Fork { task, at: None, draft: TaskDraft::default(), start: TaskStart::Now },
        Command::Resend { task, message: id, text: text(), extent: RewindScope::Both },
        Command::Files(FileCommand::AttachPicture { name: text(), data: Bytes::default() }),
        Command::HandOver { now: false },
        Command::Quit,
    ];
    for command in commands {
        rig.effects.clear();
        let name = format!("{command:?}");
        assert_eq!(message_of(rig.agent_command(root, command)), "only the user may do this", "{name}");
        assert_eq!(rig.effects.len(), 1, "{name}: {:?}", rig.effects);
    }
    assert!(rig.view(task).alive);
}

#[test]
fn the_user_cannot_send_messages_as_a_task() {
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
fn ancestors_are_notified_of_user_edits_but_not_of_agent_edits() {
    let mut rig = Rig::new();
    let root = rig.root();
    rig.send(root, "begin");
    rig.start(root);
    let task = rig.make(root, "Task");
    let told = |rig: &Rig| {
        let changes =
            rig.messages(root).into_iter().filter(|message| matches!(message.from, MessageSource::TreeChange { .. }));
        changes.count()
    };
    let rename =
        || Command::Update { task, changes: TaskChanges { title: Some("New".to_owned()), ..TaskChanges::default() } };
    let before = told(&rig);
    assert_eq!(rig.agent_command(root, rename()), Some(Ok(Outcome::Done)));
    assert_eq!(told(&rig), before);
    assert_eq!(rig.command(rename()), Some(Ok(Outcome::Done)));
    assert_eq!(told(&rig), before + 1);
}

#[test]
fn a_deferred_change_by_an_agent_is_refused_if_the_task_was_moved_away() {
    let Family { mut rig, root, child, sibling, .. } = family();
    let task = rig.make_busy(child, "Task");
    assert_eq!(rig.agent_command(child, Command::Reset { task }), None, "its agent is stopped first");
    let reset = rig.last_command();
    rig.exit_stopped(task);
    assert_eq!(rig.worktree_done(Ok(())), task);
    assert!(matches!(rig.reply(reset), Some(Ok(Outcome::Reset { recurs: false }))));
    let moved = rig.command(Command::Move { task, parent: sibling, before: None });
    assert_eq!(moved, Some(Ok(Outcome::Done)));
    assert!(message_of(rig.agent_command(child, Command::Reset { task })).contains("not below yours"));
    assert!(
        rig.agent_command(root, Command::Reset { task }).is_none_or(|reply| reply.is_ok()),
        "everything is below the root"
    );
}
