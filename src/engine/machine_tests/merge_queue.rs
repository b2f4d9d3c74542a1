use super::work::{JobAnswer, answer, asleep, conflict, job, merge, merge_record, receipt};
use super::*;
use crate::engine::command::{OnConflict, StopScope};
use crate::engine::review::{MergeStrategy, MergeTarget, RewindScope};
use crate::engine::update::{Level, Notice};
use crate::model::event::Body;
use crate::model::work::{DequeueReason, Work};

/// An idle task with a queued merge, below a root whose agent is at work.
fn queued(conflicts: OnConflict) -> (Rig, TaskId, TaskId) {
    let (mut rig, task) = asleep();
    let root = rig.root();
    rig.send(root, "work");
    rig.start(root);
    let reply = merge(&mut rig, task, conflicts);
    let (target, host_title) = ("main".to_owned(), "Root".to_owned());
    assert_eq!(reply, Some(Ok(Outcome::MergeQueued { task, target, host: root, host_title })));
    rig.effects.clear();
    (rig, root, task)
}

fn jobs(rig: &Rig) -> Vec<(TaskId, &'static str)> {
    let of = |effect: &Effect| match effect {
        Effect::RunJob { task, job, .. } => Some((*task, kind(job))),
        _ => None,
    };
    rig.effects.iter().filter_map(of).collect()
}

fn kind(job: &Job) -> &'static str {
    match job {
        Job::PrepareMerge { .. } => "prepare",
        Job::Merge { .. } => "merge",
        _ => "other",
    }
}

fn answer_prepared(rig: &mut Rig) {
    answer(rig, Ok(JobAnswer::Prepared { commit: "c".to_owned() }));
}

fn answer_merged(rig: &mut Rig) {
    answer_prepared(rig);
    answer(rig, Ok(JobAnswer::Merged { merge: merge_record(), checkout: None }));
}

fn notices(rig: &Rig) -> Vec<&Notice> {
    let notices = rig.effects.iter().filter_map(|effect| match effect {
        Effect::Notify(notice) => Some(notice),
        _ => None,
    });
    notices.collect()
}

/// Returns why merges of a task left the queue.
fn dequeued(rig: &Rig, task: TaskId) -> Vec<DequeueReason> {
    let of = |event: &crate::model::event::Event| match &event.body {
        Body::Work(Work::MergeDequeued { reason }) => Some(reason.clone()),
        _ => None,
    };
    rig.log(task).iter().filter_map(of).collect()
}

#[test]
fn a_merge_into_a_busy_checkout_runs_at_the_hosts_pause_before_its_next_run() {
    let (mut rig, root, task) = queued(OnConflict::Refuse);
    let waits = rig.view(task).queued_merge.unwrap();
    assert_eq!((waits.target.as_str(), waits.host, waits.how), ("main", root, MergeStrategy::Squash));
    rig.send(root, "and this");
    assert_eq!(jobs(&rig), []);
    rig.go_idle(root);
    assert_eq!(jobs(&rig), [(task, "prepare")]);
    assert!(rig.launched().is_empty(), "files are about to come in");
    answer_prepared(&mut rig);
    assert_eq!(jobs(&rig), [(task, "prepare"), (task, "merge")]);
    rig.send(root, "once more");
    assert!(rig.launched().is_empty());
    answer(&mut rig, Ok(JobAnswer::Merged { merge: merge_record(), checkout: None }));
    let view = rig.view(task);
    assert_eq!((view.queued_merge, view.last_merge), (None, Some(merge_record())));
    assert_eq!(rig.launched(), [root], "it continues with the message");
    assert!(notices(&rig).iter().any(|notice| notice.level == Level::Info && notice.task == Some(task)));
    rig.start(root);
    rig.go_idle(root);
    assert_eq!(jobs(&rig).len(), 2, "it is made once");
}

#[test]
fn an_idle_host_receives_its_merges_one_by_one_oldest_first() {
    let (mut rig, root, task) = queued(OnConflict::Refuse);
    rig.go_idle(root);
    answer_merged(&mut rig);
    assert!(rig.launched().is_empty());

    rig.send(root, "work");
    rig.start(root);
    let other = rig.make_started(root, "Other");
    rig.go_idle(other);
    merge(&mut rig, other, OnConflict::Refuse);
    merge(&mut rig, task, OnConflict::Refuse);
    rig.effects.clear();
    rig.go_idle(root);
    assert_eq!(jobs(&rig), [(other, "prepare")]);
    answer_merged(&mut rig);
    assert_eq!(jobs(&rig), [(other, "prepare"), (other, "merge"), (task, "prepare")]);
    assert!(rig.launched().is_empty());
    answer_merged(&mut rig);
    // It was notified that the other one is idle.
    assert_eq!(rig.launched(), [root]);
}

