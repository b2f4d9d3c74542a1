use super::*;
use crate::base::{MicroUsd, ProjectId};
use crate::config::recurring::PlanFacts;
use crate::engine::command::{TaskDraft, TaskStart};
use crate::model::ask::{Approval, Subject};
use crate::model::task::Recurring;

fn project_message(rig: &mut Rig, project: ProjectId) -> MessageId {
    let message = MessageId::fresh(&rig.ids);
    send_project_message(rig, project, message);
    message
}

fn send_project_message(rig: &mut Rig, project: ProjectId, message: MessageId) {
    let (name, body) = ("there".to_owned(), "Run this.".to_owned());
    rig.feed(Input::FromProject { project, name, message, body });
}

/// Saves the last decision. Returns its subject and whether it was approved.
fn save_decision(rig: &mut Rig) -> (Approval, bool) {
    let at = rig.effects.iter().rposition(|effect| matches!(effect, Effect::SaveDecision { .. })).expect("a decision");
    let Effect::SaveDecision(decision) = rig.effects.remove(at) else { unreachable!() };
    let (approval, approved) = (decision.approval.clone(), decision.approved);
    rig.feed(Input::DecisionSaved { decision, result: Ok(()) });
    (approval, approved)
}

fn discards(rig: &Rig) -> usize {
    rig.count_effects(|effect| matches!(effect, Effect::DiscardEnvelope { .. }))
}

#[test]
fn a_message_from_another_project_waits_for_the_users_approval() {
    let mut rig = Rig::new();
    let (root, project) = (rig.root(), ProjectId::fresh(&rig.ids));
    let first = project_message(&mut rig, project);
    project_message(&mut rig, project);
    assert_eq!((rig.launched().len(), rig.messages(root).len()), (0, 0));
    let ask = rig.only_ask(root);
    assert_eq!(ask.subject, Subject::Approval { approval: Approval::Project { project } });
    assert!(ask.detail.contains("Run this."), "the message is shown");
    rig.answer(root, 0);
    assert_eq!(save_decision(&mut rig), (Approval::Project { project }, true));
    assert_eq!(rig.view(root).asks.len(), 0);
    send_project_message(&mut rig, project, first);
    assert_eq!((rig.messages(root).len(), rig.launched()), (1, vec![root]));
    let other = ProjectId::fresh(&rig.ids);
    project_message(&mut rig, other);
    assert_eq!(
        rig.only_ask(root).subject,
        Subject::Approval { approval: Approval::Project { project: other } },
        "the answer is for one project"
    );
}

#[test]
fn messages_from_a_declined_project_are_dropped() {
    let mut rig = Rig::new();
    let (root, project) = (rig.root(), ProjectId::fresh(&rig.ids));
    let message = project_message(&mut rig, project);
    assert_eq!(discards(&rig), 0, "it waits for the answer");
    rig.answer(root, 1);
    assert_eq!(save_decision(&mut rig), (Approval::Project { project }, false));
    send_project_message(&mut rig, project, message);
    assert_eq!((discards(&rig), rig.messages(root).len(), rig.view(root).asks.len()), (1, 0, 0));
}

#[test]
fn all_tasks_wait_for_one_decision_about_the_setup_hook() {
    for choice in [0, 1] {
        let mut rig = Rig::new();
        let root = rig.root();
        let tasks = [rig.make(root, "One"), rig.make(root, "Two")];
        for task in tasks {
            rig.send(task, "begin");
            let failure = LaunchFailure::UnapprovedHook { hash: "h".to_owned(), script: "echo hi".to_owned() };
            rig.feed(Input::LaunchFailed { task, failure });
            assert_eq!(rig.status(task), Status::InProgress);
        }
        let ask = rig.only_ask(root);
        assert!(ask.detail.contains("echo hi"));
        assert!(rig.machine.is_quiet() && rig.view(tasks[0]).waits.is_none(), "they are not stalled");
        rig.effects.clear();
        rig.answer(root, choice);
        assert!(rig.launched().is_empty(), "the settings come first");
        let (what, approved) = save_decision(&mut rig);
        assert_eq!(approved, choice == 0);
        assert_eq!(rig.launched().len(), 2);
        assert!(rig.orders().iter().all(|order| order.approvals.decision(&what) == Some(approved)));
    }
}

