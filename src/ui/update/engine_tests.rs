use crate::base::TaskId;
use crate::engine::update::Update;
use crate::model::Live;
use crate::model::live_turn::LiveTurns;
use crate::ui::testing::{Screen, snapshot};

fn text(task: TaskId, text: &str) -> Update {
    Update::Live { task, live: Live::TextDelta { text: text.to_owned() } }
}

#[test]
fn a_task_opened_in_mid_turn_shows_the_turn_from_its_first_character() {
    let mut screen = Screen::new(120, 40);
    let wide = screen.ids().wide;
    screen.engine(text(wide, "It begins here, ")).engine(text(wide, "before anybody looks.\n\n"));
    assert!(!screen.shows("It begins here, before anybody looks."));
    screen.select(wide);
    assert!(screen.shows("It begins here, before anybody looks."), "{}", screen.text());
    screen.engine(text(wide, "And it goes on."));
    assert!(screen.shows("And it goes on."), "{}", screen.text());
}

#[test]
fn a_client_that_connects_in_mid_turn_shows_the_turn_from_its_first_character() {
    let mut live = LiveTurns::default();
    let mut snapshot = snapshot();
    let wide = crate::ui::testing::Ids::default().wide;
    live.on_live(wide, &Live::TextDelta { text: "It began before I came.".to_owned() });
    snapshot.live = live;
    let mut screen = Screen::of(120, 40, snapshot);
    assert!(screen.shows("It began before I came."), "the row of the task says it: {}", screen.text());
    screen.select(wide);
    screen.engine(text(wide, " And goes on."));
    assert!(screen.shows("It began before I came. And goes on."), "{}", screen.text());
}

#[test]
fn a_run_that_ends_without_saving_leaves_no_streamed_text() {
    let mut screen = Screen::new(120, 40);
    let wide = screen.ids().wide;
    screen.engine(text(wide, "never saved"));
    let mut view = screen.model.project.task(wide).unwrap().clone();
    view.alive = false;
    screen.engine(Update::Task { task: Box::new(view) });
    screen.select(wide);
    assert!(!screen.shows("never saved"), "{}", screen.text());
}

fn notice(task: Option<TaskId>, text: &str) -> Update {
    use crate::engine::update::{Level, Notice};
    Update::Notice { notice: Notice { level: Level::Warning, text: text.to_owned(), task } }
}

#[test]
fn the_last_notices_are_listed_with_time_and_task_and_lead_to_it() {
    let mut screen = Screen::new(120, 40);
    let store = screen.ids().store;
    screen.engine(notice(None, "the first")).engine(notice(Some(store), "the second"));
    screen.keys("esc g n");
    let text = screen.text();
    let line = |words: &str| text.lines().position(|line| line.contains(words)).unwrap_or_else(|| panic!("{text}"));
    assert!(line("the second") < line("the first"), "the newest first: {text}");
    assert!(text.lines().nth(line("the second")).unwrap().contains("token store"), "{text}");
    screen.keys("enter");
    assert_eq!(screen.model.selected(), store);
}

#[test]
fn a_notice_is_dismissed_with_esc_and_names_keys() {
    let mut screen = Screen::new(120, 40);
    screen.keys("esc");
    screen.engine(notice(None, &format!("it is at work; stop it first: `{}`", "mxd stop TASK")));
    assert!(screen.shows("stop it first: X"), "{}", screen.text());
    screen.now = screen.now.later(std::time::Duration::from_secs(1));
    screen.keys("esc");
    assert!(!screen.shows("stop it first"), "{}", screen.text());
}
