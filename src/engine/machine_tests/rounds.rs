use super::*;
use crate::config::recurring::{PlanChange, PlanFacts, Schedule};
use crate::engine::command::{TaskChanges, TaskDraft, TaskStart};
use crate::model::ask::Approval;
use crate::model::task::Recurring;

fn facts(mode: Recurring) -> PlanFacts {
    let (title, description) = ("Sweep".to_owned(), "Why: dust.".to_owned());
    PlanFacts { title, description, mode, profile: None, budget: None, when: String::new(), hash: FILE_HASH.to_owned() }
}

fn recurring_due(rig: &mut Rig, task: TaskId, mode: Recurring) {
    rig.feed(Input::RecurringDue { task, facts: Box::new(facts(mode)), session: Box::default() });
}

fn every_six_hours() -> Schedule {
    Schedule { every: Some("6h".to_owned()), ..Schedule::default() }
}

/// Creates a recurring task and completes its first run.
fn recurring_task_that_ran(rig: &mut Rig, mode: Recurring) -> TaskId {
    let draft =
        TaskDraft { title: "Sweep".to_owned(), recurring: mode, schedule: every_six_hours(), ..TaskDraft::default() };
    let create = Command::Create { parent: rig.root(), before: None, draft, start: TaskStart::Now };
    let Some(Ok(Outcome::Created { task, .. })) = rig.command(create) else { panic!("not made") };
    rig.start(task);
    rig.exit(task, &Exit::DonePassed);
    rig.effects.clear();
    task
}

#[test]
fn a_resetting_run_starts_with_an_empty_conversation_on_a_new_branch() {
    let mut rig = Rig::new();
    let task = recurring_task_that_ran(&mut rig, Recurring::Reset);
    recurring_due(&mut rig, task, Recurring::Reset);
    assert_eq!(rig.worktree_done(Ok(())), task);
    assert_eq!((rig.launched(), rig.status(task)), (vec![task], Status::InProgress));
    assert_eq!(rig.machine.state(task).unwrap().turns.last_role, None, "it has nothing of the first run");
    rig.start(task);
    rig.exit(task, &Exit::DonePassed);
    assert_eq!(rig.view(task).node.results.len(), 2);
    assert_eq!(rig.completions(rig.root()).len(), 2, "the parent is notified of each run");
}

#[test]
fn a_continuing_run_keeps_the_conversation_and_the_worktree() {
    let mut rig = Rig::new();
    let task = recurring_task_that_ran(&mut rig, Recurring::Continue);
    let place = rig.view(task).node.worktree;
    recurring_due(&mut rig, task, Recurring::Continue);
    assert_eq!((rig.launched(), rig.status(task)), (vec![task], Status::InProgress));
    assert_eq!((rig.view(task).node.worktree, rig.view(task).turns), (place, 1));
}

#[test]
fn a_run_is_skipped_while_the_last_one_or_its_sub_tasks_still_work() {
    let mut rig = Rig::new();
    let task = recurring_task_that_ran(&mut rig, Recurring::Continue);
    let below = rig.make_busy(task, "Below");
    rig.effects.clear();
    recurring_due(&mut rig, task, Recurring::Continue);
    assert!(rig.launched().is_empty());
    assert_eq!(rig.status(task), Status::Passed);
    rig.exit(below, &Exit::DonePassed);
}

#[test]
fn a_closed_recurring_task_is_pending_again_and_recurs() {
    for mode in [Recurring::Reset, Recurring::Continue] {
        let mut rig = Rig::new();
        let task = recurring_task_that_ran(&mut rig, mode);
        rig.command(Command::Close { task });
        rig.worktree_done(Ok(()));
        let node = rig.view(task).node;
        assert_eq!((node.status, node.worktree, node.last_recurring_run), (Status::Pending, None, None), "{mode:?}");
        let talks = rig.machine.state(task).unwrap().turns.last_role.is_some();
        assert_eq!(talks, mode == Recurring::Continue, "{mode:?}");
        rig.crash();
        assert!(!rig.launched().contains(&task), "{mode:?}: not before it is due");
        // The rig loses approvals in a crash.
        rig.machine.approvals.decide(Approval::RecurringTask { hash: FILE_HASH.to_owned() }, true);
        recurring_due(&mut rig, task, mode);
        assert!(rig.launched().contains(&task), "{mode:?}");
    }
}

#[test]
fn a_message_starts_a_run_of_an_untimed_task_with_an_empty_conversation() {
    let mut rig = Rig::new();
    let task = recurring_task_that_ran(&mut rig, Recurring::Reset);
    rig.send(task, "again");
    assert!(rig.launched().is_empty(), "its worktree is removed first");
    assert_eq!(rig.worktree_done(Ok(())), task);
    assert_eq!((rig.launched(), rig.status(task)), (vec![task], Status::InProgress));
    assert_eq!(rig.machine.state(task).unwrap().turns.last_role, None);
    let unread: Vec<String> = rig.view(task).unread.into_iter().map(|message| message.body).collect();
    assert_eq!(unread, ["again"]);
    rig.start(task);
    rig.send(task, "and this");
    rig.exit(task, &Exit::DonePassed);
    assert_eq!(rig.view(task).node.results.len(), 2);
}

