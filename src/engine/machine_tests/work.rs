use super::*;
use crate::base::TurnId;
use crate::engine::command::OnConflict;
use crate::engine::review::{
    CheckResult, Conflict, ConflictKind, DiffSide, Excerpt, MergeRecord, MergeStrategy, MergeTarget, ReviewComment,
    RewindScope,
};
use crate::engine::snapshot::DiffStat;
use crate::model::AskKind;
use crate::model::event::{Body, MoveReason};
use crate::model::work::{RewindIntent, RewindTarget, Work};

/// An idle task with its own branch.
pub(super) fn asleep() -> (Rig, TaskId) {
    let mut rig = Rig::new();
    let root = rig.root();
    let task = rig.make_asleep(root, "Task");
    // The root was notified that the task is idle, and goes idle again.
    rig.start(root);
    rig.go_idle(root);
    rig.effects.clear();
    (rig, task)
}

/// Returns the last job and its task.
pub(super) fn job(rig: &Rig) -> (TaskId, &Job) {
    let mut jobs = rig.effects.iter().rev().filter_map(|effect| match effect {
        Effect::RunJob { task, job } => Some((*task, &**job)),
        _ => None,
    });
    jobs.next().expect("a job")
}

/// The driver's answer to a job.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "it lives for one answer")]
pub(super) enum JobAnswer {
    Prepared { commit: String },
    CheckFailed(CheckResult),
    Conflicts(Vec<Conflict>),
    NothingToMerge,
    Merged { merge: MergeRecord, checkout: Option<std::path::PathBuf> },
    Undone { undo: String, target: String, checkout: Option<std::path::PathBuf> },
    CatchUpPreviewed { behind: usize, conflicts: Vec<Conflict> },
    Rewound(RewindOutcome),
    Forked,
    Measured(Option<DiffStat>),
}

/// Answers the last job.
pub(super) fn answer(rig: &mut Rig, result: Result<JobAnswer, Fault>) {
    let (task, job) = job(rig);
    let outcome = match (job.clone(), result) {
        (Job::Verify { then, .. }, Err(fault)) => JobOutcome::Verified { then, result: Err(fault) },
        (Job::PrepareMerge { then, .. }, result) => JobOutcome::MergePrepared {
            then,
            result: result.map(|answer| match answer {
                JobAnswer::Prepared { commit } => MergePreparation::Ready { commit },
                JobAnswer::CheckFailed(receipt) => MergePreparation::CheckFailed(receipt),
                JobAnswer::Conflicts(conflicts) => MergePreparation::Conflicts(conflicts),
                JobAnswer::NothingToMerge => MergePreparation::NothingToMerge,
                other => panic!("a preparation does not return {other:?}"),
            }),
        },
        (Job::Merge { then, .. }, result) => JobOutcome::Merged {
            then,
            result: result.map(|answer| match answer {
                JobAnswer::Merged { merge, checkout } => MergeResult::Merged { merge, checkout },
                JobAnswer::Conflicts(conflicts) => MergeResult::Conflicts(conflicts),
                JobAnswer::NothingToMerge => MergeResult::NothingToMerge,
                other => panic!("a merge does not return {other:?}"),
            }),
        },
        (Job::UndoMerge { then, .. }, Ok(JobAnswer::Undone { undo, target, checkout })) => {
            JobOutcome::MergeUndone { then, result: Ok(UndoneMerge { undo, target, checkout }) }
        }
        (Job::UndoMerge { then, .. }, Err(fault)) => JobOutcome::MergeUndone { then, result: Err(fault) },
        (Job::PreviewCatchUp { then, .. }, Ok(JobAnswer::CatchUpPreviewed { behind, conflicts })) => {
            JobOutcome::CatchUpPreviewed { then, result: Ok(CatchUpPreview { behind, conflicts }) }
        }
        (Job::PreviewCatchUp { then, .. }, Err(fault)) => JobOutcome::CatchUpPreviewed { then, result: Err(fault) },
        (Job::Rewind { then, .. }, Ok(JobAnswer::Rewound(outcome))) => {
            JobOutcome::Rewound { then: Box::new(then), result: Ok(outcome) }
        }
        (Job::Rewind { then, .. }, Err(fault)) => JobOutcome::Rewound { then: Box::new(then), result: Err(fault) },
        (Job::Fork { then, .. }, Ok(JobAnswer::Forked)) => JobOutcome::Forked { then, result: Ok(()) },
        (Job::Fork { then, .. }, Err(fault)) => JobOutcome::Forked { then, result: Err(fault) },
        (Job::Measure { .. }, Ok(JobAnswer::Measured(diff))) => JobOutcome::Measured { task, diff },
        (job, answer) => panic!("{job:?} does not return {answer:?}"),
    };
    rig.feed(Input::JobDone(Box::new(outcome)));
}

