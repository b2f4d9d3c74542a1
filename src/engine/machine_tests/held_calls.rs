//! Permission Asks: answers that save rules, waiting calls that rules decide, and tasks without a run.

use super::*;
use crate::base::AskId;
use crate::engine::machine::held_calls::JudgedCall;
use crate::model::ask::{AnsweredBy, AskReply, ChoiceId, PermissionRequest, RequestedAction};
use crate::model::conversation::ToolUse;
use crate::model::event::{PermissionCause, PermissionNote};
use crate::permit::List;

fn request() -> PermissionRequest {
    PermissionRequest {
        tool: "bash".to_owned(),
        action: RequestedAction::Command { command: "cargo add serde".to_owned() },
        exact: vec!["bash(cargo add serde)".to_owned()],
        rules: vec!["bash(cargo add *)".to_owned()],
        ..PermissionRequest::default()
    }
}

/// Lets the agent of a task make a call that is held, and its run end.
fn hold(rig: &mut Rig, task: TaskId) -> AskId {
    let call = crate::base::TurnId::fresh(&rig.ids).to_string();
    let ask = request().into_ask(AskId::fresh(&rig.ids), &call);
    let id = ask.id;
    let input = crate::base::Json::object();
    let made = ToolUse { call, name: crate::tools::names::wire("bash"), input, malformed: None };
    rig.run_writes(task, vec![made.into(), ask.into()]);
    rig.go_idle(task);
    id
}

fn holding() -> (Rig, TaskId, AskId) {
    let mut rig = Rig::new();
    let task = rig.make_busy(rig.root(), "Task");
    let ask = hold(&mut rig, task);
    rig.effects.clear();
    (rig, task, ask)
}

fn choose(rig: &mut Rig, task: TaskId, ask: AskId, choice: ChoiceId) -> Option<Result<Outcome, Fault>> {
    rig.command(Command::Answer { task, ask, reply: AskReply::Choice(choice), by: None })
}

#[test]
fn the_answer_starts_the_task_that_slept_meanwhile() {
    for choice in [ChoiceId::Once, ChoiceId::No, ChoiceId::ThisTask, ChoiceId::Project, ChoiceId::Never] {
        let (mut rig, task, ask) = holding();
        assert!(!rig.view(task).alive, "no slot is taken");
        assert_eq!(choose(&mut rig, task, ask, choice.clone()), Some(Ok(Outcome::Done)));
        assert_eq!(rig.launched(), [task], "{choice}");
        let saved = match choice {
            ChoiceId::Project => vec![(List::Allow, vec!["bash(cargo add *)".to_owned()])],
            ChoiceId::Never => vec![(List::Deny, vec!["bash(cargo add serde)".to_owned()])],
            _ => Vec::new(),
        };
        assert_eq!(rig.rules, saved, "{choice}");
    }
}

#[test]
fn an_edited_rule_is_saved_instead_and_a_broken_one_is_refused() {
    let (mut rig, task, ask) = holding();
    let broken = AskReply::Rules(vec!["bash(cargo".to_owned()]);
    let refused = rig.command(Command::Answer { task, ask, reply: broken, by: None });
    assert!(message_of(refused).contains("no closing parenthesis"));
    assert_eq!(rig.only_ask(task).id, ask);
    let edited = AskReply::Rules(vec!["bash(cargo add serde *)".to_owned()]);
    assert_eq!(rig.command(Command::Answer { task, ask, reply: edited, by: None }), Some(Ok(Outcome::Done)));
    assert_eq!(rig.rules, [(List::Allow, vec!["bash(cargo add serde *)".to_owned()])]);
}

#[test]
fn a_rule_for_the_task_is_in_its_session_and_in_its_policy() {
    let (mut rig, task, ask) = holding();
    choose(&mut rig, task, ask, ChoiceId::ThisTask);
    let published = rig.effects.iter().rev().find_map(|effect| match effect {
        Effect::SetPolicies(policies) => Some(policies.clone()),
        _ => None,
    });
    assert_eq!(published.unwrap()[&task].rules, ["bash(cargo add serde)"]);
    rig.crash();
    let again = rig.effects.iter().find_map(|effect| match effect {
        Effect::SetPolicies(policies) => Some(policies.clone()),
        _ => None,
    });
    assert_eq!(again.unwrap()[&task].rules, ["bash(cargo add serde)"]);
}

