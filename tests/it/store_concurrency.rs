//! Many sessions and many tasks on the real disk: the order of acknowledgements is the order on disk.

use std::sync::{Arc, Mutex};

use mxd::base::TaskId;
use mxd::model::event::Event;
use mxd::store::{Durability, RealDisk, StoreError};

use crate::support::store::{Bench, head_moved, ids, owned, text};

const SESSIONS: usize = 64;
const WRITERS: usize = 4;
const APPENDS: usize = 6;

/// Appends from several tasks to each of many sessions. Returns each session's events in the order of their answers.
async fn crowd(bench: &Bench) -> Vec<(TaskId, Vec<Event>)> {
    let store = bench.store();
    let sessions: Vec<_> = (0..SESSIONS).map(|_| (bench.task(), Arc::new(Mutex::new(Vec::new())))).collect();
    let mut writers = tokio::task::JoinSet::new();
    for (task, answered) in &sessions {
        for writer in 0..WRITERS {
            let (store, task, answered) = (store.clone(), *task, answered.clone());
            writers.spawn(async move {
                for number in 0..APPENDS {
                    let word = |part: usize| text(format!("{writer}-{number}-{part}"));
                    let bodies = if number % 3 == 0 { vec![word(0), word(1), word(2)] } else { vec![word(0)] };
                    let events = store.append_batch(task, None, bodies).await.unwrap();
                    answered.lock().unwrap().push(owned(events));
                }
            });
        }
    }
    while let Some(done) = writers.join_next().await {
        done.unwrap();
    }
    store.close();
    let refused = store.append(sessions[0].0, None, text("too late")).await.unwrap_err();
    assert!(matches!(refused, StoreError::Closed), "{refused}");
    store.close();
    sessions.into_iter().map(|(task, answered)| (task, answered.lock().unwrap().concat())).collect()
}

fn check(bench: &Bench, sessions: &[(TaskId, Vec<Event>)]) {
    for (task, answered) in sessions {
        let (on_disk, bad) = bench.stream(*task);
        assert_eq!(bad, 0);
        assert_eq!(on_disk.len(), WRITERS * APPENDS / 3 * 5);
        let mut answered = answered.clone();
        // Answers of one group reach several tasks at once; within a task they come in order. Ids are in order of
        // stamping, so sorting by them must give the order on disk.
        answered.sort_by_key(|event| event.id);
        assert_eq!(ids(&on_disk), ids(&answered), "every answer is on disk, once, in order");
        let chain = bench.sessions().last_page(*task, usize::MAX).unwrap();
        assert_eq!(chain.events, on_disk);
        for writer in 0..WRITERS {
            let own = format!("text: \"{writer}-");
            let own: Vec<_> =
                on_disk.iter().map(|event| format!("{:?}", event.body)).filter(|text| text.contains(&own)).collect();
            let mut sorted = own.clone();
            sorted.sort();
            assert_eq!(own, sorted, "a task's own events keep their order");
        }
        for (at, event) in on_disk.iter().enumerate() {
            if let Some(batch) = event.batch {
                let first = at + 1 - batch.0 as usize;
                assert_eq!(on_disk[first].batch.map(|batch| batch.0), Some(1), "nobody came between a batch");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_tasks_on_many_sessions_keep_their_order() {
    for durability in [Durability::Sync, Durability::Os] {
        let folder = tempfile::tempdir().unwrap();
        let bench = Bench { durability, ..Bench::new(RealDisk, folder.path()) };
        let sessions = crowd(&bench).await;
        check(&bench, &sessions);
        println!("{durability:?}: {} sessions, {} tasks", sessions.len(), SESSIONS * WRITERS);
    }
}

#[tokio::test]
async fn answers_of_one_session_come_in_the_order_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(RealDisk, folder.path());
    let (store, task) = (bench.store(), bench.task());
    let order = Mutex::new(Vec::new());
    // Polled in turn by one task: whoever is answered first is noted first.
    let appends = (0..200).map(|number| {
        let (store, order) = (&store, &order);
        // Without a budget: it would make a task wait that was answered.
        tokio::task::unconstrained(async move {
            let event = store.append(task, None, text(format!("{number}"))).await.unwrap();
            order.lock().unwrap().push(event.id);
        })
    });
    futures::future::join_all(appends).await;
    assert_eq!(ids(&bench.stream(task).0), order.into_inner().unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_reader_beside_the_writer_sees_a_chain_that_only_grows() {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(RealDisk, folder.path());
    let (store, task) = (bench.store(), bench.task());
    let writer = tokio::spawn(async move {
        for number in 0..150 {
            let bodies = (0..3).map(|part| text(format!("{number}-{part} {}", "long ".repeat(300)))).collect();
            store.append_batch(task, None, bodies).await.unwrap();
        }
    });
    let mut seen = 0;
    while !writer.is_finished() {
        let active = bench.sessions().active(task).unwrap();
        assert!(active.events.len() >= seen && active.events.len().is_multiple_of(3), "{}", active.events.len());
        assert_eq!(active.damage, mxd::store::chain::Damage::default());
        seen = active.events.len();
    }
    writer.await.unwrap();
    assert_eq!(bench.sessions().active(task).unwrap().events.len(), 450);
}

#[tokio::test]
async fn more_sessions_than_files_work() {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench { durability: Durability::Os, ..Bench::new(RealDisk, folder.path()) };
    let store = bench.store();
    let tasks: Vec<_> = (0..300).map(|_| bench.task()).collect();
    for round in 0..2 {
        for task in &tasks {
            store.append(*task, None, text(format!("{round}"))).await.unwrap();
        }
    }
    assert_eq!(store.sessions().list().unwrap(), tasks);
    for task in &tasks {
        assert_eq!(store.sessions().active(*task).unwrap().events.len(), 2);
    }
    let unknown = store.append(tasks[0], None, head_moved(Some(tasks[1].to_string().parse().unwrap()))).await;
    assert!(matches!(unknown, Err(StoreError::UnknownEvent { .. })), "{unknown:?}");
}
