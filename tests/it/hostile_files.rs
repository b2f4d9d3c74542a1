//! Files of ours with anything in them: reading says so or finds what is there, and never panics, hangs or writes.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use mxd::base::{IdSource, SystemClock, TaskId};
use mxd::model::event::{AssistantText, Body};
use mxd::model::search::SearchQuery;
use mxd::search::Search;
use mxd::store::disk::RealDisk;
use mxd::store::registry::Registry;
use mxd::store::tree_file::TreeFile;
use mxd::store::writer::Options;
use mxd::store::{Blobs, Disk, Durability, Sessions, StateCache, Store};
use proptest::prelude::*;

use crate::support::store::cases;

/// A session as the store writes it.
fn written(folder: &Path, task: TaskId, ids: &IdSource) -> Vec<u8> {
    let options = Options {
        disk: Arc::new(RealDisk),
        clock: Arc::new(SystemClock),
        ids: ids.clone(),
        sessions: folder.to_owned(),
        blobs: folder.join("blobs"),
        durability: Durability::Os,
    };
    let store = Store::start(options).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let said = |number: usize| Body::from(AssistantText { text: format!("words {number}") });
    runtime.block_on(store.append(task, None, said(0))).unwrap();
    runtime.block_on(store.append_batch(task, None, (1..4).map(said).collect())).unwrap();
    runtime.block_on(store.append(task, None, said(4))).unwrap();
    store.close();
    fs::read(folder.join(format!("{task}.jsonl"))).unwrap()
}

/// What can happen to bytes on a disk.
#[derive(Clone, Debug)]
enum Harm {
    Cut(usize),
    Flip(usize, u8),
    Insert(usize, Vec<u8>),
    Zero(usize, usize),
    Repeat(usize, usize),
}

fn harm() -> impl Strategy<Value = Harm> {
    let at = 0_usize..2_000;
    prop_oneof![
        at.clone().prop_map(Harm::Cut),
        (at.clone(), 1_u8..).prop_map(|(at, bits)| Harm::Flip(at, bits)),
        (at.clone(), prop::collection::vec(any::<u8>(), 1..40)).prop_map(|(at, bytes)| Harm::Insert(at, bytes)),
        (at.clone(), 1_usize..300).prop_map(|(at, len)| Harm::Zero(at, len)),
        (at, 1_usize..400).prop_map(|(at, len)| Harm::Repeat(at, len)),
    ]
}

fn harmed(mut bytes: Vec<u8>, harms: &[Harm]) -> Vec<u8> {
    for harm in harms {
        let len = bytes.len();
        match harm {
            Harm::Cut(at) => bytes.truncate(*at),
            Harm::Flip(at, bits) => {
                if let Some(byte) = bytes.get_mut(*at) {
                    *byte ^= bits;
                }
            }
            Harm::Insert(at, new) => {
                let at = (*at).min(len);
                bytes.splice(at..at, new.iter().copied());
            }
            Harm::Zero(at, count) => {
                let (from, to) = ((*at).min(len), (at + count).min(len));
                bytes[from..to].fill(0);
            }
            Harm::Repeat(at, count) => {
                let piece = bytes[(*at).min(len)..(at + count).min(len)].to_vec();
                bytes.extend(piece);
            }
        }
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(80), ..ProptestConfig::default() })]

    #[test]
    fn a_session_with_any_damage_is_read_the_same_by_everybody_and_never_changed(harms in prop::collection::vec(harm(), 1..5)) {
        let folder = tempfile::tempdir().unwrap();
        let ids = IdSource::seeded(Arc::new(SystemClock), 11);
        let task = TaskId::fresh(&ids);
        let bytes = harmed(written(folder.path(), task, &ids), &harms);
        let path = folder.path().join(format!("{task}.jsonl"));
        fs::write(&path, &bytes).unwrap();
        let disk: Arc<dyn Disk> = Arc::new(RealDisk);
        let sessions = Sessions::new(disk.clone(), folder.path());
        let active = sessions.active(task).unwrap();
        let page = sessions.last_page(task, 100).unwrap();
        prop_assert_eq!(active.events.last().map(|event| event.id), page.events.last().map(|event| event.id));
        prop_assert_eq!(active.head, active.events.last().map(|event| event.id));
        let mut streamed = 0;
        sessions.stream(task, |_| streamed += 1).unwrap();
        prop_assert!(streamed >= active.events.len());
        let mut digests = StateCache::load(disk.clone(), folder.path().join("digests.json"));
        prop_assert_eq!(digests.summary(&sessions, task).unwrap().head, active.head);
        let search = Search {
            sessions,
            blobs: Blobs::new(disk, folder.path().join("blobs")),
            index: folder.path().join("search.sqlite"),
            lock: folder.path().join("search.lock"),
        };
        let question = SearchQuery { words: "words".to_owned(), limit: 100, ..SearchQuery::default() };
        let found = search.find(None, &question).unwrap();
        prop_assert!(found.hits.len() <= streamed);
        prop_assert_eq!(search.find(None, &question).unwrap(), found);
        prop_assert_eq!(fs::read(&path).unwrap(), bytes, "reading changes nothing");
    }

    #[test]
    fn a_damaged_file_of_json_is_refused_or_read_and_left_as_it_is(
        harms in prop::collection::vec(harm(), 0..5), random in prop::collection::vec(any::<u8>(), 0..200), which in 0..3
    ) {
        let folder = tempfile::tempdir().unwrap();
        let disk: Arc<dyn Disk> = Arc::new(RealDisk);
        let ids = IdSource::seeded(Arc::new(SystemClock), 5);
        let path = folder.path().join("file.json");
        let bytes = match which {
            0 => random,
            1 => {
                let now = mxd::base::Clock::now(&SystemClock);
                let node = mxd::model::TaskNode::new(TaskId::fresh(&ids), "root", "orchestrator", now);
                TreeFile::new(disk.clone(), &path).save(&mxd::model::Tree::new(node)).unwrap();
                harmed(fs::read(&path).unwrap(), &harms)
            }
            _ => harmed(br#"{"version":1,"projects":[{"id":"01M7HJYCBSDKD4QHZY6Z12P697","name":"calc","path":"/x","base_branch":"main","created_at":"2026-11-16T07:08:03.321Z"}]}"#.to_vec(), &harms),
        };
        fs::write(&path, &bytes).unwrap();
        let _ = TreeFile::new(disk.clone(), &path).load();
        let _ = Registry::new(disk.clone(), &path).find_path(Path::new("/x"));
        let _ = StateCache::load(disk, &path);
        prop_assert_eq!(fs::read(&path).unwrap(), bytes);
    }
}
