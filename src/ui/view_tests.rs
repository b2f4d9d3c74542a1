use crate::engine::update::Update;
use crate::model::Live;
use crate::model::live::Channel;
use crate::ui::testing::Screen;

fn login(columns: u16, rows: u16) -> Screen {
    let mut screen = Screen::new(columns, rows);
    let task = screen.ids().login;
    screen.select(task);
    let chunk = Live::OutputChunk {
        call: "4".to_owned(),
        channel: Channel::Output,
        text: "    Checking session v0.1.0\n".to_owned(),
    };
    screen.engine(Update::Live { task, live: chunk });
    screen
}

#[test]
fn the_main_screen_at_three_sizes() {
    for (columns, rows) in [(80, 24), (120, 40), (200, 60)] {
        login(columns, rows).assert_looks(&format!("main-{columns}x{rows}"));
    }
}

#[test]
fn an_open_question_at_three_sizes() {
    for (columns, rows) in [(80, 24), (120, 40), (200, 60)] {
        let mut screen = login(columns, rows);
        screen.keys("ctrl-n");
        screen.assert_looks(&format!("ask-{columns}x{rows}"));
    }
}

#[test]
fn the_tasks_have_the_keys() {
    let mut screen = login(120, 40);
    screen.keys("esc");
    screen.assert_looks("tree-120x40");
    screen.keys("$ f");
    screen.assert_looks("tree-cost-open-120x40");
}

#[test]
fn help_and_palette() {
    let mut screen = login(120, 40);
    screen.keys("esc ?");
    screen.assert_looks("help-120x40");
    screen.keys("esc :").typed("stop");
    screen.assert_looks("palette-120x40");
    let mut screen = login(80, 24);
    screen.keys("esc ?");
    screen.assert_looks("help-80x24");
}

#[test]
fn taking_something_away_says_what_would_be_lost() {
    let mut screen = login(120, 40);
    screen.keys("esc D");
    screen.assert_looks("delete-120x40");
}

#[test]
fn info_description_log_and_agents() {
    let mut screen = login(120, 40);
    screen.keys("esc 4");
    screen.assert_looks("info-120x40");
    screen.keys("5");
    screen.assert_looks("log-120x40");
    screen.keys("3");
    screen.assert_looks("description-120x40");
    screen.keys("g a");
    screen.assert_looks("agents-120x40");
    screen.keys("esc g s");
    screen.assert_looks("settings-120x40");
}

#[test]
fn a_tiny_screen_says_so_politely() {
    let mut screen = Screen::new(20, 5);
    screen.assert_looks("tiny-20x5");
    screen.resize(1, 1).resize(0, 0).resize(20, 5);
    screen.assert_looks("tiny-20x5");
}
