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
fn tiny_screen_shows_questions_and_quit_key() {
    let mut screen = Screen::new(20, 5);
    screen.assert_looks("tiny-20x5");
    screen.resize(1, 1).resize(0, 0).resize(20, 5);
    screen.assert_looks("tiny-20x5");
}

#[test]
fn tiny_screen_sends_and_selects_nothing() {
    let mut screen = Screen::new(20, 5);
    screen.typed("kept").keys("enter ctrl-n enter");
    assert_eq!(screen.commands(), []);
    screen.resize(120, 40);
    assert!(screen.shows("› kept"), "what was typed is not lost: {}", screen.text());
    // Quitting works, and asks first while agents run.
    screen.resize(20, 5).keys("ctrl-q");
    assert!(screen.shows("Quit?"), "{}", screen.text());
    assert_eq!(screen.commands(), []);
    screen.keys("y");
    assert_eq!(screen.commands(), [Command::Quit]);
}

#[test]
fn selection_and_states_are_visible_without_colour() {
    let mut screen = login(120, 40);
    screen.keys("esc");
    screen.theme = Theme::standard(Appearance::Dark, ColourDepth::None, &Glyphs::UNICODE);
    let buffer = screen.buffer();
    let row = |title: &str| {
        let text = screen.text();
        u16::try_from(text.lines().position(|line| line.chars().take(36).collect::<String>().contains(title)).unwrap())
            .unwrap()
    };
    let chosen = &buffer[(10, row("add oauth"))];
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
fn ascii_glyphs_draw_the_same_screen() {
    let mut screen = login(80, 24);
    screen.theme = Theme::standard(Appearance::Dark, ColourDepth::True, &Glyphs::ASCII);
    screen.msg(crate::ui::Msg::ThemeChanged);
    screen.assert_looks("main-ascii-80x24");
    assert!(screen.text().is_ascii(), "only what people wrote may be more than ASCII");
}

#[test]
fn toasts_are_above_layers_and_never_cover_inputs() {
    for (columns, rows) in [(80, 24), (120, 40), (200, 60), (40, 10)] {
        for keys in [":", "?", "S", "n", "g s", "g a"] {
            let mut screen = Screen::new(columns, rows);
            screen.keys("esc").keys(keys);
            let cursor = screen.cursor();
            screen.msg(Msg::Notice { level: Level::Error, text: "the disk is full".to_owned() });
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
fn newest_toasts_win_over_a_dialog() {
    let mut screen = Screen::new(80, 14);
    screen.keys("esc").keys("n");
    for number in 1..=4 {
        screen.msg(Msg::Notice { level: Level::Info, text: format!("word {number}") });
    }
    assert!(screen.shows("word 4") && !screen.shows("word 1"), "{}", screen.text());
}

#[test]
fn delivery_is_shown_while_writing_to_a_running_agent() {
    for (columns, rows) in [(80, 24), (120, 40)] {
        let mut screen = login(columns, rows);
        assert!(screen.shows("Ctrl-T steer: at its next step"), "{}", screen.text());
        screen.keys("ctrl-t");
        assert!(screen.shows("Ctrl-T next: after its turn"), "{}", screen.text());
        screen.keys("ctrl-t");
        assert!(screen.shows("Ctrl-T interrupt: now"), "{}", screen.text());
        let docs = screen.ids().docs;
        screen.select(docs);
        assert!(!screen.shows("Ctrl-T"), "nobody is at work there: {}", screen.text());
        let login = screen.ids().login;
        screen.select(login).keys("esc");
        assert!(!screen.shows("Ctrl-T"), "nothing is being written: {}", screen.text());
    }
}

#[test]
fn dialogs_survive_any_small_size() {
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
fn reversed_selection_is_one_bar() {
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
fn only_the_open_tab_is_reversed_without_colour() {
    let mut screen = login(80, 24);
    screen.keys("esc");
    screen.theme = Theme::standard(Appearance::Dark, ColourDepth::None, &Glyphs::UNICODE);
    let buffer = screen.buffer();
    let turned: String = (0..80)
        .map(|x| &buffer[(x, 1)])
        .filter(|cell| cell.modifier.contains(Modifier::REVERSED))
        .map(ratatui::buffer::Cell::symbol)
        .collect();
    assert_eq!(turned.trim(), "Tasks");
}

#[test]
fn not_following_note_has_its_own_line() {
    for (columns, rows) in [(120, 20), (80, 20)] {
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
fn long_path_in_info_wraps_and_copies() {
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
fn unfolding_at_the_end_keeps_it_visible() {
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
