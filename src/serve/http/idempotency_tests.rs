use std::sync::atomic::{AtomicI64, Ordering};

use super::*;

#[derive(Default)]
struct TestClock(AtomicI64);

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::Relaxed))
    }
}

struct Fixture {
    folder: tempfile::TempDir,
    clock: Arc<TestClock>,
}

impl Fixture {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), clock: Arc::default() }
    }

    fn open(&self) -> Outcomes {
        Outcomes::open(self.folder.path().join("outcomes"), self.clock.clone()).unwrap()
    }
}

fn key(text: &str) -> Key {
    Key::new(TokenHash::of("token"), text)
}

fn request(text: &str) -> blake3::Hash {
    blake3::hash(text.as_bytes())
}

fn answer(text: &str) -> StoredAnswer {
    StoredAnswer { status: 200, body: serde_json::value::to_raw_value(text).unwrap().into() }
}

#[track_caller]
fn carry_out(begin: Begin) -> Ticket {
    match begin {
        Begin::CarryOut(ticket) => ticket,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn repeated(begin: Begin) -> String {
    match begin {
        Begin::Repeat(answer) => answer.body.get().to_owned(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_repeat_gets_the_first_outcome_also_after_a_restart() {
    let fixture = Fixture::new();
    let outcomes = fixture.open();
    let ticket = carry_out(outcomes.begin(key("a"), request("send")).unwrap());
    assert!(!ticket.was_begun);
    outcomes.finish(ticket, answer("first")).unwrap();
    assert_eq!(repeated(outcomes.begin(key("a"), request("send")).unwrap()), r#""first""#);
    drop(outcomes);
    let outcomes = fixture.open();
    assert_eq!(repeated(outcomes.begin(key("a"), request("send")).unwrap()), r#""first""#);
    assert!(matches!(outcomes.begin(key("a"), request("other")).unwrap(), Begin::Misused));
    carry_out(outcomes.begin(Key::new(TokenHash::of("another token"), "a"), request("other")).unwrap());
}

#[test]
fn an_outcome_is_forgotten_after_a_day() {
    let fixture = Fixture::new();
    let outcomes = fixture.open();
    outcomes.finish(carry_out(outcomes.begin(key("a"), request("send")).unwrap()), answer("first")).unwrap();
    fixture.clock.0.store(24 * 60 * 60 * 1000 - 1, Ordering::Relaxed);
    repeated(outcomes.begin(key("a"), request("send")).unwrap());
    fixture.clock.0.store(24 * 60 * 60 * 1000, Ordering::Relaxed);
    assert!(!carry_out(outcomes.begin(key("a"), request("other")).unwrap()).was_begun);
    drop(outcomes);
    let size = std::fs::metadata(fixture.folder.path().join("outcomes")).unwrap().len();
    drop(fixture.open());
    assert!(std::fs::metadata(fixture.folder.path().join("outcomes")).unwrap().len() < size);
}

#[test]
fn a_request_that_was_begun_before_a_crash_is_known_to_be_so() {
    let fixture = Fixture::new();
    let client = carry_out(fixture.open().begin(key("a"), request("send")).unwrap()).client;
    let path = fixture.folder.path().join("outcomes");
    let mut torn = std::fs::read(&path).unwrap();
    torn.extend_from_slice(b"\n{\"key\":\"4");
    std::fs::write(&path, torn).unwrap();
    let ticket = carry_out(fixture.open().begin(key("a"), request("send")).unwrap());
    assert_eq!((ticket.was_begun, ticket.client), (true, client));
}

#[test]
fn two_requests_at_once_are_carried_out_once() {
    let fixture = Fixture::new();
    let outcomes = fixture.open();
    let ticket = carry_out(outcomes.begin(key("a"), request("send")).unwrap());
    let Begin::Wait(waiting) = outcomes.begin(key("a"), request("send")).unwrap() else { panic!() };
    outcomes.finish(ticket, answer("first")).unwrap();
    assert_eq!(waiting.borrow().as_ref().unwrap().body.get(), r#""first""#);
    // One that was given up is not waited for.
    drop(carry_out(outcomes.begin(key("b"), request("send")).unwrap()));
    assert!(carry_out(outcomes.begin(key("b"), request("send")).unwrap()).was_begun);
}
