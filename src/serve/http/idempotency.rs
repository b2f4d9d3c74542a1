//! Outcomes of requests with an `Idempotency-Key`, on disk for 24 hours: a repeat gets the first outcome.
//!
//! Two lines per request are appended to one file: one before it is carried out, one with its outcome. A request whose
//! server died in between is carried out again only if its task's session shows that it did not happen.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::sync::watch;

use super::tokens::TokenHash;
use crate::base::{Clock, Fault, Timestamp};
use crate::serve::protocol::ClientId;
use crate::store::disk::{DiskFile, Open, read_all};
use crate::store::{Disk, RealDisk, StoreError, replace};

/// How long an outcome is kept.
pub const LIFE: Duration = Duration::from_secs(24 * 60 * 60);
/// How many outcomes are kept. Older ones are dropped early.
const MAX_ENTRIES: usize = 10_000;

/// The outcome of a request: an answer with its status.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredAnswer {
    pub status: u16,
    pub body: Arc<RawValue>,
}

/// A key belongs to the token that it came with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key(blake3::Hash);

impl Key {
    pub fn new(token: TokenHash, key: &str) -> Self {
        Self(blake3::hash(format!("{token}\0{key}").as_bytes()))
    }
}

/// One line of the file.
#[derive(Serialize, Deserialize)]
struct Line {
    key: String,
    /// A hash of the request, so that a key is not used for two.
    request: String,
    at: Timestamp,
    /// Identifies the request in what it stores.
    client: ClientId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answer: Option<StoredAnswer>,
}

struct Entry {
    request: blake3::Hash,
    at: Timestamp,
    client: ClientId,
    progress: Progress,
}

enum Progress {
    Running(watch::Receiver<Option<StoredAnswer>>),
    /// Its server died, or the machine failed: nobody knows whether it was carried out.
    Unknown,
    Finished(StoredAnswer),
}

/// What to do with a request.
#[derive(Debug)]
pub enum Begin {
    /// Carry it out. If it was begun before, look first whether that happened.
    CarryOut(Ticket),
    Repeat(StoredAnswer),
    /// Somebody else carries it out.
    Wait(watch::Receiver<Option<StoredAnswer>>),
    /// The key was used for another request.
    Misused,
}

/// The right to carry out a request. Dropping it leaves its outcome unknown.
#[derive(Debug)]
pub struct Ticket {
    pub client: ClientId,
    pub was_begun: bool,
    key: Key,
    done: watch::Sender<Option<StoredAnswer>>,
}

/// The outcomes of one project.
pub struct Outcomes {
    path: PathBuf,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

struct State {
    entries: HashMap<Key, Entry>,
    file: Box<dyn DiskFile>,
}

impl Outcomes {
    /// Reads the outcomes that are still kept. The caller holds the project's lock.
    pub fn open(path: PathBuf, clock: Arc<dyn Clock>) -> Result<Self, Fault> {
        let now = clock.now();
        let text = read_all(&RealDisk, &path).map_err(StoreError::io("read", &path))?.unwrap_or_default();
        let mut entries = HashMap::new();
        // A line that was torn by a crash, or damaged, is not an outcome.
        let lines = text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Line>(line).ok());
        for line in lines.filter(|line| is_kept(line.at, now)) {
            let Line { key, request, at, client, answer } = line;
            if let (Ok(key), Ok(request)) = (blake3::Hash::from_hex(key), blake3::Hash::from_hex(request)) {
                let progress = answer.map_or(Progress::Unknown, Progress::Finished);
                entries.insert(Key(key), Entry { request, at, client, progress });
            }
        }
        forget_oldest(&mut entries);
        let file = rewrite(&path, &entries)?;
        Ok(Self { path, clock, state: Mutex::new(State { entries, file }) })
    }