pub(super) fn merge(rig: &mut Rig, task: TaskId, conflicts: OnConflict) -> Option<Result<Outcome, Fault>> {
    rig.command(Command::Merge { task, into: MergeTarget::Parent, how: MergeStrategy::Squash, conflicts })
}

pub(super) fn merge_record() -> MergeRecord {
    let at = Timestamp::from_millis(1);
    let (from, to, undo) = ("a".to_owned(), "b".to_owned(), "refs/mxd/undo/x/1".to_owned());
    MergeRecord { target: "main".to_owned(), how: MergeStrategy::Squash, from, to, undo, at }
}

pub(super) fn conflict() -> Conflict {
    let side = |text: &str| Some(Excerpt { text: text.to_owned(), hidden: 0 });
    Conflict {
        path: "a.txt".into(),
        kind: ConflictKind::BothAdded,
        ours: side("their side"),
        theirs: side("my side"),
        marked: None,
    }
}

pub(super) fn receipt(exit: i32) -> CheckResult {
    CheckResult {
        command: "make test".to_owned(),
        commit: "c".to_owned(),
        dirty: false,
        exit: Some(exit),
        at: Timestamp::from_millis(1),
        duration_ms: 1_500,
        output: "it said so".to_owned(),
        full: None,
    }
}

#[test]
fn the_machine_is_not_quiet_during_a_job() {
    let (mut rig, task) = asleep();
    assert!(rig.machine.is_quiet());
    merge(&mut rig, task, OnConflict::Refuse);
    assert!(!rig.machine.is_quiet(), "it is being prepared");
    answer(&mut rig, Ok(JobAnswer::NothingToMerge));
    assert!(rig.machine.is_quiet());
}

#[test]
fn a_merge_is_recorded_before_its_reply_and_can_be_undone() {
    let (mut rig, task) = asleep();
    assert_eq!(merge(&mut rig, task, OnConflict::Refuse), None);
    let id = rig.last_command();
    let (_, Job::PrepareMerge { target, .. }) = job(&rig) else { panic!("{:?}", job(&rig)) };
    assert_eq!(target, "main");
    answer(&mut rig, Ok(JobAnswer::Prepared { commit: "c".to_owned() }));
    let (_, Job::Merge { target, how, commit, .. }) = job(&rig) else { panic!("{:?}", job(&rig)) };
    assert_eq!((target.as_str(), *how, commit.as_str()), ("main", MergeStrategy::Squash, "c"));
    // No run starts there meanwhile.
    rig.send(task, "go on");
    assert!(rig.launched().is_empty());
    answer(&mut rig, Ok(JobAnswer::Merged { merge: merge_record(), checkout: None }));
    let merged = Outcome::Merged { task, how: MergeStrategy::Squash, target: "main".to_owned(), checkout: None };
    assert_eq!(rig.reply(id), Some(Ok(merged)));
    assert_eq!(rig.view(task).last_merge, Some(merge_record()));
    assert_eq!(rig.launched(), [task], "the message is delivered now");

    let (mut rig, task) = asleep();
    rig.run_writes(task, vec![Work::Merged { merge: merge_record() }.into()]);
    rig.command(Command::UndoMerge { task });
    let undo = merge_record().undo;
    assert!(matches!(job(&rig).1, Job::UndoMerge { undo: Some(known), .. } if *known == undo));
    answer(&mut rig, Ok(JobAnswer::Undone { undo, target: "main".to_owned(), checkout: None }));
    assert_eq!(rig.view(task).last_merge, None);
}

