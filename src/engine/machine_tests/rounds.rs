use super::*;
use crate::config::recurring::{Facts, PlanChange, Schedule};
use crate::engine::command::{Changes, Draft, Start};
use crate::model::ask::Approval;
use crate::model::task::Recurring;

fn facts(mode: Recurring) -> Facts {
    let (title, description) = ("Sweep".to_owned(), "Why: dust.".to_owned());
    Facts { title, description, mode, profile: None, budget: None, when: String::new(), hash: FILE_HASH.to_owned() }
}

fn come_round(rig: &mut Rig, task: TaskId, mode: Recurring) {
    rig.feed(Input::Round { task, facts: Box::new(facts(mode)), session: Box::default() });
}

fn every_six_hours() -> Schedule {
    Schedule { every: Some("6h".to_owned()), ..Schedule::default() }
}

/// Makes a recurring task and takes it through its first round.
fn swept_once(rig: &mut Rig, mode: Recurring) -> TaskId {
    let draft = Draft { title: "Sweep".to_owned(), recurring: mode, schedule: every_six_hours(), ..Draft::default() };
    let create = Command::Create { parent: rig.root(), before: None, draft, start: Start::Now };
    let Some(Ok(Outcome::Created { task, .. })) = rig.command(create) else { panic!("not made") };
    rig.start(task);
    rig.exit(task, &Exit::DonePassed);
    rig.effects.clear();
    task
}

#[test]
fn a_round_that_resets_begins_with_an_empty_conversation_on_a_fresh_branch() {
    let mut rig = Rig::new();
    let task = swept_once(&mut rig, Recurring::Reset);
    come_round(&mut rig, task, Recurring::Reset);
    assert_eq!(rig.worktree_done(Ok(())), task);
    assert_eq!((rig.launched(), rig.status(task)), (vec![task], Status::InProgress));
    assert_eq!(rig.machine.state(task).unwrap().turns.voice, None, "nothing of the first round is in it");
    rig.start(task);
    rig.exit(task, &Exit::DonePassed);
    assert_eq!(rig.view(task).node.results.len(), 2);
    assert_eq!(rig.completions(rig.root()).len(), 2, "each round is told above");
}

#[test]
fn a_round_that_continues_keeps_the_conversation_and_the_worktree() {
    let mut rig = Rig::new();
    let task = swept_once(&mut rig, Recurring::Continue);
    let place = rig.view(task).node.worktree;
    come_round(&mut rig, task, Recurring::Continue);
    assert_eq!((rig.launched(), rig.status(task)), (vec![task], Status::InProgress));
    assert_eq!((rig.view(task).node.worktree, rig.view(task).turns), (place, 1));
}

#[test]
fn a_round_is_left_out_while_the_one_before_is_at_work_below_too() {
    let mut rig = Rig::new();
    let task = swept_once(&mut rig, Recurring::Continue);
    let below = rig.make_busy(task, "Below");
    rig.effects.clear();
    come_round(&mut rig, task, Recurring::Continue);
    assert!(rig.launched().is_empty());
    assert_eq!(rig.status(task), Status::Passed);
    rig.exit(below, &Exit::DonePassed);
}

#[test]
fn a_recurring_task_that_is_closed_is_pending_again_and_comes_round() {
    for mode in [Recurring::Reset, Recurring::Continue] {
        let mut rig = Rig::new();
        let task = swept_once(&mut rig, mode);
        rig.command(Command::Close { task });
        rig.worktree_done(Ok(()));
        let node = rig.view(task).node;
        assert_eq!((node.status, node.worktree, node.round), (Status::Pending, None, None), "{mode:?}");
        let talks = rig.machine.state(task).unwrap().turns.voice.is_some();
        assert_eq!(talks, mode == Recurring::Continue, "{mode:?}");
        rig.crash();
        assert!(!rig.launched().contains(&task), "{mode:?}: not before it is due");
        // The rig forgets approvals with a crash.
        rig.machine.approvals.decide(Approval::RecurringTask { hash: FILE_HASH.to_owned() }, true);
        come_round(&mut rig, task, mode);
        assert!(rig.launched().contains(&task), "{mode:?}");
    }
}

#[test]
fn a_message_begins_a_round_of_a_task_without_times_with_an_empty_conversation() {
    let mut rig = Rig::new();
    let task = swept_once(&mut rig, Recurring::Reset);
    rig.send(task, "again");
    assert!(rig.launched().is_empty(), "its worktree is put away first");
    assert_eq!(rig.worktree_done(Ok(())), task);
    assert_eq!((rig.launched(), rig.status(task)), (vec![task], Status::InProgress));
    assert_eq!(rig.machine.state(task).unwrap().turns.voice, None);
    let unread: Vec<String> = rig.view(task).unread.into_iter().map(|message| message.body).collect();
    assert_eq!(unread, ["again"]);
    rig.start(task);
    rig.send(task, "and this");
    rig.exit(task, &Exit::DonePassed);
    assert_eq!(rig.view(task).node.results.len(), 2);
}

