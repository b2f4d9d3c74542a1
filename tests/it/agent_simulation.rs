//! The run machine in a simulated world: a disk, a model, tools and a user that do whatever a seed says, in any
//! order, with crashes between any two steps. Rules are checked at every step, not only at the end.
//!
//! `MXD_SIM_SEEDS=N` runs more seeds, `MXD_SIM_SEED=N` replays one.

mod rules;
mod world;

use world::{Tally, World};

const SEEDS: u64 = 300;
/// How many `cargo proof` plays.
const MANY_SEEDS: u64 = 10_000;
const STEPS: u32 = 120;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|value| value.parse().ok())
}

fn play(usual: u64) {
    let only = number("MXD_SIM_SEED");
    let seeds = only.map_or(0..number("MXD_SIM_SEEDS").unwrap_or(usual), |seed| seed..seed + 1);
    let mut total = Tally::default();
    let count = seeds.end - seeds.start;
    for seed in seeds {
        let mut world = World::new(seed);
        for _ in 0..STEPS {
            world.step();
        }
        world.settle();
        total += world.tally();
    }
    println!("{count} seeds, {total}");
    if only.is_none() {
        // A world in which something never happens proves nothing about it.
        total.assert_everything_happened();
    }
}

#[test]
fn no_interleaving_of_faults_messages_and_crashes_breaks_a_rule() {
    play(SEEDS);
}

#[test]
#[ignore = "a minute; `cargo proof`"]
fn proof_no_interleaving_breaks_a_rule_of_a_run() {
    play(MANY_SEEDS);
}
