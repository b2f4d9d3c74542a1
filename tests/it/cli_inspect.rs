//! `mxd tree` and `mxd log`, by the real binary, on sessions written by the real store.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use mxd::base::{MicroUsd, TaskId};
use mxd::model::event::{
    AssistantText, Body, CompactMarker, CompactStarted, CompactTrigger, HeadMoved, MessagesConsumed, MoveReason,
};
use mxd::model::usage::Tokens;
use mxd::model::{Status, TaskNode, Usage};

use crate::cli_support::{Project, World, json_lines};

/// What a hostile title or message would like to do to a terminal.
const HOSTILE: &str = "\u{1b}]0;owned\u{7}\u{1b}[31mred\u{1b}[2J\u{9b}1m\u{202e}txet\r\nnext";

fn said(text: &str) -> Body {
    AssistantText { text: text.to_owned() }.into()
}

#[track_caller]
fn assert_harmless(text: &str) {
    let bad = text.chars().find(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}');
    assert_eq!(bad, None, "{text:?}");
}

fn kinds(json: &str) -> Vec<String> {
    json_lines(json).iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect()
}

/// A project whose root has a session of its own.
fn with_root<'w>(world: &'w World, name: &str) -> (Project<'w>, TaskNode) {
    let project = world.project(name);
    let root = project.task("Build a calculator");
    project.plant(&root, &[]);
    (project, root)
}

#[test]
fn an_empty_project_has_no_tasks() {
    let world = World::new();
    let project = world.project("calc");
    assert_eq!(project.mxd(["tree"]).ok(), "no tasks yet\n");
    assert_eq!(project.mxd(["tree", "--json"]).ok(), "");
}

#[test]
fn an_unregistered_repository_says_what_to_do() {
    let world = World::new();
    let repo = world.repository("calc");
    for args in [&["tree"][..], &["log", "01HZZZZZ"]] {
        let err = world.mxd(&repo, args).refused(3, "is not registered yet");
        assert!(err.contains("`mxd init`"), "{err}");
    }
}

#[test]
fn the_tree_is_drawn_with_what_the_sessions_say() {
    let world = World::new();
    let project = world.project("calc");
    let root = project.task("Build a calculator");
    let mut parser = project.task("Parser");
    parser.status = Status::Passed;
    let printer = project.task("Printer");
    project.plant(&root, &[parser.clone(), printer.clone()]);
    let usage = Usage {
        tokens: Tokens { input: 1000, output: 200, ..Tokens::default() },
        model: "m".to_owned(),
        cost: Some(MicroUsd(1_230_000)),
        context_window: 200_000,
        estimated: false,
    };
    project.append(parser.id, vec![usage.into()]);
    project.append(printer.id, vec![project.message("go on").into()]);

    let out = project.mxd(["tree"]).ok();
    let lines: Vec<_> = out.lines().collect();
    assert_eq!(lines[0], format!("◆ Build a calculator  pending  #1  {}", root.id.short()));
    assert_eq!(lines[1], format!("├ ✓ Parser  passed  $1.23  #2  {}", parser.id.short()));
    assert_eq!(lines[2], format!("└ ○ Printer  pending  1 unread message  #3  {}", printer.id.short()));

    let rows = json_lines(&project.mxd(["tree", "--json"]).ok());
    assert_eq!(rows.len(), 3);
    assert_eq!((&rows[1]["title"], &rows[1]["depth"]), (&"Parser".into(), &1.into()));
    assert_eq!((&rows[1]["cost_micro_usd"], &rows[1]["tokens"]), (&1_230_000.into(), &1200.into()));
    assert_eq!(rows[2]["pending_messages"], 1);
}

#[test]
fn a_hostile_title_and_a_hostile_message_are_shown_harmless() {
    let world = World::new();
    let project = world.project("calc");
    let root = project.task(HOSTILE);
    project.plant(&root, &[]);
    project.append(root.id, vec![project.message(HOSTILE).into(), said(HOSTILE)]);

    let tree = project.mxd(["tree"]).ok();
    assert_harmless(&tree);
    assert_eq!(tree.lines().count(), 1, "{tree:?}");
    assert!(tree.contains("red"), "{tree:?}");
    let log = project.mxd(["log", &root.id.to_string()]).ok();
    assert_harmless(&log);
    assert!(log.contains("    next\n"), "{log:?}");

    let row = &json_lines(&project.mxd(["tree", "--json"]).ok())[0];
    assert_eq!(row["title"], HOSTILE, "programs get the title as it is");
}

