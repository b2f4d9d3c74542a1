use super::*;
use crate::engine::command::StopScope;
use crate::engine::snapshot::Wait;
use crate::model::ask::{ChoiceId, Subject};
use crate::model::event::{BackgroundRef, InterruptReason, ToolResult};
use crate::model::fold::OpenCall;
use crate::model::run::{Ending, RunCommand};

fn one_at_a_time() -> Rig {
    Rig::with(EngineLimits { max_running: 1, ..EngineLimits::default() })
}

#[test]
fn tasks_messaged_by_the_user_are_admitted_first() {
    let mut rig = one_at_a_time();
    let root = rig.root();
    let tasks: Vec<TaskId> = ["a", "b", "c", "d"].into_iter().map(|title| rig.make(root, title)).collect();
    rig.send(root, "begin");
    rig.start(root);
    // Tasks that an agent starts wait in order.
    for task in &tasks[..3] {
        rig.agent_command(root, Command::Message { to: *task, body: "begin".to_owned(), request_reply: false });
    }
    rig.send(tasks[3], "begin");
    rig.send(tasks[2], "you too");
    let ahead: Vec<_> = tasks.iter().map(|task| rig.view(*task).waits).collect();
    let slot = |ahead| Some(Wait::Slot { ahead });
    assert_eq!(ahead, [slot(2), slot(3), slot(0), slot(1)]);
    rig.effects.clear();
    rig.go_idle(root);
    for _ in 0..3 {
        let task = rig.launched().pop().unwrap();
        rig.start(task);
        rig.exit(task, &Exit::DonePassed);
        // Every completion wakes the root, which waits for a slot.
        if rig.launched().last() == Some(&root) {
            rig.start(root);
            rig.go_idle(root);
        }
    }
    let others: Vec<TaskId> = rig.launched().into_iter().filter(|task| *task != root).collect();
    assert_eq!(others, [tasks[2], tasks[3], tasks[0], tasks[1]]);
}

#[test]
fn a_run_that_waits_for_a_process_frees_its_slot() {
    let mut rig = one_at_a_time();
    let busy = rig.make_busy(rig.root(), "Busy");
    let next = rig.make(rig.root(), "Next");
    rig.send(next, "begin");
    assert_eq!(rig.launched(), [busy]);
    let idle = Activity::Thinking;
    rig.feed(Input::Live { task: busy, live: Live::Activity { activity: idle } });
    assert_eq!(rig.launched(), [busy]);
    rig.feed(Input::Live { task: busy, live: Live::Activity { activity: Activity::Idle } });
    assert_eq!(rig.launched(), [busy, next]);
}

#[test]
fn a_stopped_task_stays_in_progress_and_idle() {
    let mut rig = one_at_a_time();
    let root = rig.root();
    let alive = rig.make_busy(root, "Alive");
    let queued = rig.make(root, "Queued");
    rig.send(queued, "begin");
    for task in [queued, alive] {
        let reply = rig.command(Command::Stop { scope: StopScope::Task(task) });
        assert_eq!(reply, Some(Ok(Outcome::Stopped { agents: 1 })));
    }
    let torn_down = |effect: &Effect| matches!(effect, Effect::SendToRun { task, command: RunCommand::Teardown(InterruptReason::Stopped) } if *task == alive);
    assert_eq!(rig.count_effects(torn_down), 1);
    rig.exit_stopped(alive);
    rig.effects.clear();
    for _ in 0..2 {
        assert_eq!(rig.status(alive), Status::InProgress);
        assert!(rig.launched().is_empty(), "{:?}", rig.launched());
        rig.crash();
    }
    rig.command(Command::Resume { task: alive });
    assert_eq!(rig.launched(), [alive]);
    rig.command(Command::Resume { task: queued });
    rig.start(alive);
    rig.exit(alive, &Exit::DonePassed);
    assert_eq!(rig.launched()[..2], [alive, queued]);
}

