use super::*;
use crate::engine::command::StopScope;
use crate::engine::snapshot::Wait;
use crate::model::ask::{ChoiceId, Subject};
use crate::model::event::{BackgroundRef, InterruptReason, ToolResult};
use crate::model::fold::OpenCall;
use crate::model::run::{Ending, RunCommand};

fn one_at_a_time() -> Rig {
    Rig::with(Limits { max_running: 1, ..Limits::default() })
}

#[test]
fn whom_the_person_waits_for_is_admitted_first() {
    let mut rig = one_at_a_time();
    let root = rig.root();
    let tasks: Vec<TaskId> = ["a", "b", "c", "d"].into_iter().map(|title| rig.make(root, title)).collect();
    rig.send(root, "begin");
    rig.start(root);
    // Those that an agent starts wait in the order they were started.
    for task in &tasks[..3] {
        rig.ask(root, Command::Message { to: *task, body: "begin".to_owned(), request_reply: false });
    }
    rig.send(tasks[3], "begin");
    rig.send(tasks[2], "you too");
    let ahead: Vec<_> = tasks.iter().map(|task| rig.view(*task).waits).collect();
    let slot = |ahead| Some(Wait::Slot { ahead });
    assert_eq!(ahead, [slot(2), slot(3), slot(0), slot(1)]);
    rig.effects.clear();
    rig.rest(root);
    for _ in 0..3 {
        let task = rig.launched().pop().unwrap();
        rig.start(task);
        rig.exit(task, &Exit::DonePassed);
        // The root is woken by every completion, and waits for its turn.
        if rig.launched().last() == Some(&root) {
            rig.start(root);
            rig.rest(root);
        }
    }
    let others: Vec<TaskId> = rig.launched().into_iter().filter(|task| *task != root).collect();
    assert_eq!(others, [tasks[2], tasks[3], tasks[0], tasks[1]]);
}

#[test]
fn a_run_that_sleeps_for_a_process_leaves_its_slot_to_others() {
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
fn what_is_stopped_stays_in_progress_and_asleep() {
    let mut rig = one_at_a_time();
    let root = rig.root();
    let alive = rig.make_busy(root, "Alive");
    let queued = rig.make(root, "Queued");
    rig.send(queued, "begin");
    for task in [queued, alive] {
        let reply = rig.command(Command::Stop { scope: StopScope::Task(task) });
        assert_eq!(reply, Some(Ok(Outcome::Stopped { agents: 1 })));
    }
    let torn_down = |effect: &Effect| matches!(effect, Effect::Tell { task, command: RunCommand::Teardown(InterruptReason::Stopped) } if *task == alive);
    assert_eq!(rig.count_effects(torn_down), 1);
    rig.stopped(alive);
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
fn a_launch_that_is_stopped_does_not_become_a_run() {
    // Stopped while the tree is saved; while the worktree is made; when it has just become a run.
    for moment in ["saving", "setting up", "launched"] {
        let mut rig = Rig::new();
        let task = rig.make(rig.root(), "Task");
        rig.saves = if moment == "saving" { Mood::Sleeps } else { Mood::Takes };
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
                    rig.count_effects(|effect| matches!(effect, Effect::Tell { command: RunCommand::Teardown(_), .. })),
                    1
                );
                rig.stopped(task);
            }
        }
        assert!(!rig.view(task).alive, "{moment}");
        assert_eq!(rig.status(task), Status::InProgress, "{moment}");
        rig.crash();
        assert!(rig.launched().is_empty(), "{moment}");
    }
}

#[test]
fn a_stop_that_meets_a_run_on_its_way_to_rest_still_stops_it() {
    let mut rig = Rig::new();
    let task = rig.make_busy(rig.root(), "Task");
    rig.effects.clear();
    rig.appends = Mood::Sleeps;
    rig.send(task, "one more thing");
    rig.appends = Mood::Takes;
    rig.command(Command::Stop { scope: StopScope::Task(task) });
    rig.wake_disk();
    rig.rest(task);
    assert_eq!(rig.view(task).unread.len(), 1);
    assert!(!rig.launched().contains(&task));
    rig.crash();
    assert!(!rig.launched().contains(&task));
}

