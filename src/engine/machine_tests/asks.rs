use super::*;
use crate::model::AskKind;
use crate::model::ask::{AskMode, AskReply, ChoiceId, Subject};
use crate::model::event::{InterruptReason, RunEnded};
use crate::model::run::Ending;
use std::time::Duration;

fn clarify(default: Option<&str>) -> Command {
    Command::Ask {
        question: "Which?".to_owned(),
        detail: String::new(),
        choices: vec!["this".to_owned(), "that".to_owned()],
        default: default.map(str::to_owned),
        mode: AskMode::Blocks,
    }
}

fn with_clarify_timeout() -> Rig {
    Rig::with(EngineLimits { clarify_timeout: Some(Duration::from_secs(60)), ..EngineLimits::default() })
}

fn answers(rig: &Rig, task: TaskId) -> Vec<(String, bool)> {
    let answer = |message: Message| match message.from {
        MessageSource::ClarifyResponse { defaulted, .. } => Some((message.body, defaulted)),
        _ => None,
    };
    rig.messages(task).into_iter().filter_map(answer).collect()
}

fn asks_and_rests(rig: &mut Rig, default: Option<&str>) -> (TaskId, crate::base::AskId) {
    let task = rig.make_busy(rig.root(), "Task");
    let asked = rig.agent_command(task, clarify(default));
    let ask = rig.only_ask(task).id;
    assert_eq!(asked, Some(Ok(Outcome::Asked(ask))));
    rig.go_idle(task);
    rig.effects.clear();
    (task, ask)
}

#[test]
fn a_question_is_answered_once_and_wakes_its_task() {
    let mut rig = Rig::new();
    let (task, ask) = asks_and_rests(&mut rig, None);
    let bad = Command::Answer { task, ask, reply: AskReply::Choice(ChoiceId::Option(2)), by: None };
    assert!(message_of(rig.command(bad)).contains("no choice 3"));
    assert_eq!(rig.answer(task, 1), Some(Ok(Outcome::Done)));
    assert_eq!(answers(&rig, task), [("that".to_owned(), false)]);
    assert_eq!(rig.launched(), [task]);
    let again = Command::Answer { task, ask, reply: AskReply::Choice(ChoiceId::Option(0)), by: None };
    assert!(message_of(rig.command(again.clone())).contains("already answered"));
    rig.crash();
    assert!(rig.view(task).asks.is_empty());
    assert!(message_of(rig.command(again)).contains("already answered"));
}

#[test]
fn two_answers_at_once_are_one() {
    let mut rig = with_clarify_timeout();
    let (task, ask) = asks_and_rests(&mut rig, Some("this"));
    rig.appends = DiskMode::Blocks;
    assert_eq!(rig.answer(task, 1), None);
    let first = rig.last_command();
    assert!(message_of(rig.answer(task, 0)).contains("already answered"));
    rig.feed(Input::Timer { timer: Timer::AskDeadline { task, ask } });
    rig.wake_disk();
    assert_eq!(rig.reply(first), Some(Ok(Outcome::Done)));
    assert_eq!(answers(&rig, task), [("that".to_owned(), false)]);
}

#[test]
fn an_answer_that_was_not_written_can_be_given_again() {
    let mut rig = Rig::new();
    let (task, _) = asks_and_rests(&mut rig, None);
    rig.appends = DiskMode::Fails;
    assert!(message_of(rig.answer(task, 0)).contains("nothing was done"));
    rig.appends = DiskMode::Accepts;
    assert_eq!(rig.answer(task, 0), Some(Ok(Outcome::Done)));
}