#[test]
fn a_stopped_launch_does_not_become_a_run() {
    // Stopped while the tree is being saved, while the worktree is set up, and just after the run started.
    for moment in ["saving", "setting up", "launched"] {
        let mut rig = Rig::new();
        let task = rig.make(rig.root(), "Task");
        rig.saves = if moment == "saving" { DiskMode::Blocks } else { DiskMode::Accepts };
        rig.send(task, "begin");
        rig.command(Command::Stop { scope: StopScope::Task(task) });
        rig.wake_disk();
        match moment {
            "saving" => assert!(rig.launched().is_empty(), "{moment}"),
            "setting up" => {
                assert_eq!(rig.count_effects(|effect| matches!(effect, Effect::CancelLaunch { .. })), 1);
                rig.feed(Input::LaunchFailed { task, failure: LaunchFailure::Cancelled });
            }
            _ => {
                rig.feed(Input::Launched { task, model: "m".to_owned() });
                assert_eq!(
                    rig.count_effects(|effect| matches!(
                        effect,
                        Effect::SendToRun { command: RunCommand::Teardown(_), .. }
                    )),
                    1
                );
                rig.exit_stopped(task);
            }
        }
        assert!(!rig.view(task).alive, "{moment}");
        assert_eq!(rig.status(task), Status::InProgress, "{moment}");
        rig.crash();
        assert!(rig.launched().is_empty(), "{moment}");
    }
}

#[test]
fn a_stop_also_counts_for_a_run_that_is_going_idle() {
    let mut rig = Rig::new();
    let task = rig.make_busy(rig.root(), "Task");
    rig.effects.clear();
    rig.appends = DiskMode::Blocks;
    rig.send(task, "one more thing");
    rig.appends = DiskMode::Accepts;
    rig.command(Command::Stop { scope: StopScope::Task(task) });
    rig.wake_disk();
    rig.go_idle(task);
    assert_eq!(rig.view(task).unread.len(), 1);
    assert!(!rig.launched().contains(&task));
    rig.crash();
    assert!(!rig.launched().contains(&task));
}

#[test]
fn a_process_exit_does_not_wake_a_stopped_task() {
    let mut rig = Rig::new();
    let task = rig.make_busy(rig.root(), "Task");
    let process = BackgroundRef { id: "p".to_owned(), command: "make".to_owned() };
    let call = OpenCall { call: "c".to_owned(), name: "bash".to_owned() };
    let result = ToolResult { background: Some(process), ..ToolResult::unrun(&call, "it runs", false) };
    rig.run_writes(task, vec![result.into()]);
    rig.command(Command::Stop { scope: StopScope::Task(task) });
    rig.effects.clear();
    rig.exit_stopped(task);
    assert!(rig.launched().is_empty());
    rig.crash();
    assert!(rig.launched().is_empty());
}

#[test]
fn a_run_that_asks_the_user_is_woken_only_by_the_user() {
    let mut rig = Rig::new();
    let root = rig.root();
    rig.send(root, "begin");
    rig.start(root);
    let ask = rig.machine.new_ask(
        Subject::RetriesExhausted { group: None },
        "Try again?".to_owned(),
        String::new(),
        &[(ChoiceId::Retry, "Try again"), (ChoiceId::Stop, "Stop")],
    );
    rig.run_writes(root, vec![ask.into()]);
    rig.go_idle(root);
    rig.effects.clear();
    let task = rig.make_busy(root, "Task");
    rig.exit(task, &Exit::DonePassed);
    assert_eq!(rig.launched(), [task], "it would rise, and rest, for ever");
    rig.answer(root, 0);
    assert_eq!(rig.launched(), [task, root]);
}

#[test]
fn a_user_message_after_a_stop_is_delivered() {
    let mut rig = Rig::new();
    let task = rig.make_busy(rig.root(), "Task");
    rig.command(Command::Stop { scope: StopScope::Task(task) });
    rig.effects.clear();
    rig.send(task, "no, go on");
    assert!(rig.launched().is_empty(), "the old run is still there");
    rig.exit_stopped(task);
    assert_eq!(rig.launched(), [task]);
    assert!(matches!(rig.reply(rig.last_command()), Some(Ok(Outcome::Sent { .. }))));
    // The same while the stop is being written.
    let asleep = rig.make_asleep(rig.root(), "Asleep");
    rig.appends = DiskMode::Blocks;
    rig.command(Command::Stop { scope: StopScope::Task(asleep) });
    rig.send(asleep, "no, go on");
    rig.effects.clear();
    rig.wake_disk();
    assert_eq!(rig.launched(), [asleep]);
}