#[test]
fn a_message_continues_the_run_of_a_timed_or_continuing_task() {
    for (mode, timed) in [(Recurring::Reset, true), (Recurring::Continue, false)] {
        let mut rig = Rig::new();
        let task = recurring_task_that_ran(&mut rig, mode);
        rig.machine.set_timed(timed.then_some(task).into_iter().collect());
        rig.send(task, "why?");
        assert_eq!(rig.launched(), [task], "{mode:?}");
        assert!(rig.machine.state(task).unwrap().turns.last_role.is_some(), "{mode:?}");
    }
}

#[test]
fn a_run_that_cannot_start_asks_the_user_and_keeps_the_message() {
    let mut rig = Rig::new();
    let task = recurring_task_that_ran(&mut rig, Recurring::Reset);
    rig.send(task, "again");
    rig.worktree_done(Err(Fault::environment("git said no")));
    assert_eq!(rig.only_ask(task).kind(), crate::model::AskKind::LaunchFailed);
    assert_eq!((rig.view(task).unread.len(), rig.launched().len()), (1, 0));
    rig.answer(task, 0);
    rig.worktree_done(Ok(()));
    assert_eq!(rig.launched(), [task]);
}

#[test]
fn drafts_do_not_recur() {
    let mut rig = Rig::new();
    let task = rig.make(rig.root(), "Sweep");
    let draft = TaskChanges { recurring: Some(Recurring::Reset), draft: Some(true), ..TaskChanges::default() };
    rig.command(Command::Update { task, changes: draft });
    rig.effects.clear();
    recurring_due(&mut rig, task, Recurring::Reset);
    assert_eq!((rig.effects.len(), rig.status(task)), (0, Status::Draft));
}

#[test]
fn a_run_interrupted_before_its_first_message_starts_after_a_restart() {
    for mode in [Recurring::Reset, Recurring::Continue] {
        let mut rig = Rig::new();
        let task = recurring_task_that_ran(&mut rig, mode);
        rig.appends = if mode == Recurring::Continue { DiskMode::Fails } else { DiskMode::Accepts };
        recurring_due(&mut rig, task, mode);
        if mode == Recurring::Reset {
            // The worktree is gone from disk and tree; the crash loses the message.
            rig.saves = DiskMode::Blocks;
            rig.worktree_done(Ok(()));
            rig.appends = DiskMode::Fails;
            rig.wake_disk_once();
        }
        assert!(rig.launched().is_empty());
        rig.crash();
        assert!(rig.launched().contains(&task), "{mode:?}");
        rig.start(task);
        rig.exit(task, &Exit::DonePassed);
        rig.crash();
        assert!(!rig.launched().contains(&task), "{mode:?}: once");
    }
}

#[test]
fn only_the_root_and_the_user_create_recurring_tasks() {
    let Family { mut rig, root, child, .. } = family();
    let new = |parent: TaskId| {
        let (title, schedule) = ("Sweep".to_owned(), every_six_hours());
        let draft = TaskDraft { title, recurring: Recurring::Reset, schedule, ..TaskDraft::default() };
        Command::Create { parent, before: None, draft, start: TaskStart::Later }
    };
    assert!(message_of(rig.agent_command(child, new(child))).contains("only the root"));
    assert!(rig.written.is_empty());
    assert!(rig.agent_command(root, new(root)).unwrap().is_ok());
    let [PlanChange::Keep(edit)] = rig.written.as_slice() else { panic!("{:?}", rig.written) };
    assert_eq!((edit.title.as_str(), &edit.schedule), ("Sweep", &every_six_hours()));
}

#[test]
fn a_schedule_needs_a_recurring_task_and_the_file_goes_with_it() {
    let mut rig = Rig::new();
    let task = rig.make(rig.root(), "Sweep");
    let timed = TaskChanges { schedule: Some(every_six_hours()), ..TaskChanges::default() };
    let refused = message_of(rig.command(Command::Update { task, changes: timed.clone() }));
    assert!(refused.contains("a schedule needs"), "{refused}");
    let both = TaskChanges { recurring: Some(Recurring::Continue), ..timed };
    assert_eq!(rig.command(Command::Update { task, changes: both }), Some(Ok(Outcome::Done)));
    let never = TaskChanges { recurring: Some(Recurring::None), ..TaskChanges::default() };
    rig.command(Command::Update { task, changes: never });
    assert_eq!(rig.written.last(), Some(&PlanChange::Remove(vec![task])));
}

#[test]
fn a_recurring_task_from_the_repository_starts_as_a_draft() {
    let mut rig = Rig::new();
    let task = TaskId::fresh(&rig.ids);
    recurring_due(&mut rig, task, Recurring::Reset);
    assert_eq!((rig.status(task), rig.launched().len()), (Status::Draft, 0));
    assert_eq!(rig.view(task).node.title, "Sweep");
    recurring_due(&mut rig, task, Recurring::Reset);
    assert_eq!(rig.status(task), Status::Draft, "also when it would be due");
}

#[test]
fn the_budget_of_a_run_does_not_count_earlier_runs() {
    let mut rig = Rig::new();
    let task = recurring_task_that_ran(&mut rig, Recurring::Continue);
    let facts = PlanFacts { budget: Some(MicroUsd(50)), ..facts(Recurring::Continue) };
    rig.feed(Input::RecurringDue { task, facts: Box::new(facts), session: Box::default() });
    let [account] = rig.orders()[0].accounts.as_slice() else { panic!("one limit") };
    assert_eq!(account.limit.saturating_sub(account.spent), MicroUsd(50));
}
