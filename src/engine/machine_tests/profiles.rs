//! Who does a task: what is launched with which profile, whatever is selected, handed over, broken off or started again.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::engine::command::{TaskDraft, TaskStart};
use crate::model::AskKind;
use crate::model::ask::{Ask, AskMode, AskReply, Choice, ChoiceId, Subject};
use crate::model::event::Body;

fn create(rig: &mut Rig, profile: Option<&str>) -> TaskId {
    let parent = rig.root();
    let draft = TaskDraft { title: "t".to_owned(), profile: profile.map(str::to_owned), ..TaskDraft::default() };
    match rig.command(Command::Create { parent, before: None, draft, start: TaskStart::Later }) {
        Some(Ok(Outcome::Created { task, .. })) => task,
        other => panic!("{other:?}"),
    }
}

fn hand_over(rig: &mut Rig, task: TaskId, to: &str) -> CommandId {
    rig.command(Command::HandOverTask { task, to: to.to_owned(), note: None });
    rig.last_command()
}

fn profile(rig: &Rig, task: TaskId) -> Option<String> {
    rig.view(task).node.profile
}

fn account_ask(rig: &Rig, group: &str) -> Ask {
    Ask {
        id: AskId::fresh(&rig.ids),
        subject: Subject::RetriesExhausted { group: Some(group.to_owned()) },
        question: "The account has no credit.".to_owned(),
        detail: String::new(),
        choices: vec![
            Choice::new(ChoiceId::Retry, "Try again"),
            Choice::new(ChoiceId::Profile("reviewer".to_owned()), "Hand over to reviewer"),
        ],
        default: None,
        mode: AskMode::Blocks,
        deadline: None,
        tool_call: None,
    }
}

#[test]
fn an_unbound_task_keeps_its_messages_asks_once_and_is_never_launched() {
    let mut rig = Rig::new();
    rig.select("ask");
    let task = create(&mut rig, None);
    rig.send(task, "one");
    rig.send(task, "two");
    assert_eq!((rig.launched(), rig.count(task, "ask_raised")), (vec![], 1));
    let ask = rig.only_ask(task);
    assert_eq!(ask.kind(), AskKind::Bind);
    rig.crash();
    assert_eq!((rig.launched(), rig.count(task, "ask_raised")), (vec![], 1));
    let at = ask.choices.iter().position(|choice| choice.id == ChoiceId::Profile("reviewer".to_owned())).unwrap();
    rig.answer(task, at);
    assert_eq!(rig.orders()[0].node.profile.as_deref(), Some("reviewer"));
    assert_eq!(rig.machine.state(task).unwrap().messages.iter().count(), 2);
}

#[test]
fn an_answer_counts_even_if_the_tree_was_not_saved_before_a_crash() {
    let mut rig = Rig::new();
    rig.select("ask");
    let task = create(&mut rig, None);
    rig.send(task, "one");
    rig.saves = DiskMode::Blocks;
    rig.answer(task, 1);
    assert_eq!(rig.launched(), []);
    rig.crash();
    let launched = rig.orders().iter().map(|order| order.node.profile.clone()).collect::<Vec<_>>();
    assert_eq!(launched, [Some("engineer".to_owned())], "the second choice of the list");
}

#[test]
fn an_agent_must_name_a_profile_while_the_user_chooses() {
    let mut rig = Rig::new();
    let task = rig.make_busy(rig.root(), "t");
    rig.select("ask");
    let fault = rig.agent_command(task, new_task(task)).unwrap().unwrap_err();
    assert!(fault.message.contains("profile") && fault.hints[0].contains("reviewer"), "{fault:?}");
    let draft = TaskDraft { title: "n".to_owned(), profile: Some("reviewer".to_owned()), ..TaskDraft::default() };
    let command = Command::Create { parent: task, before: None, draft, start: TaskStart::Later };
    assert!(rig.agent_command(task, command).unwrap().is_ok());
}

