use super::*;
use crate::engine::update::Update;
use crate::model::live::Activity;
use crate::ui::layout::Pane;
use crate::ui::testing::{Screen, snapshot};

fn board() -> (Board, ProjectState) {
    let project = ProjectState::new(snapshot());
    let mut board = Board::new(BoardKind::Agents);
    board.sync(&project);
    (board, project)
}

#[test]
fn tasks_are_sorted_by_what_they_need() {
    let (board, _) = board();
    let ids = crate::ui::testing::Ids::default();
    let of = |column| board.tasks.iter().filter(|(of, _)| *of == column).map(|(_, id)| *id).collect::<Vec<_>>();
    assert_eq!(of(Column::NeedsYou), [ids.callback, ids.failed]);
    assert_eq!(of(Column::Working), [ids.login, ids.wide]);
    assert_eq!(of(Column::Finished), [ids.store], "drafts, closed and idle tasks are left out");
}

#[test]
fn waiting_tasks_are_counted_apart_and_come_after_those_at_work() {
    let mut screen = Screen::new(120, 40);
    let login = screen.ids().login;
    let mut view = screen.task(login).clone();
    view.activity = Activity::Waiting;
    view.waits = Some(Wait::Task { task: screen.ids().store });
    screen.engine(Update::Task { task: Box::new(view) });
    screen.keys("esc g a");
    assert!(screen.shows("Working 1, waiting 1"), "{}", screen.text());
    screen.keys("l l h j");
    assert!(screen.shows("waits for token store"), "{}", screen.text());
}

#[test]
fn selection_stays_on_its_task_when_the_task_changes_columns() {
    let (mut board, mut project) = board();
    let ids = crate::ui::testing::Ids::default();
    board.step_column(1);
    assert_eq!(board.chosen(), Some(ids.login));
    let mut view = project.task(ids.login).unwrap().clone();
    view.activity = Activity::Stopped;
    view.node.status = Status::Passed;
    project.put(view);
    board.sync(&project);
    assert_eq!(board.chosen(), Some(ids.login));
    board.step_column(1);
    assert_eq!(board.chosen(), Some(ids.login), "there is no column after the last");
    board.step_column(-1);
    assert_eq!(board.chosen(), Some(ids.wide));
}

#[test]
fn enter_on_a_question_goes_to_its_answer_field() {
    for size in [(80, 24), (120, 40), (200, 60)] {
        let mut screen = Screen::new(size.0, size.1);
        screen.keys("esc g a");
        assert!(screen.shows("Needs you 2") && screen.shows("Working 2"), "{}", screen.text());
        assert!(screen.shows("Which path should"), "{}", screen.text());
        screen.keys("enter");
        assert_eq!((screen.model.selected(), screen.model.focus), (screen.ids().callback, Pane::Composer));
    }
}

#[test]
fn charts_show_the_tokens_of_the_last_minutes() {
    let mut screen = Screen::new(120, 40);
    let login = screen.ids().login;
    let mut view = screen.task(login).clone();
    for _ in 0..3 {
        view.usage.on_usage(&crate::model::usage::Usage {
            tokens: crate::model::usage::Tokens { output: 3_000, ..Default::default() },
            model: "sonnet".to_owned(),
            cost: None,
            context_window: 200_000,
            estimated: false,
        });
        screen.engine(Update::Task { task: Box::new(view.clone()) });
        screen.now = screen.now.later(std::time::Duration::from_secs(15));
    }
    screen.keys("esc g a");
    assert!(screen.shows("▁██▁ 6k tok/min"), "{}", screen.text());
    assert!(screen.shows("▁██▁ 6k/min"), "of the task: {}", screen.text());
}
