use ratatui::style::{Color, Modifier};

use crate::engine::update::Update;
use crate::model::Live;
use crate::model::live::Channel;
use crate::theme::{Appearance, ColourDepth, Glyphs, Theme};
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
    screen.keys("$ esc s");
    screen.assert_looks("tree-attention-120x40");
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

#[test]
fn without_colour_the_selection_and_the_states_can_still_be_told() {
    let mut screen = login(120, 40);
    screen.keys("esc");
    screen.theme = Theme::standard(Appearance::Dark, ColourDepth::None, &Glyphs::UNICODE);
    let buffer = screen.buffer();
    let row = |title: &str| {
        let text = screen.text();
        u16::try_from(text.lines().position(|line| line.contains(title)).unwrap()).unwrap()
    };
    let chosen = &buffer[(10, row("add oauth log…"))];
    assert!(chosen.modifier.contains(Modifier::REVERSED), "{chosen:?}");
    assert!(!buffer[(10, row("docs"))].modifier.contains(Modifier::REVERSED));
    assert!(buffer.content.iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset));
}

#[test]
fn sixteen_colours_are_enough() {
    let mut screen = login(120, 40);
    screen.theme = Theme::standard(Appearance::Light, ColourDepth::Ansi16, &Glyphs::UNICODE);
    let buffer = screen.buffer();
    let odd = buffer
        .content
        .iter()
        .find(|cell| [cell.fg, cell.bg].iter().any(|colour| matches!(colour, Color::Rgb(..) | Color::Indexed(16..))));
    assert_eq!(odd, None);
}

#[test]
fn ascii_alone_draws_the_same_screen() {
    let mut screen = login(80, 24);
    screen.theme = Theme::standard(Appearance::Dark, ColourDepth::True, &Glyphs::ASCII);
    screen.msg(crate::ui::Msg::ThemeChanged);
    screen.assert_looks("main-ascii-80x24");
    assert!(screen.text().is_ascii(), "only what people wrote may be more than ASCII");
}

#[test]
fn an_empty_project_says_what_to_do() {
    let mut snapshot = crate::ui::testing::snapshot();
    snapshot.tasks.truncate(1);
    snapshot.tasks[0].node.children.clear();
    let screen = Screen::of(100, 24, snapshot.clone());
    screen.assert_looks("empty-100x24");
    snapshot.project.model = None;
    snapshot.tasks[0].model = None;
    assert!(Screen::of(100, 24, snapshot).shows("No model is set up yet"));
}

#[test]
fn an_edit_unfolds_to_a_diff_and_a_search_marks_what_it_finds() {
    let mut screen = login(120, 40);
    screen.keys("esc tab tab K K K K enter");
    screen.assert_looks("unfolded-120x40");
    screen.keys("/").typed("cargo").keys("enter");
    screen.assert_looks("search-120x40");
}

#[test]
fn writing_with_an_offer_a_chip_and_several_lines() {
    let mut screen = login(120, 40);
    let task = screen.ids().login;
    let mut view = screen.model.world.task(task).unwrap().clone();
    let id = crate::base::MessageId::from_ulid(ulid::Ulid::from_parts(3, 3));
    let from = crate::model::message::Source::User;
    let at = screen.now;
    view.unread.push(crate::model::Message { id, from, body: "and the docs".to_owned(), images: Vec::new(), at });
    screen.engine(Update::Task { task: Box::new(view) });
    screen.typed("first line").keys("alt-enter").typed("see ").paste(&"x\n".repeat(30));
    screen.typed(" and @sto");
    let paths = vec!["src/session/store.rs".to_owned(), "src/store.rs".to_owned()];
    screen.msg(crate::ui::Msg::Files { task, query: "sto".to_owned(), paths });
    screen.assert_looks("composer-120x40");
}

#[test]
fn the_tasks_on_a_small_screen() {
    let mut screen = login(80, 24);
    screen.keys("esc");
    screen.assert_looks("tree-80x24");
    screen.keys("n").typed("rate limits");
    screen.assert_looks("new-task-80x24");
}
