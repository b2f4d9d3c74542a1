//! The disk fails under the whole program: full, over quota, read-only, forbidden, broken, gone. Nothing is said to be kept
//! that is not, the user is told in a sentence, and when the cause is gone the work comes to the same end.

use std::fs;
use std::io::ErrorKind;
use std::process::Command;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Instant;

use mxd::model::Tree;
use rustix::process::Signal;
use serde_json::Value;

use super::crashes::{on_every_core, undisturbed};
use super::scenario::{self, Scenario};
use crate::cli_support::json_lines;
use crate::engine_family::talk::REFUSALS;
use crate::engine_support::{PATIENCE, Running};
use crate::support::dice::{Dice, number};
use crate::support::meddler::Meddle;

/// Every way in which a disk says no, and the words in which the user hears of it.
const ERRORS: [&str; 5] = ["ENOSPC", "EDQUOT", "EROFS", "EACCES", "EIO"];

fn refusals() -> impl Iterator<Item = (&'static str, &'static str)> + Clone {
    ERRORS.into_iter().zip(REFUSALS)
}

fn names(line: &Value, words: &str) -> bool {
    line["notice"]["text"].as_str().is_some_and(|text| text.contains(words))
}

/// Returns every event that the program said it had kept and that its sessions do not have.
fn falsely_acknowledged(scenario: &Scenario, seen: &[Value]) -> Vec<Value> {
    // A start that was refused has made no tree yet, and has nothing to say.
    let tree = scenario.fixture.tree();
    let mut kept = std::collections::BTreeSet::new();
    for node in tree.iter().flat_map(Tree::all).filter(|node| scenario.fixture.sessions().path(node.id).exists()) {
        let read = scenario.fixture.sessions().stream(node.id, |event| {
            kept.insert(event.id.to_string());
        });
        read.unwrap();
    }
    let told = seen.iter().filter(|line| line["update"] == "event");
    told.filter(|line| !kept.contains(line["event"]["id"].as_str().unwrap())).cloned().collect()
}

/// Lets every agent go on of which the user is asked whether it may. Returns how many there were.
fn let_all_go_on(scenario: &Scenario) -> usize {
    let asks = json_lines(&scenario.fixture.mxd(&["asks", "--json"]).ok());
    for ask in &asks {
        // A launch that the disk refuses is a question, too.
        assert!(ask["kind"] == "loop" || ask["kind"] == "launch_failed", "{ask:#}");
        scenario.fixture.mxd(&["answer", ask["id"].as_str().unwrap(), "1"]).ok();
    }
    asks.len()
}