#[test]
fn a_question_whose_deadline_passed_during_a_failed_answer_gets_the_default() {
    let mut rig = with_clarify_timeout();
    let (task, ask) = asks_and_rests(&mut rig, Some("this"));
    let timer = Timer::AskDeadline { task, ask };
    let is_set = |effect: &Effect| matches!(effect, Effect::SetTimer { timer: set, .. } if *set == timer);
    for due in [false, true] {
        rig.appends = DiskMode::Blocks;
        assert_eq!(rig.answer(task, 1), None);
        if due {
            rig.pass_until(rig.only_ask(task).deadline.unwrap());
            rig.feed(Input::Timer { timer });
        }
        rig.refuse_held();
        assert_eq!(rig.count_effects(is_set), usize::from(due), "the timer of a time that is to come is set still");
    }
    rig.feed(Input::Timer { timer });
    assert_eq!(answers(&rig, task), [("this".to_owned(), true)]);
}

#[test]
fn the_default_answers_at_the_deadline_and_is_marked_as_default() {
    let mut rig = with_clarify_timeout();
    let (task, ask) = asks_and_rests(&mut rig, Some("this"));
    let timer = Timer::AskDeadline { task, ask };
    rig.crash();
    let due = rig.only_ask(task).deadline;
    let set =
        |effect: &Effect| matches!(effect, Effect::SetTimer { timer: set, at } if *set == timer && Some(*at) == due);
    assert_eq!(rig.count_effects(set), 1, "the deadline outlives a restart");
    // A write error at that moment does not leave the question open forever.
    rig.appends = DiskMode::Fails;
    rig.feed(Input::Timer { timer });
    rig.appends = DiskMode::Accepts;
    assert_eq!(rig.count_effects(|effect| matches!(effect, Effect::SetTimer { timer: set, .. } if *set == timer)), 2);
    rig.feed(Input::Timer { timer });
    assert_eq!(answers(&rig, task), [("this".to_owned(), true)]);
    assert_eq!(rig.launched(), [task]);
    rig.feed(Input::Timer { timer });
    assert_eq!(answers(&rig, task).len(), 1);
    // Without a default or a timeout, it waits forever.
    for (mut rig, default) in [(with_clarify_timeout(), None), (Rig::new(), Some("this"))] {
        let (task, ask) = asks_and_rests(&mut rig, default);
        assert_eq!(rig.only_ask(task).deadline, None);
        assert_eq!(rig.count_effects(|effect| matches!(effect, Effect::SetTimer { .. })), 0);
        rig.feed(Input::Timer { timer: Timer::AskDeadline { task, ask } });
        assert_eq!(rig.view(task).asks.len(), default.map_or(1, |_| 0));
    }
}

#[test]
fn a_failed_launch_is_reported_to_the_parent_and_asks_the_user() {
    let mut rig = Rig::new();
    let root = rig.root();
    let task = rig.make(root, "Task");
    rig.send(task, "begin");
    rig.feed(Input::LaunchFailed { task, failure: LaunchFailure::Refused(Fault::config("no model is set up")) });
    assert_eq!(rig.completions(root), [(task, Verdict::Failed)]);
    assert_eq!(rig.status(task), Status::Failed);
    let ask = rig.only_ask(task);
    assert_eq!((ask.kind(), ask.choices.len()), (AskKind::LaunchFailed, 2));
    assert!(ask.detail.contains("no model is set up"));
    rig.crash();
    assert!(!rig.launched().contains(&task), "it waits for the answer");
    assert_eq!(rig.answer(task, 0), Some(Ok(Outcome::Done)));
    assert_eq!(rig.launched().last(), Some(&task));
    assert_eq!(rig.status(task), Status::InProgress);
}

