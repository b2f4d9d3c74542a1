//! The wall clock jumps while agents work, and the machine sleeps. Order, messages and budgets do not follow it.

use std::fs;
use std::time::Duration;

use mxd::model::event::Body;
use rustix::process::Signal;

use super::crashes::undisturbed;
use super::scenario::{self, Scenario};
use crate::engine_support::{PATIENCE, Running};
use crate::support::meddler::Meddle;

const DAY: i64 = 86_400;

#[test]
fn a_clock_that_jumps_back_and_forth_changes_nothing() {
    let expected = &undisturbed().0;
    // A day either way, an hour as in spring and autumn, before the beginning of time, beyond the next century.
    let jumps = [DAY, -DAY, 3_600, -3_600, -60 * 365 * DAY, 120 * 365 * DAY, 0];
    let scenario = Scenario::open();
    let file = scenario.fixture.world.root().join("clock");
    let mut command = scenario.fixture.command(&["run", "--json", scenario::GOAL]);
    Meddle::Clock { file: file.clone() }.with(&mut command, &scenario.fixture.world.root().join("trace"));
    let mut running = Running::start(command);
    let (mut lines, mut next) = (0_usize, jumps.iter().cycle());
    while running.line_within(PATIENCE).is_ok() {
        lines += 1;
        if lines.is_multiple_of(12) {
            fs::write(&file, next.next().unwrap().to_string()).unwrap();
        }
    }
    let ran = running.end();
    assert_eq!(ran.code, 0, "{}\n{}", ran.err, scenario.fixture.mock.story());
    assert!(lines > 12 * jumps.len(), "it was over before the clock had jumped: {lines}");
    scenario.keep(&[]);
    assert_eq!(&scenario.settle(), expected);
    let tree = scenario.fixture.tree().unwrap();
    for node in tree.all() {
        let mut ids = Vec::new();
        let read = scenario.fixture.sessions().stream(node.id, |event| {
            // What was copied from another session has that one's ids.
            if matches!(event.body, Body::ForkMarker(_)) {
                ids.clear();
            }
            ids.push(event.id);
        });
        read.unwrap();
        assert!(ids.is_sorted_by(|one, next| one < next), "{}: {ids:?}", node.title);
    }
}

#[test]
fn a_machine_that_sleeps_for_a_while_goes_on_where_it_was() {
    let expected = &undisturbed().0;
    let scenario = Scenario::open();
    let mut running = Running::start(scenario.fixture.command(&["run", "--json", scenario::GOAL]));
    for _ in 0..4 {
        for _ in 0..40 {
            if running.line_within(PATIENCE).is_err() {
                break;
            }
        }
        // What a closed lid does to a process.
        running.signal(Signal::STOP);
        std::thread::sleep(Duration::from_millis(300));
        running.signal(Signal::CONT);
    }
    while running.line_within(PATIENCE).is_ok() {}
    assert_eq!(running.end().code, 0, "{}", scenario.fixture.mock.story());
    scenario.keep(&[]);
    assert_eq!(&scenario.settle(), expected);
}

/// Zones in the words of POSIX, which need no table on the machine: the first and the last place of a day, and one whose
/// clocks change in spring and autumn.
const ZONES: [&str; 3] = ["LINT-14", "AOE12", "CET-1CEST,M3.5.0,M10.5.0/3"];

#[test]
fn a_journey_through_the_zones_changes_nothing_that_is_kept() {
    let expected = &undisturbed().0;
    let scenario = Scenario::open();
    for zone in ZONES {
        let goal = (!scenario.fixture.has_goal(scenario::GOAL)).then_some(scenario::GOAL);
        let args: Vec<&str> = ["run", "--json"].into_iter().chain(goal).collect();
        let mut command = scenario.fixture.command(&args);
        command.env("TZ", zone);
        let mut running = Running::start(command);
        // Killed where it is: it is opened again at another end of the world.
        for _ in 0..35 {
            if running.line_within(PATIENCE).is_err() {
                break;
            }
        }
        running.kill();
    }
    scenario.keep(&[]);
    assert_eq!(&scenario.settle(), expected);
    let root = scenario.fixture.tree().unwrap().root_id().to_string();
    let told = ZONES.map(|zone| {
        let output = scenario.fixture.command(&["log", &root, "--json"]).env("TZ", zone).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    });
    assert!(!told[0].is_empty() && told.iter().all(|said| *said == told[0]), "moments are written the same everywhere");
}