#[test]
fn a_run_keeps_its_slot_until_it_is_over() {
    let mut rig = Rig::new();
    let task = rig.make_busy(rig.root(), "Task");
    rig.write_exit(task, &Exit::DonePassed);
    assert_eq!(rig.status(task), Status::Passed);
    rig.effects.clear();
    rig.send(task, "and now?");
    assert!(rig.launched().is_empty(), "the old run is still there");
    rig.feed(Input::RunOver { task, ending: Ok(Ending::Exited(Exit::DonePassed)) });
    assert_eq!(rig.launched(), [task]);
    assert_eq!(rig.status(task), Status::InProgress);
}

#[test]
fn a_failed_tree_save_launches_nothing_and_is_retried() {
    let mut rig = Rig::new();
    let task = rig.make(rig.root(), "Task");
    rig.saves = DiskMode::Fails;
    rig.send(task, "begin");
    assert!(rig.launched().is_empty() && !rig.view(task).alive);
    assert_eq!(rig.status(task), Status::Pending, "as the disk has it");
    rig.saves = DiskMode::Accepts;
    rig.feed(Input::Timer { timer: Timer::Retry { task } });
    assert_eq!(rig.launched(), [task]);
}

#[test]
fn a_run_that_failed_on_disk_is_retried() {
    let mut rig = Rig::new();
    let task = rig.make(rig.root(), "Task");
    rig.send(task, "begin");
    rig.feed(Input::Launched { task, model: "m".to_owned() });
    rig.effects.clear();
    rig.feed(Input::RunOver { task, ending: Err(Fault::environment("no space")) });
    assert!(rig.launched().is_empty());
    let timer = Timer::Retry { task };
    assert_eq!(rig.count_effects(|effect| matches!(effect, Effect::SetTimer { timer: set, .. } if *set == timer)), 1);
    assert!(!rig.machine.is_quiet(), "this is not the end");
    rig.feed(Input::Timer { timer });
    assert_eq!(rig.launched(), [task]);
}

#[test]
fn quitting_stops_every_run_and_starts_none() {
    let mut rig = Rig::with(EngineLimits { max_running: 2, ..EngineLimits::default() });
    let root = rig.root();
    let alive = rig.make_busy(root, "Alive");
    let launching = rig.make(root, "Launching");
    let queued = rig.make(root, "Queued");
    rig.send(launching, "begin");
    rig.send(queued, "begin");
    rig.effects.clear();
    assert_eq!(rig.command(Command::Quit), Some(Ok(Outcome::Done)));
    let ended = |rig: &Rig| rig.count_effects(|effect| matches!(effect, Effect::Ended));
    assert_eq!(ended(&rig), 0);
    rig.exit(alive, &Exit::Interrupted(InterruptReason::Quit));
    // A launch that completed before its cancellation.
    rig.feed(Input::Launched { task: launching, model: "m".to_owned() });
    assert_eq!(ended(&rig), 0);
    rig.exit(launching, &Exit::Interrupted(InterruptReason::Quit));
    assert_eq!(ended(&rig), 1);
    rig.send(alive, "too late");
    assert!(rig.launched().is_empty());
    assert_eq!(ended(&rig), 1, "it ends once");
    rig.crash();
    assert_eq!(rig.launched().len(), 2, "interrupted tasks resume");
    assert!(rig.view(queued).waits.is_some(), "and what waited waits");
}

#[test]
fn handing_over_lets_turns_finish_and_starts_nothing() {
    let mut rig = Rig::with(EngineLimits { max_running: 2, ..EngineLimits::default() });
    let root = rig.root();
    let alive = rig.make_busy(root, "Alive");
    let launching = rig.make(root, "Launching");
    let queued = rig.make(root, "Queued");
    rig.send(launching, "begin");
    rig.send(queued, "begin");
    rig.effects.clear();
    assert_eq!(rig.command(Command::HandOver { now: false }), Some(Ok(Outcome::Done)));
    let told = |rig: &Rig, task: TaskId| {
        rig.count_effects(
            |effect| matches!(effect, Effect::SendToRun { task: of, command: RunCommand::WrapUp } if *of == task),
        )
    };
    assert_eq!(told(&rig, alive), 1);
    let cancelled = |effect: &Effect| matches!(effect, Effect::CancelLaunch { task } if *task == launching);
    assert_eq!(rig.count_effects(cancelled), 1, "what has not begun begins later");
    let ended = |rig: &Rig| rig.count_effects(|effect| matches!(effect, Effect::Ended));
    rig.feed(Input::LaunchFailed { task: launching, failure: LaunchFailure::Cancelled });
    assert_eq!(ended(&rig), 0, "a turn is in progress");
    // A second request changes nothing, and a message waits for the next process.
    assert_eq!(rig.command(Command::HandOver { now: false }), Some(Ok(Outcome::Done)));
    assert_eq!(told(&rig, alive), 1);
    assert!(matches!(rig.send(queued, "one more thing"), Some(Ok(Outcome::Sent { .. }))));
    rig.exit(alive, &Exit::Interrupted(InterruptReason::Quit));
    assert_eq!(ended(&rig), 1);
    assert!(rig.launched().is_empty());
    rig.crash();
    assert_eq!(rig.launched().len(), 2, "the next process goes on with what worked");
    assert!(rig.view(queued).waits.is_some(), "and what waited waits");
}

