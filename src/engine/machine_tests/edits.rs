use super::*;
use crate::base::MicroUsd;
use crate::config::recurring::Schedule;
use crate::engine::command::{Changes, Draft, Start, StopScope};
use crate::engine::request::Request;
use crate::model::task::{EditedBy, Recurring};

fn title(task: TaskId) -> Request {
    let task = task.to_string();
    let title = Some("Another".to_owned());
    Request::UpdateTask { task, title, description: None, budget: None, colour: None, draft: None }
}

fn new_task(parent: Option<TaskId>) -> Request {
    Request::CreateTask {
        parent: parent.map(|parent| parent.to_string()),
        title: "New".to_owned(),
        description: String::new(),
        profile: None,
        budget: None,
        colour: None,
        recurring: Recurring::None,
        schedule: Schedule::default(),
        start: false,
        draft: false,
    }
}

type Asks = fn(TaskId) -> Request;

#[test]
fn an_agent_changes_only_what_is_below_its_own_task() {
    let Family { root, child, sibling, grandchild, deepest, .. } = family();
    let changes: [(&str, Asks); 5] = [
        ("update", title),
        ("close", |task| Request::CloseTask { task: task.to_string() }),
        ("delete", |task| Request::DeleteTask { task: task.to_string() }),
        ("reset", |task| Request::ResetTask { task: task.to_string() }),
        ("fork", |task| Request::Fork { target: task.to_string() }),
    ];
    for (word, request) in changes {
        for (target, allowed) in [(root, false), (child, false), (sibling, false), (grandchild, true), (deepest, true)]
        {
            let mut rig = family().rig;
            let before = rig.machine.tree().clone();
            let answer = rig.ask(child, request(target));
            let refused = answer.as_ref().is_some_and(Result::is_err);
            assert_eq!(refused, !allowed, "{word} {target}: {answer:?}");
            if refused {
                assert!(answer.unwrap().unwrap_err().contains("not below yours"), "{word}");
                assert_eq!(rig.machine.tree(), &before, "{word}");
            }
        }
    }
}

#[test]
fn an_agent_orders_its_own_sub_tasks_and_makes_tasks_anywhere() {
    let Family { mut rig, root, child, sibling, grandchild, .. } = family();
    let order = vec![sibling.to_string(), child.to_string()];
    let orders = |parent: TaskId| Request::ReorderTasks { parent: parent.to_string(), order: order.clone() };
    assert!(rig.ask(root, orders(root)).unwrap().is_ok());
    assert_eq!(rig.view(root).node.children, [sibling, child]);
    assert!(rig.ask(child, orders(root)).unwrap().is_err());
    for parent in [Some(root), Some(sibling), Some(grandchild), None] {
        assert!(rig.ask(child, new_task(parent)).unwrap().is_ok(), "{parent:?}");
    }
}

#[test]
fn a_task_that_was_made_and_not_told_to_begin_is_said_to_be_there() {
    let Family { mut rig, child, .. } = family();
    rig.appends = Mood::Refuses;
    let mut request = new_task(None);
    if let Request::CreateTask { start, .. } = &mut request {
        *start = true;
    }
    let said = rig.ask(child, request).unwrap().unwrap_err();
    let made = *rig.view(child).node.children.last().unwrap();
    assert!(said.starts_with(&format!("the task {made} was made, but was not told to begin: ")), "{said}");
    assert!(said.contains("the disk is full") && said.contains("send it a message"), "{said}");
    let draft = Draft { title: "Another".to_owned(), ..Draft::default() };
    let create = Command::Create { parent: child, before: None, draft, start: Start::Now };
    assert!(message_of(rig.command(create)).contains("was made, but was not told to begin"));
}

