//! The power goes after every single call of a workload: what was acknowledged is there, what was not is whole or gone.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mxd::base::{EventId, MessageId, ProjectId, TaskId, Timestamp};
use mxd::model::content::BlobRef;
use mxd::model::event::{Body, Event, ForkMarker};
use mxd::model::{Project, TaskNode, Tree};
use mxd::store::registry::Registry;
use mxd::store::tree_file::TreeFile;
use mxd::store::{Blobs, Store, StoreError};

use crate::support::sim_disk::{Forget, SimDisk};
use crate::support::store::{
    Bench, block_on, call, cases, compact_marker, compact_started, fingerprint, head_moved, ids, message, owned,
    result, text, usage,
};

/// What a run handed to the store, and what it was told.
#[derive(Default)]
struct Ledger {
    handed: BTreeSet<(TaskId, String)>,
    acknowledged: BTreeMap<TaskId, Vec<EventId>>,
    blobs: Vec<(BlobRef, Vec<u8>)>,
    /// Every tree that was to be saved; the number says how many were acknowledged.
    trees: (Vec<Tree>, usize),
    projects: (Vec<Vec<ProjectId>>, usize),
}

struct Workload {
    bench: Bench,
    disk: SimDisk,
    tasks: [TaskId; 3],
    ledger: Ledger,
}

type Outcome = Result<(), StoreError>;

impl Workload {
    fn new(folder: &Path) -> Self {
        let disk = SimDisk::new();
        let bench = Bench::new(disk.clone(), folder);
        let tasks = [bench.task(), bench.task(), bench.task()];
        // The third session starts with what an earlier crash left, so that healing is part of the workload.
        disk.put(&bench.log(tasks[1]), b"{\"v\":1,\"id\":\"01ARZ3NDEKTSV4");
        Self { bench, disk, tasks, ledger: Ledger::default() }
    }

    async fn append(&mut self, store: &Store, task: TaskId, bodies: Vec<Body>) -> Result<Vec<Event>, StoreError> {
        self.ledger.handed.extend(bodies.iter().map(|body| (task, fingerprint(body))));
        let events = store.append_batch(task, None, bodies).await?;
        self.ledger.acknowledged.entry(task).or_default().extend(ids(&events));
        Ok(owned(events))
    }

    async fn copy(&mut self, store: &Store, from: TaskId, to: TaskId) -> Outcome {
        let handed: Vec<_> = self.ledger.handed.iter().filter(|(task, _)| *task == from).cloned().collect();
        self.ledger.handed.extend(handed.into_iter().map(|(_, print)| (to, print)));
        let last = *self.ledger.acknowledged[&from].last().unwrap();
        let closing: Vec<Body> = vec![
            result("open"),
            ForkMarker { source: from, source_event: last, title: "Copy".to_owned(), description: String::new() }
                .into(),
        ];
        self.ledger.handed.extend(closing.iter().map(|body| (to, fingerprint(body))));
        let events = store.copy_session(from, to, move |_: &[Event]| closing.clone()).await?;
        self.ledger.acknowledged.entry(to).or_default().extend(ids(&events));
        Ok(())
    }

    fn put_blob(&mut self, store: &Store, bytes: &[u8]) -> Outcome {
        let reference = store.blobs().put(bytes)?;
        self.ledger.blobs.push((reference, bytes.to_vec()));
        Ok(())
    }

    fn save_tree(&mut self, title: &str) -> Outcome {
        let root = TaskNode::new(self.tasks[0], title.repeat(900), "engineer", Timestamp::EPOCH);
        let mut tree = Tree::new(root);
        tree.insert(TaskNode::new(self.tasks[1], title, "engineer", Timestamp::EPOCH), self.tasks[0]).unwrap();
        self.ledger.trees.0.push(tree.clone());
        TreeFile::new(self.bench.disk.clone(), tree_path(&self.bench)).save(&tree)?;
        self.ledger.trees.1 = self.ledger.trees.0.len();
        Ok(())
    }

    fn register(&mut self, name: &str) -> Outcome {
        let id = ProjectId::fresh(&self.bench.ids);
        let mut list = self.ledger.projects.0.last().cloned().unwrap_or_default();
        list.push(id);
        self.ledger.projects.0.push(list);
        let path = PathBuf::from("/src").join(name);
        let (base_branch, created_at) = ("main".to_owned(), Timestamp::EPOCH);
        let project = Project {
            id,
            name: name.to_owned(),
            path,
            base_branch,
            created_at,
            former: Vec::new(),
            extra: serde_json::Map::new(),
        };
        Registry::new(self.bench.disk.clone(), registry_path(&self.bench)).register(project)?;
        self.ledger.projects.1 = self.ledger.projects.0.len();
        Ok(())
    }

