use super::*;
use crate::engine::query::{TreeAnswer, TreeQuery, Unfinished};
use crate::engine::update::Level;
use crate::model::event::{BackgroundRef, InterruptReason, MessagesConsumed, RunEnded, ToolResult};
use crate::model::fold::OpenCall;
use crate::model::run::Ending;

fn unfinished(rig: &Rig, task: TaskId, verdict: Verdict) -> Option<Unfinished> {
    match rig.machine.query(&TreeQuery::MayFinish { task, verdict }) {
        Ok(TreeAnswer::MayFinish(unfinished)) => unfinished,
        other => panic!("{other:?}"),
    }
}

/// A sub task at work below a root that has nothing to do.
fn at_work() -> (Rig, TaskId, TaskId) {
    let mut rig = Rig::new();
    let root = rig.root();
    let task = rig.make_busy(root, "Task");
    rig.effects.clear();
    (rig, root, task)
}

fn assert_told_once(rig: &Rig, root: TaskId, task: TaskId, word: &str) {
    assert_eq!(rig.completions(root), [(task, Verdict::Passed)], "{word}");
    assert_eq!(rig.count(task, "done_notified"), 1, "{word}");
    assert_eq!((rig.status(task), rig.view(task).node.results.len()), (Status::Passed, 1), "{word}");
    assert_eq!(*rig.tree, *rig.machine.tree(), "{word}");
}

#[test]
fn a_completion_is_the_message_then_the_marker_then_the_status() {
    let (mut rig, root, task) = at_work();
    (rig.appends, rig.saves) = (Mood::Sleeps, Mood::Sleeps);
    rig.exit(task, &Exit::DonePassed);
    let seen =
        |rig: &Rig| (rig.completions(root).len(), rig.count(task, "done_notified"), rig.tree.get(task).unwrap().status);
    assert_eq!(seen(&rig), (0, 0, Status::InProgress));
    rig.wake_disk_once();
    assert_eq!(seen(&rig), (1, 0, Status::InProgress));
    // The root is woken and has to be saved; whichever comes first, the marker is before the status.
    while rig.count(task, "done_notified") == 0 {
        assert_eq!(rig.tree.get(task).unwrap().status, Status::InProgress);
        assert!(rig.wake_disk_once());
    }
    rig.wake_disk();
    assert_told_once(&rig, root, task, "in the end");
    assert!(rig.launched().contains(&root), "who was told goes on");
}

#[test]
fn a_crash_at_any_moment_of_a_completion_tells_the_task_above_exactly_once() {
    for moment in 0..8 {
        let (mut rig, root, task) = at_work();
        (rig.appends, rig.saves) = (Mood::Sleeps, Mood::Sleeps);
        rig.declare(task, &Exit::DonePassed);
        for _ in 0..moment {
            rig.wake_disk_once();
        }
        rig.crash();
        assert_told_once(&rig, root, task, &format!("after {moment} writes"));
        rig.crash();
        assert_told_once(&rig, root, task, &format!("after {moment} writes and another restart"));
    }
}

#[test]
fn a_disk_that_refuses_any_part_of_a_completion_delays_it() {
    for moment in 0..5 {
        let (mut rig, root, task) = at_work();
        (rig.appends, rig.saves) = (Mood::Sleeps, Mood::Sleeps);
        rig.exit(task, &Exit::DonePassed);
        for _ in 0..moment {
            rig.wake_disk_once();
        }
        let refused = rig.held() > 0;
        rig.refuse_held();
        let is_told = |effect: &Effect| matches!(effect, Effect::Notify(notice) if notice.level == Level::Error);
        assert_eq!(rig.count_effects(is_told) > 0, refused, "the person hears of it: after {moment} writes");
        for _ in 0..3 {
            rig.feed(Input::Timer { timer: Timer::TryAgain { task } });
        }
        assert_told_once(&rig, root, task, &format!("refused after {moment} writes"));
    }
}