#[test]
fn a_running_task_is_neither_merged_nor_rewound() {
    let mut rig = Rig::new();
    let task = rig.make_busy(rig.root(), "Task");
    assert!(message_of(merge(&mut rig, task, OnConflict::Refuse)).contains("it is at work"));
    let rewind = Command::Rewind { task, to: None, extent: RewindScope::Both };
    assert!(message_of(rig.command(rewind)).contains("it is at work"));
}

#[test]
fn no_run_starts_where_a_merge_writes_and_a_merge_waits_for_a_run_that_started_during_its_check() {
    let (mut rig, task) = asleep();
    let root = rig.root();
    merge(&mut rig, task, OnConflict::Refuse);
    let id = rig.last_command();
    // During a long check, the user sends a message to the host.
    rig.send(root, "work");
    assert_eq!(rig.launched(), [root]);
    answer(&mut rig, Ok(JobAnswer::Prepared { commit: "c".to_owned() }));
    assert!(matches!(rig.reply(id), Some(Ok(Outcome::MergeQueued { .. }))), "{:?}", rig.reply(id));
    assert!(rig.view(task).queued_merge.is_some() && !matches!(job(&rig).1, Job::Merge { .. }));

    let (mut rig, task) = asleep();
    let root = rig.root();
    merge(&mut rig, task, OnConflict::Refuse);
    answer(&mut rig, Ok(JobAnswer::Prepared { commit: "c".to_owned() }));
    rig.send(root, "work");
    assert!(rig.launched().is_empty(), "files are being written there");
    answer(&mut rig, Ok(JobAnswer::Merged { merge: merge_record(), checkout: None }));
    assert_eq!(rig.launched(), [root], "the message is delivered now");

    let (mut rig, task) = asleep();
    let root = rig.root();
    rig.run_writes(task, vec![Work::Merged { merge: merge_record() }.into()]);
    rig.command(Command::UndoMerge { task });
    rig.send(root, "work");
    assert!(rig.launched().is_empty(), "files are being written there");
    answer(&mut rig, Err(Fault::user("no")));
    assert_eq!(rig.launched(), [root]);
    assert!(message_of(rig.command(Command::UndoMerge { task })).contains("change files under it"));
}

#[test]
fn conflicts_solved_by_hand_are_merged_or_squashed_but_not_rebased() {
    let (mut rig, task) = asleep();
    let rebase =
        Command::Merge { task, into: MergeTarget::Parent, how: MergeStrategy::Rebase, conflicts: OnConflict::Solved };
    assert!(message_of(rig.command(rebase)).contains("rebase"));
    merge(&mut rig, task, OnConflict::Solved);
    let id = rig.last_command();
    assert!(matches!(job(&rig).1, Job::PrepareMerge { conflicts: OnConflict::Solved, .. }));
    answer(&mut rig, Ok(JobAnswer::Conflicts(vec![conflict()])));
    assert!(message_of(rig.reply(id)).contains("1 file, such as a.txt"), "the target has gained something else");
}

#[test]
fn conflicts_are_refused_or_sent_to_the_agent_with_both_sides() {
    let (mut rig, task) = asleep();
    merge(&mut rig, task, OnConflict::Refuse);
    let id = rig.last_command();
    answer(&mut rig, Ok(JobAnswer::Conflicts(vec![conflict()])));
    assert!(message_of(rig.reply(id)).contains("1 file, such as a.txt"));
    assert!(rig.launched().is_empty());

    merge(&mut rig, task, OnConflict::AskAgent);
    answer(&mut rig, Ok(JobAnswer::Conflicts(vec![conflict()])));
    let message = rig.messages(task).pop().unwrap();
    assert_eq!(message.from, MessageSource::User);
    for words in ["git merge main", "a.txt: both made a file", "their side", "my side"] {
        assert!(message.body.contains(words), "expected {words:?} in {}", message.body);
    }
    assert_eq!(rig.launched(), [task]);
}

#[test]
fn a_failed_check_stops_a_merge_with_its_output() {
    let (mut rig, task) = asleep();
    merge(&mut rig, task, OnConflict::Refuse);
    let id = rig.last_command();
    answer(&mut rig, Ok(JobAnswer::CheckFailed(receipt(2))));
    let message = message_of(rig.reply(id));
    assert!(message.contains("`make test` failed with exit code 2") && message.contains("it said so"), "{message}");
    assert!(message_of(rig.command(Command::Verify { task })).contains("no verify command"));
}

