use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use super::*;
use crate::base::{Clock as _, EventId, IdSource, Json, MessageId, SystemClock, TaskId, Timestamp};
use crate::model::content::Content;
use crate::model::conversation::ToolUse;
use crate::model::event::{
    AssistantText, Body, Event, HeadMoved, MoveReason, StopReason, ToolResult, TurnEnded, VERSION, Verdict,
};
use crate::model::fold::OpenCall;
use crate::model::message::{Message, MessageSource};
use crate::model::search::{Hit, HitKind};
use crate::model::task::{TaskNode, TaskResult};
use crate::store::{RealDisk, line};

/// A project in a temporary folder.
struct Project {
    folder: tempfile::TempDir,
    ids: IdSource,
    tree: Tree,
}

impl Project {
    fn new() -> Self {
        let ids = IdSource::seeded(Arc::new(SystemClock), 7);
        let root = TaskNode::new(TaskId::fresh(&ids), "orchestrator", "orchestrator", SystemClock.now());
        let project = Self { folder: tempfile::tempdir().unwrap(), ids, tree: Tree::new(root) };
        std::fs::create_dir(project.folder.path().join("sessions")).unwrap();
        project
    }

    fn root(&self) -> TaskId {
        self.tree.root_id()
    }

    fn task(&mut self, title: &str) -> TaskId {
        let node = TaskNode::new(TaskId::fresh(&self.ids), title, "engineer", SystemClock.now());
        let id = node.id;
        self.tree.insert(node, self.root()).unwrap();
        id
    }

    fn search(&self) -> Search {
        let disk = Arc::new(RealDisk);
        Search {
            sessions: Sessions::new(disk.clone(), self.folder.path().join("sessions")),
            blobs: Blobs::new(disk, self.folder.path().join("blobs")),
            index: self.index(),
            lock: self.folder.path().join("search.lock"),
        }
    }

    fn index(&self) -> PathBuf {
        self.folder.path().join("search.sqlite")
    }

    /// Appends an event as the store does, and returns its id.
    fn append_at(&self, task: TaskId, parent: Option<EventId>, ts: Timestamp, body: impl Into<Body>) -> EventId {
        let id = EventId::fresh(&self.ids);
        let event = Event { v: VERSION, id, parent, ts, run: None, batch: None, body: body.into() };
        let mut bytes = Vec::new();
        line::encode(&event, &mut bytes).unwrap();
        self.append_bytes(task, &bytes);
        id
    }

    fn append_bytes(&self, task: TaskId, bytes: &[u8]) {
        let path = self.search().sessions.path(task);
        OpenOptions::new().create(true).append(true).open(path).unwrap().write_all(bytes).unwrap();
    }

    fn append(&self, task: TaskId, body: impl Into<Body>) -> EventId {
        let parent = self.search().sessions.last_page(task, 1).unwrap().events.last().map(|event| event.id);
        self.append_at(task, parent, SystemClock.now(), body)
    }

    fn say(&self, task: TaskId, words: &str) -> EventId {
        self.append(task, AssistantText { text: words.to_owned() })
    }

    fn ask(&self, question: &SearchQuery) -> SearchResults {
        self.search().find(Some(&self.tree), question).unwrap()
    }

    fn find(&self, words: &str) -> Vec<Hit> {
        self.ask(&SearchQuery { words: words.to_owned(), limit: 50, ..SearchQuery::default() }).hits
    }

    fn found(&self, words: &str) -> Vec<Option<EventId>> {
        self.find(words).into_iter().map(|hit| hit.event).collect()
    }
}

fn message(project: &Project, words: &str) -> Message {
    let id = MessageId::fresh(&project.ids);
    Message::new(id, SystemClock.now(), MessageSource::User, words)
}

