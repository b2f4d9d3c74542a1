use crate::base::TaskId;
use crate::engine::snapshot::Wait;
use crate::engine::update::Update;
use crate::model::live::Activity;
use crate::ui::Msg;
use crate::ui::testing::Screen;

/// Lets a task of the fixture wait, selected and with nothing on top.
fn waiting(columns: u16, rows: u16, of: impl Fn(&Screen) -> (TaskId, Wait)) -> Screen {
    let mut screen = Screen::new(columns, rows);
    let (task, wait) = of(&screen);
    let mut view = screen.model.world.task(task).unwrap().clone();
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

/// Returns the words of the right side without frames and line breaks.
fn words(screen: &Screen) -> String {
    let text = screen.text();
    let right = text.lines().map(|line| line.rsplit("│ │").next().unwrap_or_default().trim_end_matches('│'));
    right.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

#[test]
fn who_stalls_alone_says_that_a_message_helps() {
    for (columns, rows) in [(80, 24), (120, 40), (200, 60)] {
        let screen = waiting(columns, rows, |screen| (screen.ids().login, stalled(vec![screen.ids().login])));
        assert!(
            words(&screen).contains("stuck: it stopped without saying that it is done. A message lets it go on."),
            "{}",
            screen.text()
        );
    }
}

#[test]
fn who_waits_for_a_sleeper_names_it() {
    let screen = waiting(120, 40, |screen| {
        let ids = screen.ids();
        (ids.login, stalled(vec![ids.login, ids.store]))
    });
    let text = words(&screen);
    assert!(text.contains("stuck: it waits for \"token store\", which stopped without saying"), "{text}");
    assert!(text.contains("A message to that one lets it go on."), "{text}");
}

#[test]
fn who_got_no_reply_from_above_says_so() {
    let screen = waiting(200, 60, |screen| {
        let ids = screen.ids();
        (ids.store, stalled(vec![ids.store, ids.login]))
    });
    assert!(screen.shows("it asked \"add oauth login\" something and got no reply"), "{}", screen.text());
}

#[test]
fn what_passes_by_itself_needs_no_sentence() {
    let screen = waiting(120, 40, |screen| (screen.ids().login, Wait::Slot { ahead: 0 }));
    assert!(screen.shows("next in line") && !screen.shows("lets it go on"), "{}", screen.text());
}

#[test]
fn a_silent_model_can_be_cut_short() {
    let screen = waiting(120, 40, |screen| (screen.ids().login, Wait::Silence { since: screen.now }));
    assert!(words(&screen).contains("Wait, or Ctrl-X cuts its turn short."), "{}", screen.text());
}

#[test]
fn the_board_of_agents_says_it_of_the_chosen_line() {
    let mut screen = waiting(120, 40, |screen| (screen.ids().login, stalled(vec![screen.ids().login])));
    screen.keys("esc").keys("g a");
    assert!(screen.shows("A message lets it go on."), "{}", screen.text());
    screen.keys("j");
    assert!(!screen.shows("A message lets it go on."), "another one is chosen: {}", screen.text());
}
