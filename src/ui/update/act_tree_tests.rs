use crate::base::TaskId;
use crate::engine::update::Update;
use crate::ui::Msg;
use crate::ui::testing::Screen;

/// Opens the question before something is taken away from a task, with everything the task is changed by `with`.
fn asked(task: impl Fn(&Screen) -> TaskId, key: &str, with: impl Fn(&mut crate::engine::snapshot::TaskView)) -> Screen {
    let mut screen = Screen::new(120, 40);
    let id = task(&screen);
    let mut view = screen.task(id).clone();
    with(&mut view);
    screen.msg(Msg::Engine(Update::Task { task: Box::new(view) }));
    screen.select(id).keys("esc").keys(key);
    screen
}

#[test]
fn deleting_a_draft_that_never_began_speaks_of_no_archive() {
    let screen = asked(|screen| screen.ids().draft, "D", |_| {});
    assert!(screen.shows("Delete?") && screen.shows("It has not begun: no work is lost."), "{}", screen.text());
    assert!(screen.shows("`mxd restore` brings it back.") && !screen.shows("archive"), "{}", screen.text());
}

#[test]
fn deleting_a_task_with_a_branch_says_where_its_work_is_kept() {
    let screen = asked(|screen| screen.ids().store, "D", |view| view.node.branch = Some("mxd/token-store".to_owned()));
    assert!(screen.shows("Work that is not merged is archived under refs/mxd/archive first."), "{}", screen.text());
}

#[test]
fn a_branch_below_counts_for_what_is_deleted_and_not_for_what_is_reset() {
    let mut screen = Screen::new(120, 40);
    let (login, store) = (screen.ids().login, screen.ids().store);
    let mut view = screen.task(store).clone();
    view.node.branch = Some("mxd/token-store".to_owned());
    view.diff = None;
    screen.msg(Msg::Engine(Update::Task { task: Box::new(view) }));
    screen.select(login).keys("esc D");
    assert!(screen.shows("archived under refs/mxd/archive"), "{}", screen.text());
    screen.keys("esc :").typed("reset task").keys("enter");
    assert!(screen.shows("Reset?") && !screen.shows("archive"), "{}", screen.text());
}

#[test]
fn who_has_spoken_without_a_branch_loses_a_conversation_and_no_work() {
    let screen = asked(|screen| screen.ids().docs, "D", |view| view.turns = 3);
    assert!(screen.shows("It has no branch, so there is no work to archive."), "{}", screen.text());
}
