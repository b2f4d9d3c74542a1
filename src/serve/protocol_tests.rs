use super::*;
use crate::base::{IdSource, SystemClock, TaskId};

fn bad(bytes: &[u8]) -> BadRequest {
    ClientFrame::read(bytes).unwrap_err()
}

#[test]
fn frames_come_back_from_their_json() {
    let ids = IdSource::new(std::sync::Arc::new(SystemClock));
    let task = TaskId::fresh(&ids);
    let position = Position { epoch: Epoch::fresh(), seq: 7 };
    for frame in [
        ClientFrame::Session { id: 1, task },
        ClientFrame::Subscribe { id: 2, after: None },
        ClientFrame::Subscribe { id: 3, after: Some(position) },
        ClientFrame::Command(Box::new(CommandRequest {
            id: 4,
            command: Command::Resume { task },
            first: Some(position.epoch),
            answered_below: 3,
        })),
    ] {
        let bytes = serde_json::to_vec(&frame).unwrap();
        assert_eq!(ClientFrame::read(&bytes).unwrap(), frame);
    }
    let update = ServerFrame::Update { id: 2, seq: 8, update: Update::Removed { task } };
    let json = serde_json::to_string(&update).unwrap();
    assert_eq!(json, format!(r#"{{"update":{{"id":2,"seq":8,"update":{{"update":"removed","task":"{task}"}}}}}}"#));
    assert_eq!(serde_json::from_str::<ServerFrame>(&json).unwrap(), update);
}

#[test]
fn a_newer_minor_version_may_add_fields() {
    let frame = br#"{"subscribe":{"id":5,"colour":"green"}}"#;
    assert_eq!(ClientFrame::read(frame).unwrap(), ClientFrame::Subscribe { id: 5, after: None });
    assert!(VERSION.speaks(Version { minor: 99, ..VERSION }));
    assert!(!VERSION.speaks(Version { major: VERSION.major + 1, ..VERSION }));
}

#[test]
fn what_cannot_be_read_names_its_request_if_it_has_one() {
    for garbage in [&b""[..], b"{", b"[]", b"null", b"\xff\xfe", b"{}", br#"{"query":{"id":1},"subscribe":{"id":2}}"#] {
        assert_eq!(bad(garbage).id, None, "{}", String::from_utf8_lossy(garbage));
    }
    let unknown = bad(br#"{"explode":{"id":9}}"#);
    assert_eq!(unknown.id, Some(9));
    assert!(unknown.to_string().starts_with("unknown kind of request \"explode\""), "{unknown}");
    let wrong = bad(br#"{"command":{"id":9,"command":{"command":"send","task":"no task"}}}"#);
    assert_eq!(wrong.id, Some(9));
    assert!(wrong.to_string().starts_with("the command request cannot be read"), "{wrong}");
}
