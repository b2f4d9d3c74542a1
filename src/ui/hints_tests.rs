use crate::ui::testing::Screen;

fn bottom(screen: &Screen) -> String {
    screen.text().lines().last().unwrap_or_default().to_owned()
}

#[test]
fn the_bottom_line_says_what_enter_does_here() {
    for (keys, says) in [
        ("g s", "Enter change "),
        ("g a", "Enter go to task "),
        ("g s enter", "Enter take it "),
        (":", "Enter do it "),
        ("?", "Enter do it "),
        ("S", "Enter go there "),
        ("n", "Enter make and start "),
        ("r", "Enter rename "),
        ("b", "Enter set "),
        ("M", "Enter move it there "),
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
fn the_board_of_agents_offers_one_key_for_one_thing() {
    let mut screen = Screen::new(120, 40);
    screen.keys("esc").keys("g a");
    assert_eq!(bottom(&screen).matches("go to task").count(), 1, "{}", bottom(&screen));
    screen.keys("j o");
    assert!(screen.model.layers.is_empty(), "the other key still works");
}

#[test]
fn a_message_starts_what_never_worked_and_wakes_what_did() {
    let mut screen = Screen::new(120, 40);
    let ids = screen.ids();
    for (task, chip) in [
        (ids.docs, "start ⏎"),
        (ids.draft, "start ⏎"),
        (ids.store, "wake ⏎"),
        (ids.failed, "wake ⏎"),
        (ids.closed, "wake ⏎"),
        (ids.login, "steer ⏎"),
    ] {
        screen.select(task);
        assert!(screen.shows(chip), "{chip}: {}", screen.text());
    }
}

#[test]
fn the_key_that_lets_a_task_work_is_called_by_what_it_does() {
    let mut screen = Screen::new(200, 60);
    let ids = screen.ids();
    screen.keys("esc");
    screen.select(ids.docs);
    assert!(bottom(&screen).contains("R start"), "{}", bottom(&screen));
    screen.select(ids.failed);
    assert!(bottom(&screen).contains("R resume"), "{}", bottom(&screen));
}

#[test]
fn a_key_is_offered_on_an_entry_only_where_it_does_something() {
    let mut screen = Screen::new(120, 16);
    let task = screen.ids().login;
    screen.select(task).keys("esc enter g g");
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..20 {
        let transcript = screen.model.detail.transcript(task).unwrap();
        let Some(entry) = transcript.gone_to() else { break };
        let (folds, leads) = (entry.kind.folds(), entry.kind.other().is_some());
        let line = bottom(&screen);
        assert_eq!(line.contains("Enter unfold"), folds, "{:?}: {line}", entry.kind);
        assert_eq!(line.contains("o go to task"), leads, "{:?}: {line}", entry.kind);
        seen.insert((folds, leads));
        screen.keys("J");
    }
    assert!(seen.len() > 1, "{seen:?}");
}

#[test]
fn who_looks_for_something_here_is_told_how_it_is_looked_for_everywhere() {
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
