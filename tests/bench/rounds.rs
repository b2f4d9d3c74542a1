//! Measuring two things in turns, so that what else the machine does hits both alike.

use std::time::{Duration, Instant};

use crate::Outcome;

/// How often each side is measured.
const ROUNDS: usize = 7;

/// What came of the turns: the median time of each side, and the median of the ratios of neighbours.
pub struct Paired {
    pub ours: Duration,
    pub limit: Duration,
    /// How fast ours is compared with the limit: 1 is as fast, 0.5 takes twice as long.
    pub speed: f64,
}

/// Runs both in turns, once unmeasured.
pub fn paired(mut ours: impl FnMut() -> Outcome, mut limit: impl FnMut() -> Outcome) -> Outcome<Paired> {
    ours()?;
    limit()?;
    let mut times = Vec::with_capacity(ROUNDS);
    for round in 0..ROUNDS {
        // Who goes first alternates: the second may find a warmer cache or a busier disk.
        let pair = if round % 2 == 0 {
            let ours = time(&mut ours)?;
            (ours, time(&mut limit)?)
        } else {
            let limit = time(&mut limit)?;
            (time(&mut ours)?, limit)
        };
        times.push(pair);
    }
    let speed = median(times.iter().map(|(ours, limit)| limit.as_secs_f64() / ours.as_secs_f64()).collect());
    let seconds = |side: fn(&(Duration, Duration)) -> Duration| {
        Duration::from_secs_f64(median(times.iter().map(|pair| side(pair).as_secs_f64()).collect()))
    };
    Ok(Paired { ours: seconds(|pair| pair.0), limit: seconds(|pair| pair.1), speed })
}

fn time(work: &mut impl FnMut() -> Outcome) -> Outcome<Duration> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
