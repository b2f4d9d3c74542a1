//! Logs with damage that no crash of ours leaves: every event that can still be read is found, and the rest is counted.

use std::path::PathBuf;

use mxd::base::TaskId;
use mxd::model::event::Event;
use mxd::store::chain::Damage;
use mxd::store::line::MAX_LINE;

use crate::support::sim_disk::SimDisk;
use crate::support::store::{Bench, beside, block_on, head_moved, ids, owned, text};

/// A session of five events as lines, to be put together differently.
struct Parts {
    disk: SimDisk,
    bench: Bench,
    task: TaskId,
    path: PathBuf,
    events: Vec<Event>,
    lines: Vec<Vec<u8>>,
}

impl Parts {
    fn new() -> Self {
        let disk = SimDisk::new();
        let bench = Bench::new(disk.clone(), "/project");
        let task = bench.task();
        let store = bench.store();
        let words = ["one", "zwei äö", "three", "四", "five"];
        let events = words.map(|word| block_on(store.append(task, None, text(word))).unwrap()).to_vec();
        let events = owned(events);
        store.close();
        let path = bench.log(task);
        let bytes = disk.content(&path).unwrap();
        let lines = bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        Self { disk, bench, task, path, events, lines }
    }

    fn bare(&self, line: usize) -> &[u8] {
        self.lines[line].strip_suffix(b"\n").unwrap()
    }

    /// Puts the pieces there as the log, then reads, appends twice, and reads again. `found` are the events that must
    /// be reached, `damage` what must be counted.
    fn expect(&self, context: &str, pieces: &[&[u8]], found: &[usize], damage: Damage) {
        self.disk.put(&self.path, &pieces.concat());
        let mut expected: Vec<_> = found.iter().map(|at| self.events[*at].id).collect();
        let sessions = self.bench.sessions();
        let before = sessions.active(self.task).unwrap();
        assert_eq!(ids(&before.events), expected, "{context}: read");
        assert_eq!(before.damage, damage, "{context}: read");
        assert_eq!(before.head, expected.last().copied(), "{context}: head");

        let store = self.bench.store();
        for word in ["six", "seven"] {
            let event = block_on(store.append(self.task, None, text(word))).unwrap();
            assert_eq!(event.parent, expected.last().copied(), "{context}");
            expected.push(event.id);
        }
        store.close();
        let after = sessions.last_page(self.task, usize::MAX).unwrap();
        assert_eq!(ids(&after.events), expected, "{context}: after two appends");
        assert_eq!(after.damage.gaps, damage.gaps, "{context}");
        assert_eq!(ids(&self.bench.stream(self.task).0), expected, "{context}: streamed");
        for name in beside(self.bench.disk.as_ref(), &self.path, "torn-") {
            mxd::store::Disk::remove(&self.disk, &name).unwrap();
        }
    }
}

const NONE: Damage = Damage { bad_lines: 0, gaps: 0 };

fn damage(bad_lines: usize, gaps: usize) -> Damage {
    Damage { bad_lines, gaps }
}

#[test]
fn what_is_no_damage_is_read_as_if_it_were_not_there() {
    let parts = Parts::new();
    let all: Vec<&[u8]> = parts.lines.iter().map(Vec::as_slice).collect();
    parts.expect("as written", &all, &[0, 1, 2, 3, 4], NONE);
    parts.expect("empty", &[], &[], NONE);
    parts.expect("blank lines", &[b"\n\n", all[0], b"   \n\t\n", all[1], b"\n"], &[0, 1], NONE);
    parts.expect("no final newline", &[all[0], parts.bare(1)], &[0, 1], NONE);
    parts.expect("line ends of another system", &[parts.bare(0), b"\r\n", parts.bare(1), b"\r\n"], &[0, 1], NONE);
    parts.expect("and without the last", &[parts.bare(0), b"\r\n", parts.bare(1), b"\r"], &[0, 1], NONE);
}