#[test]
fn a_hand_over_can_be_cut_short() {
    for again in [Command::Quit, Command::HandOver { now: true }] {
        let mut rig = Rig::new();
        let task = rig.make_busy(rig.root(), "Task");
        rig.command(Command::HandOver { now: false });
        rig.effects.clear();
        assert_eq!(rig.command(again.clone()), Some(Ok(Outcome::Done)));
        let torn_down = |effect: &Effect| matches!(effect, Effect::SendToRun { task: of, command: RunCommand::Teardown(InterruptReason::Quit) } if *of == task);
        assert_eq!(rig.count_effects(torn_down), 1);
        rig.exit(task, &Exit::Interrupted(InterruptReason::Quit));
        assert_eq!(rig.count_effects(|effect| matches!(effect, Effect::Ended)), 1);
    }
}

#[test]
fn a_silent_request_is_shown_as_silent_until_output_arrives() {
    use crate::model::live::{Activity, Live};
    let mut rig = Rig::new();
    let task = rig.make_busy(rig.root(), "Task");
    rig.feed(Input::Live { task, live: Live::Activity { activity: Activity::Thinking } });
    let since = rig.now();
    let Some(Effect::SetTimer { timer, at }) = rig.effects.pop() else { panic!("no timer is set") };
    assert!(at > since);
    rig.feed(Input::Timer { timer });
    assert_eq!(rig.view(task).waits, None, "it is too early to tell");
    let Some(Effect::SetTimer { timer, .. }) = rig.effects.pop() else { panic!("no timer is set") };
    rig.pass_until(at);
    rig.feed(Input::Timer { timer });
    assert_eq!(rig.view(task).waits, Some(Wait::Silence { since }));
    rig.feed(Input::Live { task, live: Live::TextDelta { text: "At last".to_owned() } });
    assert_eq!(rig.view(task).waits, None);
}

#[test]
fn a_wait_for_a_reply_from_an_idle_task_is_a_stall_that_names_both() {
    let mut rig = Rig::new();
    let root = rig.root();
    rig.send(root, "begin");
    rig.start(root);
    let task = rig.make_busy(root, "Task");
    rig.agent_command(task, Command::Message { to: root, body: "Which one?".to_owned(), request_reply: true });
    rig.go_idle(task);
    assert_eq!(rig.view(task).waits, Some(Wait::Task { task: root }), "the root is at work and may answer");
    rig.take_a_turn(root);
    rig.go_idle(root);
    let Some(Wait::Stalled { chain, reason }) = rig.view(task).waits else { panic!("{:?}", rig.view(task).waits) };
    assert_eq!(chain, [task, root]);
    assert!(reason.contains("reply"), "{reason}");
    let told = rig.messages(root).len();
    rig.crash();
    assert_eq!(rig.view(task).waits, Some(Wait::Stalled { chain, reason }), "a restart forgets nothing of it");
    assert_eq!(rig.messages(root).len(), told, "and does not report that it is idle");
    assert!(rig.launched().is_empty());
}