#[test]
fn a_queued_merge_can_be_cancelled_until_it_starts() {
    let (mut rig, root, task) = queued(OnConflict::Refuse);
    let cancelled = rig.command(Command::CancelMerge { task });
    assert_eq!(cancelled, Some(Ok(Outcome::MergeCancelled { target: "main".to_owned() })));
    assert_eq!((rig.view(task).queued_merge, dequeued(&rig, task)), (None, vec![DequeueReason::Cancelled]));
    rig.go_idle(root);
    assert_eq!(jobs(&rig), []);
    assert!(message_of(rig.command(Command::CancelMerge { task })).contains("no queued merge"));

    let (mut rig, root, task) = queued(OnConflict::Refuse);
    rig.go_idle(root);
    assert!(message_of(rig.command(Command::CancelMerge { task })).contains("being merged"));
    answer_merged(&mut rig);
    assert!(rig.view(task).last_merge.is_some());

    // Writing the cancellation fails, and the host goes idle meanwhile.
    let (mut rig, root, task) = queued(OnConflict::Refuse);
    rig.appends = DiskMode::Blocks;
    rig.command(Command::CancelMerge { task });
    let id = rig.last_command();
    rig.go_idle(root);
    assert_eq!(jobs(&rig), []);
    rig.refuse_held();
    assert!(matches!(rig.reply(id), Some(Err(_))));
    assert_eq!(jobs(&rig), [(task, "prepare")], "nothing was cancelled");
}

#[test]
fn a_second_merge_replaces_the_queued_one() {
    let (mut rig, root, task) = queued(OnConflict::Refuse);
    rig.command(Command::Merge {
        task,
        into: MergeTarget::Parent,
        how: MergeStrategy::Rebase,
        conflicts: OnConflict::Refuse,
    });
    assert_eq!(rig.view(task).queued_merge.map(|queued| queued.how), Some(MergeStrategy::Rebase));
    rig.go_idle(root);
    answer_prepared(&mut rig);
    let (_, Job::Merge { how, .. }) = job(&rig) else { panic!("{:?}", job(&rig)) };
    assert_eq!(*how, MergeStrategy::Rebase);
    answer(&mut rig, Ok(JobAnswer::Merged { merge: merge_record(), checkout: None }));
    assert_eq!(jobs(&rig).len(), 2);
}

#[test]
fn a_failed_queued_merge_leaves_the_queue_with_a_notice_and_is_not_retried() {
    let check = || Ok(JobAnswer::CheckFailed(receipt(2)));
    let failures = [
        (Ok(JobAnswer::Conflicts(vec![conflict()])), "a.txt"),
        (check(), "exit code 2"),
        (Err(Fault::user("there are changes in the checkout")), "changes in the checkout"),
    ];
    for (failure, words) in failures {
        let (mut rig, root, task) = queued(OnConflict::Refuse);
        rig.send(root, "and this");
        rig.go_idle(root);
        answer(&mut rig, failure);
        assert!(matches!(dequeued(&rig, task).as_slice(), [DequeueReason::Failed(why)] if why.contains(words)));
        let shown = notices(&rig);
        let [notice] = shown.as_slice() else { panic!("{shown:?}") };
        assert_eq!((notice.level, notice.task), (Level::Warning, Some(task)));
        assert!(notice.text.contains(words) && notice.text.contains("hint: "), "{}", notice.text);
        assert_eq!(rig.launched(), [root], "the host continues");
        rig.start(root);
        rig.go_idle(root);
        rig.crash();
        assert_eq!(jobs(&rig), []);
    }
    // Not even if its dequeue event cannot be written.
    let (mut rig, root, task) = queued(OnConflict::Refuse);
    rig.go_idle(root);
    rig.appends = DiskMode::Fails;
    answer(&mut rig, check());
    assert_eq!(jobs(&rig), [(task, "prepare")]);
}

#[test]
fn a_queued_merge_sends_conflicts_to_the_agent_and_skips_what_is_already_merged() {
    let (mut rig, root, task) = queued(OnConflict::AskAgent);
    rig.go_idle(root);
    answer(&mut rig, Ok(JobAnswer::Conflicts(vec![conflict()])));
    assert_eq!((dequeued(&rig, task), rig.launched()), (vec![DequeueReason::AgentAsked], vec![task]));
    assert!(rig.messages(task).pop().unwrap().body.contains("git merge main"));

    let (mut rig, root, task) = queued(OnConflict::Refuse);
    rig.go_idle(root);
    answer(&mut rig, Ok(JobAnswer::NothingToMerge));
    assert_eq!((dequeued(&rig, task), rig.launched()), (vec![DequeueReason::NothingToMerge], vec![]));
}

