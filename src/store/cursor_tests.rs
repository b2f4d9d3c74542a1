use std::io::Write as _;
use std::sync::Arc;

use super::*;
use crate::base::{Clock as _, IdSource, SystemClock};
use crate::model::event::{AssistantText, VERSION};
use crate::store::RealDisk;

struct Log {
    folder: tempfile::TempDir,
    ids: IdSource,
    task: TaskId,
}

impl Log {
    fn new() -> Self {
        let ids = IdSource::seeded(Arc::new(SystemClock), 3);
        Self { folder: tempfile::tempdir().unwrap(), task: TaskId::fresh(&ids), ids }
    }

    fn sessions(&self) -> Sessions {
        Sessions::new(Arc::new(RealDisk), self.folder.path())
    }

    fn line(&self, words: &str) -> Vec<u8> {
        let (id, body) = (EventId::fresh(&self.ids), AssistantText { text: words.to_owned() }.into());
        let event = Event { v: VERSION, id, parent: None, ts: SystemClock.now(), run: None, batch: None, body };
        let mut bytes = Vec::new();
        line::encode(&event, &mut bytes).unwrap();
        bytes
    }

    fn write(&self, bytes: &[u8]) {
        let path = self.sessions().path(self.task);
        std::fs::OpenOptions::new().create(true).append(true).open(path).unwrap().write_all(bytes).unwrap();
    }

    fn follow(&self, cursor: Option<ReadCursor>, most: u64) -> (Vec<Event>, FollowOutcome) {
        let mut events = Vec::new();
        let followed = self
            .sessions()
            .follow(self.task, cursor, most, |located| {
                let again = self.sessions().event_at(self.task, located.start, located.len).unwrap();
                assert_eq!(again.as_ref(), Some(&located.event), "it stands where it is said to stand");
                events.push(located.event);
            })
            .unwrap();
        (events, followed)
    }
}

#[test]
fn reading_resumes_at_the_cursor() {
    let log = Log::new();
    assert_eq!(log.follow(None, 1000).1, FollowOutcome::To(None));
    log.write(&log.line("one"));
    log.write(&log.line("two"));
    let (events, followed) = log.follow(None, 1_000_000);
    let FollowOutcome::To(cursor) = followed else { panic!("{followed:?}") };
    assert_eq!(events.len(), 2);
    assert_eq!(log.follow(cursor, 1000), (Vec::new(), FollowOutcome::To(cursor)));
    log.write(&log.line("three"));
    assert_eq!(log.follow(cursor, 1000).0.len(), 1);
}

#[test]
fn a_large_session_is_read_completely_in_chunks() {
    let log = Log::new();
    (0..50).for_each(|number| log.write(&log.line(&format!("line {number}"))));
    let (mut cursor, mut total, mut pieces) = (None, 0, 0);
    loop {
        let (events, followed) = log.follow(cursor, 500);
        (total, pieces) = (total + events.len(), pieces + 1);
        match followed {
            FollowOutcome::Partly(reached) => cursor = Some(reached),
            FollowOutcome::To(_) => break,
            FollowOutcome::Other => panic!("nothing was changed"),
        }
    }
    assert_eq!(total, 50);
    assert!(pieces > 5, "{pieces}");
}

#[test]
fn a_line_is_read_once_it_has_its_newline() {
    let log = Log::new();
    log.write(&log.line("one"));
    let second = log.line("two");
    log.write(&second[..second.len() - 1]);
    let (events, followed) = log.follow(None, 1000);
    assert_eq!(events.len(), 1);
    log.write(b"\n");
    let FollowOutcome::To(cursor) = followed else { panic!("{followed:?}") };
    assert_eq!(log.follow(cursor, 1000).0.len(), 1);
}

#[test]
fn a_replaced_session_is_detected() {
    let log = Log::new();
    log.write(&log.line("one"));
    let FollowOutcome::To(cursor) = log.follow(None, 1000).1 else { panic!() };
    std::fs::remove_file(log.sessions().path(log.task)).unwrap();
    assert_eq!(log.follow(cursor, 1000).1, FollowOutcome::Other);
    log.write(&log.line("another, and longer"));
    assert_eq!(log.follow(cursor, 1000).1, FollowOutcome::Other);
}