#[test]
fn whoever_was_told_of_an_end_may_end_too_though_the_disk_has_not_kept_all_of_it() {
    // Before the message is above, the sub task counts as being at work; from then on nobody waits for the rest.
    for (moment, may_end) in [(0, false), (1, true), (2, true), (3, true)] {
        let (mut rig, root, task) = at_work();
        (rig.appends, rig.saves) = (Mood::Sleeps, Mood::Sleeps);
        rig.exit(task, &Exit::DonePassed);
        for _ in 0..moment {
            rig.wake_disk_once();
        }
        rig.refuse_held();
        assert_eq!(!rig.completions(root).is_empty(), may_end, "after {moment} writes");
        assert_eq!(rig.status(task), Status::InProgress, "after {moment} writes");
        let unfinished = unfinished(&rig, root, Verdict::Passed);
        assert_eq!(unfinished.is_none(), may_end, "after {moment} writes: {unfinished:?}");
        rig.feed(Input::Timer { timer: Timer::TryAgain { task } });
        rig.feed(Input::Timer { timer: Timer::TryAgain { task } });
        assert_told_once(&rig, root, task, &format!("refused after {moment} writes"));
    }
}

#[test]
fn a_summary_of_a_finished_task_leaves_it_finished_and_wakes_nobody_above() {
    let (mut rig, root, task) = at_work();
    rig.exit(task, &Exit::DonePassed);
    rig.start(root);
    rig.rest(root);
    rig.effects.clear();
    let _ = rig.command(Command::Compact { task });
    assert_eq!(rig.launched(), [task]);
    rig.feed(Input::Launched { task, model: "m".to_owned() });
    let wishes = rig.messages(task).iter().filter(|said| said.from == Source::Compact).map(|said| said.id).collect();
    rig.run_writes(task, vec![MessagesConsumed { ids: wishes }.into()]);
    rig.rest(task);
    assert_told_once(&rig, root, task, "as before");
    assert_eq!(rig.launched(), [task]);
    rig.crash();
    assert_told_once(&rig, root, task, "after a restart");
}

#[test]
fn a_summary_of_a_finished_task_leaves_it_finished_though_the_program_dies_before_the_tree_says_so() {
    let (mut rig, root, task) = at_work();
    rig.exit(task, &Exit::DonePassed);
    rig.start(root);
    rig.rest(root);
    let _ = rig.command(Command::Compact { task });
    rig.feed(Input::Launched { task, model: "m".to_owned() });
    let wishes = rig.messages(task).iter().filter(|said| said.from == Source::Compact).map(|said| said.id).collect();
    rig.run_writes(task, vec![MessagesConsumed { ids: wishes }.into()]);
    rig.saves = Mood::Sleeps;
    rig.rest(task);
    assert_eq!(rig.tree.get(task).unwrap().status, Status::InProgress, "the disk does not know yet");
    rig.crash();
    assert_told_once(&rig, root, task, "after a restart");
}

#[test]
fn the_end_of_a_process_does_not_reopen_a_finished_task() {
    for before_the_end in [true, false] {
        let (mut rig, root, task) = at_work();
        let from = Source::BackgroundComplete {
            process: "bg".to_owned(),
            command: "make".to_owned(),
            exit: Some(0),
            duration_ms: 1,
        };
        let id = MessageId::fresh(&rig.ids);
        let notice = Message::new(id, rig.now(), from, "");
        if before_the_end {
            rig.run_writes(task, vec![notice.into()]);
            rig.exit(task, &Exit::DonePassed);
        } else {
            rig.declare(task, &Exit::DonePassed);
            rig.run_writes(task, vec![notice.into()]);
            rig.feed(Input::RunOver { task, ending: Ok(Ending::Exited(Exit::DonePassed)) });
        }
        for word in ["live", "after a restart"] {
            assert_told_once(&rig, root, task, word);
            assert!(!rig.launched().contains(&task), "{word}");
            rig.crash();
        }
        rig.send(task, "one more thing");
        assert!(rig.launched().contains(&task), "the user's message does");
    }
}

#[test]
fn a_process_left_by_a_task_under_review_does_not_take_the_review_back() {
    let mut rig = Rig::with(Limits { review: true, ..Limits::default() });
    let root = rig.root();
    let task = rig.make_busy(root, "Task");
    let process = BackgroundRef { id: "p".to_owned(), command: "serve".to_owned() };
    let call = OpenCall { call: "c".to_owned(), name: "bash".to_owned() };
    rig.run_writes(
        task,
        vec![ToolResult { background: Some(process), ..ToolResult::unrun(&call, "it runs", false) }.into()],
    );
    rig.effects.clear();
    rig.exit(task, &Exit::DonePassed);
    assert!(rig.machine.is_under_review(task));
    assert!(rig.launched().is_empty());
}

