use ratatui::style::{Color, Modifier};

use crate::engine::command::Command;
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
fn a_tiny_screen_says_so_politely_and_what_must_be_known() {
    let mut screen = Screen::new(20, 5);
    screen.assert_looks("tiny-20x5");
    screen.resize(1, 1).resize(0, 0).resize(20, 5);
    screen.assert_looks("tiny-20x5");
}

#[test]
fn nothing_is_sent_or_chosen_on_a_screen_that_shows_nothing() {
    let mut screen = Screen::new(20, 5);
    screen.typed("kept").keys("enter ctrl-n enter");
    assert_eq!(screen.commands(), []);
    screen.resize(120, 40);
    assert!(screen.shows("› kept"), "what was typed is not lost: {}", screen.text());
    // Leaving works, and asks first while agents are at work.
    screen.resize(20, 5).keys("ctrl-q");
    assert!(screen.shows("Quit?"), "{}", screen.text());
    assert_eq!(screen.commands(), []);
    screen.keys("y");
    assert_eq!(screen.commands(), [Command::Quit]);
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
