use super::*;
use crate::base::{IdSource, SystemClock, Timestamp};
use crate::engine::snapshot::TaskView;
use crate::model::Live;
use crate::model::task::TaskNode;

fn tasks() -> [TaskId; 2] {
    let ids = IdSource::new(Arc::new(SystemClock));
    [TaskId::fresh(&ids), TaskId::fresh(&ids)]
}

fn text(task: TaskId, text: &str) -> Update {
    Update::Live { task, live: Live::TextDelta { text: text.to_owned() } }
}

fn view(task: TaskId, title: &str) -> Update {
    Update::Task { task: Box::new(TaskView::of(TaskNode::new(task, title, "engineer", Timestamp::EPOCH))) }
}

fn read(ring: &Ring, after: u64) -> Vec<(u64, Update)> {
    let updates = ring.read(after, usize::MAX).unwrap();
    for NumberedUpdate { update, json, .. } in &updates {
        assert_eq!(serde_json::from_slice::<Update>(json).unwrap(), **update);
    }
    updates.into_iter().map(|numbered| (numbered.seq, (*numbered.update).clone())).collect()
}

#[test]
fn a_reader_gets_what_came_after_its_position() {
    let [one, two] = tasks();
    let mut ring = Ring::default();
    assert_eq!(read(&ring, 0), []);
    ring.push(text(one, "a"));
    ring.push(text(two, "b"));
    assert_eq!(ring.push(Update::Quiet), 3);
    assert_eq!(read(&ring, 0), [(1, text(one, "a")), (2, text(two, "b")), (3, Update::Quiet)]);
    assert_eq!(read(&ring, 2), [(3, Update::Quiet)]);
    assert_eq!(read(&ring, 3), []);
    assert_eq!(ring.read(4, usize::MAX), Err(Lagged), "a position of the future is of another ring");
}

#[test]
fn unread_text_and_views_are_merged_for_each_reader() {
    let [one, two] = tasks();
    let mut ring = Ring::default();
    for update in [text(one, "a"), text(one, "b"), view(one, "old"), view(two, "other"), view(one, "new")] {
        ring.push(update);
    }
    assert_eq!(read(&ring, 0), [(2, text(one, "ab")), (3, view(one, "new")), (5, view(two, "other"))]);
    assert_eq!(read(&ring, 1), [(2, text(one, "b")), (3, view(one, "new")), (5, view(two, "other"))]);
    assert_eq!(read(&ring, 3), [(4, view(two, "other")), (5, view(one, "new"))]);
    // An update of the same task between two views keeps them apart.
    ring.push(text(one, "c"));
    ring.push(view(one, "last"));
    assert_eq!(read(&ring, 4), [(5, view(one, "new")), (6, text(one, "c")), (7, view(one, "last"))]);
}

#[test]
fn a_ring_keeps_a_bounded_number_of_updates_and_bytes() {
    let [one, _] = tasks();
    let mut ring = Ring::new(3, usize::MAX);
    for _ in 0..5 {
        ring.push(Update::Quiet);
    }
    assert_eq!(read(&ring, 2).len(), 3);
    assert_eq!(ring.read(1, usize::MAX), Err(Lagged));
    let mut ring = Ring::new(100, 10_000);
    for _ in 0..50 {
        ring.push(text(one, &"x".repeat(1000)));
    }
    assert!(ring.bytes <= 10_000);
    assert!(ring.has_all_after(42) && !ring.has_all_after(10));
    // An update that is larger than the ring reaches its readers.
    ring.push(text(one, &"x".repeat(20_000)));
    assert_eq!(read(&ring, 50).len(), 1);
    ring.clear();
    assert_eq!(ring.read(50, usize::MAX), Err(Lagged));
    assert_eq!(read(&ring, 51), []);
}

#[test]
fn a_batch_is_bounded_and_the_next_one_continues() {
    let [one, two] = tasks();
    let mut ring = Ring::default();
    for _ in 0..10 {
        ring.push(text(one, &"x".repeat(100)));
        ring.push(text(two, &"y".repeat(100)));
    }
    let (mut position, mut seen) = (0, String::new());
    while position < ring.last() {
        let batch = ring.read(position, 500).unwrap();
        assert!(batch.len() <= 3);
        for numbered in &batch {
            let Update::Live { live: Live::TextDelta { text }, .. } = &*numbered.update else { panic!() };
            seen.push_str(&text[..1]);
        }
        position = batch.last().unwrap().seq;
    }
    assert_eq!(seen, "xy".repeat(10));
}

/// Applies updates as a screen does: text is appended, the last view counts.
fn applied(updates: impl IntoIterator<Item = Update>) -> (HashMap<TaskId, String>, HashMap<TaskId, String>) {
    let (mut texts, mut titles) = (HashMap::<TaskId, String>::new(), HashMap::new());
    for update in updates {
        match update {
            Update::Live { task, live: Live::TextDelta { text } } => texts.entry(task).or_default().push_str(&text),
            Update::Task { task } => drop(titles.insert(task.node.id, task.node.title.clone())),
            other => panic!("{other:?}"),
        }
    }
    (texts, titles)
}

proptest::proptest! {
    #[test]
    fn any_cut_and_resume_gives_what_an_uncut_reader_gets(
        updates in proptest::collection::vec((proptest::bool::ANY, 0usize..2, 0u8..200), 1..60),
        reads in proptest::collection::vec((0usize..8, 1usize..2000), 1..60),
    ) {
        let tasks = tasks();
        let mut ring = Ring::default();
        let all: Vec<Update> = updates.into_iter().map(|(is_text, task, n)| {
            if is_text { text(tasks[task], &format!("{n} ")) } else { view(tasks[task], &n.to_string()) }
        }).collect();
        let mut unread = all.iter().cloned();
        let (mut position, mut got) = (0, Vec::new());
        for (pushes, bytes) in reads.into_iter().chain([(all.len(), usize::MAX)]) {
            for update in unread.by_ref().take(pushes) {
                ring.push(update);
            }
            // The connection is cut somewhere inside the batch: what was received decides where it resumes.
            let batch = ring.read(position, bytes).unwrap();
            let received = if bytes == usize::MAX { batch.len() } else { bytes % (batch.len() + 1) };
            for numbered in batch.into_iter().take(received) {
                position = numbered.seq;
                got.push((*numbered.update).clone());
            }
        }
        proptest::prop_assert_eq!(position, ring.last());
        proptest::prop_assert_eq!(applied(got), applied(all));
    }
}
