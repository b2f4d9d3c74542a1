//! Every error at every call of an append: the caller is told, the head stays, and when the fault is gone the next
//! append works.

use std::sync::Arc;

use mxd::base::{EventId, TaskId};
use mxd::model::event::Event;
use mxd::store::{Durability, Store, StoreError};

use crate::support::sim_disk::{Fault, Forget, SimDisk};
use crate::support::store::{Bench, block_on, ids, owned, text};

/// What the log looked like before the fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    /// There is no file, and no folder.
    New,
    /// The file is closed and in order.
    Closed,
    /// A crash left half a line.
    Torn,
    /// The store has it open.
    Open,
}

struct Scene {
    disk: SimDisk,
    bench: Bench,
    store: Store,
    task: TaskId,
    before: Vec<Event>,
}

impl Scene {
    fn new(start: Start, durability: Durability) -> Self {
        let disk = SimDisk::new();
        let bench = Bench { durability, ..Bench::new(disk.clone(), "/project") };
        let task = bench.task();
        let mut before = Vec::new();
        let mut store = bench.store();
        if start != Start::New {
            before = owned(block_on(store.append_batch(task, None, vec![text("a"), text("b")])).unwrap());
            before.push(Arc::unwrap_or_clone(block_on(store.append(task, None, text("c"))).unwrap()));
        }
        if start != Start::Open {
            store.close();
            store = bench.store();
        }
        if start == Start::Torn {
            let mut bytes = disk.content(&bench.log(task)).unwrap();
            bytes.extend_from_slice(b"{\"v\":1,\"id\"");
            disk.put(&bench.log(task), &bytes);
        }
        Self { disk, bench, store, task, before }
    }

    fn head(&self) -> Option<EventId> {
        self.bench.sessions().active(self.task).unwrap().head
    }

    /// Asserts that exactly `expected` is in the log, whatever the power does.
    fn assert_holds(&self, expected: &[Event], context: &str) {
        for forget in [Forget::Nothing, Forget::Everything, Forget::Tail(3), Forget::Pages(5)] {
            let bench = Bench::new(self.disk.lose_power(forget), "/project");
            let (events, bad) = bench.stream(self.task);
            assert_eq!(ids(&events), ids(expected), "{context}, {forget:?}");
            assert_eq!(bad, 0, "{context}, {forget:?}: the log is valid");
            let chain = bench.sessions().last_page(self.task, usize::MAX).unwrap();
            assert_eq!(ids(&chain.events), ids(expected), "{context}, {forget:?}");
        }
    }
}

/// Fails `count` calls from the `k`-th on, for every k. Returns how many calls an append makes.
fn fail_every_call(start: Start, fault: Fault, count: usize) -> usize {
    for k in 1.. {
        let scene = Scene::new(start, Durability::Sync);
        let context = format!("{fault:?} at call {k} (x{count}) of an append to a log that is {start:?}");
        scene.disk.fail(k, count, fault);
        let outcome = block_on(scene.store.append_batch(scene.task, None, vec![text("d"), text("e")]));
        let calls = scene.disk.mend();
        let mut expected = scene.before.clone();
        match outcome {
            // The fault came too late to matter, or the store found another way: then it is really there.
            Ok(events) => {
                expected.extend(owned(events));
                scene.assert_holds(&expected, &context);
                if calls < k {
                    assert!(k > 1, "{context}");
                    return k - 1;
                }
            }
            Err(error) => {
                assert!(matches!(error, StoreError::Io { .. }), "{context}: {error}");
                assert!(calls >= k, "{context}: failed without a fault");
                assert!(error.to_string().contains("/project"), "{context}: {error}");
                // While the disk also refuses to take the lines back, a reader may see them; whoever acts on what it reads
                // has them taken out first.
                if count > 1 {
                    block_on(scene.store.repair(scene.task)).unwrap();
                }
                assert_eq!(scene.head(), scene.before.last().map(|event| event.id), "{context}: the head stays");
            }
        }
        let after = block_on(scene.store.append(scene.task, None, text("f")));
        let after = after.unwrap_or_else(|error| panic!("{context}: the next append: {error}"));
        assert_eq!(after.parent, expected.last().map(|event| event.id), "{context}");
        expected.push(Arc::unwrap_or_clone(after));
        scene.assert_holds(&expected, &context);
        scene.store.close();
        let reopened = block_on(scene.bench.store().append(scene.task, None, text("g"))).unwrap();
        expected.push(Arc::unwrap_or_clone(reopened));
        scene.assert_holds(&expected, &context);
    }
    unreachable!()
}

#[test]
fn an_error_at_any_call_of_an_append_is_told_and_overcome() {
    let mut tried = 0;
    for start in [Start::New, Start::Closed, Start::Torn, Start::Open] {
        for fault in Fault::ALL {
            let calls = fail_every_call(start, fault, 1);
            tried += calls + fail_every_call(start, fault, 2) + fail_every_call(start, fault, usize::MAX);
            assert!(calls >= 2, "an append writes and saves");
        }
    }
    println!("faults: {tried}, false acknowledgements: 0, lost: 0");
}

