//! A load under load, killed at moments that nobody chose, again and again.

use std::collections::BTreeMap;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use super::load::{LoadTest, Size};
use crate::engine_support::{PATIENCE, Running, marked};
use crate::support::dice::{Dice, fresh_seed, number};

/// How often one load is killed at most: it has to get somewhere between two deaths.
const PER_CREW: usize = 25;

#[derive(Debug, Default)]
struct Tally {
    kills: usize,
    starts: usize,
    requests: usize,
    /// Calls whose outcome nobody knew.
    repairs: usize,
    orphans: usize,
    /// The longest time from a start to its first word, in milliseconds.
    slowest_start: u128,
}

fn play(size: Size, seed: u64, limit: usize) -> Tally {
    let load = LoadTest::hire(size, &BTreeMap::new());
    let (mut dice, mut tally) = (Dice::new(seed), Tally::default());
    loop {
        let mut running = Running::start(load.work(&[]));
        tally.starts += 1;
        let begun = Instant::now();
        let fuse = (tally.kills < limit).then(|| Duration::from_millis(dice.below(1_500)));
        let burnt = loop {
            let left = fuse.map_or(PATIENCE, |fuse| fuse.saturating_sub(begun.elapsed()));
            match running.line_within(left) {
                Ok(_) => {
                    let first = running.seen.len() == 1;
                    let took = if first { begun.elapsed().as_millis() } else { 0 };
                    tally.slowest_start = tally.slowest_start.max(took);
                }
                Err(RecvTimeoutError::Disconnected) => break false,
                Err(RecvTimeoutError::Timeout) => {
                    assert!(fuse.is_some(), "seed {seed}: stuck\n{}", load.fixture.mock.story());
                    break true;
                }
            }
        };
        if burnt {
            running.kill();
            tally.kills += 1;
            tally.orphans += marked(&load.fixture.task_ids()).len();
            continue;
        }
        let ran = running.end();
        assert_eq!(ran.code, 0, "seed {seed}: {}\n{}", ran.err, load.fixture.mock.story());
        break;
    }
    load.settle();
    tally.requests = load.fixture.mock.count();
    let tree = load.fixture.tree().unwrap();
    tally.repairs = tree.all().map(|node| load.fixture.session(node.id).repairs).sum();
    tally
}

fn play_all(size: Size, seed: u64, wanted: usize) {
    let (begun, mut all, mut crews) = (Instant::now(), Tally::default(), 0);
    while all.kills < wanted {
        let tally = play(size, seed.wrapping_add(crews), PER_CREW.min(wanted - all.kills));
        println!("seed {}: {tally:?}", seed.wrapping_add(crews));
        all.kills += tally.kills;
        all.starts += tally.starts;
        all.requests += tally.requests;
        all.repairs += tally.repairs;
        all.orphans += tally.orphans;
        all.slowest_start = all.slowest_start.max(tally.slowest_start);
        crews += 1;
    }
    println!(
        "{crews} crews of {}: {all:?}; each came to the same ({:.0} s)",
        size.agents,
        begun.elapsed().as_secs_f64()
    );
}

#[test]
fn a_crew_that_is_killed_under_load_comes_to_the_same() {
    play_all(Size { agents: 4, steps: 3 }, number("MXD_SEED", 1), 3);
}

#[test]
#[ignore = "many minutes; `cargo proof`"]
fn proof_a_thousand_kills_under_load_with_twenty_agents() {
    let wanted = usize::try_from(number("MXD_KILLS", 1_000)).unwrap();
    play_all(Size { agents: 20, steps: 6 }, fresh_seed("proof_a_thousand_kills"), wanted);
}
