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

/// A running sub task of an idle root.
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
fn a_completion_writes_the_message_then_the_marker_then_the_status() {
    let (mut rig, root, task) = at_work();
    (rig.appends, rig.saves) = (DiskMode::Blocks, DiskMode::Blocks);
    rig.exit(task, &Exit::DonePassed);
    let seen =
        |rig: &Rig| (rig.completions(root).len(), rig.count(task, "done_notified"), rig.tree.get(task).unwrap().status);
    assert_eq!(seen(&rig), (0, 0, Status::InProgress));
    rig.wake_disk_once();
    assert_eq!(seen(&rig), (1, 0, Status::InProgress));
    // The root is woken and saved. In either order, the marker comes before the status.
    while rig.count(task, "done_notified") == 0 {
        assert_eq!(rig.tree.get(task).unwrap().status, Status::InProgress);
        assert!(rig.wake_disk_once());
    }
    rig.wake_disk();
    assert_told_once(&rig, root, task, "in the end");
    assert!(rig.launched().contains(&root), "the parent continues");
}

#[test]
fn a_crash_at_any_step_of_a_completion_notifies_the_parent_exactly_once() {
    for moment in 0..8 {
        let (mut rig, root, task) = at_work();
        (rig.appends, rig.saves) = (DiskMode::Blocks, DiskMode::Blocks);
        rig.write_exit(task, &Exit::DonePassed);
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
fn a_failed_write_at_any_step_delays_a_completion() {
    for moment in 0..5 {
        let (mut rig, root, task) = at_work();
        (rig.appends, rig.saves) = (DiskMode::Blocks, DiskMode::Blocks);
        rig.exit(task, &Exit::DonePassed);
        for _ in 0..moment {
            rig.wake_disk_once();
        }
        let refused = rig.held() > 0;
        rig.refuse_held();
        let is_told = |effect: &Effect| matches!(effect, Effect::Notify(notice) if notice.level == Level::Error);
        assert_eq!(rig.count_effects(is_told) > 0, refused, "the user is notified: after {moment} writes");
        for _ in 0..3 {
            rig.feed(Input::Timer { timer: Timer::Retry { task } });
        }
        assert_told_once(&rig, root, task, &format!("refused after {moment} writes"));
    }
}

#[test]
fn a_notified_parent_may_finish_before_the_rest_is_on_disk() {
    // Until the parent has the message, the sub task counts as running.
    for (moment, may_end) in [(0, false), (1, true), (2, true), (3, true)] {
        let (mut rig, root, task) = at_work();
        (rig.appends, rig.saves) = (DiskMode::Blocks, DiskMode::Blocks);
        rig.exit(task, &Exit::DonePassed);
        for _ in 0..moment {
            rig.wake_disk_once();
        }
        rig.refuse_held();
        assert_eq!(!rig.completions(root).is_empty(), may_end, "after {moment} writes");
        assert_eq!(rig.status(task), Status::InProgress, "after {moment} writes");
        let unfinished = unfinished(&rig, root, Verdict::Passed);
        assert_eq!(unfinished.is_none(), may_end, "after {moment} writes: {unfinished:?}");
        rig.feed(Input::Timer { timer: Timer::Retry { task } });
        rig.feed(Input::Timer { timer: Timer::Retry { task } });
        assert_told_once(&rig, root, task, &format!("refused after {moment} writes"));
    }
}

#[test]
fn compacting_a_finished_task_leaves_it_finished_and_wakes_no_ancestor() {
    let (mut rig, root, task) = at_work();
    rig.exit(task, &Exit::DonePassed);
    rig.start(root);
    rig.go_idle(root);
    rig.effects.clear();
    let _ = rig.command(Command::Compact { task });
    assert_eq!(rig.launched(), [task]);
    rig.feed(Input::Launched { task, model: "m".to_owned() });
    let wishes = rig
        .messages(task)
        .iter()
        .filter(|message| message.from == MessageSource::Compact)
        .map(|message| message.id)
        .collect();
    rig.run_writes(task, vec![MessagesConsumed { ids: wishes }.into()]);
    rig.go_idle(task);
    assert_told_once(&rig, root, task, "as before");
    assert_eq!(rig.launched(), [task]);
    rig.crash();
    assert_told_once(&rig, root, task, "after a restart");
}

#[test]
fn compacting_a_finished_task_leaves_it_finished_after_a_crash() {
    let (mut rig, root, task) = at_work();
    rig.exit(task, &Exit::DonePassed);
    rig.start(root);
    rig.go_idle(root);
    let _ = rig.command(Command::Compact { task });
    rig.feed(Input::Launched { task, model: "m".to_owned() });
    let wishes = rig
        .messages(task)
        .iter()
        .filter(|message| message.from == MessageSource::Compact)
        .map(|message| message.id)
        .collect();
    rig.run_writes(task, vec![MessagesConsumed { ids: wishes }.into()]);
    rig.saves = DiskMode::Blocks;
    rig.go_idle(task);
    assert_eq!(rig.tree.get(task).unwrap().status, Status::InProgress, "the disk does not know yet");
    rig.crash();
    assert_told_once(&rig, root, task, "after a restart");
}

#[test]
fn a_process_exit_does_not_reopen_a_finished_task() {
    for before_the_end in [true, false] {
        let (mut rig, root, task) = at_work();
        let from = MessageSource::BackgroundComplete {
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
            rig.write_exit(task, &Exit::DonePassed);
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
fn a_process_exit_does_not_withdraw_a_review() {
    let mut rig = Rig::with(EngineLimits { review: true, ..EngineLimits::default() });
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
fn a_retry_timer_during_a_completion_does_not_repeat_it() {
    for moment in 0..5 {
        let (mut rig, root, task) = at_work();
        (rig.appends, rig.saves) = (DiskMode::Blocks, DiskMode::Blocks);
        rig.exit(task, &Exit::DonePassed);
        for _ in 0..moment {
            rig.wake_disk_once();
        }
        rig.feed(Input::Timer { timer: Timer::Retry { task } });
        rig.wake_disk();
        rig.wake_disk();
        assert_told_once(&rig, root, task, &format!("rang after {moment} writes"));
    }
}

#[test]
fn a_task_moved_while_it_ends_notifies_one_parent() {
    // Moved before it ends but saved after it; moved while the message is being written.
    for (word, crashes) in
        [("moved first", true), ("moved first", false), ("ended first", true), ("ended first", false)]
    {
        let (mut rig, root, task) = at_work();
        let other = rig.make(root, "Other");
        (rig.appends, rig.saves) = (DiskMode::Blocks, DiskMode::Blocks);
        if word == "moved first" {
            rig.command(Command::Move { task, parent: other, before: None });
            rig.write_exit(task, &Exit::DonePassed);
            if crashes {
                while rig.release(|held| matches!(held, Effect::Append { .. })) {}
            }
        } else {
            rig.write_exit(task, &Exit::DonePassed);
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
fn a_finished_task_that_wakes_does_not_finish_again_by_itself() {
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
    assert_eq!(rig.completions(root).len(), 2, "the same result is reported again, because the agent finished again");
    assert_eq!(rig.view(task).node.results.len(), 2);
    // Also if a launch failed since, so that the last result is a failure.
    rig.send(task, "and another");
    rig.feed(Input::LaunchFailed { task, failure: LaunchFailure::Refused(Fault::config("no model")) });
    assert_eq!((rig.status(task), rig.view(task).node.results.len()), (Status::Failed, 3));
    rig.answer(task, 0);
    rig.crash();
    assert_eq!((rig.status(task), rig.view(task).node.results.len()), (Status::InProgress, 3));
}

#[test]
fn a_finished_root_notifies_no_one() {
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
fn a_task_may_not_finish_while_sub_tasks_work_or_questions_are_open() {
    let (mut rig, _, task) = at_work();
    let below = rig.make_busy(task, "Below");
    let Some(Unfinished::SubTasks(running)) = unfinished(&rig, task, Verdict::Passed) else { panic!("may finish") };
    assert_eq!(running.iter().map(|task| task.id).collect::<Vec<_>>(), [below]);
    rig.exit(below, &Exit::DonePassed);
    assert_eq!(unfinished(&rig, task, Verdict::Passed), None);
    let ask = rig.machine.new_ask(crate::model::ask::Subject::Clarify, "Which?".to_owned(), String::new(), &[]);
    rig.run_writes(task, vec![ask.into()]);
    assert_eq!(unfinished(&rig, task, Verdict::Passed), Some(Unfinished::Questions(1)));
    assert_eq!(unfinished(&rig, task, Verdict::Failed), None, "a failed task need not wait");
}

#[test]
fn a_run_that_ends_without_a_verdict_is_reported_as_failed() {
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
fn a_failure_during_a_move_is_reported_once_to_the_saved_parent() {
    for crashes in [false, true] {
        let mut rig = Rig::new();
        let root = rig.root();
        let (other, task) = (rig.make(root, "Other"), rig.make(root, "Task"));
        rig.send(task, "begin");
        rig.saves = DiskMode::Blocks;
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
fn an_interrupted_failure_report_is_sent_once() {
    for told in [false, true] {
        let mut rig = Rig::new();
        let root = rig.root();
        let task = rig.make(root, "Task");
        rig.send(task, "begin");
        rig.appends = DiskMode::Blocks;
        rig.feed(Input::LaunchFailed { task, failure: LaunchFailure::Refused(Fault::config("no model")) });
        // The Ask, then the message. The marker and the verdict are lost in both cases.
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
fn an_abandoned_task_is_reported_to_the_parent_and_a_stopped_one_is_not() {
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

#[test]
fn an_unknown_model_is_replaced_before_a_root_could_fail() {
    let mut rig = Rig::new();
    let root = rig.root();
    rig.send(root, "begin");
    let models = vec!["opus".to_owned(), "haiku".to_owned()];
    let failure = LaunchFailure::UnknownModel { fault: Fault::config("unknown model"), models };
    rig.feed(Input::LaunchFailed { task: root, failure });
    assert_eq!((rig.status(root), rig.view(root).node.results.len()), (Status::InProgress, 0), "nothing has failed");
    let labels: Vec<_> = rig.only_ask(root).choices.into_iter().map(|choice| choice.label).collect();
    assert_eq!(labels, ["Use opus", "Use haiku", "Try again", "Leave it"]);
    rig.effects.clear();
    rig.answer(root, 1);
    let chosen = rig.effects.iter().find_map(|effect| match effect {
        Effect::Launch(order) => Some(order.model.clone()),
        _ => None,
    });
    assert_eq!(chosen, Some(Some("haiku".to_owned())), "the next run starts with it");
}
