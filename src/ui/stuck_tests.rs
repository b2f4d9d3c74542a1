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

/// Returns the text of the right side without frames and line breaks.
fn words(screen: &Screen) -> String {
    let text = screen.text();
    let right = text.lines().map(|line| line.rsplit("│ │").next().unwrap_or_default().trim_end_matches('│'));
    right.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

#[test]
fn stalled_task_suggests_a_message() {
    for (columns, rows) in [(80, 24), (120, 40), (200, 60)] {
        let screen = waiting(columns, rows, |screen| (screen.ids().login, stalled(vec![screen.ids().login])));
        assert!(
            words(&screen).contains("stuck: the agent stopped without calling done. Send a message to continue."),
            "{}",
            screen.text()
        );
    }
}

#[test]
fn task_waiting_for_a_stalled_task_names_it() {
    let screen = waiting(120, 40, |screen| {
        let ids = screen.ids();
        (ids.login, stalled(vec![ids.login, ids.store]))
    });
    let text = words(&screen);
    assert!(text.contains("stuck: waiting for \"token store\", which stopped without calling done"), "{text}");
    assert!(text.contains("Send that task a message to continue."), "{text}");
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
    assert!(screen.shows("Send a message to continue."), "{}", screen.text());
    screen.keys("j");
    assert!(!screen.shows("Send a message to continue."), "another one is chosen: {}", screen.text());
}