#[test]
fn catching_up_messages_the_agent_only_if_the_branch_is_behind() {
    let (mut rig, task) = asleep();
    rig.command(Command::CatchUp { task });
    answer(&mut rig, Ok(JobAnswer::CatchUpPreviewed { behind: 0, conflicts: Vec::new() }));
    assert!(rig.launched().is_empty());
    rig.command(Command::CatchUp { task });
    answer(&mut rig, Ok(JobAnswer::CatchUpPreviewed { behind: 3, conflicts: vec![conflict()] }));
    let message = rig.messages(task).pop().unwrap().body;
    assert!(message.contains("3 commits") && message.contains("a.txt"), "{message}");
    assert_eq!(rig.launched(), [task]);
}

#[test]
fn a_review_is_one_message_and_is_recorded_in_the_session() {
    let (mut rig, task) = asleep();
    let comment = |text: &str| ReviewComment {
        file: "src/a.rs".to_owned(),
        side: DiffSide::New,
        lines: Some((3, 4)),
        quote: "let x = 1;\nlet y = 2;".to_owned(),
        text: text.to_owned(),
    };
    let review =
        |comments| Command::Review { task, comments, words: "Good so far.".to_owned(), state: Some("t".to_owned()) };
    assert!(message_of(rig.command(review(vec![comment(" ")]))).contains("empty"));
    assert!(matches!(rig.command(review(vec![comment("why?"), comment("and here?")])), Some(Ok(Outcome::Sent { .. }))));
    let message = rig.messages(task).pop().unwrap().body;
    assert!(message.contains("Good so far.\n\nsrc/a.rs:3-4\n> let x = 1;\n> let y = 2;\nwhy?"), "{message}");
    assert_eq!((rig.view(task).reviews, rig.launched()), (1, vec![task]));
}

#[test]
fn a_rewind_moves_the_head_and_waits_for_the_user() {
    let (mut rig, task) = asleep();
    let turn = rig.machine.state(task).unwrap().turns.last.clone().unwrap().turn;
    let head = rig.log(task).last().unwrap().id;
    rig.command(Command::Rewind { task, to: Some(turn), extent: RewindScope::Both });
    let id = rig.last_command();
    let (_, Job::Rewind { rewind, .. }) = job(&rig) else { panic!() };
    assert_eq!((rewind.target, rewind.extent), (RewindTarget::After(Some(turn)), RewindScope::Both));
    let outcome = RewindOutcome {
        head: Some(head),
        event: Some(head),
        turn: Some(turn),
        state: Some((turn, "tree".to_owned())),
        files: Some(turn),
        ..RewindOutcome::default()
    };
    answer(&mut rig, Ok(JobAnswer::Rewound(outcome.clone())));
    assert_eq!(rig.reply(id), Some(Ok(Outcome::Rewound { task, extent: RewindScope::Both })));
    let kinds: Vec<&str> = rig.log(task).iter().rev().take(4).map(|event| event.body.kind()).collect();
    assert_eq!(kinds, ["run_ended", "work", "snapshot", "head_moved"]);
    assert!(rig.view(task).can_redo && rig.launched().is_empty());

    rig.command(Command::Redo { task });
    let (_, Job::Rewind { rewind, .. }) = job(&rig) else { panic!() };
    assert_eq!(rewind.rewound.as_ref().unwrap().head, Some(head));
    answer(&mut rig, Ok(JobAnswer::Rewound(outcome)));
    let moved = rig.log(task).iter().rev().find_map(|event| match &event.body {
        Body::HeadMoved(moved) => Some(moved.reason),
        _ => None,
    });
    assert_eq!(moved, Some(MoveReason::Redo));
    assert!(!rig.view(task).can_redo);
    assert!(message_of(rig.command(Command::Redo { task })).contains("nothing to redo"));
}