/// Whatever of a failed copy still lies in the file is no conversation, and the copy is made again into the same session.
#[test]
fn a_copy_that_failed_at_any_call_can_be_made_again() {
    for fault in Fault::ALL {
        for k in 1.. {
            let scene = Scene::new(Start::Open, Durability::Sync);
            let (copy, context) = (scene.bench.task(), format!("{fault:?} from call {k} of a copy on"));
            let copied = || block_on(scene.store.copy_session(scene.task, copy, |_: &[Event]| vec![text("its own")]));
            scene.disk.fail(k, usize::MAX, fault);
            let first = copied();
            if scene.disk.mend() < k {
                assert!(k > 2 && first.is_ok(), "{context}: a copy opens, writes and saves");
                break;
            }
            assert!(matches!(first, Err(StoreError::Io { .. })), "{context}: {first:?}");
            let events = copied().unwrap_or_else(|error| panic!("{context}: {error}"));
            assert_eq!(ids(&scene.bench.stream(copy).0), ids(&events), "{context}");
            assert_eq!(events.len(), scene.before.len() + 1, "{context}");
        }
    }
}

#[test]
fn after_a_failed_save_the_file_is_opened_anew_and_cut_back() {
    let scene = Scene::new(Start::Open, Durability::Sync);
    let opens = scene.disk.opens();
    // Call 1 writes, call 2 saves.
    scene.disk.fail(2, 1, Fault::Io);
    block_on(scene.store.append(scene.task, None, text("never saved"))).unwrap_err();
    scene.disk.mend();
    assert_eq!(scene.disk.opens(), opens + 1, "the old handle is not trusted");
    let content = scene.disk.content(&scene.bench.log(scene.task)).unwrap();
    assert!(!String::from_utf8(content).unwrap().contains("never saved"));
    scene.assert_holds(&scene.before, "after the failed save");
}

#[test]
fn a_file_that_lost_what_was_acknowledged_is_not_written_to() {
    let scene = Scene::new(Start::Open, Durability::Sync);
    let path = scene.bench.log(scene.task);
    let bytes = scene.disk.content(&path).unwrap();
    // Somebody replaced the file by a shorter one while a write fails.
    scene.disk.put(&path, &bytes[..bytes.len() / 2]);
    scene.disk.fail(2, 1, Fault::Io);
    block_on(scene.store.append(scene.task, None, text("d"))).unwrap_err();
    scene.disk.mend();
    let refused = block_on(scene.store.append(scene.task, None, text("e"))).unwrap_err();
    assert!(matches!(refused, StoreError::Diverged { .. }), "{refused}");
    scene.disk.put(&path, &bytes);
    let event = block_on(scene.store.append(scene.task, None, text("f"))).unwrap();
    assert_eq!(event.parent, scene.before.last().map(|event| event.id), "once it is back, it goes on");
}

#[test]
fn a_fault_in_one_session_is_not_told_to_another() {
    let scene = Scene::new(Start::Open, Durability::Sync);
    let other = scene.bench.task();
    block_on(scene.store.append(other, None, text("x"))).unwrap();
    scene.disk.fail(1, 1, Fault::Full);
    let (first, second) = block_on(async {
        tokio::join!(scene.store.append(scene.task, None, text("d")), scene.store.append(other, None, text("y")))
    });
    scene.disk.mend();
    assert_eq!(usize::from(first.is_err()) + usize::from(second.is_err()), 1, "{first:?} {second:?}");
}

#[test]
fn with_os_durability_a_failed_write_is_told_and_a_later_one_works() {
    let scene = Scene::new(Start::Open, Durability::Os);
    scene.disk.fail(1, 1, Fault::Full);
    let error = block_on(scene.store.append(scene.task, None, text("d"))).unwrap_err();
    assert!(error.to_string().contains("the disk is full"), "{error}");
    scene.disk.mend();
    let event = block_on(scene.store.append(scene.task, None, text("e"))).unwrap();
    scene.store.close();
    let mut expected = scene.before.clone();
    expected.push(Arc::unwrap_or_clone(event));
    scene.assert_holds(&expected, "closing saves");
}

#[test]
fn an_event_that_is_too_long_is_refused_and_nothing_else_is() {
    let scene = Scene::new(Start::Open, Durability::Sync);
    let huge = vec![text("fits"), text("x".repeat(mxd::store::line::MAX_LINE))];
    let refused = block_on(scene.store.append_batch(scene.task, None, huge)).unwrap_err();
    assert!(matches!(refused, StoreError::TooLong { .. }), "{refused}");
    let event = block_on(scene.store.append(scene.task, None, text("d"))).unwrap();
    let mut expected = scene.before.clone();
    expected.push(Arc::unwrap_or_clone(event));
    scene.assert_holds(&expected, "a batch counts as a whole");
}

#[test]
fn with_os_durability_a_busy_writer_saves_all_the_same() {
    let scene = Scene::new(Start::Open, Durability::Os);
    let saves = || scene.disk.history().iter().filter(|call| call.starts_with("sync ")).count();
    let (before, began) = (saves(), std::time::Instant::now());
    while saves() == before {
        block_on(scene.store.append(scene.task, None, text("d"))).unwrap();
        assert!(began.elapsed() < std::time::Duration::from_secs(30), "written for long and never saved");
    }
}