#[test]
fn a_log_is_shown_for_people_and_for_programs_and_as_it_is() {
    let world = World::new();
    let (project, root) = with_root(&world, "calc");
    let message = project.message("add division");
    let consumed = MessagesConsumed { ids: vec![message.id] };
    project.append(root.id, vec![message.into(), consumed.into(), said("Dividing.")]);
    let id = root.id.to_string();

    let pretty = project.mxd(["log", &id]).ok();
    for part in
        ["task is now pending: Build a calculator\n", "message from you\n    add division\n", "1 message read\n"]
    {
        assert!(pretty.contains(part), "{part:?} in {pretty}");
    }
    assert!(pretty.ends_with("agent\n    Dividing.\n"), "{pretty}");

    let raw = project.mxd(["log", &id, "--raw"]).ok();
    assert_eq!(raw.as_bytes(), fs::read(project.folder.session(root.id)).unwrap());
    let json = project.mxd(["log", &id, "--json"]).ok();
    assert_eq!(json, raw, "on an unbroken chain every event is shown as it was written");

    assert_eq!(kinds(&project.mxd(["log", &id, "--json", "-n", "2"]).ok()), ["messages_consumed", "assistant_text"]);
    assert_eq!(project.mxd(["log", &id, "-n", "1"]).ok().lines().last(), Some("    Dividing."));
    assert_eq!(kinds(&project.mxd(["log", &id, "--json", "-n", "99"]).ok()).len(), 4);
    assert_eq!(project.mxd(["log", &id, "-n", "0"]).ok(), "");
}

#[test]
fn a_task_is_found_by_a_prefix_in_any_case() {
    let world = World::new();
    let (project, root) = with_root(&world, "calc");
    let whole = project.mxd(["log", &root.id.to_string()]).ok();
    assert_eq!(project.mxd(["log", &root.id.short()]).ok(), whole);
    assert_eq!(project.mxd(["log", &root.id.to_string()[..8].to_lowercase()]).ok(), whole);
}

#[test]
fn an_unknown_a_short_and_an_ambiguous_name_are_three_sentences() {
    let world = World::new();
    let project = world.project("calc");
    let node = |id: &str, title: &str| TaskNode { id: id.parse().unwrap(), ..project.task(title) };
    let root = node("01J00000000000000000000001", "one");
    project.plant(&root, &[node("01J00000000000000000000002", "two")]);

    let ambiguous = project.mxd(["log", "01J00000"]).refused(3, "could be any of");
    assert!(ambiguous.contains("#1 one, #2 two"), "{ambiguous}");
    project.mxd(["log", "on"]).refused(3, "is too short");
    let unknown = project.mxd(["log", "01HZZZZZZZZZ"]).refused(3, "no task has \"01HZZZZZZZZZ\" in its title");
    assert!(unknown.contains("hint: `mxd tree` lists the tasks"), "{unknown}");
    project.mxd(["log", "../../../etc/passwd"]).refused(3, "no task has");
}

#[test]
fn a_session_whose_task_left_the_tree_is_still_readable_by_its_id() {
    let world = World::new();
    let (project, _) = with_root(&world, "calc");
    let gone = TaskId::fresh(&world.ids);
    project.append(gone, vec![said("still here")]);
    assert!(project.mxd(["log", &gone.to_string()]).ok().contains("still here"));
}

#[test]
fn what_was_rewound_is_out_of_the_log_and_in_the_file() {
    let world = World::new();
    let (project, root) = with_root(&world, "calc");
    let events = project.append(root.id, vec![said("kept"), said("undone")]);
    let rewind = HeadMoved { to: Some(events[0].id), from: None, reason: MoveReason::Rewind, carry: Box::default() };
    project.append(root.id, vec![rewind.into(), said("instead")]);
    let id = root.id.to_string();

    let log = project.mxd(["log", &id]).ok();
    assert!(log.contains("kept") && log.contains("instead") && !log.contains("undone"), "{log}");
    assert!(log.contains(&format!("rewound to {}", events[0].id)), "{log}");
    let json = kinds(&project.mxd(["log", &id, "--json"]).ok());
    assert_eq!(json, ["task_changed", "assistant_text", "head_moved", "assistant_text"]);
    assert_eq!(kinds(&project.mxd(["log", &id, "--raw"]).ok()).len(), 5);
}

