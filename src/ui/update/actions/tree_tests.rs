use crate::base::TaskId;
use crate::engine::update::Update;
use crate::ui::Msg;
use crate::ui::testing::Screen;

/// Opens the confirmation for a task changed by `with`.
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
fn deleting_a_draft_mentions_no_archive() {
    let screen = asked(|screen| screen.ids().draft, "D", |_| {});
    assert!(screen.shows("Delete?") && screen.shows("It has not started: no work is lost."), "{}", screen.text());
    assert!(screen.shows("`mxd restore` undoes this.") && !screen.shows("archive"), "{}", screen.text());
}

#[test]
fn deleting_a_task_with_a_branch_names_the_archive() {
    let screen = asked(|screen| screen.ids().store, "D", |view| view.node.branch = Some("mxd/token-store".to_owned()));
    assert!(screen.shows("Unmerged work is archived under refs/mxd/archive first."), "{}", screen.text());
}

#[test]
fn subtask_branches_count_for_delete_not_reset() {
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
fn task_without_branch_loses_only_its_conversation() {
    let screen = asked(|screen| screen.ids().docs, "D", |view| view.turns = 3);
    assert!(screen.shows("It has no branch: no work to archive."), "{}", screen.text());
}