#[test]
fn a_timer_in_the_middle_of_a_completion_does_not_double_it() {
    for moment in 0..5 {
        let (mut rig, root, task) = at_work();
        (rig.appends, rig.saves) = (Mood::Sleeps, Mood::Sleeps);
        rig.exit(task, &Exit::DonePassed);
        for _ in 0..moment {
            rig.wake_disk_once();
        }
        rig.feed(Input::Timer { timer: Timer::TryAgain { task } });
        rig.wake_disk();
        rig.wake_disk();
        assert_told_once(&rig, root, task, &format!("rang after {moment} writes"));
    }
}

#[test]
fn whoever_is_moved_while_it_ends_tells_one_task_above() {
    // Moved before it ends, and saved too late; moved while the message is on its way.
    for (word, crashes) in
        [("moved first", true), ("moved first", false), ("ended first", true), ("ended first", false)]
    {
        let (mut rig, root, task) = at_work();
        let other = rig.make(root, "Other");
        (rig.appends, rig.saves) = (Mood::Sleeps, Mood::Sleeps);
        if word == "moved first" {
            rig.command(Command::Move { task, parent: other, before: None });
            rig.declare(task, &Exit::DonePassed);
            if crashes {
                while rig.release(|held| matches!(held, Effect::Append { .. })) {}
            }
        } else {
            rig.declare(task, &Exit::DonePassed);
            rig.wake_disk_once();
            rig.command(Command::Move { task, parent: other, before: None });
            if crashes {
                rig.release(|held| matches!(held, Effect::SaveTree { .. }));
            }
        }
        if crashes {
            rig.crash();
        } else {
            rig.wake_disk();
            rig.wake_disk();
        }
        let told = [rig.completions(root), rig.completions(other)].concat();
        assert_eq!(told, [(task, Verdict::Passed)], "{word}, crashes {crashes}");
        assert_eq!(rig.status(task), Status::Passed, "{word}, crashes {crashes}");
    }
}

#[test]
fn a_finished_task_that_is_woken_does_not_finish_again_by_itself() {
    let (mut rig, root, task) = at_work();
    rig.exit(task, &Exit::DonePassed);
    rig.send(task, "one more thing");
    assert_eq!(rig.status(task), Status::InProgress);
    rig.feed(Input::LaunchFailed {
        task,
        failure: LaunchFailure::SetupHook { exit: "exited with 1".to_owned(), output: String::new() },
    });
    for word in ["live", "after a crash"] {
        assert_eq!(rig.completions(root), [(task, Verdict::Passed)], "{word}");
        assert_eq!((rig.status(task), rig.view(task).node.results.len()), (Status::InProgress, 1), "{word}");
        rig.crash();
    }
    rig.answer(task, 0);
    assert!(rig.launched().contains(&task), "the answer is heeded");
    rig.start(task);
    rig.exit(task, &Exit::DonePassed);
    assert_eq!(rig.completions(root).len(), 2, "the same words, told again because they were said again");
    assert_eq!(rig.view(task).node.results.len(), 2);
    // Also where a launch failed since, and that is its last round.
    rig.send(task, "and another");
    rig.feed(Input::LaunchFailed { task, failure: LaunchFailure::Refused(Fault::config("no model")) });
    assert_eq!((rig.status(task), rig.view(task).node.results.len()), (Status::Failed, 3));
    rig.answer(task, 0);
    rig.crash();
    assert_eq!((rig.status(task), rig.view(task).node.results.len()), (Status::InProgress, 3));
}

#[test]
fn a_root_that_is_done_has_nobody_to_tell() {
    let mut rig = Rig::new();
    let root = rig.root();
    rig.send(root, "begin");
    rig.start(root);
    rig.exit(root, &Exit::DonePassed);
    assert_eq!(rig.status(root), Status::Passed);
    assert_eq!(rig.count(root, "done_notified"), 1);
    assert!(rig.completions(root).is_empty());
}

