use super::*;
use crate::base::TaskId;
use crate::engine::update::Update;
use crate::model::event::Verdict;
use crate::model::live::Activity;
use crate::model::task::TaskResult;
use crate::ui::testing::{Screen, snapshot};

fn change(screen: &mut Screen, id: TaskId, with: impl FnOnce(&mut TaskView)) {
    let mut view = screen.task(id).clone();
    with(&mut view);
    screen.engine(Update::Task { task: Box::new(view) });
}

/// Returns a screen whose tasks have all ended, with the root selected.
fn finished() -> Screen {
    let mut screen = Screen::new(120, 40);
    let end = screen.now;
    let all: Vec<_> = snapshot().tasks.iter().map(|task| task.node.id).collect();
    for id in all {
        change(&mut screen, id, |view| {
            view.asks.clear();
            view.activity = Activity::Stopped;
            if matches!(view.node.status, Status::Pending | Status::InProgress) && view.node.parent.is_some() {
                view.node.status = Status::Passed;
                let result = "It works.".to_owned();
                view.node.results.push(TaskResult { verdict: Verdict::Passed, result, at: end });
            }
        });
    }
    let (root, login) = (screen.ids().root, screen.ids().login);
    let message = crate::ui::testing::events(login).swap_remove(4);
    screen.answers = false;
    screen.select(root);
    screen.msg(crate::ui::Msg::Page { task: root, before: None, events: vec![message], more: false });
    screen
}

#[test]
fn finished_tree_is_summed_up_below_the_transcript_of_the_root() {
    let mut screen = finished();
    let login = screen.ids().login;
    change(&mut screen, login, |view| {
        view.diff = Some(DiffStat { files: 3, added: 84, removed: 3, dirty: false });
    });
    let summary = summary(&screen.model.project).unwrap();
    assert_eq!((summary.passed, summary.failed), (5, 1), "closed tasks and drafts are not counted");
    assert_eq!((summary.diff.files, summary.diff.added, summary.diff.removed), (3, 84, 3), "subtasks are part of it");
    assert_eq!(summary.millis, 3_600_000);
    for words in ["5 done, 1 failed", "3 files +84 -3", "1 h", "$1.42", "d see the changes", "g a all agents"] {
        assert!(screen.shows(words), "{words}: {}", screen.text());
    }
    screen.select(login);
    assert!(!screen.shows("see the changes"), "it belongs to the root: {}", screen.text());
}

#[test]
fn summary_goes_when_work_starts_again_or_something_waits() {
    for how in 0..3 {
        let mut screen = finished();
        let docs = screen.ids().docs;
        assert!(screen.shows("see the changes"), "{}", screen.text());
        change(&mut screen, docs, |view| match how {
            0 => view.activity = Activity::Thinking,
            1 => view.node.status = Status::Pending,
            _ => view.asks = snapshot().tasks.into_iter().flat_map(|task| task.asks).collect(),
        });
        assert_eq!(summary(&screen.model.project), None, "{how}");
        assert!(!screen.shows("see the changes"), "{how}: {}", screen.text());
    }
}

#[test]
fn nothing_is_summed_up_before_anything_was_done() {
    let mut screen = Screen::new(120, 40);
    assert_eq!(summary(&screen.model.project), None);
    let all: Vec<_> = snapshot().tasks.iter().skip(1).map(|task| task.node.id).collect();
    for id in all {
        screen.engine(Update::Removed { task: id });
    }
    assert_eq!(summary(&screen.model.project), None, "a root alone has its own result");
}