#[test]
fn a_message_after_an_answer_that_stops_a_task_wakes_it() {
    // The message arrives after the answer is on disk, while it is being written, or the write fails.
    for moment in ["before the run has acted on it", "while it is written", "a launch that is left"] {
        let mut rig = Rig::new();
        let task = rig.make_busy(rig.root(), "Task");
        let own = moment != "a launch that is left";
        if own {
            let ask = rig.machine.new_ask(
                Subject::Loop { of: crate::model::ask::LoopCause::Calls },
                "Go on?".to_owned(),
                String::new(),
                &[(ChoiceId::Continue, "Go on"), (ChoiceId::Stop, "Stop")],
            );
            rig.run_writes(task, vec![ask.into()]);
            rig.go_idle(task);
        } else {
            rig.go_idle(task);
            rig.send(task, "go on");
            rig.feed(Input::LaunchFailed { task, failure: LaunchFailure::Refused(Fault::config("no model")) });
        }
        if moment != "before the run has acted on it" {
            rig.appends = DiskMode::Blocks;
        }
        rig.answer(task, 1);
        rig.send(task, "Something else.");
        rig.wake_disk();
        rig.wake_disk();
        if own {
            // The run that the answer started acts on it as late as possible.
            rig.feed(Input::Launched { task, model: "m".to_owned() });
            let decided = rig.machine.state(task).unwrap().decisions.iter().next().unwrap().event;
            assert!(decided.is_some(), "{moment}");
            let exit = Exit::Interrupted(InterruptReason::Stopped);
            let ended = RunEnded { result: "given up".to_owned(), decided, ..RunEnded::from(exit.clone()) };
            rig.run_writes(task, vec![ended.into()]);
            rig.effects.clear();
            rig.feed(Input::RunOver { task, ending: Ok(Ending::Exited(exit)) });
        }
        assert_eq!(rig.launched().last(), Some(&task), "{moment}");
        assert_eq!(rig.view(task).unread.len(), if own { 1 } else { 2 }, "{moment}");
        rig.crash();
        assert!(rig.launched().contains(&task), "{moment}: after a restart");
    }
}

#[test]
fn a_failed_launch_is_retried_whenever_the_user_asks() {
    // At once, while the parent is being notified; and just before a crash.
    for moment in ["at once", "before a crash"] {
        let mut rig = Rig::new();
        let root = rig.root();
        let task = rig.make(root, "Task");
        rig.send(task, "begin");
        let failure = LaunchFailure::Refused(Fault::config("no model"));
        rig.appends = if moment == "at once" { DiskMode::Blocks } else { DiskMode::Accepts };
        rig.feed(Input::LaunchFailed { task, failure });
        assert!(moment == "before a crash" || rig.wake_disk_once());
        rig.effects.clear();
        rig.saves = DiskMode::Blocks;
        rig.answer(task, 0);
        if moment == "at once" {
            rig.wake_disk();
        } else {
            rig.crash();
        }
        let launches = rig.launched().into_iter().filter(|launched| *launched == task).count();
        assert_eq!(launches, 1, "{moment}");
        assert_eq!(rig.status(task), Status::InProgress, "{moment}");
        rig.start(task);
        rig.exit(task, &Exit::DonePassed);
        assert_eq!(rig.completions(root), [(task, Verdict::Failed), (task, Verdict::Passed)], "{moment}");
        assert_eq!(rig.status(task), Status::Passed, "{moment}");
    }
}

#[test]
fn every_answer_to_a_failed_setup_hook_is_handled() {
    // The answer; the hook policy of the next launch, if there is one; the resulting state.
    let table = [
        (0, Some(HookPolicy::Run), Status::InProgress),
        (1, Some(HookPolicy::RunEdited), Status::InProgress),
        (2, Some(HookPolicy::Skip), Status::InProgress),
        (3, None, Status::Failed),
    ];
    for (choice, launched, status) in table {
        let mut rig = Rig::new();
        let root = rig.root();
        let task = rig.make(root, "Task");
        rig.send(task, "begin");
        let failure =
            LaunchFailure::SetupHook { exit: "exited with 1".to_owned(), output: "npm: not found".to_owned() };
        rig.feed(Input::LaunchFailed { task, failure });
        assert_eq!(rig.status(task), Status::InProgress, "a failing hook is no dead task");
        assert!(rig.completions(root).is_empty());
        let ask = rig.only_ask(task);
        assert!(ask.kind() == AskKind::SetupHook && ask.detail.contains("npm: not found"), "{ask:?}");
        rig.effects.clear();
        assert_eq!(rig.answer(task, choice), Some(Ok(Outcome::Done)), "{choice}");
        let order = rig.orders().into_iter().find(|order| order.node.id == task);
        assert_eq!(order.map(|order| order.hook), launched, "{choice}");
        assert_eq!(rig.status(task), status, "{choice}");
        assert!(rig.view(task).asks.is_empty());
        let told = if status == Status::Failed { vec![(task, Verdict::Failed)] } else { Vec::new() };
        assert_eq!(rig.completions(root), told, "{choice}");
    }
}