#[test]
fn a_task_is_not_done_while_sub_tasks_work_or_questions_are_open() {
    let (mut rig, _, task) = at_work();
    let below = rig.make_busy(task, "Below");
    let Some(Unfinished::SubTasks(running)) = unfinished(&rig, task, Verdict::Passed) else { panic!("may finish") };
    assert_eq!(running.iter().map(|task| task.id).collect::<Vec<_>>(), [below]);
    rig.exit(below, &Exit::DonePassed);
    assert_eq!(unfinished(&rig, task, Verdict::Passed), None);
    let ask = rig.machine.new_ask(crate::model::ask::Subject::Clarify, "Which?".to_owned(), String::new(), &[]);
    rig.run_writes(task, vec![ask.into()]);
    assert_eq!(unfinished(&rig, task, Verdict::Passed), Some(Unfinished::Questions(1)));
    assert_eq!(unfinished(&rig, task, Verdict::Failed), None, "whoever gives up need not wait");
}

#[test]
fn a_run_that_dies_without_a_verdict_is_a_failure_that_is_told() {
    use crate::model::event::InterruptReason;
    for reason in [InterruptReason::Internal("a fault".to_owned()), InterruptReason::Budget, InterruptReason::TurnLimit]
    {
        let (mut rig, root, task) = at_work();
        rig.exit(task, &Exit::Interrupted(reason.clone()));
        assert_eq!(rig.completions(root), [(task, Verdict::Failed)], "{reason:?}");
        assert_eq!(rig.status(task), Status::Failed, "{reason:?}");
    }
    for reason in [InterruptReason::Stopped, InterruptReason::Quit, InterruptReason::TaskGone] {
        let (mut rig, root, task) = at_work();
        rig.exit(task, &Exit::Interrupted(reason.clone()));
        assert!(rig.completions(root).is_empty(), "{reason:?}");
        assert_eq!(rig.status(task), Status::InProgress, "{reason:?}");
    }
}

#[test]
fn a_failure_during_a_move_is_told_once_to_the_task_above_that_the_disk_knows() {
    for crashes in [false, true] {
        let mut rig = Rig::new();
        let root = rig.root();
        let (other, task) = (rig.make(root, "Other"), rig.make(root, "Task"));
        rig.send(task, "begin");
        rig.saves = Mood::Sleeps;
        rig.command(Command::Move { task, parent: other, before: None });
        rig.feed(Input::LaunchFailed { task, failure: LaunchFailure::Refused(Fault::config("no model")) });
        assert!(rig.completions(root).is_empty() && rig.completions(other).is_empty());
        if crashes {
            rig.crash();
        } else {
            rig.wake_disk();
        }
        let (told, not_told) = if crashes { (root, other) } else { (other, root) };
        assert_eq!(rig.completions(told), [(task, Verdict::Failed)], "{crashes}");
        assert!(rig.completions(not_told).is_empty(), "{crashes}");
        assert_eq!((rig.status(task), rig.view(task).node.results.len()), (Status::Failed, 1), "{crashes}");
    }
}

#[test]
fn a_failure_that_a_crash_cut_short_is_told_once() {
    for told in [false, true] {
        let mut rig = Rig::new();
        let root = rig.root();
        let task = rig.make(root, "Task");
        rig.send(task, "begin");
        rig.appends = Mood::Sleeps;
        rig.feed(Input::LaunchFailed { task, failure: LaunchFailure::Refused(Fault::config("no model")) });
        // The question, then the message; the marker and the verdict are lost either way.
        for _ in 0..=usize::from(told) {
            assert!(rig.wake_disk_once());
        }
        rig.crash();
        assert_eq!(rig.completions(root), [(task, Verdict::Failed)], "{told}");
        assert_eq!((rig.status(task), rig.view(task).node.results.len()), (Status::Failed, 1), "{told}");
        assert_eq!(rig.only_ask(task).question, "\"Task\" could not be started. Try again?");
    }
}

#[test]
fn a_task_that_the_person_gave_up_when_asked_is_told_above_and_one_that_they_stopped_is_not() {
    for (result, status, told) in [("It could not.", Status::Failed, 1), ("", Status::InProgress, 0)] {
        let (mut rig, root, task) = at_work();
        let exit = Exit::Interrupted(InterruptReason::Stopped);
        rig.run_writes(task, vec![RunEnded { result: result.to_owned(), ..RunEnded::from(exit.clone()) }.into()]);
        rig.feed(Input::RunOver { task, ending: Ok(Ending::Exited(exit)) });
        for _ in 0..2 {
            assert_eq!((rig.status(task), rig.completions(root).len()), (status, told), "{result:?}");
            rig.crash();
        }
    }
}
