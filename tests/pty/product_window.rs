//! The product in windows of every size, and what lies over its panes.

use serde_json::json;

use crate::support::picture::text;
use crate::support::product::{bash, open, project, root, say};

#[test]
fn a_resize_storm_while_an_agent_streams_ends_with_a_whole_screen() {
    let slowly = json!({ "first_token_ms": 0, "chars_per_second": 600 });
    let words = "Numbers are added and taken away. ".repeat(20);
    let world = project(&json!([root(&json!([{ "text": format!("{words} Finished."), "pacing": slowly }]))]));
    let mut session = open(&world, 120, 40);
    session.say("What does it do?");
    session.wait_for_text("Numbers are added");
    for step in 0..300u16 {
        session.resize(20 + step * 7 % 200, 5 + step * 3 % 60);
    }
    session.resize(110, 30);
    session.wait_for("the last size", |screen| {
        let text = text(screen);
        let lines: Vec<_> = text.lines().collect();
        lines.len() == 30
            && lines[27].chars().count() == 110
            && lines[28].contains("message orchestrator")
            && lines[29].contains("Ctrl-Q quit")
            && text.contains("Finished.")
            && lines[1].contains("idle")
    });
    session.quit().assert_restored(1);
}

#[test]
fn every_size_can_be_worked_in_or_says_what_it_needs() {
    let world = project(&json!([root(&json!([say("Two and two are four.")]))]));
    let mut session = open(&world, 80, 24);
    session.say("Add two and two.");
    let small = session.wait_for_text("Two and two are four.");
    assert!(small.lines().all(|line| line.chars().count() <= 80), "{small}");
    assert!(small.contains("Tasks") && small.contains("Ctrl-Q quit"), "{small}");
    session.resize(20, 5);
    session.wait_for_text("Need 40");
    session.send("still here".as_bytes());
    session.resize(1, 1);
    session.resize(300, 100);
    let large = session.wait_for("the composer", |screen| text(screen).contains("still here"));
    assert_eq!(large.lines().count(), 100);
    session.resize(40, 10);
    session.wait_for("the smallest that works", |screen| {
        let text = text(screen);
        text.contains("still here") && text.lines().count() == 10
    });
    session.press("ctrl-c");
    session.wait_for("an empty composer", |screen| !text(screen).contains("still here"));
    session.quit().assert_restored(1);
}

#[test]
fn help_and_commands_lie_over_everything_and_go_away() {
    let world = project(&json!([root(&json!([]))]));
    let mut session = open(&world, 120, 40);
    session.press("f1");
    let help = session.wait_for_text("type to find a key or action");
    assert!(help.contains("Composer") && help.contains("Send the message or answer"), "{help}");
    session.send(b"diff");
    session.wait_for_text("Show the task's changes");
    session.press("esc");
    session.wait_for("the help to go", |screen| !text(screen).contains("Show the task's changes"));
    session.press("ctrl-p");
    session.wait_for_text("type to find an action");
    session.send(b"dashb");
    session.wait_for_text("Show the board of all agents");
    session.press("enter");
    session.wait_for("the dashboard", |screen| {
        let text = text(screen);
        text.contains("Needs you 0") && !text.contains("type to find an action")
    });
    session.press("esc");
    session.wait_for_text("Ctrl-Q quit");
    session.quit().assert_restored(1);
}

#[test]
fn a_theme_that_is_chosen_is_kept() {
    let world = project(&json!([root(&json!([]))]));
    let mut session = open(&world, 120, 40);
    session.press("ctrl-p");
    session.send(b"settings");
    session.wait_for_text("Change theme");
    session.press("enter");
    session.wait_for_text("notifications");
    session.press("enter");
    let themes = session.wait_for_text("which theme?");
    assert_eq!(themes.matches(" auto ").count(), 1, "{themes}");
    session.send(b"matrix-light");
    session.wait_for("one that fits", |screen| text(screen).matches("matrix-").count() == 2);
    session.press("enter");
    let config = world.path("data/config.json");
    session.wait_until("the setting", || std::fs::read_to_string(&config).unwrap().contains("matrix-light"));
    let light = |screen: &vt100::Screen| match screen.cell(10, 100).map(vt100::Cell::bgcolor) {
        Some(vt100::Color::Rgb(red, green, blue)) => red > 200 && green > 200 && blue > 200,
        _ => false,
    };
    session.wait_for("a light screen", light);
    session.quit().assert_restored(1);
    let session = open(&world, 120, 40);
    session.wait_for("a light screen", light);
    session.quit().assert_restored(1);
}

#[test]
fn a_mouse_that_is_switched_on_stays_on() {
    let world = project(&json!([root(&json!([]))]));
    let mut session = open(&world, 120, 40);
    session.press("ctrl-p");
    session.send(b"settings");
    session.wait_for_text("Change theme");
    session.press("enter");
    session.wait_for_text("mouse");
    session.press("G");
    session.press("enter");
    let config = world.path("data/config.json");
    session.wait_until("the setting", || std::fs::read_to_string(&config).unwrap().contains("\"mouse\": true"));
    session.wait_for_bytes("the mode", |bytes| memchr::memmem::find(bytes, b"\x1b[?1006h").is_some());
    session.quit().assert_restored(1);
    let session = open(&world, 120, 40);
    session.wait_for_bytes("the mode", |bytes| memchr::memmem::find(bytes, b"\x1b[?1006h").is_some());
    session.quit().assert_restored(1);
}

#[test]
fn a_theme_that_does_not_exist_is_said() {
    let world = project(&json!([root(&json!([]))]));
    let command = world.command(crate::support::product::mxd()).args(["config", "set", "theme", "drak"]).output();
    assert_eq!(command.unwrap().status.code(), Some(3), "it is not saved");
    let config = world.path("data/config.json");
    let mut settings: serde_json::Value = serde_json::from_slice(&std::fs::read(&config).unwrap()).unwrap();
    settings["theme"] = json!("drak");
    std::fs::write(&config, settings.to_string()).unwrap();
    let session = open(&world, 120, 40);
    session.wait_for_glimpse("there is no theme \"drak\"");
    session.quit().assert_restored(1);
}

#[test]
fn output_full_of_control_sequences_stays_text() {
    let evil = r"printf '\033[2J\033]0;gotcha\007\033[?1049l\033[31mred\033[0m \033[?25l done'";
    let world = project(&json!([root(&json!([bash(evil), say("Printed.")]))]));
    let mut session = open(&world, 120, 40);
    session.say("Print it.");
    session.wait_for_text("Printed.");
    session.focus_tasks();
    session.press("enter");
    session.wait_for_text("unfold");
    session.press("K K enter");
    session.wait_for("the output", |screen| text(screen).contains("red") && text(screen).contains("done"));
    session.press("q");
    let ended = session.wait_for_end();
    ended.assert_restored(1);
    assert_eq!(ended.traffic.count("gotcha\x07"), 0);
}