#[test]
fn a_message_continues_the_round_of_a_task_with_times_or_one_that_continues() {
    for (mode, timed) in [(Recurring::Reset, true), (Recurring::Continue, false)] {
        let mut rig = Rig::new();
        let task = swept_once(&mut rig, mode);
        rig.machine.set_timed(timed.then_some(task).into_iter().collect());
        rig.send(task, "why?");
        assert_eq!(rig.launched(), [task], "{mode:?}");
        assert!(rig.machine.state(task).unwrap().turns.voice.is_some(), "{mode:?}");
    }
}

#[test]
fn a_round_that_cannot_begin_is_asked_about_and_keeps_the_message() {
    let mut rig = Rig::new();
    let task = swept_once(&mut rig, Recurring::Reset);
    rig.send(task, "again");
    rig.worktree_done(Err(Fault::environment("git said no")));
    assert_eq!(rig.only_ask(task).kind(), crate::model::AskKind::LaunchFailed);
    assert_eq!((rig.view(task).unread.len(), rig.launched().len()), (1, 0));
    rig.answer(task, 0);
    rig.worktree_done(Ok(()));
    assert_eq!(rig.launched(), [task]);
}

#[test]
fn drafts_do_not_come_round() {
    let mut rig = Rig::new();
    let task = rig.make(rig.root(), "Sweep");
    let draft = Changes { recurring: Some(Recurring::Reset), draft: Some(true), ..Changes::default() };
    rig.command(Command::Update { task, changes: draft });
    rig.effects.clear();
    come_round(&mut rig, task, Recurring::Reset);
    assert_eq!((rig.effects.len(), rig.status(task)), (0, Status::Draft));
}

#[test]
fn a_round_that_a_crash_cut_short_before_its_first_word_begins_at_the_next_start() {
    for mode in [Recurring::Reset, Recurring::Continue] {
        let mut rig = Rig::new();
        let task = swept_once(&mut rig, mode);
        rig.appends = if mode == Recurring::Continue { Mood::Refuses } else { Mood::Takes };
        come_round(&mut rig, task, mode);
        if mode == Recurring::Reset {
            // The worktree is gone and the tree says so; the message is what the crash takes.
            rig.saves = Mood::Sleeps;
            rig.worktree_done(Ok(()));
            rig.appends = Mood::Refuses;
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
fn only_the_root_and_the_person_make_recurring_tasks() {
    let Family { mut rig, root, child, .. } = family();
    let new = |parent: TaskId| {
        let (title, schedule) = ("Sweep".to_owned(), every_six_hours());
        let draft = Draft { title, recurring: Recurring::Reset, schedule, ..Draft::default() };
        Command::Create { parent, before: None, draft, start: Start::Later }
    };
    assert!(message_of(rig.ask(child, new(child))).contains("only the root"));
    assert!(rig.written.is_empty());
    assert!(rig.ask(root, new(root)).unwrap().is_ok());
    let [PlanChange::Keep(edit)] = rig.written.as_slice() else { panic!("{:?}", rig.written) };
    assert_eq!((edit.title.as_str(), &edit.schedule), ("Sweep", &every_six_hours()));
}

#[test]
fn a_task_that_does_not_come_round_has_no_times_and_one_that_no_longer_does_has_no_file() {
    let mut rig = Rig::new();
    let task = rig.make(rig.root(), "Sweep");
    let timed = Changes { schedule: Some(every_six_hours()), ..Changes::default() };
    let refused = message_of(rig.command(Command::Update { task, changes: timed.clone() }));
    assert!(refused.contains("only a recurring task"), "{refused}");
    let both = Changes { recurring: Some(Recurring::Continue), ..timed };
    assert_eq!(rig.command(Command::Update { task, changes: both }), Some(Ok(Outcome::Done)));
    let never = Changes { recurring: Some(Recurring::None), ..Changes::default() };
    rig.command(Command::Update { task, changes: never });
    assert_eq!(rig.written.last(), Some(&PlanChange::Remove(vec![task])));
}

#[test]
fn what_a_repository_brings_along_is_a_draft() {
    let mut rig = Rig::new();
    let task = TaskId::fresh(&rig.ids);
    come_round(&mut rig, task, Recurring::Reset);
    assert_eq!((rig.status(task), rig.launched().len()), (Status::Draft, 0));
    assert_eq!(rig.view(task).node.title, "Sweep");
    come_round(&mut rig, task, Recurring::Reset);
    assert_eq!(rig.status(task), Status::Draft, "also when it would be due");
}

#[test]
fn the_budget_of_a_round_is_not_what_the_rounds_before_have_spent() {
    let mut rig = Rig::new();
    let task = swept_once(&mut rig, Recurring::Continue);
    let facts = Facts { budget: Some(MicroUsd(50)), ..facts(Recurring::Continue) };
    rig.feed(Input::Round { task, facts: Box::new(facts), session: Box::default() });
    let [account] = rig.orders()[0].accounts.as_slice() else { panic!("one limit") };
    assert_eq!(account.limit.saturating_sub(account.spent), MicroUsd(50));
}
