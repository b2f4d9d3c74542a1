use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use super::save;
use crate::base::{IdSource, SystemClock, TaskId, Timestamp};
use crate::store::disk::{Disk, DiskFile, Open};
use crate::store::log::{Folder, Log};

/// Sees who saves: a save returns once `together` of them are at it.
#[derive(Default)]
struct Meeting {
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

impl Meeting {
    fn save(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state.lock().unwrap();
        state.inside += 1;
        state.most = state.most.max(state.inside);
        state.saved.push(path.to_owned());
        self.changed.notify_all();
        let lonely = |state: &mut State| state.most < self.together;
        // The limit is only there so that a writer that saves one by one fails instead of hanging.
        let (mut state, waited) = self.changed.wait_timeout_while(state, Duration::from_secs(20), lonely).unwrap();
        state.inside -= 1;
        if waited.timed_out() || self.failing.as_deref() == Some(path) { Err(io::Error::other("no")) } else { Ok(()) }
    }
}

struct MeetingDisk(Arc<Meeting>);
struct MeetingFile(Arc<Meeting>, PathBuf);

impl DiskFile for MeetingFile {
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

impl Disk for MeetingDisk {
    fn open(&self, path: &Path, _: Open) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(MeetingFile(self.0.clone(), path.to_owned())))
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

/// Opens `count` logs that were written to, named by their number.
fn logs(meeting: &Arc<Meeting>, count: usize) -> Vec<(TaskId, Log)> {
    let ids = IdSource::seeded(Arc::new(SystemClock), 7);
    let disk = MeetingDisk(meeting.clone());
    let open = |number: usize| {
        let mut log = Log::open(&disk, &PathBuf::from(number.to_string()), Folder::Make, Timestamp::EPOCH).unwrap();
        log.write(b"{}\n").unwrap();
        (TaskId::fresh(&ids), log)
    };
    (0..count).map(open).collect()
}

fn borrowed(logs: &mut [(TaskId, Log)]) -> Vec<(TaskId, &mut Log)> {
    logs.iter_mut().map(|(session, log)| (*session, log)).collect()
}

#[test]
fn saves_as_many_at_once_as_it_may() {
    let meeting = Arc::new(Meeting { together: 3, ..Meeting::default() });
    let mut logs = logs(&meeting, 9);
    assert!(save(borrowed(&mut logs), 3).is_empty());
    assert!(logs.iter().all(|(_, log)| !log.is_unsynced()));
    let state = meeting.state.lock().unwrap();
    assert_eq!(state.most, 3);
    assert_eq!(state.saved.len(), 9);
}

#[test]
fn a_disk_that_takes_one_call_at_a_time_gets_them_in_order() {
    let meeting = Arc::new(Meeting { together: 1, ..Meeting::default() });
    let mut logs = logs(&meeting, 5);
    assert!(save(borrowed(&mut logs), 1).is_empty());
    let state = meeting.state.lock().unwrap();
    assert_eq!(state.most, 1);
    assert_eq!(state.saved, ["0", "1", "2", "3", "4"].map(PathBuf::from));
}

#[test]
fn one_failure_is_reported_for_its_session_alone() {
    let meeting = Arc::new(Meeting { together: 2, failing: Some("2".into()), ..Meeting::default() });
    let mut logs = logs(&meeting, 4);
    let failed = save(borrowed(&mut logs), 2);
    assert_eq!(failed.keys().collect::<Vec<_>>(), [&logs[2].0]);
    let unsaved: Vec<_> = logs.iter().filter(|(_, log)| log.is_unsynced()).map(|(session, _)| session).collect();
    assert_eq!(unsaved, [&logs[2].0]);
}