#[test]
fn a_setup_hook_question_that_was_not_written_is_retried() {
    let mut rig = Rig::new();
    let task = rig.make(rig.root(), "Task");
    rig.send(task, "begin");
    rig.effects.clear();
    rig.appends = DiskMode::Fails;
    let failure = LaunchFailure::SetupHook { exit: "exited with 1".to_owned(), output: String::new() };
    rig.feed(Input::LaunchFailed { task, failure });
    rig.appends = DiskMode::Accepts;
    rig.feed(Input::Timer { timer: Timer::Retry { task } });
    assert_eq!(rig.count_effects(|effect| matches!(effect, Effect::SetTimer { timer: Timer::Retry { .. }, .. })), 1);
    assert_eq!(rig.launched(), [task]);
}

#[test]
fn an_abandoned_worktree_is_reported_once_across_crashes() {
    let mut answered_before = 0;
    for steps in 0..6 {
        let mut rig = Rig::new();
        let root = rig.root();
        let task = rig.make(root, "Task");
        rig.send(task, "begin");
        let failure = LaunchFailure::SetupHook { exit: "exited with 1".to_owned(), output: String::new() };
        rig.feed(Input::LaunchFailed { task, failure });
        (rig.appends, rig.saves) = (DiskMode::Blocks, DiskMode::Blocks);
        rig.answer(task, 3);
        for _ in 0..steps {
            rig.wake_disk_once();
        }
        rig.crash();
        if rig.count(task, "ask_answered") == 0 {
            rig.answer(task, 3);
        } else {
            answered_before += 1;
        }
        for word in ["at once", "after another crash"] {
            assert_eq!(rig.status(task), Status::Failed, "{steps} steps, {word}");
            assert_eq!(rig.completions(root), [(task, Verdict::Failed)], "{steps} steps, {word}");
            assert!(rig.view(task).asks.is_empty() && rig.view(task).waits.is_none(), "{steps} steps, {word}");
            assert!(!rig.launched().contains(&task), "{steps} steps, {word}");
            rig.crash();
        }
        rig.send(task, "try it after all");
        assert!(rig.launched().contains(&task), "a message resumes it");
    }
    assert!(answered_before >= 3, "the answer was on the disk before {answered_before} of the crashes");
}

#[test]
fn free_text_does_not_retry_a_failed_launch() {
    let failures = [
        LaunchFailure::Refused(Fault::config("no model")),
        LaunchFailure::SetupHook { exit: "exited with 1".to_owned(), output: String::new() },
    ];
    for failure in failures {
        let mut rig = Rig::new();
        let task = rig.make(rig.root(), "Task");
        rig.send(task, "begin");
        rig.feed(Input::LaunchFailed { task, failure });
        rig.effects.clear();
        let ask = rig.only_ask(task).id;
        for words in ["no", "0", "leave", "retry"] {
            let refused = rig.command(Command::Answer { task, ask, reply: AskReply::Text(words.to_owned()), by: None });
            let fault = refused.unwrap().unwrap_err();
            assert!(fault.message.contains("one of its choices") && fault.hints[0] == "1: Try again", "{fault:?}");
        }
        assert!(rig.launched().is_empty() && rig.only_ask(task).id == ask);
        let reply = AskReply::Text(" leave IT ".to_owned());
        assert_eq!(rig.command(Command::Answer { task, ask, reply, by: None }), Some(Ok(Outcome::Done)));
        assert!(!rig.launched().contains(&task) && rig.view(task).asks.is_empty());
    }
}
