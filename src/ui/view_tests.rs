use ratatui::style::{Color, Modifier};

use crate::engine::command::Command;
use crate::engine::update::{Level, Update};
use crate::model::Live;
use crate::model::live::Channel;
use crate::theme::{Appearance, ColourDepth, Glyphs, Theme};
use crate::ui::testing::Screen;
use crate::ui::{Effect, Msg};

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

#[test]
fn what_is_said_is_seen_above_whatever_is_open_and_covers_no_line_to_write_in() {
    for (columns, rows) in [(80, 24), (120, 40), (200, 60), (40, 10)] {
        for keys in [":", "?", "S", "n", "g s", "g a"] {
            let mut screen = Screen::new(columns, rows);
            screen.keys("esc").keys(keys);
            let cursor = screen.cursor();
            screen.msg(Msg::Said { level: Level::Error, text: "the disk is full".to_owned() });
            let text = screen.text();
            let at = text.lines().position(|line| line.contains("the disk is full"));
            assert!(at.is_some(), "{keys} at {columns}x{rows}:\n{text}");
            assert_eq!(screen.cursor(), cursor);
            assert_ne!(cursor.map(|(_, y)| usize::from(y)), at, "{keys} at {columns}x{rows}:\n{text}");
            let hints = text.lines().last().unwrap();
            assert!(hints.contains("Esc"), "{hints}");
        }
    }
}

#[test]
fn the_newest_words_are_seen_where_not_all_fit_above_a_dialog() {
    let mut screen = Screen::new(80, 14);
    screen.keys("esc").keys("n");
    for number in 1..=4 {
        screen.msg(Msg::Said { level: Level::Info, text: format!("word {number}") });
    }
    assert!(screen.shows("word 4") && !screen.shows("word 1"), "{}", screen.text());
}

#[test]
fn while_one_writes_to_an_agent_at_work_the_line_above_says_when_it_is_read() {
    for (columns, rows) in [(80, 24), (120, 40)] {
        let mut screen = login(columns, rows);
        assert!(screen.shows("Ctrl-T steer: at its next step"), "{}", screen.text());
        screen.keys("ctrl-t");
        assert!(screen.shows("Ctrl-T next: after this turn"), "{}", screen.text());
        screen.keys("ctrl-t");
        assert!(screen.shows("Ctrl-T interrupt: at once"), "{}", screen.text());
        let docs = screen.ids().docs;
        screen.select(docs);
        assert!(!screen.shows("Ctrl-T"), "nobody is at work there: {}", screen.text());
        let login = screen.ids().login;
        screen.select(login).keys("esc");
        assert!(!screen.shows("Ctrl-T"), "nothing is being written: {}", screen.text());
    }
}

#[test]
fn no_dialog_breaks_on_a_screen_of_any_small_size() {
    for keys in [":", "?", "S", "n", "r", "b", "c", "M", "D", "m", "g s", "g a", "g r", "g s enter", "a", "q", "g"] {
        for (columns, rows) in [(1, 1), (2, 2), (5, 1), (20, 5), (39, 9), (40, 10), (41, 11), (99, 12), (300, 4)] {
            let mut screen = login(120, 40);
            screen.keys("esc").keys(keys).resize(columns, rows);
            drop(screen.buffer());
            screen.typed("x").keys("down").keys("enter");
            drop(screen.buffer());
            screen.resize(120, 40);
            assert!(screen.text().lines().count() == 40, "{keys} at {columns}x{rows}");
        }
    }
}

#[test]
fn a_selection_that_is_turned_over_is_one_bar_whatever_stands_in_it() {
    for depth in [ColourDepth::Ansi16, ColourDepth::None] {
        let mut screen = login(80, 24);
        screen.keys("esc");
        let palette = crate::theme::builtin::named("terminal-16").unwrap();
        screen.theme = Theme::new(&palette, depth, &Glyphs::UNICODE);
        let row = screen.text().lines().position(|line| line.contains("add oauth login")).unwrap();
        let buffer = screen.buffer();
        let looks: std::collections::BTreeSet<_> = (0..80)
            .map(|x| &buffer[(x, u16::try_from(row).unwrap())])
            .map(|cell| {
                format!("{:?} {:?} {:?}", cell.fg, cell.bg, cell.modifier & (Modifier::REVERSED | Modifier::DIM))
            })
            .collect();
        assert_eq!(looks.len(), 1, "{depth:?}: {looks:?}");
        assert!(looks.iter().all(|look| look.contains("REVERSED")), "{looks:?}");
    }
}

#[test]
fn without_colour_only_the_open_tab_is_turned_over() {
    let mut screen = login(80, 24);
    screen.keys("esc");
    screen.theme = Theme::standard(Appearance::Dark, ColourDepth::None, &Glyphs::UNICODE);
    let buffer = screen.buffer();
    let turned: String = (0..80)
        .map(|x| &buffer[(x, 1)])
        .filter(|cell| cell.modifier.contains(Modifier::REVERSED))
        .map(ratatui::buffer::Cell::symbol)
        .collect();
    assert_eq!(turned.trim(), "tasks");
}

#[test]
fn that_one_is_not_at_the_end_is_said_on_a_line_that_hides_nothing() {
    for (columns, rows) in [(120, 24), (80, 20)] {
        let mut screen = login(columns, rows);
        screen.keys("esc enter k k");
        let text = screen.text();
        let note = text.lines().find(|line| line.contains("not following")).unwrap_or_else(|| panic!("{text}"));
        let beside = &note[..note.find("not following").unwrap()];
        let pane = beside.rsplit('│').next().unwrap();
        assert_eq!(pane.trim(), "", "{text}");
        screen.keys("G");
        assert!(!screen.shows("not following"), "{}", screen.text());
    }
}

#[test]
fn a_long_path_in_the_info_is_read_and_copied_to_its_end() {
    let mut screen = login(80, 24);
    let mut task = screen.task(screen.ids().login).clone();
    let path = format!("/home/ann/{}/end-of-it", "deep/".repeat(20));
    task.node.worktree = Some(path.clone().into());
    screen.engine(Update::Task { task: Box::new(task) });
    screen.keys("esc 4");
    assert!(screen.shows("end-of-it"), "{}", screen.text());
    screen.effects.clear();
    screen.keys("y y");
    let copied =
        screen.effects.iter().any(|effect| matches!(effect, Effect::Copy { text, .. } if text.contains(&path)));
    assert!(copied, "{:?}", screen.effects);
}

#[test]
fn what_is_unfolded_or_chosen_at_the_end_stays_in_sight() {
    for keys in ["esc enter enter", "esc enter v"] {
        let mut screen = Screen::new(120, 16);
        let task = screen.ids().login;
        screen.select(task).keys(keys);
        let text = screen.text();
        assert!(text.contains("● bash  cargo clippy"), "{keys}: {text}");
        assert!(text.contains("not following"), "{keys}: {text}");
        assert!(keys.ends_with('v') || text.contains("no output"), "{keys}: {text}");
    }
}