#[test]
fn a_process_that_outlived_its_agent_does_not_wake_what_was_stopped() {
    let mut rig = Rig::new();
    let task = rig.make_busy(rig.root(), "Task");
    let process = BackgroundRef { id: "p".to_owned(), command: "make".to_owned() };
    let call = OpenCall { call: "c".to_owned(), name: "bash".to_owned() };
    let result = ToolResult { background: Some(process), ..ToolResult::unrun(&call, "it runs", false) };
    rig.run_writes(task, vec![result.into()]);
    rig.command(Command::Stop { scope: StopScope::Task(task) });
    rig.effects.clear();
    rig.stopped(task);
    assert!(rig.launched().is_empty());
    rig.crash();
    assert!(rig.launched().is_empty());
}

#[test]
fn a_run_that_asks_the_person_is_not_started_for_anybody_else() {
    let mut rig = Rig::new();
    let root = rig.root();
    rig.send(root, "begin");
    rig.start(root);
    let ask = rig.machine.new_ask(
        Subject::RetriesExhausted,
        "Try again?".to_owned(),
        String::new(),
        &[(ChoiceId::Retry, "Try again"), (ChoiceId::Stop, "Stop")],
    );
    rig.run_writes(root, vec![ask.into()]);
    rig.rest(root);
    rig.effects.clear();
    let task = rig.make_busy(root, "Task");
    rig.exit(task, &Exit::DonePassed);
    assert_eq!(rig.launched(), [task], "it would rise, and rest, for ever");
    rig.answer(root, 0);
    assert_eq!(rig.launched(), [task, root]);
}

#[test]
fn what_the_person_says_after_a_stop_is_heeded() {
    let mut rig = Rig::new();
    let task = rig.make_busy(rig.root(), "Task");
    rig.command(Command::Stop { scope: StopScope::Task(task) });
    rig.effects.clear();
    rig.send(task, "no, go on");
    assert!(rig.launched().is_empty(), "the old run is still there");
    rig.stopped(task);
    assert_eq!(rig.launched(), [task]);
    assert!(matches!(rig.reply(rig.last_command()), Some(Ok(Outcome::Sent { .. }))));
    // The same where the stop is still on its way to the disk.
    let asleep = rig.make_asleep(rig.root(), "Asleep");
    rig.appends = Mood::Sleeps;
    rig.command(Command::Stop { scope: StopScope::Task(asleep) });
    rig.send(asleep, "no, go on");
    rig.effects.clear();
    rig.wake_disk();
    assert_eq!(rig.launched(), [asleep]);
}

#[test]
fn a_run_whose_end_is_not_known_keeps_its_slot() {
    let mut rig = Rig::new();
    let task = rig.make_busy(rig.root(), "Task");
    rig.declare(task, &Exit::DonePassed);
    assert_eq!(rig.status(task), Status::Passed);
    rig.effects.clear();
    rig.send(task, "and now?");
    assert!(rig.launched().is_empty(), "the old run is still there");
    rig.feed(Input::RunOver { task, ending: Ok(Ending::Exited(Exit::DonePassed)) });
    assert_eq!(rig.launched(), [task]);
    assert_eq!(rig.status(task), Status::InProgress);
}

#[test]
fn a_tree_that_cannot_be_saved_launches_nobody_and_is_tried_again() {
    let mut rig = Rig::new();
    let task = rig.make(rig.root(), "Task");
    rig.saves = Mood::Refuses;
    rig.send(task, "begin");
    assert!(rig.launched().is_empty() && !rig.view(task).alive);
    assert_eq!(rig.status(task), Status::Pending, "as the disk has it");
    rig.saves = Mood::Takes;
    rig.feed(Input::Timer { timer: Timer::TryAgain { task } });
    assert_eq!(rig.launched(), [task]);
}

