use std::fs;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::base::{Clock as _, IdSource, SystemClock, TaskId};
use crate::model::task::{Status, TaskNode};
use crate::model::tree::Tree;
use crate::store::disk::Disk;
use crate::store::{Blobs, RealDisk, Sessions};

const CLAUDE: &str = concat!(
    r#"{"parentUuid":null,"isSidechain":false,"cwd":"/home/ann/calc","sessionId":"s1","type":"user","message":{"role":"user","content":"Add division"},"uuid":"a","timestamp":"2026-05-26T07:27:40.079Z"}"#,
    "\n",
    r#"{"parentUuid":"a","isSidechain":false,"cwd":"/home/ann/calc","sessionId":"s1","type":"assistant","message":{"id":"m","role":"assistant","content":[{"type":"text","text":"Done."}]},"uuid":"b","timestamp":"2026-05-26T07:27:45.079Z"}"#,
    "\n",
);

struct Fixture {
    folder: tempfile::TempDir,
    tree: Tree,
    disk: Arc<dyn Disk>,
}

impl Fixture {
    fn new() -> Self {
        let ids = IdSource::seeded(Arc::new(SystemClock), 1);
        let root = TaskNode::new(TaskId::fresh(&ids), "orchestrator", "orchestrator", SystemClock.now());
        Self { folder: tempfile::tempdir().unwrap(), tree: Tree::new(root), disk: Arc::new(RealDisk) }
    }

    fn sessions(&self) -> Sessions {
        Sessions::new(self.disk.clone(), self.folder.path().join("sessions"))
    }