#[test]
fn a_resent_message_brings_along_the_messages_read_with_it() {
    let (mut rig, task) = asleep();
    let first = rig.messages(task)[0].clone();
    let extent = RewindScope::Conversation;
    rig.command(Command::Resend { task, message: first.id, text: "other words".to_owned(), extent });
    let beside = Message { from: MessageSource::Notice, body: "beside".to_owned(), ..first.clone() };
    let card = Message { from: MessageSource::WorkContext, body: "card".to_owned(), ..first.clone() };
    let outcome = RewindOutcome { others: vec![beside, card], message: Some(first), ..RewindOutcome::default() };
    answer(&mut rig, Ok(JobAnswer::Rewound(outcome)));
    let unread: Vec<String> = rig.view(task).unread.into_iter().map(|message| message.body).collect();
    assert_eq!(unread, ["beside", "other words"]);
    assert_eq!(rig.launched(), [task]);
}

#[test]
fn a_rewind_is_repeated_after_a_crash_but_not_after_a_failure() {
    let (mut rig, task) = asleep();
    let files = TurnId::fresh(&rig.ids);
    let intent = RewindIntent { target: RewindTarget::After(None), extent: RewindScope::Both, files, words: None };
    rig.run_writes(task, vec![Work::RewindStarted { intent: intent.clone() }.into()]);
    rig.crash();
    let (_, Job::Rewind { rewind, .. }) = job(&rig) else { panic!() };
    assert_eq!((rewind.target, rewind.begun.as_ref()), (RewindTarget::After(None), Some(&intent)));
    answer(&mut rig, Err(Fault::environment("no such disk")));
    assert!(rig.log(task).iter().any(|event| matches!(&event.body, Body::Work(Work::RewindFailed { .. }))));
    rig.crash();
    assert_eq!(rig.count_effects(|effect| matches!(effect, Effect::RunJob { .. })), 0);
}

#[test]
fn work_under_review_counts_once_approved_whatever_crashes() {
    for crashes in 0..3 {
        let mut rig = Rig::with(EngineLimits { review: true, ..EngineLimits::default() });
        let root = rig.root();
        let task = rig.make_busy(root, "Task");
        rig.exit(task, &Exit::DonePassed);
        assert!(rig.completions(root).is_empty());
        if crashes > 0 {
            rig.crash();
        }
        let stat = DiffStat { files: 2, added: 7, removed: 1, dirty: false };
        answer(&mut rig, Ok(JobAnswer::Measured(Some(stat))));
        let ask = rig.only_ask(task);
        assert_eq!(ask.kind(), AskKind::Review);
        assert!(ask.detail.contains("2 files, +7 -1") && ask.detail.contains("what came of it"), "{}", ask.detail);
        if crashes > 1 {
            rig.crash();
            assert_eq!(rig.only_ask(task).id, ask.id, "it is asked once");
        }
        rig.answer(task, 0);
        assert_eq!(rig.completions(root), [(task, Verdict::Passed)]);
        assert_eq!((rig.status(task), rig.view(task).asks.len()), (Status::Passed, 0));
        assert!(!rig.launched().contains(&task) || crashes == 0);
        rig.crash();
        assert_eq!(rig.completions(root).len(), 1);
    }
}

#[test]
fn a_failed_fork_leaves_no_task() {
    let (mut rig, task) = asleep();
    let draft = crate::engine::command::TaskDraft::default();
    let start = crate::engine::command::TaskStart::Now;
    rig.command(Command::Fork { task, at: None, draft: draft.clone(), start });
    assert_eq!(rig.tree.all().count(), 3);
    answer(&mut rig, Err(Fault::environment("no room")));
    rig.worktree_done(Ok(()));
    assert_eq!(rig.tree.all().count(), 2);
    rig.command(Command::Fork { task, at: None, draft, start });
    let id = rig.last_command();
    answer(&mut rig, Ok(JobAnswer::Forked));
    let Some(Ok(Outcome::Created { task: made, .. })) = rig.reply(id) else { panic!("{:?}", rig.reply(id)) };
    assert_eq!(rig.view(made).node.title, "Task (fork)");
    assert_eq!(rig.launched(), [made]);
}

