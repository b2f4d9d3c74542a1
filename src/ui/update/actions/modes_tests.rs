use super::*;
use crate::engine::update::Update;
use crate::ui::testing::Screen;

fn set_mode(screen: &mut Screen, mode: Option<Mode>) {
    let task = screen.model.selected();
    let mut view = screen.task(task).clone();
    view.node.mode = mode;
    view.mode = Some(mode.unwrap_or(Mode::Open));
    screen.engine(Update::Task { task: Box::new(view) });
}

fn chosen(screen: &mut Screen) -> Option<Mode> {
    match &screen.commands()[..] {
        [Command::Update { changes: TaskChanges { mode: Some(mode), .. }, .. }] => *mode,
        other => panic!("{other:?}"),
    }
}

#[test]
fn shift_tab_in_the_composer_goes_through_the_modes_and_back_to_the_projects() {
    let mut screen = Screen::new(120, 40);
    screen.select(screen.ids().login).keys("i");
    let mut mode = None;
    for expected in CYCLE.into_iter().map(Some).chain([None]) {
        set_mode(&mut screen, mode);
        screen.keys("shift-tab");
        mode = chosen(&mut screen);
        assert_eq!(mode, expected);
    }
}

#[test]
fn bypass_is_in_the_cycle_only_after_consent() {
    let mut screen = Screen::new(120, 40);
    screen.select(screen.ids().login).keys("i");
    screen.model.project.info.bypass = Bypass::Allowed;
    set_mode(&mut screen, Some(Mode::Refuse));
    screen.keys("shift-tab");
    assert_eq!(chosen(&mut screen), Some(Mode::Bypass));
}

#[test]
fn the_list_says_what_each_mode_means_and_the_header_shows_it() {
    for (columns, rows) in [(120, 40), (80, 24)] {
        let mut screen = Screen::new(columns, rows);
        screen.select(screen.ids().login).keys("esc P");
        assert!(screen.shows("only reads, until you approve its plan"), "{}", screen.text());
        screen.typed("plan").keys("enter");
        assert_eq!(chosen(&mut screen), Some(Mode::Plan));
        set_mode(&mut screen, Some(Mode::Plan));
        assert!(screen.shows("plan"), "{}", screen.text());
    }
}