    fn file(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn import(&mut self, path: &Path) -> Vec<ImportedSession> {
        let foreign = read(path, None).unwrap();
        let blobs = Blobs::new(self.disk.clone(), self.folder.path().join("blobs"));
        let (sessions, disk) = (self.sessions(), self.disk.clone());
        store_sessions(&disk, &sessions, &blobs, &mut self.tree, &foreign, SystemClock.now()).unwrap()
    }
}

#[test]
fn a_session_becomes_a_closed_task_that_can_be_read() {
    let mut fixture = Fixture::new();
    let path = fixture.file("s1.jsonl", CLAUDE);
    let before = fs::read(&path).unwrap();
    let imported = fixture.import(&path);
    assert_eq!((imported.len(), imported[0].status), (1, ImportStatus::New));
    let node = fixture.tree.get(imported[0].task).unwrap();
    assert_eq!((node.title.as_str(), node.status), ("Add division", Status::Closed));
    let above = fixture.tree.get(node.parent.unwrap()).unwrap();
    assert_eq!((above.title.as_str(), above.parent), ("Imported from Claude Code", Some(fixture.tree.root_id())));
    let active = fixture.sessions().active(imported[0].task).unwrap();
    let kinds: Vec<_> = active.events.iter().map(|event| event.body.kind()).collect();
    assert_eq!(kinds, ["task_changed", "message", "messages_consumed", "assistant_text", "turn_ended"]);
    assert_eq!((active.damage.bad_lines, active.damage.gaps), (0, 0));
    assert_eq!(fs::read(&path).unwrap(), before, "the source is only read");
}

#[test]
fn a_second_import_creates_no_duplicates_and_a_longer_file_is_updated() {
    let mut fixture = Fixture::new();
    let path = fixture.file("s1.jsonl", CLAUDE);
    let first = fixture.import(&path)[0];
    let kept = fs::read(fixture.sessions().path(first.task)).unwrap();
    let tasks = fixture.tree.len();
    assert_eq!(fixture.import(&path), [ImportedSession { status: ImportStatus::Known, events: 0, ..first }]);
    assert_eq!((fs::read(fixture.sessions().path(first.task)).unwrap(), fixture.tree.len()), (kept, tasks));

    let more = CLAUDE.to_owned()
        + r#"{"parentUuid":"b","isSidechain":false,"sessionId":"s1","type":"user","message":{"role":"user","content":"More"},"uuid":"c","timestamp":"2026-05-26T07:28:45.079Z"}"#;
    let path = fixture.file("s1.jsonl", more);
    let grown = fixture.import(&path)[0];
    assert_eq!((grown.task, grown.status, fixture.tree.len()), (first.task, ImportStatus::Grown, tasks));
    assert_eq!(fixture.sessions().active(first.task).unwrap().events.len(), 7);
    assert_eq!(fixture.import(&path)[0].status, ImportStatus::Known);
}

#[test]
fn a_task_that_was_continued_here_is_not_changed() {
    let mut fixture = Fixture::new();
    let path = fixture.file("s1.jsonl", CLAUDE);
    let task = fixture.import(&path)[0].task;
    let log = fixture.sessions().path(task);
    let text = fs::read_to_string(&log).unwrap();
    let last = text.lines().last().unwrap();
    let id = last.split('"').nth(5).unwrap();
    let next = last.replace(id, "7ZZZZZZZZZZZZZZZZZZZZZZZZZ");
    fs::write(&log, format!("{text}{next}\n")).unwrap();
    let kept = fs::read(&log).unwrap();
    let path = fixture.file("s1.jsonl", format!("{CLAUDE}\n"));
    assert_eq!(fixture.import(&path)[0].status, ImportStatus::Kept);
    assert_eq!(fs::read(&log).unwrap(), kept);
}

#[test]
fn torn_unknown_and_huge_lines_are_counted_and_the_rest_is_read() {
    let mut fixture = Fixture::new();
    let mut bytes = CLAUDE.as_bytes().to_vec();
    bytes.extend_from_slice(b"\xff\xfe\x00 no text\n[1,2]\n\"a string\"\n\n");
    bytes.push(b'{');
    bytes.extend(std::iter::repeat_n(b'x', crate::store::line::MAX_LINE + 10));
    bytes.extend_from_slice(b"\n{\"parentUuid\":\"b\",\"type\":\"user\",\"mess");
    let path = fixture.file("s1.jsonl", &bytes);
    let foreign = &read(&path, None).unwrap()[0];
    assert_eq!((foreign.left_out, foreign.items.len()), (5, 2));
    assert_eq!(fixture.import(&path)[0].status, ImportStatus::New);
}

#[test]
fn an_unknown_file_is_refused_and_an_empty_one_gives_nothing() {
    let fixture = Fixture::new();
    let other = fixture.file("other.jsonl", "{\"a\":1}\n");
    assert!(matches!(read(&other, None), Err(ImportError::Unknown(_))));
    assert!(matches!(read(fixture.folder.path(), None), Err(ImportError::Unreadable { .. })));
    assert!(matches!(read(Path::new("/dev/zero"), None), Err(ImportError::Unreadable { .. })));
    assert!(read(&other, Some(Origin::Claude)).unwrap().is_empty());
}

#[test]
fn sessions_are_found_in_the_programs_folders() {
    let fixture = Fixture::new();
    let home = fixture.folder.path().join("home");
    let inside = fixture.file("home/.claude/projects/-home-ann-calc/s1.jsonl", CLAUDE);
    fixture.file(
        "home/.claude/projects/-home-ann-calculus/s2.jsonl",
        CLAUDE.replace("/home/ann/calc", "/home/ann/calculus"),
    );
    fixture.file("home/.claude/projects/-home-bob/s3.jsonl", CLAUDE);
    let meta = r#"{"timestamp":"2026-10-29T00:59:38Z","type":"session_meta","payload":{"id":"c1","cwd":"/home/ann/calc/src"}}"#;
    let rollout = fixture.file("home/.codex/sessions/2026/10/29/rollout-1.jsonl", meta);
    // The first versions stored the working directory only in the prompt.
    let told = concat!(
        r#"{"id":"c0","timestamp":"2025-06-01T10:00:00Z","instructions":null}"#,
        "\n",
        r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>\nCurrent working directory: /home/ann/calc\n</environment_context>"}]}"#,
    );
    let first = fixture.file("home/.codex/sessions/2025/06/01/rollout-0.jsonl", told);
    fixture.file(
        "home/.mxd/projects.json",
        r#"[{"id":"01JP","path":"/home/ann/calc"},{"id":"../..","path":"/home/ann/calc"}]"#,
    );
    let task = fixture.file("home/.mxd/projects/01JP/plugin/matrix/tasks/01JT.jsonl", "{}");
    std::os::unix::fs::symlink(&home, home.join(".codex/sessions/loop")).unwrap();
    let homes = Homes::locate(Some(&home), |_| None);
    let found = candidates(Wanted::In(Path::new("/home/ann/calc"), &homes), None).unwrap();
    let expected = [(task, Origin::Matrix), (inside, Origin::Claude), (first, Origin::Codex), (rollout, Origin::Codex)];
    assert_eq!(found, expected.map(|(path, origin)| (path, Some(origin))));
    let moved = Homes::locate(Some(&home), |name| (name == "CODEX_HOME").then(|| "/elsewhere".into()));
    assert_eq!(moved.codex.as_deref(), Some(Path::new("/elsewhere")));
}

/// Random combinations of the parts of real lines.
fn line() -> impl Strategy<Value = Vec<u8>> {
    let key = prop::sample::select(vec![
        "type",
        "uuid",
        "parentUuid",
        "message",
        "content",
        "payload",
        "timestamp",
        "ts",
        "eid",
        "parentEid",
        "body",
        "id",
        "sessionId",
        "isSidechain",
        "call_id",
        "output",
        "role",
        "text",
        "tool_use_id",
        "name",
        "input",
        "source",
    ]);
    let word = prop::sample::select(vec![
        "user",
        "assistant",
        "system",
        "tool_use",
        "tool_result",
        "response_item",
        "session_meta",
        "message",
        "compacted",
        "event_msg",
        "thread_rolled_back",
        "compact_marker",
        "compact_started",
        "assistant_text",
        "a",
        "b",
        "2026-01-01T00:00:00Z",
    ]);
    let leaf = prop_oneof![
        word.prop_map(serde_json::Value::from),
        any::<i64>().prop_map(serde_json::Value::from),
        any::<bool>().prop_map(serde_json::Value::from),
        Just(serde_json::Value::Null),
        "\\PC{0,6}".prop_map(serde_json::Value::from),
    ];
    let value = leaf.prop_recursive(4, 24, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
            prop::collection::hash_map(key.clone(), inner, 0..6)
                .prop_map(|map| map.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ]
    });
    prop_oneof![
        8 => value.prop_map(|value| value.to_string().into_bytes()),
        1 => prop::collection::vec(any::<u8>(), 0..60),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]
    #[test]
    fn any_file_is_read_without_panicking(lines in prop::collection::vec(line(), 0..24)) {
        let mut fixture = Fixture::new();
        let path = fixture.file("x.jsonl", lines.join(&b'\n'));
        for origin in Origin::ALL {
            let foreign = read(&path, Some(origin)).unwrap();
            let blobs = Blobs::new(fixture.disk.clone(), fixture.folder.path().join("blobs"));
            let (sessions, disk) = (fixture.sessions(), fixture.disk.clone());
            let first = store_sessions(&disk, &sessions, &blobs, &mut fixture.tree, &foreign, SystemClock.now()).unwrap();
            let again = store_sessions(&disk, &sessions, &blobs, &mut fixture.tree, &foreign, SystemClock.now()).unwrap();
            prop_assert!(again.iter().all(|imported| imported.status == ImportStatus::Known));
            for imported in first {
                let active = sessions.active(imported.task).unwrap();
                prop_assert!(active.state().turns.open.is_empty());
                prop_assert_eq!((active.damage.bad_lines, active.damage.gaps), (0, 0));
            }
        }
    }
}
