//! The program dies at every call that changes the world, one after the other, and is started again: what it comes to is
//! what it comes to undisturbed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Instant;

use super::scenario::{Death, Scenario, State};
use crate::support::dice::{Dice, number};
use crate::support::meddler::Call;

/// What became of a list of deaths.
#[derive(Default)]
struct Tally {
    died: usize,
    /// The run was over before it came to that call: no two runs make the same calls in the same order.
    outlived: usize,
    places: BTreeSet<String>,
    failures: Vec<String>,
}

/// Returns a call without what differs from run to run.
fn place(call: &Call) -> String {
    let name = call.path.rsplit('/').next().unwrap_or_default();
    let folder = call.path.rsplit('/').nth(1).unwrap_or_default();
    let plain = |text: &str| {
        let words = text.split(['-', '.', '_']).map(|word| {
            let is_number = !word.is_empty() && word.chars().any(|char| char.is_ascii_digit());
            if is_number { "#" } else { word }
        });
        words.collect::<Vec<_>>().join(".")
    };
    format!("{} {}/{}", call.name, plain(folder), plain(name))
}

/// Plays something once for each of `cases`, on every core. Returns what went wrong.
pub fn on_every_core<T: Debug + Sync>(cases: &[T], play: impl Fn(&T) + Sync) -> Vec<String> {
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            let Err(panic) = catch_unwind(AssertUnwindSafe(|| play(case))) else { continue };
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            let failure = format!("{case:?}: {}", text.unwrap_or_default());
            println!("{failure}");
            failures.lock().unwrap().push(failure);
        }
    };
    let workers = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(work))));
    failures.into_inner().unwrap()
}

/// Plays the scenario once for each list of deaths, and compares.
fn play_all(deaths: &[Vec<Death>], expected: &State) -> Tally {
    let tally = Mutex::new(Tally::default());
    let failures = on_every_core(deaths, |deaths| {
        let scenario = Scenario::open();
        let died = scenario.keep(deaths);
        assert_eq!(&scenario.settle(), expected);
        let mut tally = tally.lock().unwrap();
        tally.died += died.len();
        tally.outlived += deaths.len() - died.len();
        tally.places.extend(died.iter().map(place));
    });
    Tally { failures, ..tally.into_inner().unwrap() }
}

/// Plays the scenario undisturbed, once for all tests. Returns what it comes to and the calls it made.
pub fn undisturbed() -> &'static (State, [Vec<Call>; 2]) {
    static UNDISTURBED: OnceLock<(State, [Vec<Call>; 2])> = OnceLock::new();
    UNDISTURBED.get_or_init(|| {
        let scenario = Scenario::open();
        let calls = scenario.watch();
        scenario.fixture.mxd(&["stop"]).ok();
        assert!(calls.iter().all(|calls| calls.len() > 50), "the library saw only {calls:?}");
        (scenario.settle(), calls)
    })
}

fn report(what: &str, begun: Instant, calls: &[Vec<Call>; 2], tally: &Tally) {
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    for call in calls.iter().flatten() {
        *names.entry(&call.name).or_default() += 1;
    }
    let all: BTreeSet<String> = calls.iter().flatten().map(place).collect();
    println!(
        "{what}: {} + {} calls that change the world {names:?}; died {} times at {} of {} places, {} outlived; {} of them came \
         to another end ({:.0} s)",
        calls[0].len(),
        calls[1].len(),
        tally.died,
        tally.places.len(),
        all.len(),
        tally.outlived,
        tally.failures.len(),
        begun.elapsed().as_secs_f64()
    );
    assert!(tally.failures.is_empty(), "{}", tally.failures.join("\n\n"));
}

/// A few deaths, always the same ones unless another seed is set.
#[test]
fn whatever_call_it_dies_at_it_comes_to_the_same() {
    let begun = Instant::now();
    let (expected, calls) = undisturbed();
    let mut deaths = Vec::new();
    let mut dice = Dice::new(number("MXD_SEED", 1));
    let often = usize::try_from(number("MXD_DEATHS", 2)).unwrap();
    deaths.extend((0..often).map(|_| vec![one(&mut dice, calls, 4)]));
    // Again while it recovers.
    deaths.push(vec![one(&mut dice, calls, 100), Death { command: 0, ..one(&mut dice, calls, 100) }]);
    let tally = play_all(&deaths, expected);
    report("a few", begun, calls, &tally);
    assert!(tally.died > 0, "it never died");
}

/// Returns a death somewhere; one in `merges` of them in the merge.
fn one(dice: &mut Dice, calls: &[Vec<Call>; 2], merges: u64) -> Death {
    let command = usize::from(dice.one_in(merges));
    let call = 1 + usize::try_from(dice.below(calls[command].len() as u64)).unwrap();
    Death { command, call, torn: dice.one_in(2) }
}

#[test]
#[ignore = "many minutes; `cargo proof`"]
fn proof_it_dies_at_every_call_and_comes_to_the_same() {
    let begun = Instant::now();
    let (expected, calls) = undisturbed();
    let (step, first) = (number("MXD_STEP", 1), number("MXD_FIRST", 1));
    let (step, first) = (usize::try_from(step).unwrap(), usize::try_from(first).unwrap());
    let mut deaths = Vec::new();
    for (command, calls) in calls.iter().enumerate() {
        for call in (first..=calls.len()).step_by(step) {
            let is_write = calls[call - 1].name == "write";
            deaths.push(vec![Death { command, call, torn: is_write && call.is_multiple_of(2) }]);
        }
    }
    let tally = play_all(&deaths, expected);
    report("every call", begun, calls, &tally);
}
