use crate::base::TaskId;
use crate::engine::snapshot::Wait;
use crate::engine::update::Update;
use crate::model::live::Activity;
use crate::ui::Msg;
use crate::ui::testing::Screen;

/// Returns a screen on which the selected task waits.
fn waiting(columns: u16, rows: u16, of: impl Fn(&Screen) -> (TaskId, Wait)) -> Screen {
    let mut screen = Screen::new(columns, rows);
    let (task, wait) = of(&screen);
    let mut view = screen.model.project.task(task).unwrap().clone();
    view.activity = Activity::Idle;
    view.alive = false;
    view.asks.clear();
    view.waits = Some(wait);
    screen.msg(Msg::Engine(Update::Task { task: Box::new(view) }));
    screen.select(task);
    screen
}

fn stalled(chain: Vec<TaskId>) -> Wait {
    Wait::Stalled { chain, reason: String::new() }
}

/// Returns the text of the right side without line breaks.
fn words(screen: &Screen) -> String {
    let text = screen.text();
    let right = text.lines().map(|line| line.split_once('│').map_or(line, |(_, right)| right));
    right.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

#[test]
fn stalled_task_suggests_a_message() {
    for (columns, rows) in [(80, 24), (120, 40), (200, 60)] {
        let screen = waiting(columns, rows, |screen| (screen.ids().login, stalled(vec![screen.ids().login])));
        assert!(
            words(&screen).contains("stuck: stopped without calling done, and \"orchestrator\" waits for it."),
            "{}",
            screen.text()
        );
    }
}

#[test]
fn task_waiting_for_a_stopped_task_names_it() {
    let screen = waiting(120, 40, |screen| {
        let ids = screen.ids();
        (ids.login, stalled(vec![ids.login, ids.store]))
    });
    let text = words(&screen);
    assert!(text.contains("stuck: waiting for \"token store\", which was stopped"), "{text}");
    assert!(text.contains("Send that task a message to continue."), "{text}");
}

#[test]
fn idle_task_is_not_called_stuck() {
    let screen = waiting(120, 40, |screen| (screen.ids().login, Wait::Idle));
    let row = screen.text().lines().find(|line| line.contains("add oauth login")).unwrap().to_owned();
    assert!(row.contains("idle"), "{row}");
    assert!(!screen.shows("stuck"), "{}", screen.text());
    assert_eq!(screen.model.project.total().stuck, 0);
}

#[test]
fn header_filter_and_order_agree_on_what_is_stuck() {
    let mut screen = waiting(120, 40, |screen| (screen.ids().login, stalled(vec![screen.ids().login])));
    let login = screen.ids().login;
    assert!(screen.text().lines().next().unwrap().contains("1 stuck"), "{}", screen.text());
    screen.keys("esc s");
    let rows: Vec<_> = screen.model.tree.rows().iter().map(|row| row.id).collect();
    let ids = screen.ids();
    assert_eq!(rows[..3], [ids.callback, login, ids.failed], "a question, what is stuck, what failed");
    screen.keys("s f f");
    assert!(screen.model.tree.rows().iter().any(|row| row.id == login && !row.passive));
}

#[test]
fn task_without_reply_from_its_parent_says_so() {
    let screen = waiting(200, 60, |screen| {
        let ids = screen.ids();
        (ids.store, stalled(vec![ids.store, ids.login]))
    });
    assert!(screen.shows("waiting for a reply from \"add oauth login\""), "{}", screen.text());
}

#[test]
fn temporary_waits_have_no_stuck_reason() {
    let screen = waiting(120, 40, |screen| (screen.ids().login, Wait::Slot { ahead: 0 }));
    assert!(screen.shows("next in queue") && !screen.shows("to continue"), "{}", screen.text());
}

#[test]
fn silent_model_suggests_interrupt() {
    let screen = waiting(120, 40, |screen| (screen.ids().login, Wait::Silence { since: screen.now }));
    assert!(words(&screen).contains("Wait, or press Ctrl-X to interrupt."), "{}", screen.text());
}

#[test]
fn agent_board_shows_the_stuck_reason() {
    let mut screen = waiting(120, 40, |screen| (screen.ids().login, stalled(vec![screen.ids().login])));
    screen.keys("esc").keys("g a");
    assert!(screen.shows("Send a message to continue"), "{}", screen.text());
    screen.keys("j");
    assert!(!screen.shows("Send a message to continue"), "another one is chosen: {}", screen.text());
}