#[test]
fn every_kind_of_text_is_found_with_its_event() {
    let mut project = Project::new();
    let task = project.task("Mend the parser");
    project
        .tree
        .edit(task, |node| {
            node.description = "Grammar of commas".to_owned();
            let result = "Commas are accepted now".to_owned();
            node.results.push(TaskResult { verdict: Verdict::Passed, result, at: SystemClock.now() });
        })
        .unwrap();
    let asked = project.append(task, message(&project, "Please look at the lexer"));
    let said = project.say(task, "The tokenizer drops a comma");
    let input = Json::parse(r#"{"command":"cargo test lexer_accepts"}"#).unwrap();
    let called = project.append(task, ToolUse { call: "c1".into(), name: "bash".into(), input, malformed: None });
    let open = OpenCall { call: "c1".into(), name: "bash".into() };
    let gave = project.append(
        task,
        ToolResult { content: Content::text("2 passed in 0.01 s"), ..ToolResult::unrun(&open, "", false) },
    );
    project.append(task, TurnEnded { turn: crate::base::TurnId::fresh(&project.ids), stop: StopReason::EndTurn });

    assert_eq!(project.found("please lexer"), [Some(asked)]);
    assert_eq!(project.found("TOKENI"), [Some(said)]);
    assert_eq!(project.found("lexer_accepts"), [Some(called)]);
    assert_eq!(project.found("\"2 passed\""), [Some(gave)]);
    let title = project.find("mend parser");
    assert_eq!((title[0].place, title[0].event, title[0].task), (HitKind::Title, None, task));
    assert_eq!(project.find("grammar")[0].place, HitKind::Description);
    let result = project.find("accepted");
    assert_eq!((result[0].place, result[0].excerpt.as_str()), (HitKind::Result, "Commas are accepted now"));
    assert_eq!(project.found("nonsense"), []);
    assert_eq!(project.found("comma tokenizer please"), [], "all words in one place");
}

#[test]
fn a_title_ranks_above_tool_output() {
    let mut project = Project::new();
    let noisy = project.task("Something else");
    let open = OpenCall { call: "c".into(), name: "bash".into() };
    project.append(noisy, ToolUse { call: "c".into(), name: "bash".into(), input: Json::object(), malformed: None });
    project.append(
        noisy,
        ToolResult { content: Content::text("budget budget budget"), ..ToolResult::unrun(&open, "", false) },
    );
    let wanted = project.task("Limit the budget");
    assert_eq!(project.find("budget")[0].task, wanted);
}

#[test]
fn only_new_events_are_read_and_nothing_is_found_twice() {
    let mut project = Project::new();
    let task = project.task("A task");
    let first = project.say(task, "apples");
    assert_eq!(project.found("apples"), [Some(first)]);
    // Indexed bytes are not read again: a changed beginning of the same length is not noticed.
    let path = project.search().sessions.path(task);
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("apples", "cherry")).unwrap();
    let second = project.say(task, "pears");
    assert_eq!(project.found("pears"), [Some(second)]);
    assert_eq!(project.found("cherry"), [], "the beginning was not read again");
    for _ in 0..3 {
        assert_eq!(project.found("pears").len(), 1);
    }
}

#[test]
fn a_truncated_or_replaced_session_is_read_again() {
    let mut project = Project::new();
    let task = project.task("A task");
    project.say(task, "apples");
    assert_eq!(project.found("apples").len(), 1);
    std::fs::remove_file(project.search().sessions.path(task)).unwrap();
    assert_eq!(project.found("apples"), []);
    let other = project.say(task, "pears and more than before, so that it is longer");
    assert_eq!(project.found("pears"), [Some(other)]);
    assert_eq!(project.found("apples"), []);
}

#[test]
fn a_torn_end_is_ignored_and_damage_in_the_middle_hides_nothing() {
    let mut project = Project::new();
    let task = project.task("A task");
    project.say(task, "apples");
    project.append_bytes(task, b"{\"v\":1,\"id\":\"torn pea");
    assert_eq!(project.found("apples").len(), 1);
    assert_eq!(project.found("torn"), []);
    project.append_bytes(task, b"\n\xff\xfe garbage\n");
    let behind = project.append_at(task, None, SystemClock.now(), AssistantText { text: "cherries".to_owned() });
    assert_eq!(project.found("cherries"), [Some(behind)]);
    assert_eq!(project.found("cherries"), [Some(behind)], "what stands behind damage is kept once");
}

/// A kind of damage to an index.
type Damage = Box<dyn Fn(&std::path::Path)>;

#[test]
fn a_missing_foreign_torn_or_newer_index_is_rebuilt_silently() {
    let mut project = Project::new();
    let task = project.task("A task");
    let event = project.say(task, "apples");
    assert_eq!(project.found("apples"), [Some(event)]);
    let whole = std::fs::read(project.index()).unwrap();
    let damages: [(&str, Damage); 7] = [
        ("deleted", Box::new(|path| std::fs::remove_file(path).unwrap())),
        (
            "text",
            Box::new(|path| std::fs::write(path, "this is no database at all, but long enough to look at").unwrap()),
        ),
        ("empty", Box::new(|path| std::fs::write(path, "").unwrap())),
        (
            "torn",
            Box::new({
                let whole = whole.clone();
                move |path| std::fs::write(path, &whole[..whole.len() / 2]).unwrap()
            }),
        ),
        (
            "zeros",
            Box::new({
                let whole = whole.clone();
                move |path| {
                    let mut bytes = whole.clone();
                    let from = bytes.len() / 3;
                    bytes[from..].fill(0);
                    std::fs::write(path, bytes).unwrap();
                }
            }),
        ),
        (
            "newer",
            Box::new(|path| {
                std::fs::remove_file(path).unwrap();
                rusqlite::Connection::open(path)
                    .unwrap()
                    .execute_batch("create table x (y); pragma user_version=99;")
                    .unwrap();
            }),
        ),
        (
            "folder",
            Box::new(|path| {
                let _ = std::fs::remove_file(path);
                std::fs::create_dir(path).unwrap();
                std::fs::write(path.join("x"), "y").unwrap();
            }),
        ),
    ];
    for (what, damage) in damages {
        for ending in ["-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{}{ending}", project.index().display()));
        }
        damage(&project.index());
        assert_eq!(project.found("apples"), [Some(event)], "{what}");
        assert!(project.index().is_file(), "{what}");
    }
}

