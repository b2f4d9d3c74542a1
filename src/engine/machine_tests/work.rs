use super::*;
use crate::base::TurnId;
use crate::engine::command::OnConflict;
use crate::engine::review::{Comment, Conflict, ConflictKind, Excerpt, Extent, Goal, How, Landing, Receipt, Side};
use crate::engine::snapshot::DiffStat;
use crate::model::AskKind;
use crate::model::event::{Body, MoveReason};
use crate::model::work::{Aim, Moving, Work};

/// A task whose agent sleeps, with a branch of its own.
pub(super) fn asleep() -> (Rig, TaskId) {
    let mut rig = Rig::new();
    let root = rig.root();
    let task = rig.make_asleep(root, "Task");
    // It was told that the task sleeps, and sleeps again.
    rig.start(root);
    rig.rest(root);
    rig.effects.clear();
    (rig, task)
}

/// Returns the last job that the machine wants done, and whose it is.
pub(super) fn job(rig: &Rig) -> (TaskId, &Job) {
    let mut jobs = rig.effects.iter().rev().filter_map(|effect| match effect {
        Effect::Work { task, job } => Some((*task, &**job)),
        _ => None,
    });
    jobs.next().expect("a job")
}

/// What the driver makes of a job.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "it lives for one answer")]
pub(super) enum Said {
    Prepared { commit: String },
    CheckFailed(Receipt),
    Conflicts(Vec<Conflict>),
    NothingToLand,
    Landed { landing: Landing, checkout: Option<std::path::PathBuf> },
    Undone { undo: String, target: String, checkout: Option<std::path::PathBuf> },
    Foreseen { behind: usize, conflicts: Vec<Conflict> },
    WentBack(Went),
    Forked,
    Measured(Option<DiffStat>),
}

/// Answers the last job.
pub(super) fn answer(rig: &mut Rig, result: Result<Said, Fault>) {
    let (task, job) = job(rig);
    let worked = match (job.clone(), result) {
        (Job::Verify { then, .. }, Err(fault)) => Worked::Verified { then, result: Err(fault) },
        (Job::Prepare { then, .. }, result) => Worked::Prepared {
            then,
            result: result.map(|said| match said {
                Said::Prepared { commit } => Preparation::Ready { commit },
                Said::CheckFailed(receipt) => Preparation::CheckFailed(receipt),
                Said::Conflicts(conflicts) => Preparation::Conflicts(conflicts),
                Said::NothingToLand => Preparation::NothingToLand,
                other => panic!("a preparation does not say {other:?}"),
            }),
        },
        (Job::Land { then, .. }, result) => Worked::Landed {
            then,
            result: result.map(|said| match said {
                Said::Landed { landing, checkout } => LandResult::Landed { landing, checkout },
                Said::Conflicts(conflicts) => LandResult::Conflicts(conflicts),
                Said::NothingToLand => LandResult::NothingToLand,
                other => panic!("a landing does not say {other:?}"),
            }),
        },
        (Job::UndoLanding { then, .. }, Ok(Said::Undone { undo, target, checkout })) => {
            Worked::Undone { then, result: Ok(UndoneLanding { undo, target, checkout }) }
        }
        (Job::UndoLanding { then, .. }, Err(fault)) => Worked::Undone { then, result: Err(fault) },
        (Job::Foresee { then, .. }, Ok(Said::Foreseen { behind, conflicts })) => {
            Worked::Foreseen { then, result: Ok(Foreseen { behind, conflicts }) }
        }
        (Job::Foresee { then, .. }, Err(fault)) => Worked::Foreseen { then, result: Err(fault) },
        (Job::GoBack { then, .. }, Ok(Said::WentBack(went))) => Worked::WentBack { then, result: Ok(went) },
        (Job::GoBack { then, .. }, Err(fault)) => Worked::WentBack { then, result: Err(fault) },
        (Job::Fork { then, .. }, Ok(Said::Forked)) => Worked::Forked { then, result: Ok(()) },
        (Job::Fork { then, .. }, Err(fault)) => Worked::Forked { then, result: Err(fault) },
        (Job::Measure { .. }, Ok(Said::Measured(diff))) => Worked::Measured { task, diff },
        (job, said) => panic!("{job:?} does not say {said:?}"),
    };
    rig.feed(Input::Worked(Box::new(worked)));
}