    /// Decides what to do with a request, and saves that it begins. Writes to the disk.
    pub fn begin(&self, key: Key, request: blake3::Hash) -> Result<Begin, Fault> {
        let (now, mut state) = (self.clock.now(), self.lock());
        if state.entries.len() >= MAX_ENTRIES {
            state.entries.retain(|_, entry| is_kept(entry.at, now));
            forget_oldest(&mut state.entries);
            state.file = rewrite(&self.path, &state.entries)?;
        }
        let (done, running) = watch::channel(None);
        match state.entries.get_mut(&key).filter(|entry| is_kept(entry.at, now)) {
            Some(entry) if entry.request != request => Ok(Begin::Misused),
            Some(entry) => match &entry.progress {
                Progress::Finished(answer) => Ok(Begin::Repeat(answer.clone())),
                Progress::Running(running) if running.has_changed().is_ok() => Ok(Begin::Wait(running.clone())),
                Progress::Running(_) | Progress::Unknown => {
                    entry.progress = Progress::Running(running);
                    Ok(Begin::CarryOut(Ticket { client: entry.client, was_begun: true, key, done }))
                }
            },
            None => {
                let entry = Entry { request, at: now, client: ClientId::fresh(), progress: Progress::Running(running) };
                self.append(&mut state, key, &entry)?;
                let client = entry.client;
                state.entries.insert(key, entry);
                Ok(Begin::CarryOut(Ticket { client, was_begun: false, key, done }))
            }
        }
    }

    /// Returns the first outcome of a request that was finished.
    pub fn finished(&self, key: Key, request: blake3::Hash) -> Option<StoredAnswer> {
        let (now, state) = (self.clock.now(), self.lock());
        let entry = state.entries.get(&key).filter(|entry| entry.request == request && is_kept(entry.at, now))?;
        match &entry.progress {
            Progress::Finished(answer) => Some(answer.clone()),
            Progress::Running(_) | Progress::Unknown => None,
        }
    }

    /// Saves the outcome of a request. Writes to the disk.
    pub fn finish(&self, ticket: Ticket, answer: StoredAnswer) -> Result<(), Fault> {
        let Ticket { key, done, .. } = ticket;
        let mut state = self.lock();
        let Some(mut entry) = state.entries.remove(&key) else { return Ok(()) };
        entry.progress = Progress::Finished(answer.clone());
        let saved = self.append(&mut state, key, &entry);
        state.entries.insert(key, entry);
        // Those who wait get the outcome even if it could not be saved.
        done.send_replace(Some(answer));
        saved
    }

    fn append(&self, state: &mut State, key: Key, entry: &Entry) -> Result<(), Fault> {
        let line = encode(key, entry)?;
        let written = state.file.append(&line).and_then(|()| state.file.sync());
        Ok(written.map_err(StoreError::io("write", &self.path))?)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_kept(at: Timestamp, now: Timestamp) -> bool {
    now.since(at) < LIFE
}

/// Drops the oldest entries until there is room for more.
fn forget_oldest(entries: &mut HashMap<Key, Entry>) {
    if entries.len() < MAX_ENTRIES {
        return;
    }
    let mut times: Vec<Timestamp> = entries.values().map(|entry| entry.at).collect();
    times.sort_unstable();
    let oldest_kept = times[times.len() / 2];
    entries.retain(|_, entry| entry.at >= oldest_kept || matches!(entry.progress, Progress::Running(_)));
}

fn encode(key: Key, entry: &Entry) -> Result<Vec<u8>, Fault> {
    let answer = match &entry.progress {
        Progress::Finished(answer) => Some(answer.clone()),
        Progress::Running(_) | Progress::Unknown => None,
    };
    let (key, request) = (key.0.to_hex().to_string(), entry.request.to_hex().to_string());
    let line = Line { key, request, at: entry.at, client: entry.client, answer };
    // A line begins with a line break: what a crash tore before it is not continued.
    let mut bytes = b"\n".to_vec();
    serde_json::to_writer(&mut bytes, &line).map_err(|error| Fault::internal(error.to_string()))?;
    Ok(bytes)
}

/// Replaces the file by the kept entries and opens it.
fn rewrite(path: &std::path::Path, entries: &HashMap<Key, Entry>) -> Result<Box<dyn DiskFile>, Fault> {
    let mut content = Vec::new();
    for (key, entry) in entries {
        content.extend(encode(*key, entry)?);
    }
    let failed = |error: io::Error| Fault::from(StoreError::io("open", path)(error));
    if let Some(folder) = path.parent() {
        RealDisk.create_dirs(folder).map_err(failed)?;
    }
    replace::replace(&RealDisk, path, &content)?;
    RealDisk.open(path, Open::Append).map_err(failed)
}

#[cfg(test)]
#[path = "idempotency_tests.rs"]
mod tests;