#[test]
fn search_works_without_write_access() {
    let mut project = Project::new();
    let task = project.task("A task");
    let event = project.say(task, "apples");
    let search =
        Search { index: "/proc/none/search.sqlite".into(), lock: "/proc/none/search.lock".into(), ..project.search() };
    let question = SearchQuery { words: "apples".to_owned(), limit: 5, ..SearchQuery::default() };
    assert_eq!(search.find(Some(&project.tree), &question).unwrap().hits[0].event, Some(event));
}

#[test]
fn time_and_task_filter_the_search() {
    let mut project = Project::new();
    let (above, other) = (project.task("above"), project.task("other"));
    let node = TaskNode::new(TaskId::fresh(&project.ids), "below", "engineer", SystemClock.now());
    let below = node.id;
    project.tree.insert(node, above).unwrap();
    let old: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    let new: Timestamp = "2026-06-01T00:00:00Z".parse().unwrap();
    let early = project.append_at(below, None, old, AssistantText { text: "apples".to_owned() });
    let late = project.append_at(other, None, new, AssistantText { text: "apples".to_owned() });
    let ask = |question: SearchQuery| {
        let question = SearchQuery { words: "apples".to_owned(), limit: 9, ..question };
        project.ask(&question).hits.into_iter().filter_map(|hit| hit.event).collect::<Vec<_>>()
    };
    let middle = "2026-03-01T00:00:00Z".parse().ok();
    assert_eq!(ask(SearchQuery { since: middle, ..SearchQuery::default() }), [late]);
    assert_eq!(ask(SearchQuery { until: middle, ..SearchQuery::default() }), [early]);
    assert_eq!(ask(SearchQuery { below: Some(above), ..SearchQuery::default() }), [early]);
    assert_eq!(ask(SearchQuery { below: Some(other), ..SearchQuery::default() }), [late]);
    let one = project.ask(&SearchQuery { words: "apples".to_owned(), limit: 1, ..SearchQuery::default() });
    assert_eq!((one.hits.len(), one.more), (1, true));
}

#[test]
fn rewound_text_is_found_last_and_marked() {
    let mut project = Project::new();
    let task = project.task("A task");
    let first = project.say(task, "plums one");
    let second = project.say(task, "plums two");
    assert!(project.find("plums").iter().all(|hit| !hit.rewound));
    let moved = HeadMoved { to: Some(first), from: Some(second), reason: MoveReason::Rewind, carry: Box::default() };
    project.append_at(task, Some(first), SystemClock.now(), moved);
    let hits = project.find("plums");
    assert_eq!(
        hits.iter().map(|hit| (hit.event, hit.rewound)).collect::<Vec<_>>(),
        [(Some(first), false), (Some(second), true)]
    );
}

#[test]
fn a_copied_conversation_is_found_once() {
    let mut project = Project::new();
    let (source, copy) = (project.task("source"), project.task("copy"));
    let event = project.say(source, "apricots");
    let line = std::fs::read(project.search().sessions.path(source)).unwrap();
    project.append_bytes(copy, &line);
    assert_eq!(project.found("apricots"), [Some(event)]);
}

#[test]
fn deleted_tasks_and_old_titles_are_not_found() {
    let mut project = Project::new();
    let task = project.task("Old name");
    assert_eq!(project.find("old name").len(), 1);
    project.tree.edit(task, |node| node.title = "New name".to_owned()).unwrap();
    assert_eq!(project.find("old name").len(), 0);
    assert_eq!(project.find("new name").len(), 1);
    project.tree.remove(task).unwrap();
    assert_eq!(project.find("name").len(), 0);
}

#[test]
fn concurrent_searches_index_everything_once() {
    let mut project = Project::new();
    let tasks: Vec<_> = (0..6).map(|number| project.task(&format!("task {number}"))).collect();
    for task in &tasks {
        let mut bytes = Vec::new();
        for number in 0..200 {
            let body = AssistantText { text: format!("apples {number}") }.into();
            let id = EventId::fresh(&project.ids);
            let event = Event { v: VERSION, id, parent: None, ts: SystemClock.now(), run: None, batch: None, body };
            line::encode(&event, &mut bytes).unwrap();
        }
        project.append_bytes(*task, &bytes);
    }
    let question = SearchQuery { words: "apples".to_owned(), limit: 5_000, ..SearchQuery::default() };
    let found: Vec<usize> = std::thread::scope(|scope| {
        let looking = || project.search().find(Some(&project.tree), &question).unwrap().hits.len();
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(looking)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(found, [1200; 4]);
}

#[test]
fn an_excerpt_is_one_line_around_the_words_and_marks_them() {
    let mut project = Project::new();
    let task = project.task("A task");
    let text = format!("{}\n\n  the\tneedle \n is here {}", "hay ".repeat(500), "straw ".repeat(500));
    project.say(task, &text);
    let hit = &project.find("needle")[0];
    assert!(hit.excerpt.contains("hay the needle is here straw") && hit.excerpt.len() < 400, "{}", hit.excerpt);
    assert!(hit.excerpt.starts_with('…') && hit.excerpt.ends_with('…'));
    assert_eq!(hit.marks.iter().map(|mark| &hit.excerpt[mark.clone()]).collect::<Vec<_>>(), ["needle"]);
}