#[test]
fn waiting_calls_of_all_tasks_are_judged_again_and_answered_by_the_rule() {
    let mut rig = Rig::new();
    let tasks: Vec<TaskId> = (0..4).map(|_| rig.make_busy(rig.root(), "Task")).collect();
    let asks: Vec<AskId> = tasks.iter().map(|task| hold(&mut rig, *task)).collect();
    rig.effects.clear();
    choose(&mut rig, tasks[0], asks[0], ChoiceId::Project);
    let judged: Vec<AskId> = rig
        .effects
        .iter()
        .find_map(|effect| match effect {
            Effect::JudgeCalls(calls) => Some(calls.iter().map(|call| call.ask).collect()),
            _ => None,
        })
        .unwrap();
    assert_eq!(judged.len(), 3, "the answered one is not among them");
    let by = PermissionCause::Rule {
        list: "allow".to_owned(),
        source: "local".to_owned(),
        rule: "bash(cargo add *)".to_owned(),
        possibly: false,
    };
    let decided = (1..4)
        .map(|at| JudgedCall {
            task: tasks[at],
            ask: asks[at],
            note: PermissionNote { granted: at != 3, by: by.clone() },
        })
        .collect();
    rig.feed(Input::CallsJudged(decided));
    for task in &tasks {
        assert!(rig.view(*task).asks.is_empty());
    }
    assert_eq!(rig.launched().len(), 4);
    let told = rig.effects.iter().find_map(|effect| match effect {
        Effect::Notify(notice) => Some(notice.text.clone()),
        _ => None,
    });
    assert_eq!(
        told.as_deref(),
        Some("2 waiting calls allowed, 1 waiting call refused: local allow rule bash(cargo add *)")
    );
    let state = rig.machine.state(tasks[3]).unwrap();
    let release = state.held_calls.iter().next().unwrap().release.clone().unwrap();
    let crate::model::fold::Release::Answered(decision) = release else { panic!("{release:?}") };
    assert_eq!((decision.answer.by, decision.answer.cause), (AnsweredBy::Rule, Some(by)));
}

#[test]
fn a_call_that_was_decided_meanwhile_is_not_answered_again() {
    let (mut rig, task, ask) = holding();
    choose(&mut rig, task, ask, ChoiceId::No);
    let note = PermissionNote { granted: true, by: PermissionCause::ReadOnly };
    rig.feed(Input::CallsJudged(vec![JudgedCall { task, ask, note }]));
    assert_eq!(rig.count(task, "ask_answered"), 1);
}

#[test]
fn an_interrupt_of_a_waiting_task_ends_the_hold_and_wakes_nobody() {
    let (mut rig, task, _) = holding();
    assert_eq!(rig.command(Command::Interrupt { task }), Some(Ok(Outcome::Done)));
    assert!(rig.view(task).asks.is_empty());
    assert_eq!((rig.count(task, "tool_result"), rig.launched().len()), (1, 0));
    assert!(message_of(rig.command(Command::Interrupt { task })).contains("no agent is at work"));
    rig.crash();
    assert_eq!(rig.launched().len(), 0);
    rig.send(task, "Go on.");
    assert_eq!(rig.launched(), [task]);
}

#[test]
fn a_restart_keeps_the_question_and_judges_it_by_the_rules_of_now() {
    let (mut rig, task, ask) = holding();
    rig.crash();
    assert_eq!(rig.only_ask(task).id, ask);
    assert_eq!(rig.launched().len(), 0);
    assert_eq!(rig.count_effects(|effect| matches!(effect, Effect::JudgeCalls(calls) if calls.len() == 1)), 1);
    choose(&mut rig, task, ask, ChoiceId::Once);
    assert_eq!(rig.launched(), [task]);
}

#[test]
fn settings_are_looked_at_while_calls_wait_and_not_otherwise() {
    let (mut rig, task, ask) = holding();
    let looks = |rig: &Rig| rig.count_effects(|effect| matches!(effect, Effect::JudgeIfChanged));
    rig.feed(Input::Timer { timer: Timer::Rules });
    assert_eq!(looks(&rig), 1);
    choose(&mut rig, task, ask, ChoiceId::No);
    rig.effects.clear();
    rig.feed(Input::Timer { timer: Timer::Rules });
    assert_eq!((looks(&rig), rig.count_effects(|effect| matches!(effect, Effect::SetTimer { .. }))), (0, 0));
}