#[test]
fn a_running_task_is_stopped_handed_over_and_goes_on_from_the_note() {
    let mut rig = Rig::new();
    let task = rig.make_busy(rig.root(), "t");
    let command = hand_over(&mut rig, task, "reviewer");
    assert_eq!(rig.reply(command), None, "its run ends first");
    rig.exit_stopped(task);
    assert_eq!(rig.notes_done(), 1);
    assert!(matches!(rig.reply(command), Some(Ok(Outcome::HandedOver { .. }))));
    let state = rig.machine.state(task).unwrap();
    assert_eq!((state.turns.last_role, state.turns.of_profile(), state.retired.len()), (None, 0, 1));
    assert!(state.usage.cost() > MicroUsd::ZERO || rig.count(task, "usage") > 0, "what was spent stays");
    assert_eq!(rig.orders().last().unwrap().node.profile.as_deref(), Some("reviewer"));
    let note = rig.messages(task).pop().unwrap();
    assert!(matches!(note.from, MessageSource::Handover { .. }) && note.body.contains("what was done"), "{note:?}");
}

#[test]
fn a_finished_task_stays_finished_and_a_folder_is_never_handed_over() {
    let mut rig = Rig::new();
    let task = rig.make_busy(rig.root(), "t");
    rig.exit(task, &Exit::DonePassed);
    let launched = rig.launched().len();
    hand_over(&mut rig, task, "reviewer");
    rig.notes_done();
    assert_eq!((rig.status(task), profile(&rig, task).as_deref()), (Status::Passed, Some("reviewer")));
    assert_eq!(rig.launched().len(), launched);
    rig.send(task, "go on");
    assert_eq!(rig.orders().last().unwrap().node.profile.as_deref(), Some("reviewer"));
}

/// Kills at every write of a hand-over: afterwards it was made as a whole, or not at all.
#[test]
fn a_hand_over_that_is_killed_at_any_step_is_whole_or_not_at_all() {
    for steps in 0..12 {
        let mut rig = Rig::new();
        let task = rig.make_asleep(rig.root(), "t");
        (rig.appends, rig.saves) = (DiskMode::Blocks, DiskMode::Blocks);
        hand_over(&mut rig, task, "reviewer");
        rig.notes_done();
        for _ in 0..steps {
            rig.wake_disk_once();
        }
        rig.crash();
        let is_cut = rig.log(task).iter().any(|event| matches!(event.body, Body::HandedOver(_)));
        let has_note = rig.messages(task).iter().any(|message| matches!(message.from, MessageSource::Handover { .. }));
        let expected = if is_cut { "reviewer" } else { "engineer" };
        assert_eq!((has_note, profile(&rig, task).as_deref()), (is_cut, Some(expected)), "after {steps} writes");
        rig.send(task, "go on");
        assert_eq!(rig.orders().last().unwrap().node.profile.as_deref(), Some(expected), "after {steps} writes");
        assert_eq!(rig.machine.state(task).unwrap().turns.last_role.is_none(), is_cut, "after {steps} writes");
        assert!(steps < 10 || is_cut, "the last steps make it whole");
    }
}

#[test]
fn a_failure_of_an_account_is_one_question_with_one_answer_for_all_its_tasks() {
    let mut rig = Rig::with(EngineLimits { max_running: 20, ..EngineLimits::default() });
    let tasks: Vec<TaskId> = (0..8).map(|at| rig.make_busy(rig.root(), &format!("t{at}"))).collect();
    for task in &tasks {
        let ask = account_ask(&rig, "main");
        rig.run_writes(*task, vec![ask.into()]);
    }
    let shown: Vec<TaskId> = tasks.iter().copied().filter(|task| !rig.view(*task).asks.is_empty()).collect();
    assert_eq!(shown.len(), 1);
    let ask = rig.view(shown[0]).asks[0].clone();
    rig.command(Command::Answer {
        task: shown[0],
        ask: ask.id,
        reply: AskReply::Choice(ask.choices[1].id.clone()),
        by: None,
    });
    for task in &tasks {
        rig.exit_stopped(*task);
    }
    assert_eq!(rig.notes_done(), 8);
    for task in &tasks {
        assert_eq!(profile(&rig, *task).as_deref(), Some("reviewer"));
        assert!(rig.view(*task).asks.is_empty(), "{:?}", rig.view(*task).asks);
    }
    let again = rig.orders().iter().filter(|order| order.node.profile.as_deref() == Some("reviewer")).count();
    assert_eq!(again, 8, "all go on with the other account");
}