#[test]
fn what_was_summarised_is_still_in_the_log() {
    let world = World::new();
    let (project, root) = with_root(&world, "calc");
    let marker = CompactMarker {
        summary: "They spoke.".to_owned(),
        tokens_before: 9000,
        tokens_after: 100,
        carry: Box::default(),
    };
    let started = CompactStarted { trigger: CompactTrigger::Manual };
    project.append(root.id, vec![said("long ago"), started.into(), marker.into(), said("afterwards")]);
    let log = project.mxd(["log", &root.id.to_string()]).ok();
    let at = |part: &str| log.find(part).unwrap_or_else(|| panic!("{part:?} in {log}"));
    assert!(at("long ago") < at("compacted from about 9000 to 100 tokens\n    They spoke."));
    assert!(at("They spoke.") < at("afterwards"));
}

#[test]
fn raw_is_byte_identical_also_where_the_file_is_damaged() {
    let world = World::new();
    let (project, root) = with_root(&world, "calc");
    project.append(root.id, vec![said("one"), said("two")]);
    let path = project.folder.session(root.id);
    let id = root.id.to_string();
    for ending in [&b"\xff\xfe not an event\n"[..], b"{\"v\":1,\"id\":\"01", b"\0\0\0\0", b"{\"v\":1}"] {
        fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(ending).unwrap();
        let output = world.mxd_command(&project.path).args(["log", &id, "--raw"]).output().unwrap();
        assert!(output.status.success());
        assert!(output.stdout == fs::read(&path).unwrap(), "after {:?}", String::from_utf8_lossy(ending));
    }
}

#[test]
fn a_damaged_session_is_shown_with_a_warning() {
    let world = World::new();
    let (project, root) = with_root(&world, "calc");
    project.append(root.id, vec![said("one"), said("two")]);
    let path = project.folder.session(root.id);
    let text = fs::read_to_string(&path).unwrap();
    let mut lines: Vec<_> = text.lines().collect();
    lines[1] = "{damaged";
    fs::write(&path, lines.join("\n") + "\n").unwrap();

    let ran = project.mxd(["log", &root.id.to_string()]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.contains("task is now") && ran.out.contains("two") && !ran.out.contains("one"), "{ran:?}");
    assert!(ran.err.contains("`mxd check`"), "{ran:?}");
}

#[test]
fn a_reader_that_has_seen_enough_ends_the_program_quietly() {
    let world = World::new();
    let (project, root) = with_root(&world, "calc");
    let line = "a line of some length to fill the pipe\n".repeat(11);
    project.append(root.id, (0..400).map(|_| said(&line)).collect());
    let id = root.id.to_string();
    for args in [&["log", &id][..], &["log", &id, "--json"], &["log", &id, "--raw"], &["log", &id, "-n", "300"]] {
        let mut command = world.mxd_command(&project.path);
        let mut child = command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        assert!(!first.is_empty());
        // The reader is gone, and more is to come than a pipe holds.
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]), "{args:?}");
    }
}

#[test]
fn output_that_nobody_ever_reads_is_no_failure() {
    let world = World::new();
    let project = world.project("calc");
    for args in [&["projects"][..], &["tree"], &["config", "list"], &["check"], &["--help"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = world.mxd_command(&project.path).args(args).stdout(writer).output().unwrap();
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]), "{args:?}");
    }
}

#[test]
fn a_misunderstood_command_line_explains_itself_on_standard_error() {
    let world = World::new();
    for args in [&["tre"][..], &["log"], &["log", "x", "--raw", "--json"], &["tree", "--jsn"]] {
        let ran = world.mxd(&world.root(), args);
        assert_eq!((ran.code, ran.out.as_str()), (3, ""), "{args:?}: {ran:?}");
        assert!(ran.err.contains("error: "), "{args:?}: {ran:?}");
    }
    assert!(world.mxd(&world.root(), ["--version"]).ok().starts_with("mxd "));
}