#[test]
fn the_disk_refuses_a_run_and_it_is_tried_again() {
    let mut rig = Rig::new();
    let task = rig.make(rig.root(), "Task");
    rig.send(task, "begin");
    rig.feed(Input::Launched { task, model: "m".to_owned() });
    rig.effects.clear();
    rig.feed(Input::RunOver { task, ending: Err(Fault::environment("no space")) });
    assert!(rig.launched().is_empty());
    let timer = Timer::TryAgain { task };
    assert_eq!(rig.count_effects(|effect| matches!(effect, Effect::Wake { timer: set, .. } if *set == timer)), 1);
    assert!(!rig.machine.is_quiet(), "whoever waits for the end must not take this for one");
    rig.feed(Input::Timer { timer });
    assert_eq!(rig.launched(), [task]);
}

#[test]
fn quitting_ends_everything_and_starts_nothing() {
    let mut rig = Rig::with(Limits { max_running: 2, ..Limits::default() });
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
    // A launch that was quicker than its end.
    rig.feed(Input::Launched { task: launching, model: "m".to_owned() });
    assert_eq!(ended(&rig), 0);
    rig.exit(launching, &Exit::Interrupted(InterruptReason::Quit));
    assert_eq!(ended(&rig), 1);
    rig.send(alive, "too late");
    assert!(rig.launched().is_empty());
    assert_eq!(ended(&rig), 1, "it ends once");
    rig.crash();
    assert_eq!(rig.launched().len(), 2, "what was interrupted goes on");
    assert!(rig.view(queued).waits.is_some(), "and what waited waits");
}

#[test]
fn a_request_without_a_word_for_a_while_says_so_until_one_comes() {
    use crate::model::live::{Activity, Live};
    let mut rig = Rig::new();
    let task = rig.make_busy(rig.root(), "Task");
    rig.feed(Input::Live { task, live: Live::Activity { activity: Activity::Thinking } });
    let since = rig.now();
    let Some(Effect::Wake { timer, at }) = rig.effects.pop() else { panic!("nobody looks again") };
    assert!(at > since);
    rig.feed(Input::Timer { timer });
    assert_eq!(rig.view(task).waits, None, "it is too early to tell");
    let Some(Effect::Wake { timer, .. }) = rig.effects.pop() else { panic!("nobody looks again") };
    rig.pass_until(at);
    rig.feed(Input::Timer { timer });
    assert_eq!(rig.view(task).waits, Some(Wait::Silence { since }));
    rig.feed(Input::Live { task, live: Live::TextDelta { text: "At last".to_owned() } });
    assert_eq!(rig.view(task).waits, None);
}

#[test]
fn who_waits_for_a_reply_of_somebody_who_sleeps_is_named_with_both() {
    let mut rig = Rig::new();
    let root = rig.root();
    rig.send(root, "begin");
    rig.start(root);
    let task = rig.make_busy(root, "Task");
    rig.ask(task, Command::Message { to: root, body: "Which one?".to_owned(), request_reply: true });
    rig.rest(task);
    assert_eq!(rig.view(task).waits, Some(Wait::Task { task: root }), "the root is at work and may answer");
    rig.take_a_turn(root);
    rig.rest(root);
    let Some(Wait::Stalled { chain, reason }) = rig.view(task).waits else { panic!("{:?}", rig.view(task).waits) };
    assert_eq!(chain, [task, root]);
    assert!(reason.contains("reply"), "{reason}");
    let told = rig.messages(root).len();
    rig.crash();
    assert_eq!(rig.view(task).waits, Some(Wait::Stalled { chain, reason }), "a restart forgets nothing of it");
    assert_eq!(rig.messages(root).len(), told, "and tells nobody that it sleeps for no reason");
    assert!(rig.launched().is_empty());
}

#[test]
fn a_reply_ends_the_wait_also_across_a_restart() {
    let mut rig = Rig::new();
    let root = rig.root();
    rig.send(root, "begin");
    rig.start(root);
    let task = rig.make_busy(root, "Task");
    let below = rig.make_busy(task, "Below");
    let ask = |to: TaskId| Command::Message { to, body: "Which one?".to_owned(), request_reply: true };
    // It asks two that are above it: what it waits for is the one that it asked last.
    rig.ask(below, ask(root));
    rig.ask(below, ask(task));
    rig.rest(below);
    rig.crash();
    assert_eq!(rig.view(below).waits, Some(Wait::Task { task }), "{:?}", rig.view(task).waits);
    rig.start(root);
    let reply = Command::Message { to: below, body: "This one.".to_owned(), request_reply: false };
    rig.start(task);
    rig.ask(task, reply);
    rig.start(below);
    rig.take_a_turn(below);
    rig.rest(below);
    rig.crash();
    let Some(Wait::Stalled { chain, .. }) = rig.view(below).waits else { panic!("{:?}", rig.view(below).waits) };
    assert_eq!(chain, [below], "it was answered and said nothing more");
}

