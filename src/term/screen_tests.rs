use proptest::prelude::*;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::widgets::Widget;
use std::num::NonZeroU16;

use super::*;

/// A terminal emulator.
struct Emulated(vt100::Parser);

impl Emulated {
    fn new(columns: u16, rows: u16) -> Self {
        Self(vt100::Parser::new(NonZeroU16::new(rows).unwrap(), NonZeroU16::new(columns).unwrap(), 0))
    }

    fn take(&mut self, bytes: &[u8]) {
        self.0.process(bytes);
    }

    fn text(&self) -> Vec<String> {
        let (_, columns) = self.0.screen().size();
        self.0.screen().rows(0, columns.into()).collect()
    }
}

fn text(lines: &'static [&'static str]) -> impl Fn(&mut Frame<'_>) {
    move |frame| {
        for (row, line) in (0..).zip(lines) {
            frame.buffer_mut().set_string(0, row, line, Style::new());
        }
    }
}

#[test]
fn a_frame_is_one_synchronized_piece() {
    let mut screen = Screen::new(20, 3);
    let bytes = String::from_utf8(screen.compose(text(&["hello"]))).unwrap();
    assert!(bytes.starts_with("\x1b[?2026h") && bytes.ends_with("\x1b[?2026l"), "{bytes:?}");
    assert_eq!(bytes.matches("\x1b[?2026").count(), 2);
}

#[test]
fn a_frame_that_changes_nothing_has_no_bytes() {
    let mut screen = Screen::new(20, 3);
    let cursor = |frame: &mut Frame<'_>| {
        text(&["hello"])(frame);
        frame.set_cursor_position(Position::new(2, 1));
    };
    assert!(!screen.compose(cursor).is_empty());
    assert_eq!(screen.compose(cursor), b"");
    assert_eq!(screen.compose(cursor), b"");
}

#[test]
fn one_changed_cell_writes_one_cell() {
    let mut screen = Screen::new(200, 60);
    screen.compose(text(&["hello world"]));
    let bytes = screen.compose(text(&["hello_world"]));
    assert!(bytes.len() < 40, "{}: {:?}", bytes.len(), String::from_utf8_lossy(&bytes));
}

#[test]
fn after_invalidation_everything_is_redrawn() {
    let mut screen = Screen::new(20, 3);
    let mut emulated = Emulated::new(20, 3);
    emulated.take(&screen.compose(text(&["hello", "world"])));
    emulated.take(b"\x1b[1;1Hrubbish\x1b[3;4Hmore");
    screen.invalidate();
    emulated.take(&screen.compose(text(&["hello", "world"])));
    assert_eq!(emulated.text(), ["hello", "world", ""]);
}

#[test]
fn a_resize_redraws_everything() {
    let mut screen = Screen::new(20, 3);
    screen.compose(text(&["hello"]));
    screen.resize(40, 10);
    let mut emulated = Emulated::new(40, 10);
    emulated.take(b"rubbish of the old size");
    emulated.take(&screen.compose(|frame| {
        assert_eq!(frame.area(), Rect::new(0, 0, 40, 10));
        text(&["hello"])(frame);
    }));
    assert_eq!(emulated.text()[0], "hello");
}

#[test]
fn the_cursor_is_shown_where_it_was_set_and_hidden_otherwise() {
    let mut screen = Screen::new(20, 3);
    let mut emulated = Emulated::new(20, 3);
    emulated.take(&screen.compose(|frame| {
        text(&["hello", "world"])(frame);
        frame.set_cursor_position(Position::new(3, 1));
    }));
    assert!(!emulated.0.screen().hide_cursor());
    assert_eq!(emulated.0.screen().cursor_position(), (1, 3));
    emulated.take(&screen.compose(text(&["hello", "world"])));
    assert!(emulated.0.screen().hide_cursor());
}

#[test]
fn control_characters_in_a_cell_are_not_written() {
    let mut screen = Screen::new(20, 2);
    let bytes = screen.compose(|frame| {
        for (x, symbol) in (0..).zip(["\x1b]0;evil\x07", "\x1b[2J", "\u{9b}2J", "", "\r\n", "ok"]) {
            frame.buffer_mut()[(x, 0)].set_symbol(symbol);
        }
    });
    let text = String::from_utf8(bytes).unwrap();
    assert!(!text.contains("evil") && !text.contains(['\u{9b}', '\r', '\n', '\x07']), "{text:?}");
    assert_eq!(text.matches("\x1b[2J").count(), 1, "only the one that begins the first frame");
}

/// A widget that draws one buffer.
struct Drawn<'a>(&'a Buffer);

impl Widget for Drawn<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        for at in area.positions() {
            buffer[at] = self.0[at].clone();
        }
    }
}

