//! The family, killed with SIGKILL at moments nobody chose, and started again until it is done.
//!
//! `MXD_KILLS` says how often (3 by default), `MXD_SEED` where the dice start. A failure names its seed.

use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use serde_json::Value;

use super::expected;
use super::fixture::FamilyFixture;
use super::models;
use crate::cli_support::json_lines;
use crate::engine_support::{PATIENCE, Running, born, marked};
use crate::support::dice::{Dice, number};

/// How often one family is killed at most: it has to get somewhere between two deaths.
const PER_FAMILY: usize = 15;

/// When a run is killed: so many lines after its start, or at an event, and a moment later.
struct Fuse {
    lines: usize,
    /// Only lines that tell of such an event count.
    event: Option<&'static str>,
    wait: Duration,
}

/// Events that are followed by something which has to be finished by the next run if this one cannot.
const AIMS: [&str; 10] = [
    "message",
    "messages_consumed",
    "tool_call",
    "tool_result",
    "turn_ended",
    "run_ended",
    "done_notified",
    "ask_raised",
    "fork_marker",
    "task_changed",
];

impl Fuse {
    fn light(dice: &mut Dice) -> Self {
        let micros = |dice: &mut Dice, bound| Duration::from_micros(dice.below(bound));
        let lines = |dice: &mut Dice, bound| usize::try_from(1 + dice.below(bound)).unwrap();
        match dice.below(6) {
            // Before it has said anything: while it opens the project.
            0 => Self { lines: 0, event: None, wait: micros(dice, 60_000) },
            1 => Self { lines: lines(dice, 60), event: None, wait: micros(dice, 15_000) },
            2 | 3 => Self { lines: lines(dice, 500), event: None, wait: micros(dice, 15_000) },
            _ => {
                let event = Some(AIMS[lines(dice, AIMS.len() as u64) - 1]);
                Self { lines: lines(dice, 8), event, wait: micros(dice, 3_000) }
            }
        }
    }

    fn counts(&self, line: &Value) -> bool {
        self.event.is_none_or(|event| line["event"]["type"] == event)
    }
}

/// What a family went through.
#[derive(Debug, Default)]
struct Tally {
    kills: usize,
    starts: usize,
    requests: usize,
    repeated: usize,
    repairs: usize,
    again: usize,
    /// Processes that outlived the program and were ended by the next start.
    orphans: usize,
}

impl Tally {
    fn add(&mut self, other: &Self) {
        self.kills += other.kills;
        self.starts += other.starts;
        self.requests += other.requests;
        self.repeated += other.repeated;
        self.repairs += other.repairs;
        self.again += other.again;
        self.orphans += other.orphans;
    }
}

#[test]
fn killed_again_and_again_the_family_comes_to_the_same() {
    let wanted = usize::try_from(number("MXD_KILLS", 3)).unwrap();
    let mut seed = number("MXD_SEED", 1);
    let mut all = Tally::default();
    let mut families = 0;
    while all.kills < wanted {
        let tally = family(seed, PER_FAMILY.min(wanted - all.kills));
        println!("seed {seed}: {tally:?}");
        all.add(&tally);
        families += 1;
        seed += 1;
    }
    println!(
        "{families} families, killed {} times in {} starts: {} requests of which {} were asked again, {} calls whose outcome \
         nobody knew, {} messages said again, {} orphans ended; each came to the same",
        all.kills, all.starts, all.requests, all.repeated, all.repairs, all.again, all.orphans
    );
}