#[test]
fn a_queued_merge_survives_a_crash_and_runs_before_its_host() {
    let (mut rig, root, task) = queued(OnConflict::Refuse);
    rig.send(root, "and this");
    rig.crash();
    assert_eq!((jobs(&rig), rig.launched()), (vec![(task, "prepare")], vec![]));
    // Also after a crash during the merge.
    answer_prepared(&mut rig);
    rig.crash();
    assert_eq!((jobs(&rig), rig.launched()), (vec![(task, "prepare")], vec![]));
    answer_merged(&mut rig);
    assert_eq!(rig.launched(), [root]);
    rig.crash();
    assert_eq!(jobs(&rig), []);
}

#[test]
fn queued_merges_do_not_start_while_launches_are_held_or_on_quit() {
    let (mut rig, root, task) = queued(OnConflict::Refuse);
    rig.command(Command::Quit);
    rig.exit(root, &Exit::Interrupted(crate::model::event::InterruptReason::Quit));
    assert_eq!(jobs(&rig), []);
    rig.limits.hold = true;
    rig.crash();
    assert_eq!(jobs(&rig), []);
    assert!(rig.view(task).queued_merge.is_some());
    // A merge command of the user runs now and removes the queued one.
    merge(&mut rig, task, OnConflict::Refuse);
    answer_merged(&mut rig);
    assert_eq!(rig.view(task).queued_merge, None);
    rig.limits.hold = false;
    rig.crash();
    assert_eq!(jobs(&rig), []);
}

#[test]
fn a_task_that_works_again_leaves_the_queue() {
    let (mut rig, root, task) = queued(OnConflict::Refuse);
    rig.send(task, "something else");
    assert_eq!((dequeued(&rig, task), rig.launched()), (vec![DequeueReason::TaskWorks], vec![task]));
    assert_eq!(notices(&rig).len(), 1);
    rig.start(task);
    rig.go_idle(task);
    rig.go_idle(root);
    assert_eq!(jobs(&rig), []);

    // It had work when the process crashed: it runs, and is not merged before.
    let (mut rig, root, task) = queued(OnConflict::Refuse);
    rig.appends = DiskMode::Blocks;
    rig.send(task, "something else");
    rig.release(|effect| matches!(effect, Effect::Append { .. }));
    rig.crash();
    assert_eq!((jobs(&rig), rig.launched()), (vec![], vec![task]));
    assert_eq!(rig.view(root).queued_merge, None);
    assert_eq!(rig.view(task).queued_merge, None);
}

#[test]
fn closing_resetting_or_rewinding_a_task_drops_its_queued_merge() {
    let rewind = |task| Command::Rewind { task, to: None, extent: RewindScope::Files };
    let edits: [&dyn Fn(TaskId) -> Command; 4] =
        [&|task| Command::Close { task }, &|task| Command::Reset { task }, &|task| Command::Delete { task }, &rewind];
    for edit in edits {
        let (mut rig, root, task) = queued(OnConflict::Refuse);
        rig.command(Command::Stop { scope: StopScope::Task(task) });
        rig.command(edit(task));
        if matches!(edit(task), Command::Rewind { .. }) {
            answer(&mut rig, Ok(JobAnswer::Rewound(RewindOutcome::default())));
        } else {
            rig.worktree_done(Ok(()));
        }
        assert_eq!(dequeued(&rig, task), [DequeueReason::TaskChanged], "{:?}", edit(task));
        rig.effects.clear();
        rig.go_idle(root);
        rig.crash();
        assert_eq!(jobs(&rig), [], "{:?}", edit(task));
    }
}

#[test]
fn a_review_answer_that_merges_is_recorded_with_the_queued_merge() {
    let mut rig = Rig::with(EngineLimits { review: true, ..EngineLimits::default() });
    let root = rig.root();
    rig.send(root, "work");
    rig.start(root);
    let task = rig.make_busy(root, "Task");
    rig.exit(task, &Exit::DonePassed);
    answer(&mut rig, Ok(JobAnswer::Measured(None)));
    rig.only_ask(task);
    rig.appends = DiskMode::Blocks;
    rig.answer(task, 1);
    let id = rig.last_command();
    rig.wake_disk_once();
    assert!(matches!(rig.reply(id), Some(Ok(Outcome::MergeQueued { .. }))), "{:?}", rig.reply(id));
    rig.crash();
    assert!(rig.view(task).asks.is_empty());
    assert_eq!(rig.completions(root), [(task, Verdict::Passed)]);
    assert_eq!((jobs(&rig), rig.launched()), (vec![(task, "prepare")], vec![]));
    answer_merged(&mut rig);
    assert_eq!((rig.status(task), rig.launched()), (Status::Passed, vec![root]));
}