#[test]
fn a_reply_ends_the_wait_across_a_restart() {
    let mut rig = Rig::new();
    let root = rig.root();
    rig.send(root, "begin");
    rig.start(root);
    let task = rig.make_busy(root, "Task");
    let below = rig.make_busy(task, "Below");
    let ask = |to: TaskId| Command::Message { to, body: "Which one?".to_owned(), request_reply: true };
    // It asked two ancestors: it waits for the one that it asked last.
    rig.agent_command(below, ask(root));
    rig.agent_command(below, ask(task));
    rig.go_idle(below);
    rig.crash();
    assert_eq!(rig.view(below).waits, Some(Wait::Task { task }), "{:?}", rig.view(task).waits);
    rig.start(root);
    let reply = Command::Message { to: below, body: "This one.".to_owned(), request_reply: false };
    rig.start(task);
    rig.agent_command(task, reply);
    rig.start(below);
    rig.take_a_turn(below);
    rig.go_idle(below);
    rig.crash();
    assert_eq!(rig.view(below).waits, Some(Wait::Idle), "it has the reply, and the task above is at work");
}

#[test]
fn a_task_stopped_while_launches_are_held_does_not_start_later() {
    let mut rig = Rig::with(EngineLimits { hold: true, ..EngineLimits::default() });
    let root = rig.root();
    let (ready, told) = (rig.make(root, "Ready"), rig.make(root, "Told"));
    rig.send(told, "begin");
    let stop = |rig: &mut Rig, task| rig.command(Command::Stop { scope: StopScope::Subtree(task) });
    assert_eq!(stop(&mut rig, ready), Some(Ok(Outcome::Stopped { agents: 0 })));
    assert_eq!(stop(&mut rig, told), Some(Ok(Outcome::Stopped { agents: 1 })));
    rig.limits = EngineLimits::default();
    rig.crash();
    assert!(rig.launched().is_empty(), "{:?}", rig.launched());
    rig.send(told, "now");
    assert_eq!(rig.launched(), [told]);
}

#[test]
fn a_launch_that_fails_on_disk_is_retried_before_the_user_is_asked() {
    let mut rig = Rig::new();
    let root = rig.root();
    let task = rig.make(root, "Task");
    rig.send(task, "begin");
    let refuse = |rig: &mut Rig| {
        rig.effects.clear();
        let failure = LaunchFailure::Disk(Fault::environment("the disk is full"));
        rig.feed(Input::LaunchFailed { task, failure });
    };
    for attempt in 0..5 {
        refuse(&mut rig);
        assert!(rig.view(task).asks.is_empty(), "attempt {attempt}");
        assert_eq!(rig.completions(root), [], "attempt {attempt}: nothing has failed yet");
        rig.feed(Input::Timer { timer: Timer::Retry { task } });
        assert_eq!(rig.launched(), [task], "attempt {attempt}");
    }
    refuse(&mut rig);
    assert_eq!(rig.view(task).asks.len(), 1);
    assert_eq!(rig.completions(root), [(task, Verdict::Failed)]);
    // A retry by the user gets the same number of attempts.
    rig.answer(task, 0);
    refuse(&mut rig);
    assert!(rig.view(task).asks.is_empty());
}

#[test]
fn a_task_stopped_during_disk_errors_does_not_start_when_the_disk_recovers() {
    let mut rig = Rig::new();
    let root = rig.root();
    let task = rig.make(root, "Task");
    rig.saves = DiskMode::Blocks;
    rig.send(task, "begin");
    rig.refuse_held();
    assert_eq!(rig.status(task), Status::Pending, "the disk did not take that it begins");
    rig.effects.clear();
    rig.command(Command::Stop { scope: StopScope::Task(task) });
    rig.feed(Input::Timer { timer: Timer::Retry { task } });
    assert!(!rig.launched().contains(&task));
}

#[test]
fn a_task_that_waits_for_a_stopped_task_is_stalled() {
    let mut rig = Rig::new();
    let root = rig.root();
    rig.send(root, "begin");
    rig.start(root);
    let task = rig.make_busy(root, "Task");
    rig.go_idle(root);
    rig.command(Command::Stop { scope: StopScope::Task(task) });
    rig.exit_stopped(task);
    for _ in 0..2 {
        let view = rig.view(task);
        assert_eq!((view.activity, view.waits), (Activity::Stopped, None));
        let Some(Wait::Stalled { chain, reason }) = rig.view(root).waits else { panic!("{:?}", rig.view(root).waits) };
        assert_eq!(chain, [root, task], "the stopped one says nothing itself");
        assert!(reason.contains("was stopped"), "{reason}");
        rig.crash();
    }
}