fn family(seed: u64, limit: usize) -> Tally {
    let fixture = FamilyFixture::new(models::script);
    let mut dice = Dice::new(seed);
    let mut tally = Tally::default();
    let mut left_over: Vec<(u32, u64)> = Vec::new();
    loop {
        let goal = (!fixture.has_goal(models::GOAL)).then_some(models::GOAL);
        let args: Vec<&str> = ["run", "--json"].into_iter().chain(goal).collect();
        let mut running = Running::start(fixture.command(&args));
        tally.starts += 1;
        assert!(tally.starts < 10 * limit + 20, "seed {seed}: it gets nowhere\n{}", fixture.mock.story());
        let fuse = (tally.kills < limit).then(|| Fuse::light(&mut dice));
        if burns_down(&mut running, fuse.as_ref(), seed, &fixture, &left_over) {
            running.kill();
            tally.kills += 1;
            left_over = marked(&fixture.task_ids());
            tally.orphans += left_over.len();
            continue;
        }
        let ran = running.end();
        match ran.code {
            0 => break,
            2 => answer(&fixture, &mut dice, &mut tally, limit),
            code => panic!("seed {seed}: it returned {code}\n{}\n{}", ran.err, fixture.mock.story()),
        }
    }
    check(&fixture, seed);
    let records = fixture.mock.requests();
    tally.requests = records.len();
    tally.repeated = records.iter().filter(|record| record.repeat).count();
    let tree = fixture.tree().unwrap();
    let sessions: Vec<_> = tree.all().map(|node| fixture.session(node.id)).collect();
    tally.repairs = sessions.iter().map(|session| session.repairs).sum();
    let messages = sessions.iter().flat_map(|session| &session.messages);
    tally.again = messages.filter(|message| message.body.ends_with("(again)")).count();
    tally
}

/// Waits for the moment to kill. Tells whether it came before the run had ended.
fn burns_down(
    running: &mut Running,
    fuse: Option<&Fuse>,
    seed: u64,
    fixture: &FamilyFixture,
    left_over: &[(u32, u64)],
) -> bool {
    let mut left = fuse.map_or(usize::MAX, |fuse| fuse.lines);
    while left > 0 {
        match running.line_within(PATIENCE) {
            Ok(line) => left -= usize::from(fuse.is_some_and(|fuse| fuse.counts(line))),
            Err(RecvTimeoutError::Disconnected) => return false,
            Err(RecvTimeoutError::Timeout) => {
                panic!("seed {seed}: nothing happens any more\n{:#?}\n{}", running.seen.last(), fixture.mock.story())
            }
        }
        if running.seen.len() == 1 {
            // It has opened the project: what it found running there is gone.
            let alive: Vec<_> = left_over.iter().filter(|(pid, birth)| born(*pid) == Some(*birth)).collect();
            assert!(alive.is_empty(), "seed {seed}: processes of a killed run go on: {alive:?}");
        }
    }
    std::thread::sleep(fuse.map_or(Duration::ZERO, |fuse| fuse.wait));
    true
}

/// Answers what is open; now and then the program is killed while it is told.
fn answer(fixture: &FamilyFixture, dice: &mut Dice, tally: &mut Tally, limit: usize) {
    let asks = json_lines(&fixture.mxd(&["asks", "--json"]).ok());
    assert!(!asks.is_empty(), "it waits for the user and asks nothing\n{}", fixture.mock.story());
    if let Some(id) = asks[0]["id"].as_str().filter(|_| tally.kills < limit && dice.below(2) == 0) {
        let mut telling = fixture.command(&["answer", id, "blue"]).spawn().unwrap();
        std::thread::sleep(Duration::from_micros(dice.below(80_000)));
        let _ = telling.kill();
        tally.kills += usize::from(telling.wait().unwrap().code().is_none());
    }
    fixture.answer_all();
}

fn check(fixture: &FamilyFixture, seed: u64) {
    fixture.mock.assert_clean();
    assert_eq!(fixture.outcome(), expected(), "seed {seed}\n{}", fixture.mock.story());
    // A model that does not know looks before it repeats, so each stands there once, whoever wrote it.
    let ledger = fixture.ledger();
    for label in models::LEDGER {
        let lines: Vec<&String> = ledger.iter().filter(|line| line.split(' ').next() == Some(label)).collect();
        assert_eq!(lines.len(), 1, "seed {seed}: {label} was done as often as {lines:?}");
    }
    fixture.assert_messages_once(models::GOAL, &models::SAID);
    fixture.assert_no_stray_worktree();
    assert_eq!(marked(&fixture.task_ids()), [], "seed {seed}");
}