    /// Does a bit of everything. Ends at the first error: then the power is off.
    async fn run(&mut self) -> Outcome {
        let [a, b, copy] = self.tasks;
        let long = |word: &str, len: usize| text(word.repeat(len));
        let store = self.bench.store();
        self.register("one")?;
        self.save_tree("first")?;
        let first = self.append(&store, a, vec![long("a", 5_000)]).await?.remove(0);
        let message_id = MessageId::fresh(&self.bench.ids);
        self.append(&store, a, vec![message(message_id, "hello"), long("batch", 900), long("€", 3_000)]).await?;
        self.append(&store, b, vec![text("healed")]).await?;
        self.put_blob(&store, &b"blob".repeat(3_000))?;
        self.append(&store, a, vec![call("open"), usage("m", 1, Some(10))]).await?;
        self.save_tree("second")?;
        self.append(&store, a, vec![head_moved(Some(first.id))]).await?;
        self.append(&store, a, vec![long("after the move ", 400)]).await?;
        self.append(&store, b, (0..6).map(|n| long("in one go ", 200 + n)).collect()).await?;
        store.close();

        let store = self.bench.store();
        self.put_blob(&store, &b"blob".repeat(3_000))?;
        self.append(&store, a, vec![compact_started()]).await?;
        self.append(&store, a, vec![message(MessageId::fresh(&self.bench.ids), "meanwhile")]).await?;
        self.append(&store, a, vec![compact_marker("the summary"), call("open")]).await?;
        self.register("two")?;
        self.copy(&store, a, copy).await?;
        self.append(&store, copy, vec![text("on my own")]).await?;
        self.save_tree("third")?;
        self.append(&store, a, vec![head_moved(None), text("from the start")]).await?;
        store.close();
        Ok(())
    }
}

fn tree_path(bench: &Bench) -> PathBuf {
    bench.folder.join("tree.json")
}

fn registry_path(bench: &Bench) -> PathBuf {
    bench.folder.join("data").join("projects.json")
}

#[derive(Debug, Default)]
struct Counts {
    checked: usize,
    lost: usize,
    invented: usize,
    halves: usize,
    events: usize,
}

/// The chain by the simplest means: from the last event back along `parent`.
fn naive_chain(events: &[Event]) -> Vec<EventId> {
    let parents: BTreeMap<_, _> = events.iter().map(|event| (event.id, event.parent)).collect();
    let mut chain: Vec<_> = std::iter::successors(events.last().map(|event| event.id), |id| parents[id]).collect();
    chain.reverse();
    chain
}

fn is_subsequence(part: &[EventId], whole: &[EventId]) -> bool {
    let mut rest = whole.iter();
    part.iter().all(|id| rest.any(|other| other == id))
}

fn check_sessions(bench: &Bench, ledger: &Ledger, tasks: &[TaskId], context: &str, counts: &mut Counts) {
    for &task in tasks {
        let (events, _) = bench.stream(task);
        let on_disk = ids(&events);
        let acknowledged = ledger.acknowledged.get(&task).map_or(&[][..], Vec::as_slice);
        counts.events += events.len();
        counts.lost += acknowledged.iter().filter(|id| !on_disk.contains(id)).count();
        assert!(is_subsequence(acknowledged, &on_disk), "{context}: acknowledged order is order on disk");
        let handed = |event: &&Event| ledger.handed.contains(&(task, fingerprint(&event.body)));
        counts.invented += events.iter().filter(|event| !handed(event)).count();
        for (at, event) in events.iter().enumerate() {
            let Some(batch) = event.batch.filter(|batch| batch.1 > 1) else { continue };
            let first = (at + 1).checked_sub(batch.0 as usize);
            let whole = first.is_some_and(|first| {
                let members = events.iter().skip(first).take(batch.1 as usize);
                members.zip(1..).filter(|(member, number)| member.batch.is_some_and(|b| b.0 == *number)).count()
                    == batch.1 as usize
            });
            counts.halves += usize::from(!whole);
        }
        let page = bench.sessions().last_page(task, usize::MAX).unwrap();
        assert_eq!(ids(&page.events), naive_chain(&events), "{context}: the walk finds the whole chain");
        assert_eq!(page.damage.gaps, 0, "{context}");
        // Reachable: the chain goes on from the last acknowledged event, unless something later moved it.
        if let Some(last) = acknowledged.last() {
            let behind = on_disk.iter().position(|id| id == last).unwrap() + 1;
            let moved = events[behind..].iter().any(|event| matches!(event.body, Body::HeadMoved(_)));
            assert!(moved || ids(&page.events).contains(last), "{context}: the last acknowledged event is hidden");
        }
    }
}

