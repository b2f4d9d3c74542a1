//! A model API at its worst, under load: every fault there is a name for, at random, over HTTP.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use mxd::base::MicroUsd;

use super::load::{LoadTest, Size};
use crate::engine_support::Running;
use crate::support::dice::{Dice, fresh_seed, number};
use crate::support::mock::{ErrorKind, Fault, Outcome};

/// More than the longest that a run may be silent for: the client's patience with a stream that has stopped.
const SILENCE: Duration = Duration::from_secs(240);
/// What an estimate adds to the tokens that are sent, see `estimate` in `src/agent/driver/model.rs`.
const OUTPUT_ESTIMATE: u64 = 4_000;

/// Returns a fault. One in so many is of a kind that a user is asked about. A limit of hours is not among them: it is
/// kept to by everybody who shares the credential, and nothing else would be seen.
fn fault(dice: &mut Dice, number: usize) -> Fault {
    if dice.one_in(12) {
        return dice
            .pick(&[
                Fault::unauthorized(),
                Fault::no_credit(),
                Fault::unknown_model(),
                Fault::invalid_request("temperature: out of range"),
                Fault::status(ErrorKind::Forbidden, "not allowed"),
                Fault::status(ErrorKind::TooLarge, "too large"),
                Fault::context_overflow(),
            ])
            .clone();
    }
    let at = usize::try_from(dice.below(600)).unwrap();
    let after = usize::try_from(dice.below(6)).unwrap();
    dice.pick(&[
        Fault::rate_limited("1"),
        Fault::rate_limited_without_advice(),
        Fault::overloaded(),
        Fault::unavailable(),
        Fault::server_error(),
        Fault::CloseWithoutResponse,
        Fault::WrongContentType,
        Fault::ResetAfter(at),
        Fault::CutAfter(at),
        Fault::Truncated(after),
        Fault::MalformedJson(after),
        Fault::ErrorEvent { after, kind: ErrorKind::Overloaded },
        Fault::Stall { after, gate: format!("stall {number}") },
        Fault::SlowDrip { bytes: 40, every_ms: 1 },
    ])
    .clone()
}

/// Returns what one request in `of` meets, for as many requests as there may ever be.
pub fn faults(seed: u64, of: u64) -> BTreeMap<usize, Fault> {
    let mut dice = Dice::new(seed);
    let mut faults = BTreeMap::new();
    for number in 1..20_000 {
        if dice.one_in(of) {
            faults.insert(number, fault(&mut dice, number));
        }
    }
    faults
}

/// Plays a load through its faults until it is done or, where there is a budget, until that is spent.
fn play(size: Size, seed: u64, budget: Option<MicroUsd>) -> LoadTest {
    let begun = Instant::now();
    let load = LoadTest::hire(size, &faults(seed, 4));
    let mut asked = 0;
    let amount = budget.map(|budget| format!("{}", budget.0 as f64 / 1e6));
    let more: Vec<&str> = amount.iter().flat_map(|amount| ["--budget", amount.as_str()]).collect();
    loop {
        let mut running = Running::start(load.work(&more));
        let over = Arc::new(AtomicBool::new(false));
        let ran = std::thread::scope(|scope| {
            // A stream that fell silent goes on some time later.
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_millis(300));
                    let reached = load.fixture.mock.look(|mind| mind.gates_reached.clone());
                    reached.iter().for_each(|gate| load.fixture.mock.open(gate));
                }
            });
            let ended = loop {
                match running.line_within(SILENCE) {
                    Ok(_) => {}
                    Err(RecvTimeoutError::Disconnected) => break true,
                    Err(RecvTimeoutError::Timeout) => break false,
                }
            };
            over.store(true, Ordering::Relaxed);
            assert!(ended, "seed {seed}: stuck\n{:#?}\n{}", running.seen.last(), load.fixture.mock.story());
            running.end()
        });
        let is_spent = load.asks().iter().any(|ask| ask["kind"] == "budget");
        match ran.code {
            0 => break,
            2 if budget.is_some() && is_spent => break,
            2 => {
                let now = load.encourage();
                assert!(now > 0, "seed {seed}: it waits for the user and asks nothing");
                asked += now;
            }
            code => panic!("seed {seed}: it returned {code}\n{}\n{}", ran.err, load.fixture.mock.story()),
        }
    }
    say(&load, seed, asked, begun);
    load
}

fn say(load: &LoadTest, seed: u64, asked: usize, begun: Instant) {
    let records = load.fixture.mock.requests();
    let faulted: Vec<_> = records.iter().filter(|record| matches!(record.outcome, Outcome::Faulted(_))).collect();
    let kinds: BTreeSet<String> =
        faulted.iter().map(|record| format!("{:?}", record.outcome).split(['{', '(']).take(2).collect()).collect();
    let mut longest = 0;
    let mut in_a_row: BTreeMap<&str, usize> = BTreeMap::new();
    for record in records.iter().filter(|record| !record.path.ends_with("count_tokens")) {
        let row = in_a_row.entry(&record.conversation).or_default();
        *row = if record.repeat { *row + 1 } else { 0 };
        longest = longest.max(*row);
    }
    println!(
        "seed {seed}: {} agents, {} requests, {} met a fault of {} kinds, the user was asked {asked} times, at most {longest} \
         tries after the first ({:.0} s)",
        load.size.agents,
        records.len(),
        faulted.len(),
        kinds.len(),
        begun.elapsed().as_secs_f64()
    );
    assert!(longest <= 11, "seed {seed}: a request was made {longest} times more");
    load.fixture.mock.assert_clean();
}

/// Plays a load that has less money than it needs. What it spends is the budget and at most one estimate more.
fn play_poor(size: Size, seed: u64, budget: MicroUsd) {
    let load = play(size, seed, Some(budget));
    let spent = load.spent();
    let records = load.fixture.mock.requests();
    let most = records.iter().map(|record| record.body.len() as u64 / 3).max().unwrap_or_default();
    // Dollars per million tokens are millionths of a dollar per token.
    let estimate = MicroUsd(most * 3 + OUTPUT_ESTIMATE * 15);
    println!("seed {seed}: budget {budget}, spent {spent}, one call is estimated at {estimate} at most");
    assert!(spent >= budget, "seed {seed}: it stopped before the money was spent: {spent}");
    assert!(spent <= budget + estimate, "seed {seed}: {spent} spent of {budget}");
}

#[test]
fn a_crew_gets_through_everything_that_a_model_api_can_do() {
    let size = Size { agents: 5, steps: 3 };
    play(size, number("MXD_SEED", 1), None).settle();
}

#[test]
fn a_crew_that_shares_a_budget_overspends_it_by_one_call_at_most() {
    play_poor(Size { agents: 5, steps: 4 }, 2, MicroUsd(90_000));
}

#[test]
#[ignore = "minutes; `cargo proof`"]
fn proof_provider_chaos_with_fifty_agents() {
    let size = Size { agents: 50, steps: 4 };
    for round in 0..number("MXD_ROUNDS", 3) {
        play(size, fresh_seed("proof_provider_chaos").wrapping_add(round), None).settle();
    }
    play_poor(size, 3, MicroUsd(1_000_000));
}