#[test]
fn a_question_about_another_account_is_another_question() {
    let mut rig = Rig::new();
    let (one, two) = (rig.make_busy(rig.root(), "one"), rig.make_busy(rig.root(), "two"));
    for (task, group) in [(one, "main"), (two, "spare")] {
        let ask = account_ask(&rig, group);
        rig.run_writes(task, vec![ask.into()]);
    }
    assert_eq!((rig.view(one).asks.len(), rig.view(two).asks.len()), (1, 1));
}

/// One step of a random life.
#[derive(Clone, Debug)]
enum Step {
    Select(&'static str),
    New(Option<&'static str>),
    Message(usize),
    HandOver(usize, &'static str),
    Choose(usize, &'static str),
    Restart,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let name = prop::sample::select(vec!["engineer", "reviewer", "researcher"]);
    let selection = prop::sample::select(vec!["engineer", "reviewer", "researcher", "ask"]);
    let step = prop_oneof![
        2 => selection.prop_map(Step::Select),
        3 => prop::option::of(name.clone()).prop_map(Step::New),
        5 => (0..6_usize).prop_map(Step::Message),
        3 => (0..6_usize, name.clone()).prop_map(|(at, name)| Step::HandOver(at, name)),
        3 => (0..6_usize, name).prop_map(|(at, name)| Step::Choose(at, name)),
        1 => Just(Step::Restart),
    ];
    prop::collection::vec(step, 1..30)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    /// A small model of who has which task: every launch has the profile that the model says, and a task that nobody has
    /// is never launched.
    #[test]
    fn every_launch_has_the_profile_of_the_model(steps in steps()) {
        let mut rig = Rig::with(EngineLimits { max_running: 50, ..EngineLimits::default() });
        let mut selection = "engineer";
        let mut owners: BTreeMap<TaskId, Option<&'static str>> = BTreeMap::new();
        let mut tasks: Vec<TaskId> = Vec::new();
        for step in steps {
            let seen = rig.orders().len();
            let mut woken = Vec::new();
            match step {
                Step::Select(name) => {
                    selection = name;
                    rig.select(name);
                }
                Step::New(name) => {
                    let task = create(&mut rig, name);
                    owners.insert(task, name.or(Some(selection).filter(|name| *name != "ask")));
                    tasks.push(task);
                }
                Step::Message(at) => {
                    let Some(task) = tasks.get(at).copied() else { continue };
                    rig.send(task, "go on");
                    let owner = owners.get_mut(&task).unwrap();
                    *owner = owner.or(Some(selection).filter(|name| *name != "ask"));
                    woken.push(task);
                }
                Step::HandOver(at, name) => {
                    let Some(task) = tasks.get(at).copied() else { continue };
                    hand_over(&mut rig, task, name);
                    rig.notes_done();
                    owners.insert(task, Some(name));
                }
                Step::Choose(at, name) => {
                    let Some(task) = tasks.get(at).copied() else { continue };
                    let ask = rig.view(task).asks.into_iter().find(|ask| ask.kind() == AskKind::Bind);
                    let Some(ask) = ask else { continue };
                    let reply = AskReply::Choice(ChoiceId::Profile(name.to_owned()));
                    rig.command(Command::Answer { task, ask: ask.id, reply, by: None });
                    owners.insert(task, Some(name));
                }
                Step::Restart => rig.crash(),
            }
            // A restart forgets the effects of before.
            let skip = if rig.orders().len() < seen { 0 } else { seen };
            let orders = rig.orders().into_iter().skip(skip);
            let launched: Vec<_> = orders.map(|order| (order.node.id, order.node.profile.clone())).collect();
            for (task, profile) in launched {
                prop_assert_eq!(profile.as_deref(), owners[&task], "{:?}", task);
                rig.start(task);
                rig.go_idle(task);
            }
            for task in woken {
                if owners[&task].is_none() {
                    prop_assert_eq!(rig.count(task, "usage"), 0, "no request for a task that nobody has");
                }
            }
        }
    }
}
