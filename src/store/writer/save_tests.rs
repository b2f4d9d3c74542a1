use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use super::save;
use crate::base::{IdSource, SystemClock, TaskId, Timestamp};
use crate::store::disk::{Disk, DiskFile, Open};
use crate::store::log::{FolderPolicy, Log};

/// A disk whose syncs return only once `together` of them run at the same time.
#[derive(Default)]
struct SyncBarrier {
    state: Mutex<State>,
    changed: Condvar,
    together: usize,
    failing: Option<PathBuf>,
}

#[derive(Default)]
struct State {
    inside: usize,
    most: usize,
    saved: Vec<PathBuf>,
}

impl SyncBarrier {
    fn save(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state.lock().unwrap();
        state.inside += 1;
        state.most = state.most.max(state.inside);
        state.saved.push(path.to_owned());
        self.changed.notify_all();
        let lonely = |state: &mut State| state.most < self.together;
        // The timeout makes a sequential writer fail instead of hang.
        let (mut state, waited) = self.changed.wait_timeout_while(state, Duration::from_secs(20), lonely).unwrap();
        state.inside -= 1;
        if waited.timed_out() || self.failing.as_deref() == Some(path) { Err(io::Error::other("no")) } else { Ok(()) }
    }
}

struct SyncBarrierDisk(Arc<SyncBarrier>);
struct SyncBarrierFile(Arc<SyncBarrier>, PathBuf);

impl DiskFile for SyncBarrierFile {
    fn read_at(&self, _: &mut [u8], _: u64) -> io::Result<usize> {
        Ok(0)
    }
    fn append(&mut self, _: &[u8]) -> io::Result<()> {
        Ok(())
    }
    fn sync(&mut self) -> io::Result<()> {
        self.0.save(&self.1)
    }
    fn set_len(&mut self, _: u64) -> io::Result<()> {
        Ok(())
    }
    fn len(&self) -> io::Result<u64> {
        Ok(0)
    }
}

impl Disk for SyncBarrierDisk {
    fn open(&self, path: &Path, _: Open) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(SyncBarrierFile(self.0.clone(), path.to_owned())))
    }
    fn rename(&self, _: &Path, _: &Path) -> io::Result<()> {
        Ok(())
    }
    fn remove(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }
    fn create_dirs(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }
    fn sync_dir(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }
    fn list(&self, _: &Path) -> io::Result<Vec<OsString>> {
        Ok(Vec::new())
    }
}

/// Opens `count` logs with unsynced data, named by their number.
fn logs(barrier: &Arc<SyncBarrier>, count: usize) -> Vec<(TaskId, Log)> {
    let ids = IdSource::seeded(Arc::new(SystemClock), 7);
    let disk = SyncBarrierDisk(barrier.clone());
    let open = |number: usize| {
        let mut log =
            Log::open(&disk, &PathBuf::from(number.to_string()), FolderPolicy::Make, Timestamp::EPOCH).unwrap();
        log.write(b"{}\n").unwrap();
        (TaskId::fresh(&ids), log)
    };
    (0..count).map(open).collect()
}

fn borrowed(logs: &mut [(TaskId, Log)]) -> Vec<(TaskId, &mut Log)> {
    logs.iter_mut().map(|(session, log)| (*session, log)).collect()
}

#[test]
fn syncs_run_in_parallel_up_to_the_limit() {
    let barrier = Arc::new(SyncBarrier { together: 3, ..SyncBarrier::default() });
    let mut logs = logs(&barrier, 9);
    assert!(save(borrowed(&mut logs), 3).is_empty());
    assert!(logs.iter().all(|(_, log)| !log.is_unsynced()));
    let state = barrier.state.lock().unwrap();
    assert_eq!(state.most, 3);
    assert_eq!(state.saved.len(), 9);
}

#[test]
fn a_sequential_disk_gets_calls_in_order() {
    let barrier = Arc::new(SyncBarrier { together: 1, ..SyncBarrier::default() });
    let mut logs = logs(&barrier, 5);
    assert!(save(borrowed(&mut logs), 1).is_empty());
    let state = barrier.state.lock().unwrap();
    assert_eq!(state.most, 1);
    assert_eq!(state.saved, ["0", "1", "2", "3", "4"].map(PathBuf::from));
}

#[test]
fn a_failure_is_reported_for_its_session_only() {
    let barrier = Arc::new(SyncBarrier { together: 2, failing: Some("2".into()), ..SyncBarrier::default() });
    let mut logs = logs(&barrier, 4);
    let failed = save(borrowed(&mut logs), 2);
    assert_eq!(failed.keys().collect::<Vec<_>>(), [&logs[2].0]);
    let unsaved: Vec<_> = logs.iter().filter(|(_, log)| log.is_unsynced()).map(|(session, _)| session).collect();
    assert_eq!(unsaved, [&logs[2].0]);
}
