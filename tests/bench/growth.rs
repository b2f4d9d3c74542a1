//! The same work at n, 10n and 100n: what one event costs must not depend on how many there are.

use std::sync::Arc;

use mxd::store::{Durability, RealDisk, Sessions};

use crate::Outcome;
use crate::append::Ours;
use crate::fixture::{Fixture, Size};
use crate::rebuild::rebuild;
use crate::report::{Report, Row, Target, Unit};
use crate::rounds::paired;

/// Between n and 100n, n log n grows by this factor per item (n of about a thousand lines).
const N_LOG_N: f64 = 1.7;

pub fn measure(report: &mut Report) -> Outcome {
    for (times, name) in [(10, "10n"), (100, "100n")] {
        rebuild_row(report, times, format!("growth, rebuild, n = 1 MB, {name}"))?;
        append_row(report, times, format!("growth, append behind n = 100 events, {name}"))?;
    }
    Ok(())
}

fn rebuild_row(report: &mut Report, times: usize, what: String) -> Outcome {
    if !report.wants(&what) {
        return Ok(());
    }
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let small = Fixture::write(folder.path(), 1_000_000, 1_000_000)?;
    let large = Fixture::write(folder.path(), 1_000_000 * times, 1_000_000 * times)?;
    let sessions = Sessions::new(Arc::new(RealDisk), folder.path());
    let result = paired(|| rebuild(&sessions, &large), || (0..times).try_for_each(|_| rebuild(&sessions, &small)))?;
    let events = sessions.active(large.task)?.events.len();
    add(report, what, events, &result, "the same bytes as sessions of n")
}

fn append_row(report: &mut Report, times: usize, what: String) -> Outcome {
    if !report.wants(&what) {
        return Ok(());
    }
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let start = |name: &str, events| -> Outcome<Ours> {
        let ours = Ours::start(&folder.path().join(name), 8, Size::Small, Durability::Os, Arc::new(RealDisk))?;
        ours.append(events)?;
        Ok(ours)
    };
    let (small, large) = (start("small", 100)?, start("large", 100 * times)?);
    // Few enough that the short session stays short.
    let result = paired(|| large.append(10), || small.append(10))?;
    add(report, what, 80, &result, "the same appends behind n")
}

fn add(report: &mut Report, what: String, events: usize, result: &crate::rounds::Paired, against: &str) -> Outcome {
    let nanos = |time: std::time::Duration| time.as_secs_f64() * 1e9 / events as f64;
    report.add(&Row {
        what,
        ours: nanos(result.ours),
        limit: nanos(result.limit),
        unit: Unit::NanosPerEvent,
        ratio: 1.0 / result.speed,
        against: against.to_owned(),
        target: Target::AtMost(N_LOG_N),
    })
}