#[test]
fn bad_lines_are_counted_and_hide_nothing() {
    let parts = Parts::new();
    let [a, b, c, d, last] = [0, 1, 2, 3, 4].map(|at| parts.lines[at].as_slice());
    for bad in [&b"\0\0\0\0\n"[..], b"nonsense\n", b"\xff\xfe\x80\n", b"{\"v\":1}\n", b"[]\n", &b[20..]] {
        let name = String::from_utf8_lossy(bad);
        parts.expect(&format!("in the middle: {name}"), &[a, b, bad, c, bad, d, last], &[0, 1, 2, 3, 4], damage(2, 0));
        parts.expect(&format!("at the beginning: {name}"), &[bad, a, b], &[0, 1], NONE);
        parts.expect(&format!("at the end: {name}"), &[a, b, bad], &[0, 1], damage(1, 0));
        parts.expect(&format!("instead of one: {name}"), &[a, bad, c, d], &[0, 2, 3], damage(1, 1));
        parts.expect(&format!("instead of two: {name}"), &[a, bad, c, bad, last], &[0, 2, 4], damage(2, 2));
        parts.expect(&format!("instead of the first: {name}"), &[bad, b, c], &[1, 2], damage(1, 1));
        parts.expect(&format!("nothing else: {name}"), &[bad], &[], damage(1, 0));
    }
    parts.expect("a line is gone without a trace", &[a, c, d], &[0, 2, 3], damage(0, 1));
}

#[test]
fn glued_lines_are_both_read() {
    let parts = Parts::new();
    let [a, b, c, d, _] = [0, 1, 2, 3, 4].map(|at| parts.lines[at].as_slice());
    parts.expect("whole and whole, in the middle", &[a, parts.bare(1), c, d], &[0, 1, 2, 3], NONE);
    parts.expect("three", &[parts.bare(0), parts.bare(1), c, d], &[0, 1, 2, 3], NONE);
    parts.expect("at the end", &[a, parts.bare(1), c], &[0, 1, 2], NONE);
    parts.expect("at the end, not ended", &[a, parts.bare(1), parts.bare(2)], &[0, 1, 2], NONE);
    parts.expect("whole and torn", &[a, parts.bare(1), &c[..40]], &[0, 1], NONE);
    for cut in 1..b.len() - 2 {
        let torn = &b[..cut];
        parts.expect(&format!("torn at {cut} and whole"), &[a, torn, c, d], &[0, 2, 3], damage(1, 1));
        parts.expect(&format!("torn at {cut} and whole, at the end"), &[a, torn, c], &[0, 2], damage(1, 1));
        parts.expect(&format!("torn at {cut} and zeros and whole"), &[a, torn, b"\0\0\0", c], &[0, 2], damage(1, 1));
    }
}

#[test]
fn a_line_too_long_to_be_ours_is_stepped_over() {
    let parts = Parts::new();
    let [a, b, c, ..] = [0, 1, 2].map(|at| parts.lines[at].as_slice());
    let mut long = vec![b'x'; MAX_LINE + 3];
    long.push(b'\n');
    parts.expect("in the middle", &[a, b, &long, c], &[0, 1, 2], damage(1, 0));
    parts.expect("at the end, not ended", &[a, b, &long[..MAX_LINE + 2]], &[0, 1], NONE);
}

#[test]
fn a_gap_behind_a_rewind_keeps_what_can_be_kept() {
    let parts = Parts::new();
    let store = parts.bench.store();
    let moved = block_on(store.append(parts.task, None, head_moved(Some(parts.events[1].id)))).unwrap();
    let after = block_on(store.append(parts.task, None, text("after"))).unwrap();
    store.close();
    let active = parts.bench.sessions().active(parts.task).unwrap();
    assert_eq!(ids(&active.events), [parts.events[0].id, parts.events[1].id, moved.id, after.id]);
    // The event that the move went back to is destroyed.
    let bytes = parts.disk.content(&parts.path).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    parts.disk.put(
        &parts.path,
        text.replacen("\"type\":\"assistant_text\",\"body\":{\"text\":\"zwei", "\"type\":x", 1).as_bytes(),
    );
    let active = parts.bench.sessions().active(parts.task).unwrap();
    assert_eq!(active.damage, damage(1, 2), "the move and the third event follow it");
    assert_eq!(active.events.first().map(|event| event.id), Some(parts.events[0].id));
    assert_eq!(active.events.last().map(|event| event.id), Some(after.id));
}