/// Lets the disk refuse from one call on until that is named, or until nothing is written any more. The program itself
/// makes the file that says so, before that call: it never runs ahead of us. Returns whether it was named.
fn refuse(call: usize, (errno, words): (&'static str, &str)) -> bool {
    let scenario = Scenario::open();
    let flag = scenario.fixture.world.root().join("refuses");
    let mut command = scenario.fixture.command(&["run", "--json", scenario::GOAL]);
    let meddle = Meddle::FailFrom { call, errno, under: scenario.fixture.world.data(), flag: flag.clone() };
    meddle.with(&mut command, &scenario.fixture.world.root().join("trace"));
    let mut running = Running::start(command);
    let named = loop {
        match running.line_within(PATIENCE) {
            Ok(line) if names(line, words) => break true,
            Ok(_) => {}
            Err(RecvTimeoutError::Disconnected) => break false,
            Err(RecvTimeoutError::Timeout) => panic!("it is named nowhere\n{:#?}", running.seen.last()),
        }
    };
    let _ = fs::remove_file(&flag);
    // The same process goes on by itself.
    while running.line_within(PATIENCE).is_ok() {}
    let seen = running.seen.clone();
    let ran = running.end();
    // Who meets the same refusal turn after turn is asked about, and the user lets it go on.
    let waits = ran.code == 2 && let_all_go_on(&scenario) > 0;
    // A start that is refused ends, and says why.
    let told = || seen.iter().filter(|line| line["update"] == "notice" || line["event"]["type"] == "ask_raised");
    assert!(
        ran.code == 0 || waits || (!named && ran.err.contains(words)),
        "it returned {}: {}\n{:#?}",
        ran.code,
        ran.err,
        told().collect::<Vec<_>>()
    );
    assert_eq!(falsely_acknowledged(&scenario, &seen), [] as [Value; 0]);
    scenario.keep(&[]);
    assert_eq!(&scenario.settle(), &undisturbed().0);
    named
}

#[test]
fn a_disk_that_refuses_for_a_while_is_named_and_the_work_goes_on_when_it_takes_again() {
    // Two of the five ways; `cargo proof` tries them all.
    let cases: Vec<_> = refusals().zip([200, 130]).collect();
    let failures = on_every_core(&cases, |(refusal, call)| {
        assert!(refuse(*call, *refusal), "{refusal:?} was not named");
    });
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

/// Lets the disk refuse from each of these calls on, in one way after the other.
fn refuse_all(calls: &[usize]) {
    let begun = Instant::now();
    let made = undisturbed().1[0].len();
    let cases: Vec<_> = calls.iter().copied().zip(refusals().cycle()).collect();
    let failures = on_every_core(&cases, |(call, refusal)| {
        refuse(*call, *refusal);
    });
    println!(
        "{} of {made} calls were the first that the disk refused; {} of them came to another end ({:.0} s)",
        cases.len(),
        failures.len(),
        begun.elapsed().as_secs_f64()
    );
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn whatever_call_the_disk_begins_to_refuse_at_it_comes_to_the_same() {
    let made = undisturbed().1[0].len() as u64;
    let mut dice = Dice::new(number("MXD_SEED", 1));
    let calls: Vec<usize> = (0..1).map(|_| 1 + usize::try_from(dice.below(made)).unwrap()).collect();
    refuse_all(&calls);
}

#[test]
#[ignore = "many minutes; `cargo proof`"]
fn proof_the_disk_refuses_from_every_call_on() {
    let (step, first) = (number("MXD_STEP", 1), number("MXD_FIRST", 1));
    let (step, first) = (usize::try_from(step).unwrap(), usize::try_from(first).unwrap());
    refuse_all(&(first..=undisturbed().1[0].len()).step_by(step).collect::<Vec<_>>());
}

#[test]
fn a_disk_that_refuses_from_the_start_is_named_and_nothing_is_begun() {
    for (errno, words) in refusals() {
        let scenario = Scenario::open();
        let flag = scenario.fixture.world.root().join("refuses");
        fs::write(&flag, "").unwrap();
        let mut command = scenario.fixture.command(&["run", scenario::GOAL]);
        let meddle = Meddle::Fail { errno, under: scenario.fixture.world.data(), flag };
        let output = meddle.with(&mut command, &scenario.fixture.world.root().join("trace")).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_ne!(output.status.code(), Some(0), "{errno}");
        assert!(said.starts_with("mxd: ") && said.contains(words), "{errno}: {said}");
        assert_eq!(scenario.fixture.mock.count(), 0, "nobody was asked anything");
        assert!(!scenario.fixture.has_goal(scenario::GOAL));
    }
}

#[test]
fn sessions_that_are_deleted_while_agents_work_are_missed_at_once() {
    let scenario = Scenario::open();
    let mut running = Running::start(scenario.fixture.command(&["run", "--json", scenario::GOAL]));
    running.until("somebody works", |line| line["event"]["type"] == "tool_call");
    let (sessions, aside) = (scenario.fixture.folder.sessions(), scenario.fixture.world.root().join("aside"));
    fs::rename(&sessions, &aside).unwrap();
    running
        .until("it is missed", |line| names(line, "deleted or moved while it was open") || names(line, "No such file"));
    assert!(!sessions.exists(), "a new folder would hide that the old one is gone");
    // Somebody finds it again.
    fs::rename(&aside, &sessions).unwrap();
    while running.line_within(PATIENCE).is_ok() {}
    let seen = running.seen.clone();
    assert_eq!(running.end().code, 0, "{}", scenario.fixture.mock.story());
    assert_eq!(falsely_acknowledged(&scenario, &seen), [] as [Value; 0]);
    scenario.keep(&[]);
    assert_eq!(&scenario.settle(), &undisturbed().0);
}

/// As when a disk is taken out and its mount point is left, or another disk is put there.
#[test]
fn an_empty_folder_in_the_place_of_the_sessions_is_not_taken_for_them() {
    let scenario = Scenario::open();
    let mut running = Running::start(scenario.fixture.command(&["run", "--json", scenario::GOAL]));
    running.until("somebody works", |line| line["event"]["type"] == "tool_call");
    let (sessions, aside) = (scenario.fixture.folder.sessions(), scenario.fixture.world.root().join("aside"));
    fs::rename(&sessions, &aside).unwrap();
    fs::create_dir(&sessions).unwrap();
    running.until("it is missed", |line| line["notice"]["level"] == "error");
    // The right one is back. Whatever was put into the wrong one is not what was acknowledged.
    fs::rename(&sessions, scenario.fixture.world.root().join("wrong")).unwrap();
    fs::rename(&aside, &sessions).unwrap();
    while running.line_within(PATIENCE).is_ok() {}
    let seen = running.seen.clone();
    assert_eq!(running.end().code, 0, "{}", scenario.fixture.mock.story());
    assert_eq!(falsely_acknowledged(&scenario, &seen), [] as [Value; 0]);
    scenario.keep(&[]);
    assert_eq!(&scenario.settle(), &undisturbed().0);
}

#[test]
fn a_data_folder_that_is_deleted_while_agents_work_is_said_to_be_gone() {
    let scenario = Scenario::open();
    let mut running = Running::start(scenario.fixture.command(&["run", "--json", scenario::GOAL]));
    running.until("somebody works", |line| line["event"]["type"] == "tool_call");
    // Whoever still writes may put something into a folder that is just being emptied.
    while fs::remove_dir_all(scenario.fixture.world.data())
        .is_err_and(|error| error.kind() == ErrorKind::DirectoryNotEmpty)
    {}
    running.until("it is missed", |line| line["notice"]["level"] == "error");
    // It waits for the folder to come back; the user does not.
    running.signal(Signal::TERM);
    let ran = running.end();
    assert_ne!(ran.code, 0, "it must not look like a success");
    // What was there is gone; a new beginning is not in its way.
    scenario.fixture.world.mxd(&scenario.fixture.path, ["init"]).ok();
    assert!(json_lines(&scenario.fixture.mxd(&["tree", "--json"]).ok()).len() <= 1);
}

/// Tells whether this machine lets anybody mount something for himself.
fn may_mount() -> bool {
    let tried = Command::new("unshare").args(["-rm", "true"]).output();
    tried.is_ok_and(|tried| tried.status.success())
}

/// A real file system of a few hundred kilobytes, which is really full: for git and commands as well as for us.
#[test]
fn a_file_system_that_is_really_full_costs_nothing_that_was_kept() {
    if !may_mount() {
        println!("SKIPPED: this machine lets nobody mount a file system of his own (unshare -rm)");
        return;
    }
    let scenario = Scenario::open();
    let root = scenario.fixture.world.root();
    let script = r#"
        mkdir small && mount -t tmpfs -o size=2m small small && cp -a data small/
        export MXD_HOME="$PWD/small/data"
        cd kit
        dd if=/dev/zero of=../small/filler bs=1k count=4096 2> /dev/null || true
        code=0; "$MXD" run "$GOAL" > ../full.out 2> ../full.err || code=$?; echo $code > ../full.code
        rm ../small/filler
        code=0; "$MXD" run "$GOAL" > ../free.out 2> ../free.err || code=$?; echo $code > ../free.code
        cd .. && rm -rf data && cp -a small/data data
    "#;
    let mut command = scenario.fixture.world.command("unshare", &root);
    command.args(["-rm", "sh", "-ec", script]);
    command.env("MXD", env!("CARGO_BIN_EXE_mxd")).env("GOAL", scenario::GOAL);
    command.env("ANTHROPIC_API_KEY", "sk-test").env("ANTHROPIC_BASE_URL", scenario.fixture.mock.url());
    let output = command.output().unwrap();
    let read = |name: &str| fs::read_to_string(root.join(name)).unwrap_or_default().trim().to_owned();
    assert!(output.status.success(), "{output:?} {} {}", read("full.err"), read("free.err"));
    let (code, said) = (read("full.code"), read("full.err"));
    assert_ne!(code, "0", "{said}");
    assert!(said.contains("the disk is full"), "{said}");
    assert_eq!(read("free.code"), "0", "{}\n{}", read("free.err"), scenario.fixture.mock.story());
    scenario.fixture.mock.assert_clean();
}