#[test]
fn nothing_is_made_or_moved_below_the_deepest_level() {
    let Family { mut rig, child, sibling, grandchild, deepest, .. } = family();
    let draft = || Draft { title: "Too deep".to_owned(), ..Draft::default() };
    let create = Command::Create { parent: deepest, before: None, draft: draft(), start: Start::Now };
    assert!(message_of(rig.command(create)).contains("3 levels below the root"));
    assert!(rig.ask(deepest, new_task(None)).unwrap().unwrap_err().contains("may not go deeper"));
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
    let Some(Effect::Clear { ticket, task, branch, .. }) = rig.effects.pop() else { panic!("nothing is put away") };
    assert_eq!((task, branch), (busy, BranchFate::Keep));
    rig.feed(Input::Cleared { ticket, result: Ok("archived".to_owned()) });
    assert_eq!(rig.reply(rig.last_ticket()), Some(Ok(Outcome::Noted("archived".to_owned()))));
    assert_eq!((rig.status(busy), rig.view(busy).node.worktree), (Status::Closed, None));
    assert!(message_of(rig.command(Command::Close { task: busy })).contains("closed already"));
    let never_begun = rig.make(root, "Never begun");
    assert_eq!(rig.command(Command::Close { task: never_begun }), Some(Ok(Outcome::Done)), "it has no worktree");
}

#[test]
fn what_is_said_while_a_worktree_is_put_away_is_not_forgotten() {
    for (word, result) in [("refused", Err("git said no".to_owned())), ("restored", Ok("back".to_owned()))] {
        let mut rig = Rig::new();
        let task = rig.make_asleep(rig.root(), "Task");
        rig.effects.clear();
        rig.command(Command::Restore { task });
        rig.send(task, "are you there?");
        assert!(rig.launched().is_empty(), "{word}: nothing begins before the worktree is back");
        let ticket = rig.effects.iter().find_map(|effect| match effect {
            Effect::Restore { ticket, .. } => Some(*ticket),
            _ => None,
        });
        rig.feed(Input::Cleared { ticket: ticket.unwrap(), result });
        assert_eq!(rig.launched(), [task], "{word}");
    }
}

#[test]
fn a_reset_takes_back_what_nobody_has_read() {
    let mut rig = Rig::new();
    let task = rig.make(rig.root(), "Task");
    rig.send(task, "begin");
    rig.feed(Input::LaunchFailed { task, failure: LaunchFailure::Refused("no model".to_owned()) });
    rig.effects.clear();
    rig.command(Command::Reset { task });
    let ticket = rig.effects.iter().find_map(|effect| match effect {
        Effect::Clear { ticket, .. } => Some(*ticket),
        _ => None,
    });
    rig.feed(Input::Cleared { ticket: ticket.unwrap(), result: Ok(String::new()) });
    let view = rig.view(task);
    assert_eq!(view.node.status, Status::Pending);
    assert!(view.unread.is_empty() && view.asks.is_empty(), "{view:?}");
    rig.crash();
    assert!(!rig.launched().contains(&task), "it starts when it is spoken to");
}

#[test]
fn a_deleted_task_that_the_disk_keeps_is_as_it_was() {
    let mut rig = Rig::new();
    let task = rig.make_asleep(rig.root(), "Task");
    rig.saves = Mood::Refuses;
    rig.command(Command::Delete { task });
    let ticket = rig.effects.iter().find_map(|effect| match effect {
        Effect::Clear { ticket, .. } => Some(*ticket),
        _ => None,
    });
    rig.feed(Input::Cleared { ticket: ticket.unwrap(), result: Ok(String::new()) });
    assert!(message_of(rig.reply(rig.last_ticket())).contains("nothing was changed"));
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
    let Some(Effect::Clear { ticket, .. }) = rig.effects.pop() else { panic!("nothing is put away") };
    rig.feed(Input::Cleared { ticket, result: Ok(String::new()) });
    rig.effects.clear();
    rig.send(root, "go on");
    let accounts: Vec<AccountOrder> = rig.orders().iter().flat_map(|order| order.accounts.clone()).collect();
    assert_eq!(accounts.iter().map(|account| account.spent).collect::<Vec<_>>(), [MicroUsd(20)]);
}