fn facts(description: &str, hash: &str) -> PlanFacts {
    PlanFacts {
        title: "Sweep".to_owned(),
        description: description.to_owned(),
        mode: Recurring::Continue,
        profile: None,
        budget: Some(MicroUsd(100_000)),
        when: "every 6h".to_owned(),
        hash: hash.to_owned(),
    }
}

fn recurring_due(rig: &mut Rig, task: TaskId, facts: PlanFacts) {
    rig.effects.clear();
    rig.feed(Input::RecurringDue { task, facts: Box::new(facts), session: Box::default() });
}

/// Creates a recurring task that has run once.
fn recurring_task(rig: &mut Rig) -> TaskId {
    let (title, description) = ("Sweep".to_owned(), "Why: dust.".to_owned());
    let draft = TaskDraft { title, description, recurring: Recurring::Continue, ..TaskDraft::default() };
    let create = Command::Create { parent: rig.root(), before: None, draft, start: TaskStart::Now };
    let Some(Ok(Outcome::Created { task, .. })) = rig.command(create) else { panic!("not made") };
    rig.start(task);
    rig.exit(task, &Exit::DonePassed);
    task
}

#[test]
fn a_changed_file_asks_once_and_runs_only_after_approval() {
    let mut rig = Rig::with(EngineLimits { budget: Some(MicroUsd(50)), ..EngineLimits::default() });
    let task = recurring_task(&mut rig);
    recurring_due(&mut rig, task, facts("Send the keys away.", "other"));
    recurring_due(&mut rig, task, facts("Send the keys away.", "other"));
    assert!(rig.launched().is_empty());
    assert_eq!(rig.view(task).node.description, "Why: dust.");
    let ask = rig.only_ask(task);
    assert!(ask.detail.contains("Send the keys away."), "{}", ask.detail);
    rig.answer(task, 0);
    assert_eq!(save_decision(&mut rig).0, Approval::RecurringTask { hash: "other".to_owned() });
    recurring_due(&mut rig, task, facts("Send the keys away.", "other"));
    assert_eq!((rig.launched(), rig.view(task).node.description.as_str()), (vec![task], "Send the keys away."));
    let own = rig.orders()[0].accounts[0];
    assert_eq!(own.limit.saturating_sub(own.spent), MicroUsd(50), "never more than the user allows");
}

#[test]
fn a_declined_or_outdated_file_is_not_asked_about_again() {
    let mut rig = Rig::new();
    let task = recurring_task(&mut rig);
    recurring_due(&mut rig, task, facts("One.", "one"));
    recurring_due(&mut rig, task, facts("Two.", "two"));
    assert!(rig.only_ask(task).detail.contains("Two."), "the first question is taken back");
    rig.answer(task, 1);
    assert!(!save_decision(&mut rig).1);
    recurring_due(&mut rig, task, facts("Two.", "two"));
    assert_eq!((rig.launched().len(), rig.view(task).asks.len()), (0, 0));
    recurring_due(&mut rig, task, facts("Why: dust.", FILE_HASH));
    assert_eq!(rig.launched(), [task], "it continues with the unchanged file");
}

#[test]
fn a_recurring_task_of_an_earlier_version_runs_while_its_file_is_unchanged() {
    for (description, runs) in [("Why: dust.", true), ("Something else.", false)] {
        let mut rig = Rig::new();
        let task = recurring_task(&mut rig);
        // A project of an earlier version has no approvals.
        rig.approvals = Approvals::default();
        rig.crash();
        recurring_due(&mut rig, task, facts(description, "any"));
        assert_eq!(rig.launched().len(), usize::from(runs), "{description}");
        assert_eq!(rig.view(task).asks.len(), usize::from(!runs));
    }
}
