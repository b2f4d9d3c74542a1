//! Measuring two things in turns, so that what else the machine does hits both alike.

use std::time::{Duration, Instant};

use crate::Outcome;

/// How often each side is measured, where nobody else's work gets in the way for long.
const ROUNDS: usize = 7;
/// The same where a disk is shared: it is slow for others' sake in bursts, so turns must be many and short.
const DISK_ROUNDS: usize = 41;

/// What came of the turns: the median time of each side, and the median of the ratios of neighbours.
pub struct Paired {
    pub ours: Duration,
    pub limit: Duration,
    /// How fast ours is compared with the limit: 1 is as fast, 0.5 takes twice as long.
    pub speed: f64,
    /// The middle half of the turns: a ratio means nothing finer than this.
    pub quartiles: (f64, f64),
}

/// Runs both in turns, once unmeasured.
pub fn paired(mut ours: impl FnMut() -> Outcome, mut limit: impl FnMut() -> Outcome) -> Outcome<Paired> {
    in_turns(ROUNDS, || time(&mut ours), || time(&mut limit))
}

/// As [`paired`], for work of which only a part counts: each side says how long that took.
pub fn paired_as_told(
    ours: impl FnMut() -> Outcome<Duration>,
    limit: impl FnMut() -> Outcome<Duration>,
) -> Outcome<Paired> {
    in_turns(ROUNDS, ours, limit)
}

/// As [`paired`], for work that waits for a disk.
pub fn paired_on_disk(mut ours: impl FnMut() -> Outcome, mut limit: impl FnMut() -> Outcome) -> Outcome<Paired> {
    in_turns(DISK_ROUNDS, || time(&mut ours), || time(&mut limit))
}

fn in_turns(
    rounds: usize,
    mut ours: impl FnMut() -> Outcome<Duration>,
    mut limit: impl FnMut() -> Outcome<Duration>,
) -> Outcome<Paired> {
    ours()?;
    limit()?;
    let mut times = Vec::with_capacity(rounds);
    for round in 0..rounds {
        // Who goes first alternates: the second may find a warmer cache or a busier disk.
        let pair = if round % 2 == 0 {
            let ours = ours()?;
            (ours, limit()?)
        } else {
            let limit = limit()?;
            (ours()?, limit)
        };
        times.push(pair);
    }
    let speeds = || times.iter().map(|(ours, limit)| limit.as_secs_f64() / ours.as_secs_f64()).collect();
    let quartiles = (quantile(speeds(), 1, 4), quantile(speeds(), 3, 4));
    let speed = median(speeds());
    let seconds = |side: fn(&(Duration, Duration)) -> Duration| {
        Duration::from_secs_f64(median(times.iter().map(|pair| side(pair).as_secs_f64()).collect()))
    };
    Ok(Paired { ours: seconds(|pair| pair.0), limit: seconds(|pair| pair.1), speed, quartiles })
}

fn time(work: &mut impl FnMut() -> Outcome) -> Outcome<Duration> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed())
}

fn median(values: Vec<f64>) -> f64 {
    quantile(values, 1, 2)
}

/// Returns the value below which `part` of `parts` lie.
fn quantile(mut values: Vec<f64>, part: usize, parts: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() * part / parts).copied().unwrap_or(f64::NAN)
}