fn check_files(bench: &Bench, ledger: &Ledger, context: &str) {
    let found = TreeFile::new(bench.disk.clone(), tree_path(bench)).load();
    let found = found.unwrap_or_else(|error| panic!("{context}: {error}"));
    let (trees, acknowledged) = &ledger.trees;
    match found {
        None => assert_eq!(*acknowledged, 0, "{context}: the tree is gone"),
        Some(rebuilt) => {
            assert_eq!(rebuilt.notes, Vec::<String>::new(), "{context}");
            let allowed = &trees[acknowledged.saturating_sub(1)..];
            assert!(allowed.contains(&rebuilt.tree), "{context}: neither the old tree nor the new");
        }
    }
    let found = Registry::new(bench.disk.clone(), registry_path(bench)).list().unwrap();
    let found: Vec<_> = found.iter().map(|project| project.id).collect();
    let (lists, acknowledged) = &ledger.projects;
    let is_new = lists.iter().skip(acknowledged.saturating_sub(1)).any(|list| *list == found);
    assert!(is_new || (*acknowledged == 0 && found.is_empty()), "{context}: neither the old list nor the new");

    let blobs = Blobs::new(bench.disk.clone(), bench.folder.join("blobs"));
    for (reference, bytes) in &ledger.blobs {
        assert_eq!(&blobs.read(&reference.blob).unwrap(), bytes, "{context}: a blob is lost");
    }
    for name in bench.disk.list(blobs.folder()).unwrap() {
        if let Some(blob) = name.to_str().and_then(|name| name.parse().ok()) {
            assert!(blobs.is_intact(&blob).unwrap(), "{context}: half a blob");
        }
    }
}

#[test]
fn a_crash_after_any_call_loses_nothing_and_invents_nothing() {
    crash_after_each_call(1);
}

#[test]
#[ignore = "half a minute; `cargo proof`"]
fn proof_a_crash_after_any_call_loses_nothing_whatever_the_disk_forgets() {
    crash_after_each_call(20);
}

/// Forgets, after each call, nothing, everything, and in each of two ways as many things as `usual` says.
fn crash_after_each_call(usual: u32) {
    let folder = tempfile::tempdir().unwrap();
    let seeds = u64::from(cases(usual));
    let mut variants = vec![Forget::Nothing, Forget::Everything];
    variants.extend((0..seeds).flat_map(|seed| [Forget::Tail(seed), Forget::Pages(seed)]));
    let mut counts = Counts::default();
    let mut calls = 0;
    loop {
        let mut workload = Workload::new(folder.path());
        workload.disk.crash_after(calls);
        let outcome = block_on(workload.run());
        let finished = !workload.disk.crashed();
        assert_eq!(outcome.is_ok(), finished, "{outcome:?}");
        for forget in &variants {
            let after = match forget {
                Forget::Tail(seed) => Forget::Tail(seed ^ (calls as u64) << 16),
                Forget::Pages(seed) => Forget::Pages(seed ^ (calls as u64) << 16),
                Forget::Nothing | Forget::Everything => *forget,
            };
            let disk = workload.disk.lose_power(after);
            let context = format!("after call {calls} ({:?}), {after:?}", workload.disk.history().last());
            let bench = Bench { disk: Arc::new(disk), ..workload.bench.clone() };
            check_sessions(&bench, &workload.ledger, &workload.tasks, &context, &mut counts);
            check_files(&bench, &workload.ledger, &context);
            counts.checked += 1;

            // The next life goes on, and still has everything.
            let store = bench.store();
            for task in workload.tasks {
                let body = text("the next life");
                workload.ledger.handed.insert((task, fingerprint(&body)));
                let event = block_on(store.append(task, None, body)).unwrap();
                let active = bench.sessions().active(task).unwrap();
                assert_eq!(active.events.last().map(|event| event.id), Some(event.id), "{context}");
            }
            store.close();
            check_sessions(&bench, &workload.ledger, &workload.tasks, &context, &mut counts);
        }
        if finished {
            break;
        }
        calls += 1;
    }
    println!(
        "crash points: {calls}, variants: {}, checked: {}, lost: {}, invented: {}, half batches: {}",
        variants.len(),
        counts.checked,
        counts.lost,
        counts.invented,
        counts.halves
    );
    assert_eq!((counts.lost, counts.invented, counts.halves), (0, 0, 0), "{counts:?}");
    assert!(calls > 70 && counts.events > 1_000 * variants.len(), "{calls} calls, {counts:?}");
}