pub(super) fn merge(rig: &mut Rig, task: TaskId, conflicts: OnConflict) -> Option<Result<Outcome, Fault>> {
    rig.command(Command::Merge { task, into: Goal::Above, how: How::Squash, conflicts })
}

pub(super) fn landing() -> Landing {
    let at = Timestamp::from_millis(1);
    let (from, to, undo) = ("a".to_owned(), "b".to_owned(), "refs/mxd/undo/x/1".to_owned());
    Landing { target: "main".to_owned(), how: How::Squash, from, to, undo, at }
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

pub(super) fn receipt(exit: i32) -> Receipt {
    Receipt {
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
fn nothing_is_quiet_while_a_job_is_under_way() {
    let (mut rig, task) = asleep();
    assert!(rig.machine.is_quiet());
    merge(&mut rig, task, OnConflict::Refuse);
    assert!(!rig.machine.is_quiet(), "it is being prepared");
    answer(&mut rig, Ok(Said::NothingToLand));
    assert!(rig.machine.is_quiet());
}

#[test]
fn a_merge_is_kept_in_the_session_before_it_is_answered_and_can_be_undone() {
    let (mut rig, task) = asleep();
    assert_eq!(merge(&mut rig, task, OnConflict::Refuse), None);
    let id = rig.last_command();
    let (_, Job::Prepare { target, .. }) = job(&rig) else { panic!("{:?}", job(&rig)) };
    assert_eq!(target, "main");
    answer(&mut rig, Ok(Said::Prepared { commit: "c".to_owned() }));
    let (_, Job::Land { target, how, commit, .. }) = job(&rig) else { panic!("{:?}", job(&rig)) };
    assert_eq!((target.as_str(), *how, commit.as_str()), ("main", How::Squash, "c"));
    // Nobody begins to work there meanwhile.
    rig.send(task, "go on");
    assert!(rig.launched().is_empty());
    answer(&mut rig, Ok(Said::Landed { landing: landing(), checkout: None }));
    let merged = Outcome::Merged { task, how: How::Squash, target: "main".to_owned(), checkout: None };
    assert_eq!(rig.reply(id), Some(Ok(merged)));
    assert_eq!(rig.view(task).landing, Some(landing()));
    assert_eq!(rig.launched(), [task], "what was said meanwhile is heard now");

    let (mut rig, task) = asleep();
    rig.run_writes(task, vec![Work::Landed { landing: landing() }.into()]);
    rig.command(Command::UndoMerge { task });
    let undo = landing().undo;
    assert!(matches!(job(&rig).1, Job::UndoLanding { undo: Some(known), .. } if *known == undo));
    answer(&mut rig, Ok(Said::Undone { undo, target: "main".to_owned(), checkout: None }));
    assert_eq!(rig.view(task).landing, None);
}

#[test]
fn what_is_at_work_is_neither_merged_nor_rewound() {
    let mut rig = Rig::new();
    let task = rig.make_busy(rig.root(), "Task");
    assert!(message_of(merge(&mut rig, task, OnConflict::Refuse)).contains("it is at work"));
    let rewind = Command::Rewind { task, to: None, extent: Extent::Both };
    assert!(message_of(rig.command(rewind)).contains("it is at work"));
}

#[test]
fn nobody_begins_where_a_merge_is_writing_and_who_began_during_the_check_is_not_disturbed() {
    let (mut rig, task) = asleep();
    let root = rig.root();
    merge(&mut rig, task, OnConflict::Refuse);
    let id = rig.last_command();
    // The check takes long, and the person has something to say to whoever works where the target is.
    rig.send(root, "work");
    assert_eq!(rig.launched(), [root]);
    answer(&mut rig, Ok(Said::Prepared { commit: "c".to_owned() }));
    assert!(matches!(rig.reply(id), Some(Ok(Outcome::MergeQueued { .. }))), "{:?}", rig.reply(id));
    assert!(rig.view(task).queued_merge.is_some() && !matches!(job(&rig).1, Job::Land { .. }));

    let (mut rig, task) = asleep();
    let root = rig.root();
    merge(&mut rig, task, OnConflict::Refuse);
    answer(&mut rig, Ok(Said::Prepared { commit: "c".to_owned() }));
    rig.send(root, "work");
    assert!(rig.launched().is_empty(), "files are being written there");
    answer(&mut rig, Ok(Said::Landed { landing: landing(), checkout: None }));
    assert_eq!(rig.launched(), [root], "what was said meanwhile is heard now");

    let (mut rig, task) = asleep();
    let root = rig.root();
    rig.run_writes(task, vec![Work::Landed { landing: landing() }.into()]);
    rig.command(Command::UndoMerge { task });
    rig.send(root, "work");
    assert!(rig.launched().is_empty(), "files are being written there");
    answer(&mut rig, Err(Fault::user("no")));
    assert_eq!(rig.launched(), [root]);
    assert!(message_of(rig.command(Command::UndoMerge { task })).contains("under its hands"));
}

#[test]
fn what_was_solved_by_hand_is_merged_or_squashed_and_never_rebased() {
    let (mut rig, task) = asleep();
    let rebase = Command::Merge { task, into: Goal::Above, how: How::Rebase, conflicts: OnConflict::Solved };
    assert!(message_of(rig.command(rebase)).contains("rebase"));
    merge(&mut rig, task, OnConflict::Solved);
    let id = rig.last_command();
    assert!(matches!(job(&rig).1, Job::Prepare { conflicts: OnConflict::Solved, .. }));
    answer(&mut rig, Ok(Said::Conflicts(vec![conflict()])));
    assert!(message_of(rig.reply(id)).contains("1 file, such as a.txt"), "the target has gained something else");
}

#[test]
fn conflicts_are_refused_or_put_to_the_agent_with_both_sides() {
    let (mut rig, task) = asleep();
    merge(&mut rig, task, OnConflict::Refuse);
    let id = rig.last_command();
    answer(&mut rig, Ok(Said::Conflicts(vec![conflict()])));
    assert!(message_of(rig.reply(id)).contains("1 file, such as a.txt"));
    assert!(rig.launched().is_empty());

    merge(&mut rig, task, OnConflict::AskAgent);
    answer(&mut rig, Ok(Said::Conflicts(vec![conflict()])));
    let said = rig.messages(task).pop().unwrap();
    assert_eq!(said.from, Source::User);
    for words in ["git merge main", "a.txt: both made a file", "their side", "my side"] {
        assert!(said.body.contains(words), "expected {words:?} in {}", said.body);
    }
    assert_eq!(rig.launched(), [task]);
}

#[test]
fn a_check_that_fails_stops_a_merge_and_says_why() {
    let (mut rig, task) = asleep();
    merge(&mut rig, task, OnConflict::Refuse);
    let id = rig.last_command();
    answer(&mut rig, Ok(Said::CheckFailed(receipt(2))));
    let said = message_of(rig.reply(id));
    assert!(said.contains("`make test` failed with exit code 2") && said.contains("it said so"), "{said}");
    assert!(message_of(rig.command(Command::Verify { task })).contains("nothing says how"));
}

#[test]
fn catching_up_is_a_wish_of_the_persons_and_costs_nothing_if_there_is_nothing_to_take_in() {
    let (mut rig, task) = asleep();
    rig.command(Command::CatchUp { task });
    answer(&mut rig, Ok(Said::Foreseen { behind: 0, conflicts: Vec::new() }));
    assert!(rig.launched().is_empty());
    rig.command(Command::CatchUp { task });
    answer(&mut rig, Ok(Said::Foreseen { behind: 3, conflicts: vec![conflict()] }));
    let said = rig.messages(task).pop().unwrap().body;
    assert!(said.contains("3 commits") && said.contains("a.txt"), "{said}");
    assert_eq!(rig.launched(), [task]);
}

#[test]
fn a_round_of_comments_is_one_message_and_stays_in_the_session() {
    let (mut rig, task) = asleep();
    let comment = |text: &str| Comment {
        file: "src/a.rs".to_owned(),
        side: Side::New,
        lines: Some((3, 4)),
        quote: "let x = 1;\nlet y = 2;".to_owned(),
        text: text.to_owned(),
    };
    let review =
        |comments| Command::Review { task, comments, words: "Good so far.".to_owned(), state: Some("t".to_owned()) };
    assert!(message_of(rig.command(review(vec![comment(" ")]))).contains("empty"));
    assert!(matches!(rig.command(review(vec![comment("why?"), comment("and here?")])), Some(Ok(Outcome::Sent { .. }))));
    let said = rig.messages(task).pop().unwrap().body;
    assert!(said.contains("Good so far.\n\nsrc/a.rs:3-4\n> let x = 1;\n> let y = 2;\nwhy?"), "{said}");
    assert_eq!((rig.view(task).rounds, rig.launched()), (1, vec![task]));
}

#[test]
fn a_rewind_moves_the_head_says_so_and_waits_for_the_person() {
    let (mut rig, task) = asleep();
    let turn = rig.machine.state(task).unwrap().turns.last.clone().unwrap().turn;
    let head = rig.log(task).last().unwrap().id;
    rig.command(Command::Rewind { task, to: Some(turn), extent: Extent::Both });
    let id = rig.last_command();
    let (_, Job::GoBack { back, .. }) = job(&rig) else { panic!() };
    assert_eq!((back.aim, back.extent), (Aim::After(Some(turn)), Extent::Both));
    let went = Went {
        head: Some(head),
        event: Some(head),
        turn: Some(turn),
        state: Some((turn, "tree".to_owned())),
        files: Some(turn),
        ..Went::default()
    };
    answer(&mut rig, Ok(Said::WentBack(went.clone())));
    assert_eq!(rig.reply(id), Some(Ok(Outcome::Rewound { task, extent: Extent::Both })));
    let kinds: Vec<&str> = rig.log(task).iter().rev().take(4).map(|event| event.body.kind()).collect();
    assert_eq!(kinds, ["run_ended", "work", "snapshot", "head_moved"]);
    assert!(rig.view(task).can_redo && rig.launched().is_empty());

    rig.command(Command::Redo { task });
    let (_, Job::GoBack { back, .. }) = job(&rig) else { panic!() };
    assert_eq!(back.rewound.as_ref().unwrap().head, Some(head));
    answer(&mut rig, Ok(Said::WentBack(went)));
    let moved = rig.log(task).iter().rev().find_map(|event| match &event.body {
        Body::HeadMoved(moved) => Some(moved.reason),
        _ => None,
    });
    assert_eq!(moved, Some(MoveReason::Redo));
    assert!(!rig.view(task).can_redo);
    assert!(message_of(rig.command(Command::Redo { task })).contains("nothing to redo"));
}

#[test]
fn a_message_that_is_said_differently_takes_along_what_was_read_beside_it() {
    let (mut rig, task) = asleep();
    let first = rig.messages(task)[0].clone();
    let extent = Extent::Conversation;
    rig.command(Command::Resend { task, message: first.id, text: "other words".to_owned(), extent });
    let beside = Message { from: Source::Notice, body: "beside".to_owned(), ..first.clone() };
    let card = Message { from: Source::WorkContext, body: "card".to_owned(), ..first.clone() };
    let went = Went { others: vec![beside, card], message: Some(first), ..Went::default() };
    answer(&mut rig, Ok(Said::WentBack(went)));
    let unread: Vec<String> = rig.view(task).unread.into_iter().map(|message| message.body).collect();
    assert_eq!(unread, ["beside", "other words"]);
    assert_eq!(rig.launched(), [task]);
}

#[test]
fn a_rewind_that_a_crash_interrupted_is_carried_out_again_and_one_that_fails_is_not() {
    let (mut rig, task) = asleep();
    let files = TurnId::fresh(&rig.ids);
    let moving = Moving { aim: Aim::After(None), extent: Extent::Both, files, words: None };
    rig.run_writes(task, vec![Work::Moving { moving: moving.clone() }.into()]);
    rig.crash();
    let (_, Job::GoBack { back, .. }) = job(&rig) else { panic!() };
    assert_eq!((back.aim, back.begun.as_ref()), (Aim::After(None), Some(&moving)));
    answer(&mut rig, Err(Fault::environment("no such disk")));
    assert!(rig.log(task).iter().any(|event| matches!(&event.body, Body::Work(Work::Stayed { .. }))));
    rig.crash();
    assert_eq!(rig.count_effects(|effect| matches!(effect, Effect::Work { .. })), 0);
}

#[test]
fn work_that_has_to_be_looked_at_counts_when_it_was_whatever_crashes() {
    for crashes in 0..3 {
        let mut rig = Rig::with(Limits { review: true, ..Limits::default() });
        let root = rig.root();
        let task = rig.make_busy(root, "Task");
        rig.exit(task, &Exit::DonePassed);
        assert!(rig.completions(root).is_empty());
        if crashes > 0 {
            rig.crash();
        }
        let stat = DiffStat { files: 2, added: 7, removed: 1, dirty: false };
        answer(&mut rig, Ok(Said::Measured(Some(stat))));
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
fn a_fork_that_cannot_be_made_leaves_no_task_behind() {
    let (mut rig, task) = asleep();
    let draft = crate::engine::command::Draft::default();
    let start = crate::engine::command::Start::Now;
    rig.command(Command::Fork { task, at: None, draft: draft.clone(), start });
    assert_eq!(rig.tree.all().count(), 3);
    answer(&mut rig, Err(Fault::environment("no room")));
    rig.worktree_done(Ok(()));
    assert_eq!(rig.tree.all().count(), 2);
    rig.command(Command::Fork { task, at: None, draft, start });
    let id = rig.last_command();
    answer(&mut rig, Ok(Said::Forked));
    let Some(Ok(Outcome::Created { task: made, .. })) = rig.reply(id) else { panic!("{:?}", rig.reply(id)) };
    assert_eq!(rig.view(made).node.title, "Task (fork)");
    assert_eq!(rig.launched(), [made]);
}

#[test]
fn a_fork_that_a_crash_interrupted_is_undone_and_one_that_is_whole_stays() {
    let (mut rig, task) = asleep();
    let draft = crate::engine::command::Draft::default();
    let start = crate::engine::command::Start::Now;
    for cleared in [Ok(()), Err(Fault::environment("it is in use"))] {
        rig.command(Command::Fork { task, at: None, draft: draft.clone(), start });
        rig.crash();
        let half = rig.worktree_done(cleared);
        assert!(half != task && rig.tree.get(half).is_none() && rig.tree.all().count() == 2);
        assert!(!rig.launched().contains(&half));
    }
    // The files are there, and the tree does not say so yet.
    rig.command(Command::Fork { task, at: None, draft: draft.clone(), start });
    rig.saves = Mood::Sleeps;
    answer(&mut rig, Ok(Said::Forked));
    rig.crash();
    rig.worktree_done(Ok(()));
    assert_eq!(rig.tree.all().count(), 2);

    rig.command(Command::Fork { task, at: None, draft, start });
    answer(&mut rig, Ok(Said::Forked));
    rig.crash();
    assert_eq!(rig.tree.all().count(), 3);
    assert!(rig.tree.all().all(|node| !node.half_made));
}

#[test]
fn a_branch_that_is_merged_conflicts_with_nobody_and_the_base_with_whom_it_does() {
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