#[test]
fn an_interrupted_fork_is_undone_and_a_complete_one_stays() {
    let (mut rig, task) = asleep();
    let draft = crate::engine::command::TaskDraft::default();
    let start = crate::engine::command::TaskStart::Now;
    for cleared in [Ok(()), Err(Fault::environment("it is in use"))] {
        rig.command(Command::Fork { task, at: None, draft: draft.clone(), start });
        rig.crash();
        let half = rig.worktree_done(cleared);
        assert!(half != task && rig.tree.get(half).is_none() && rig.tree.all().count() == 2);
        assert!(!rig.launched().contains(&half));
    }
    // The files are copied but the tree does not record that yet.
    rig.command(Command::Fork { task, at: None, draft: draft.clone(), start });
    rig.saves = DiskMode::Blocks;
    answer(&mut rig, Ok(JobAnswer::Forked));
    rig.crash();
    rig.worktree_done(Ok(()));
    assert_eq!(rig.tree.all().count(), 2);

    rig.command(Command::Fork { task, at: None, draft, start });
    answer(&mut rig, Ok(JobAnswer::Forked));
    rig.crash();
    assert_eq!(rig.tree.all().count(), 3);
    assert!(rig.tree.all().all(|node| !node.unfinished_fork));
}

#[test]
fn a_merged_branch_is_no_longer_checked_for_conflicts() {
    let (mut rig, task) = asleep();
    let branches =
        |rig: &Rig| -> Vec<TaskId> { rig.machine.live_branches().into_iter().map(|(task, _)| task).collect() };
    let root = rig.root();
    assert_eq!(branches(&rig), [root, task], "what was not measured yet counts");
    let stat = DiffStat { files: 1, added: 1, removed: 0, dirty: false };
    let drift = |ahead| Some(crate::engine::review::Drift { ahead, behind: 2 });
    for (stat, drift, is_live) in
        [(stat, drift(1), true), (stat, drift(0), false), (DiffStat { dirty: true, ..stat }, drift(0), true)]
    {
        rig.machine.set_diff(task, Some(stat), drift);
        assert_eq!(branches(&rig).contains(&task), is_live, "{stat:?} {drift:?}");
    }
}

#[test]
fn a_merge_of_work_under_review_approves_it() {
    let mut rig = Rig::with(EngineLimits { review: true, ..EngineLimits::default() });
    let root = rig.root();
    let task = rig.make_busy(root, "Task");
    rig.exit(task, &Exit::DonePassed);
    answer(&mut rig, Ok(JobAnswer::Measured(None)));
    assert_eq!(rig.only_ask(task).kind(), AskKind::Review);
    merge(&mut rig, task, OnConflict::Refuse);
    answer(&mut rig, Ok(JobAnswer::Prepared { commit: "c".to_owned() }));
    assert_eq!(rig.only_ask(task).kind(), AskKind::Review, "not before it is merged");
    answer(&mut rig, Ok(JobAnswer::Merged { merge: merge_record(), checkout: None }));
    assert!(rig.view(task).asks.is_empty());
    assert_eq!((rig.completions(root), rig.status(task)), (vec![(task, Verdict::Passed)], Status::Passed));
    assert_eq!(rig.view(task).last_merge, Some(merge_record()));
}

#[test]
fn a_finished_task_is_merged_if_its_target_has_all_its_commits_whoever_merged_them() {
    let (rig, task) = asleep();
    let mut view = rig.view(task);
    let drift = |ahead| Some(crate::engine::review::Drift { ahead, behind: 2 });
    view.node.status = Status::Passed;
    view.diff = Some(DiffStat { files: 1, added: 3, removed: 0, dirty: false });
    view.drift = drift(0);
    assert!(view.is_merged(), "an agent merged it with git");
    view.drift = drift(1);
    assert!(!view.is_merged());
    view.drift = None;
    assert!(!view.is_merged(), "not measured yet");
    view.last_merge = Some(merge_record());
    assert!(view.is_merged(), "recorded");
    (view.last_merge, view.drift) = (None, drift(0));
    view.diff = Some(DiffStat { files: 1, added: 3, removed: 0, dirty: true });
    assert!(!view.is_merged(), "what is not committed cannot be merged");
    view.diff = Some(DiffStat::default());
    assert!(!view.is_merged(), "there was nothing to merge");
}
