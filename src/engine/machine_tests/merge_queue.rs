use super::work::{Said, answer, asleep, conflict, job, landing, merge, receipt};
use super::*;
use crate::engine::command::{OnConflict, StopScope};
use crate::engine::review::{Extent, Goal, How};
use crate::engine::update::{Level, Notice};
use crate::model::event::Body;
use crate::model::work::{DequeueReason, Work};

/// A task that sleeps below a root whose agent is at work, and whose merge is queued.
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
        Effect::Work { task, job, .. } => Some((*task, kind(job))),
        _ => None,
    };
    rig.effects.iter().filter_map(of).collect()
}

fn kind(job: &Job) -> &'static str {
    match job {
        Job::Prepare { .. } => "prepare",
        Job::Land { .. } => "land",
        _ => "other",
    }
}

fn prepared(rig: &mut Rig) {
    answer(rig, Ok(Said::Prepared { commit: "c".to_owned() }));
}

fn landed(rig: &mut Rig) {
    prepared(rig);
    answer(rig, Ok(Said::Landed { landing: landing(), checkout: None }));
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
fn a_merge_into_a_checkout_where_an_agent_works_is_made_at_its_pause_before_it_goes_on() {
    let (mut rig, root, task) = queued(OnConflict::Refuse);
    let waits = rig.view(task).queued_merge.unwrap();
    assert_eq!((waits.target.as_str(), waits.host, waits.how), ("main", root, How::Squash));
    rig.send(root, "and this");
    assert_eq!(jobs(&rig), []);
    rig.rest(root);
    assert_eq!(jobs(&rig), [(task, "prepare")]);
    assert!(rig.launched().is_empty(), "files are about to come in");
    prepared(&mut rig);
    assert_eq!(jobs(&rig), [(task, "prepare"), (task, "land")]);
    rig.send(root, "once more");
    assert!(rig.launched().is_empty());
    answer(&mut rig, Ok(Said::Landed { landing: landing(), checkout: None }));
    let view = rig.view(task);
    assert_eq!((view.queued_merge, view.landing), (None, Some(landing())));
    assert_eq!(rig.launched(), [root], "it goes on with what was said meanwhile");
    assert!(notices(&rig).iter().any(|notice| notice.level == Level::Info && notice.task == Some(task)));
    rig.start(root);
    rig.rest(root);
    assert_eq!(jobs(&rig).len(), 2, "it is made once");
}

#[test]
fn a_host_that_has_nothing_to_do_receives_its_merges_one_after_another_and_the_oldest_first() {
    let (mut rig, root, task) = queued(OnConflict::Refuse);
    rig.rest(root);
    landed(&mut rig);
    assert!(rig.launched().is_empty());

    rig.send(root, "work");
    rig.start(root);
    let other = rig.make_asleep(root, "Other");
    merge(&mut rig, other, OnConflict::Refuse);
    merge(&mut rig, task, OnConflict::Refuse);
    rig.effects.clear();
    rig.rest(root);
    assert_eq!(jobs(&rig), [(other, "prepare")]);
    landed(&mut rig);
    assert_eq!(jobs(&rig), [(other, "prepare"), (other, "land"), (task, "prepare")]);
    assert!(rig.launched().is_empty());
    landed(&mut rig);
    // It was told that the other one sleeps.
    assert_eq!(rig.launched(), [root]);
}

#[test]
fn a_queued_merge_is_cancelled_and_one_that_has_begun_is_not() {
    let (mut rig, root, task) = queued(OnConflict::Refuse);
    let cancelled = rig.command(Command::CancelMerge { task });
    assert_eq!(cancelled, Some(Ok(Outcome::MergeCancelled { target: "main".to_owned() })));
    assert_eq!((rig.view(task).queued_merge, dequeued(&rig, task)), (None, vec![DequeueReason::Cancelled]));
    rig.rest(root);
    assert_eq!(jobs(&rig), []);
    assert!(message_of(rig.command(Command::CancelMerge { task })).contains("no merge of"));

    let (mut rig, root, task) = queued(OnConflict::Refuse);
    rig.rest(root);
    assert!(message_of(rig.command(Command::CancelMerge { task })).contains("being merged"));
    landed(&mut rig);
    assert!(rig.view(task).landing.is_some());

    // The disk refuses the cancellation, and the host rests meanwhile.
    let (mut rig, root, task) = queued(OnConflict::Refuse);
    rig.appends = Mood::Sleeps;
    rig.command(Command::CancelMerge { task });
    let id = rig.last_command();
    rig.rest(root);
    assert_eq!(jobs(&rig), []);
    rig.refuse_held();
    assert!(matches!(rig.reply(id), Some(Err(_))));
    assert_eq!(jobs(&rig), [(task, "prepare")], "nothing was cancelled");
}

#[test]
fn a_second_merge_replaces_the_queued_one() {
    let (mut rig, root, task) = queued(OnConflict::Refuse);
    rig.command(Command::Merge { task, into: Goal::Above, how: How::Rebase, conflicts: OnConflict::Refuse });
    assert_eq!(rig.view(task).queued_merge.map(|queued| queued.how), Some(How::Rebase));
    rig.rest(root);
    prepared(&mut rig);
    let (_, Job::Land { how, .. }) = job(&rig) else { panic!("{:?}", job(&rig)) };
    assert_eq!(*how, How::Rebase);
    answer(&mut rig, Ok(Said::Landed { landing: landing(), checkout: None }));
    assert_eq!(jobs(&rig).len(), 2);
}

#[test]
fn a_queued_merge_that_fails_leaves_the_queue_with_a_word_and_is_not_tried_again() {
    let check = || Ok(Said::CheckFailed(receipt(2)));
    let failures = [
        (Ok(Said::Conflicts(vec![conflict()])), "a.txt"),
        (check(), "exit code 2"),
        (Err(Fault::user("there are changes in the checkout")), "changes in the checkout"),
    ];
    for (failure, words) in failures {
        let (mut rig, root, task) = queued(OnConflict::Refuse);
        rig.send(root, "and this");
        rig.rest(root);
        answer(&mut rig, failure);
        assert!(matches!(dequeued(&rig, task).as_slice(), [DequeueReason::Failed(why)] if why.contains(words)));
        let said = notices(&rig);
        let [notice] = said.as_slice() else { panic!("{said:?}") };
        assert_eq!((notice.level, notice.task), (Level::Warning, Some(task)));
        assert!(notice.text.contains(words) && notice.text.contains("hint: "), "{}", notice.text);
        assert_eq!(rig.launched(), [root], "the host goes on");
        rig.start(root);
        rig.rest(root);
        rig.crash();
        assert_eq!(jobs(&rig), []);
    }
    // Not even if the disk does not take the word.
    let (mut rig, root, task) = queued(OnConflict::Refuse);
    rig.rest(root);
    rig.appends = Mood::Refuses;
    answer(&mut rig, check());
    assert_eq!(jobs(&rig), [(task, "prepare")]);
}

#[test]
fn conflicts_of_a_queued_merge_go_to_the_agent_and_what_is_there_already_is_not_merged() {
    let (mut rig, root, task) = queued(OnConflict::AskAgent);
    rig.rest(root);
    answer(&mut rig, Ok(Said::Conflicts(vec![conflict()])));
    assert_eq!((dequeued(&rig, task), rig.launched()), (vec![DequeueReason::AgentAsked], vec![task]));
    assert!(rig.messages(task).pop().unwrap().body.contains("git merge main"));

    let (mut rig, root, task) = queued(OnConflict::Refuse);
    rig.rest(root);
    answer(&mut rig, Ok(Said::NothingToLand));
    assert_eq!((dequeued(&rig, task), rig.launched()), (vec![DequeueReason::NothingToMerge], vec![]));
}

#[test]
fn a_queued_merge_survives_a_crash_and_is_made_before_its_host_goes_on() {
    let (mut rig, root, task) = queued(OnConflict::Refuse);
    rig.send(root, "and this");
    rig.crash();
    assert_eq!((jobs(&rig), rig.launched()), (vec![(task, "prepare")], vec![]));
    // Also if the process dies while it is made.
    prepared(&mut rig);
    rig.crash();
    assert_eq!((jobs(&rig), rig.launched()), (vec![(task, "prepare")], vec![]));
    landed(&mut rig);
    assert_eq!(rig.launched(), [root]);
    rig.crash();
    assert_eq!(jobs(&rig), []);
}

#[test]
fn nothing_is_merged_by_itself_where_agents_are_held_or_the_program_ends() {
    let (mut rig, root, task) = queued(OnConflict::Refuse);
    rig.command(Command::Quit);
    rig.exit(root, &Exit::Interrupted(crate::model::event::InterruptReason::Quit));
    assert_eq!(jobs(&rig), []);
    rig.limits.hold = true;
    rig.crash();
    assert_eq!(jobs(&rig), []);
    assert!(rig.view(task).queued_merge.is_some());
    // What the user asks for now is done now, and the queue is through with it.
    merge(&mut rig, task, OnConflict::Refuse);
    landed(&mut rig);
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
    rig.rest(task);
    rig.rest(root);
    assert_eq!(jobs(&rig), []);

    // It was to work when the process died: it does, and is not merged before.
    let (mut rig, root, task) = queued(OnConflict::Refuse);
    rig.appends = Mood::Sleeps;
    rig.send(task, "something else");
    rig.release(|effect| matches!(effect, Effect::Append { .. }));
    rig.crash();
    assert_eq!((jobs(&rig), rig.launched()), (vec![], vec![task]));
    assert_eq!(rig.view(root).queued_merge, None);
    assert_eq!(rig.view(task).queued_merge, None);
}

#[test]
fn what_puts_work_away_or_back_drops_its_queued_merge() {
    let rewind = |task| Command::Rewind { task, to: None, extent: Extent::Files };
    let edits: [&dyn Fn(TaskId) -> Command; 4] =
        [&|task| Command::Close { task }, &|task| Command::Reset { task }, &|task| Command::Delete { task }, &rewind];
    for edit in edits {
        let (mut rig, root, task) = queued(OnConflict::Refuse);
        rig.command(Command::Stop { scope: StopScope::Task(task) });
        rig.command(edit(task));
        if matches!(edit(task), Command::Rewind { .. }) {
            answer(&mut rig, Ok(Said::WentBack(Went::default())));
        } else {
            rig.worktree_done(Ok(()));
        }
        assert_eq!(dequeued(&rig, task), [DequeueReason::TaskChanged], "{:?}", edit(task));
        rig.effects.clear();
        rig.rest(root);
        rig.crash();
        assert_eq!(jobs(&rig), [], "{:?}", edit(task));
    }
}

#[test]
fn an_answer_that_asks_for_a_merge_is_kept_together_with_the_queued_merge() {
    let mut rig = Rig::with(Limits { review: true, ..Limits::default() });
    let root = rig.root();
    rig.send(root, "work");
    rig.start(root);
    let task = rig.make_busy(root, "Task");
    rig.exit(task, &Exit::DonePassed);
    answer(&mut rig, Ok(Said::Measured(None)));
    rig.only_ask(task);
    rig.appends = Mood::Sleeps;
    rig.answer(task, 1);
    let id = rig.last_command();
    rig.wake_disk_once();
    assert!(matches!(rig.reply(id), Some(Ok(Outcome::MergeQueued { .. }))), "{:?}", rig.reply(id));
    rig.crash();
    assert!(rig.view(task).asks.is_empty());
    assert_eq!(rig.completions(root), [(task, Verdict::Passed)]);
    assert_eq!((jobs(&rig), rig.launched()), (vec![(task, "prepare")], vec![]));
    landed(&mut rig);
    assert_eq!((rig.status(task), rig.launched()), (Status::Passed, vec![root]));
}
