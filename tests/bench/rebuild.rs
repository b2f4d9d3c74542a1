//! Rebuilding the active log, beside parsing the same lines and nothing else.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use mxd::model::event::{Event, Header};
use mxd::store::{RealDisk, Sessions};
use serde::de::IgnoredAny;

use crate::Outcome;
use crate::fixture::Fixture;
use crate::probe::{Calls, CountingDisk, Work, peak_memory};
use crate::report::{Report, Row, Target, Unit};
use crate::rounds::paired;

const WHOLE: usize = 100_000_000;
const ACTIVE: usize = 1_600_000;

pub fn measure(report: &mut Report) -> Outcome {
    session(report, "rebuild, 100 MB all active", WHOLE)?;
    session(report, "rebuild, 100 MB of which 1.6 MB active", ACTIVE)
}

fn session(report: &mut Report, what: &str, active: usize) -> Outcome {
    let names = ["to events", "to headers", "to nothing", "bytes read", "peak memory"];
    let [events, headers, nothing, read, memory] = names.map(|name| format!("{what}, {name}"));
    if ![&events, &headers, &nothing, &read, &memory].into_iter().any(|name| report.wants(name)) {
        return Ok(());
    }
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let fixture = Fixture::write(folder.path(), WHOLE, active)?;
    let text = fixture.active_text()?;
    let sessions = Sessions::new(Arc::new(RealDisk), &fixture.folder);
    let rebuild = || rebuild(&sessions, &fixture);

    speed(report, events, text.len(), "serde_json to the same events", Target::AtLeast(0.8), rebuild, || {
        let events: Vec<Event> = text.lines().map(Event::parse).collect::<Result<_, _>>()?;
        black_box(events);
        Ok(())
    })?;
    speed(report, headers, text.len(), "serde_json to the envelope, body skipped", Target::None, rebuild, || {
        for line in text.lines() {
            black_box(Header::parse(line)?);
        }
        Ok(())
    })?;
    speed(report, nothing, text.len(), "serde_json to IgnoredAny: is it JSON?", Target::None, rebuild, || {
        for line in text.lines() {
            black_box(serde_json::from_str::<IgnoredAny>(line)?);
        }
        Ok(())
    })?;

    if report.wants(&read) {
        let calls = Arc::new(Calls::default());
        let counted = Sessions::new(Arc::new(CountingDisk::new(calls.clone())), &fixture.folder);
        counted.active(fixture.task)?;
        let (ours, limit) = (calls.bytes_read() as f64, text.len() as f64);
        report.add(&Row::of_counts(read, Unit::Bytes, ours, limit, "the active part", Target::AtMost(1.2)))?;
    }
    if report.wants(&memory) {
        let ours = peak_memory(Work::Active, &fixture.folder, fixture.task)? as f64;
        report.add(&Row::of_counts(
            memory,
            Unit::Bytes,
            ours,
            text.len() as f64,
            "the bytes of the active part",
            Target::AtMost(3.0),
        ))?;
    }
    Ok(())
}

/// What resuming an agent takes from the store.
pub fn rebuild(sessions: &Sessions, fixture: &Fixture) -> Outcome {
    let active = sessions.active(fixture.task)?;
    black_box((active.state(), active));
    Ok(())
}

fn speed(
    report: &mut Report,
    what: String,
    bytes: usize,
    against: &str,
    target: Target,
    ours: impl FnMut() -> Outcome,
    limit: impl FnMut() -> Outcome,
) -> Outcome {
    if !report.wants(&what) {
        return Ok(());
    }
    let result = paired(ours, limit)?;
    let rate = |time: Duration| bytes as f64 / 1e6 / time.as_secs_f64();
    report.add(&Row {
        what,
        ours: rate(result.ours),
        limit: rate(result.limit),
        unit: Unit::MegabytesPerSecond,
        ratio: result.speed,
        against: against.to_owned(),
        target,
    })
}