#[test]
fn what_is_stopped_before_agents_may_start_does_not_begin_when_they_may() {
    let mut rig = Rig::with(Limits { hold: true, ..Limits::default() });
    let root = rig.root();
    let (ready, told) = (rig.make(root, "Ready"), rig.make(root, "Told"));
    rig.send(told, "begin");
    let stop = |rig: &mut Rig, task| rig.command(Command::Stop { scope: StopScope::Subtree(task) });
    assert_eq!(stop(&mut rig, ready), Some(Ok(Outcome::Stopped { agents: 0 })));
    assert_eq!(stop(&mut rig, told), Some(Ok(Outcome::Stopped { agents: 1 })));
    rig.limits = Limits::default();
    rig.crash();
    assert!(rig.launched().is_empty(), "{:?}", rig.launched());
    rig.send(told, "now");
    assert_eq!(rig.launched(), [told]);
}

#[test]
fn a_launch_that_the_disk_refuses_is_tried_again_and_the_person_is_asked_in_the_end() {
    let mut rig = Rig::new();
    let root = rig.root();
    let task = rig.make(root, "Task");
    rig.send(task, "begin");
    let refuse = |rig: &mut Rig| {
        rig.effects.clear();
        let failure = LaunchFailure::Disk(Fault::environment("the disk is full"));
        rig.feed(Input::LaunchFailed { task, failure });
    };
    for round in 0..5 {
        refuse(&mut rig);
        assert!(rig.view(task).asks.is_empty(), "round {round}");
        assert_eq!(rig.completions(root), [], "round {round}: nothing has failed yet");
        rig.feed(Input::Timer { timer: Timer::TryAgain { task } });
        assert_eq!(rig.launched(), [task], "round {round}");
    }
    refuse(&mut rig);
    assert_eq!(rig.view(task).asks.len(), 1);
    assert_eq!(rig.completions(root), [(task, Verdict::Failed)]);
    // Whoever answers that it may be tried again finds the same patience.
    rig.answer(task, 0);
    refuse(&mut rig);
    assert!(rig.view(task).asks.is_empty());
}

#[test]
fn what_is_stopped_while_the_disk_refuses_it_does_not_begin_when_the_disk_takes_again() {
    let mut rig = Rig::new();
    let root = rig.root();
    let task = rig.make(root, "Task");
    rig.saves = Mood::Sleeps;
    rig.send(task, "begin");
    rig.refuse_held();
    assert_eq!(rig.status(task), Status::Pending, "the disk did not take that it begins");
    rig.effects.clear();
    rig.command(Command::Stop { scope: StopScope::Task(task) });
    rig.feed(Input::Timer { timer: Timer::TryAgain { task } });
    assert!(!rig.launched().contains(&task));
}

#[test]
fn what_the_person_stopped_says_so_and_who_waits_for_it_is_stalled() {
    let mut rig = Rig::new();
    let root = rig.root();
    rig.send(root, "begin");
    rig.start(root);
    let task = rig.make_busy(root, "Task");
    rig.rest(root);
    rig.command(Command::Stop { scope: StopScope::Task(task) });
    rig.stopped(task);
    for _ in 0..2 {
        let view = rig.view(task);
        assert_eq!((view.activity, view.waits), (Activity::Stopped, None));
        let Some(Wait::Stalled { chain, reason }) = rig.view(root).waits else { panic!("{:?}", rig.view(root).waits) };
        assert_eq!(chain, [root, task]);
        assert!(reason.contains("was stopped"), "{reason}");
        rig.crash();
    }
}
