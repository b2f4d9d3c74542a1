//! Opening the last screen of a long session: what it reads, and what it holds.

use std::sync::Arc;

use mxd::store::Sessions;

use crate::Outcome;
use crate::fixture::Fixture;
use crate::probe::{Calls, CountingDisk, SCREEN, Work, peak_memory};
use crate::report::{Report, Row, Target, Unit};

const SIZES: [(usize, &str); 3] = [(1_000_000, "1 MB"), (10_000_000, "10 MB"), (100_000_000, "100 MB")];
const WHOLE: &str = "reading the file whole";

pub fn measure(report: &mut Report) -> Outcome {
    for (bytes, size) in SIZES {
        let read = format!("open last screen, {size}, bytes read");
        let memory = format!("open last screen, {size}, peak memory");
        if !report.wants(&read) && !report.wants(&memory) {
            continue;
        }
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        let fixture = Fixture::write(folder.path(), bytes, bytes)?;
        // Small files are read whole by anybody; the long one must not be.
        let target = if bytes >= 100_000_000 { Target::AtMost(0.02) } else { Target::None };
        let calls = Arc::new(Calls::default());
        let sessions = Sessions::new(Arc::new(CountingDisk::new(calls.clone())), &fixture.folder);
        let page = sessions.last_page(fixture.task, SCREEN)?;
        if page.events.len() != SCREEN {
            return Err("the last screen is not full".into());
        }
        let ours = calls.bytes_read() as f64;
        report.add(&Row::of_counts(read, Unit::Bytes, ours, fixture.bytes as f64, WHOLE, target))?;
        let ours = peak_memory(Work::LastPage, &fixture.folder, fixture.task)? as f64;
        let limit = peak_memory(Work::ReadWhole, &fixture.folder, fixture.task)? as f64;
        report.add(&Row::of_counts(memory, Unit::Bytes, ours, limit, WHOLE, target))?;
    }
    Ok(())
}