fn same_colour(ours: Color, theirs: vt100::Color) -> bool {
    match (ours, theirs) {
        (Color::Reset, vt100::Color::Default) => true,
        (Color::Indexed(ours), vt100::Color::Idx(theirs)) => ours == theirs,
        (Color::Rgb(red, green, blue), vt100::Color::Rgb(r, g, b)) => (red, green, blue) == (r, g, b),
        (Color::Red, vt100::Color::Idx(1)) | (Color::LightBlue, vt100::Color::Idx(12)) => true,
        (Color::White, vt100::Color::Idx(15)) | (Color::DarkGray, vt100::Color::Idx(8)) => true,
        _ => false,
    }
}

fn any_style() -> impl Strategy<Value = Style> {
    let colour = || {
        prop_oneof![
            Just(Color::Reset),
            Just(Color::Red),
            Just(Color::LightBlue),
            Just(Color::White),
            Just(Color::DarkGray),
            any::<u8>().prop_map(Color::Indexed),
            any::<(u8, u8, u8)>().prop_map(|(r, g, b)| Color::Rgb(r, g, b)),
        ]
    };
    let modifier = proptest::sample::select(vec![
        Modifier::empty(),
        Modifier::BOLD,
        Modifier::ITALIC,
        Modifier::UNDERLINED | Modifier::BOLD,
        Modifier::REVERSED,
        Modifier::DIM,
    ]);
    (colour(), colour(), modifier).prop_map(|(fg, bg, modifier)| Style::reset().fg(fg).bg(bg).add_modifier(modifier))
}

const WIDTH: u16 = 12;
const HEIGHT: u16 = 4;

fn any_buffer() -> impl Strategy<Value = Buffer> {
    let word = proptest::sample::select(vec!["a", "bc", "漢字", "é", " ", "x y", "│─┐", "🙂", "e\u{301}", "●"]);
    prop::collection::vec((0..WIDTH, 0..HEIGHT, word, any_style()), 0..12).prop_map(|words| {
        let mut buffer = Buffer::empty(Rect::new(0, 0, WIDTH, HEIGHT));
        for (x, y, word, style) in words {
            buffer.set_string(x, y, word, style);
        }
        buffer
    })
}

proptest! {
    /// After a frame the terminal shows it: text, colours and attributes.
    #[test]
    fn the_terminal_shows_what_was_drawn(buffers in prop::collection::vec(any_buffer(), 1..5)) {
        let mut screen = Screen::new(WIDTH, HEIGHT);
        let mut emulated = Emulated::new(WIDTH, HEIGHT);
        for buffer in &buffers {
            emulated.take(&screen.compose(|frame| frame.render_widget(Drawn(buffer), frame.area())));
            for at in buffer.area.positions() {
                let cell = emulated.0.screen().cell(at.y, at.x).unwrap();
                let ours = &buffer[at];
                if cell.is_wide_continuation() {
                    continue;
                }
                let symbol = if cell.contents().is_empty() { " " } else { cell.contents() };
                prop_assert_eq!(symbol, ours.symbol(), "at {}", at);
                prop_assert!(same_colour(ours.fg, cell.fgcolor()), "{:?} {:?}", ours, cell);
                prop_assert!(same_colour(ours.bg, cell.bgcolor()), "{:?} {:?}", ours, cell);
                prop_assert_eq!(cell.bold(), ours.modifier.contains(Modifier::BOLD));
                prop_assert_eq!(cell.italic(), ours.modifier.contains(Modifier::ITALIC));
                prop_assert_eq!(cell.underline(), ours.modifier.contains(Modifier::UNDERLINED));
                prop_assert_eq!(cell.inverse(), ours.modifier.contains(Modifier::REVERSED));
            }
        }
    }
}

#[test]
fn an_emoji_of_uncertain_width_leaves_no_old_content() {
    for emoji in ["\u{2708}\u{fe0f}", "\u{1f3f3}\u{fe0f}\u{200d}\u{1f308}", "\u{1f469}\u{200d}\u{1f467}"] {
        let mut screen = Screen::new(20, 1);
        screen.compose(|frame| frame.buffer_mut().set_string(0, 0, "old words stood here", Style::new()));
        let line = format!("a {emoji} ords stood here");
        let bytes = screen.compose(|frame| frame.buffer_mut().set_string(0, 0, &line, Style::new()));
        let text = String::from_utf8(bytes).unwrap();
        let (before, after) = text.split_once(emoji).unwrap();
        let (_, blank) = before.rsplit_once("  ").expect("its columns are emptied first");
        assert!(blank.starts_with('\u{1b}') && blank.len() < 12, "the cursor goes back to its first column: {text:?}");
        // The cells after it are redrawn, however wide a terminal drew it.
        let reach = emoji.chars().count() * 2 - 2;
        assert!(after.contains(&" ords stood here"[..reach.min(8)]) && after.starts_with('\u{1b}'), "{text:?}");
    }
}
