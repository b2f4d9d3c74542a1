use super::*;
use crate::ui::testing::Screen;
use crate::ui::{Msg, Settings};

fn bottom(screen: &Screen) -> String {
    screen.text().lines().last().unwrap_or_default().to_owned()
}

#[test]
fn enter_hint_depends_on_context() {
    for (keys, says) in [
        ("g s", "Enter change "),
        ("g a", "Enter go to task "),
        ("g s enter", "Enter select "),
        (":", "Enter run "),
        ("?", "Enter run "),
        ("S", "Enter go to result "),
        ("n", "Enter start "),
        ("r", "Enter rename "),
        ("b", "Enter set "),
        ("M", "Enter move here "),
    ] {
        let mut screen = Screen::new(120, 40);
        let task = screen.ids().login;
        screen.select(task).keys("esc").keys(keys);
        let line = format!("{} ", bottom(&screen));
        assert!(line.contains(says), "{keys}: {line}");
        assert!(!line.contains("accept") && !line.contains("open"), "{keys}: {line}");
    }
}

#[test]
fn agent_board_offers_one_key_per_action() {
    let mut screen = Screen::new(120, 40);
    screen.keys("esc").keys("g a");
    assert_eq!(bottom(&screen).matches("go to task").count(), 1, "{}", bottom(&screen));
    screen.keys("j o");
    assert!(screen.model.layers.is_empty(), "the other key still works");
}

#[test]
fn message_starts_new_tasks_and_resumes_others() {
    let mut screen = Screen::new(120, 40);
    let ids = screen.ids();
    for (task, chip) in [
        (ids.docs, "start ⏎"),
        (ids.draft, "start ⏎"),
        (ids.store, "resume ⏎"),
        (ids.failed, "resume ⏎"),
        (ids.closed, "resume ⏎"),
        (ids.login, "steer ⏎"),
    ] {
        screen.select(task);
        assert!(screen.shows(chip), "{chip}: {}", screen.text());
    }
}

#[test]
fn resume_hint_says_start_or_resume() {
    let mut screen = Screen::new(200, 60);
    let ids = screen.ids();
    screen.keys("esc");
    screen.select(ids.docs);
    assert!(bottom(&screen).contains("R start"), "{}", bottom(&screen));
    screen.select(ids.failed);
    assert!(bottom(&screen).contains("R resume"), "{}", bottom(&screen));
}

#[test]
fn entry_hints_depend_on_the_entry() {
    let mut screen = Screen::new(120, 16);
    let task = screen.ids().login;
    screen.select(task).keys("esc enter g g");
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..20 {
        let transcript = screen.model.detail.transcript(task).unwrap();
        let Some(entry) = transcript.cursor_entry() else { break };
        let (folds, leads) = (entry.kind.folds(), entry.kind.related_task().is_some());
        let line = bottom(&screen);
        assert_eq!(line.contains("Enter unfold"), folds, "{:?}: {line}", entry.kind);
        assert_eq!(line.contains("o go to task"), leads, "{:?}: {line}", entry.kind);
        seen.insert((folds, leads));
        screen.keys("J");
    }
    assert!(seen.len() > 1, "{seen:?}");
}

/// Returns a read-only screen after these keys were pressed.
fn read_only_screen(keys: &str) -> Screen {
    let mut screen = Screen::new(200, 60);
    let task = screen.ids().login;
    screen.select(task);
    let read_only = Some("process 7 has this project".to_owned());
    screen.msg(Msg::Settings(Box::new(Settings { read_only, ..Settings::default() })));
    screen.keys(keys);
    screen
}

#[test]
fn read_only_hints_offer_only_what_works() {
    for keys in
        ["ctrl-p esc", "esc", "esc enter", "esc tab", "ctrl-n", "esc 3", "esc 4", "esc d tab tab", "esc g a", "esc g r"]
    {
        let screen = read_only_screen(keys);
        let offered = place_hints(&screen.model, screen.model.layout.hints);
        assert!(!offered.is_empty(), "{keys}: {}", bottom(&screen));
        for (hint, _) in offered {
            if hint.action == Action::Quit {
                continue;
            }
            let mut screen = read_only_screen(keys);
            let chord = screen.model.keymap.shown(&screen.model.contexts(), hint.action).unwrap().to_string();
            screen.keys(&chord);
            assert!(!screen.shows("process 7"), "{keys}: {} {}:\n{}", hint.key, hint.label, screen.text());
        }
    }
    let screen = read_only_screen("ctrl-p esc");
    assert!(!screen.shows("steer"), "nothing is sent from here: {}", screen.text());
    assert!(bottom(&screen).contains("Ctrl-N questions"), "{}", bottom(&screen));
}

#[test]
fn hints_omit_useless_actions() {
    let mut screen = Screen::new(120, 40);
    screen.keys("esc :").typed("zzzz");
    assert!(!bottom(&screen).contains("Enter"), "{}", bottom(&screen));
    let mut screen = Screen::new(120, 40);
    screen.keys("esc :").typed("stop_all");
    assert!(screen.shows("Stop all agents"), "a name of the settings is found: {}", screen.text());
    let mut screen = Screen::new(120, 40);
    screen.keys("esc d tab tab");
    assert!(!bottom(&screen).contains("comment") && !bottom(&screen).contains("unfold"), "{}", bottom(&screen));
}

#[test]
fn delivery_mode_is_shown_in_full_or_short() {
    for columns in 80..130 {
        let mut screen = Screen::new(columns, 24);
        let task = screen.ids().login;
        screen.select(task);
        let text = screen.text();
        let line = text.lines().find(|line| line.contains("Ctrl-T steer")).unwrap_or_default();
        let (whole, word) = (line.contains("steer: at its next step "), line.contains("Ctrl-T steer "));
        assert!(whole || word, "{columns}: {line}\n{text}");
    }
}

#[test]
fn local_search_hints_at_search_all() {
    for (columns, rows) in [(80, 24), (120, 40)] {
        let mut screen = Screen::new(columns, rows);
        let task = screen.ids().login;
        screen.select(task).keys("esc");
        assert!(!bottom(&screen).contains("search all"), "{}", bottom(&screen));
        screen.keys("/");
        for says in ["Enter accept", "Ctrl-O search all"] {
            assert!(bottom(&screen).contains(says), "{columns} columns: {}", bottom(&screen));
        }
    }
}

#[test]
fn answer_field_names_its_keys() {
    let mut screen = Screen::new(120, 40);
    let ids = screen.ids();
    screen.select(ids.callback);
    let line = bottom(&screen);
    let choices = screen.task(ids.callback).asks[0].choices.len();
    for says in ["Enter answer", &format!("1-{choices} choose"), "Esc later"] {
        assert!(line.contains(says), "{says}: {line}");
    }
    screen.select(ids.login);
    assert!(!bottom(&screen).contains("later"), "{}", bottom(&screen));
}
