//! A project with tasks in every state, and sessions with every kind of entry. Titles and texts are as difficult as
//! real ones: wide, combining, right to left, with control characters, too long.

use serde_json::json;
use ulid::Ulid;

use crate::base::{AskId, EventId, Json, MessageId, MicroUsd, ProjectId, TaskId, Timestamp};
use crate::engine::snapshot::{DiffStat, ProjectView, Snapshot, TaskView};
use crate::model::ask::{Ask, AskMode, Choice, Subject};
use crate::model::conversation::{Thought, ToolUse, Wire};
use crate::model::event::{
    AssistantText, Event, MessagesConsumed, ResumeShape, RunStarted, StopReason, ToolResult, TurnEnded,
};
use crate::model::fold::ContextSize;
use crate::model::live::Activity;
use crate::model::live_turn::LiveTurns;
use crate::model::message::{Message, MessageSource};
use crate::model::task::{Colour, Status, TaskNode};
use crate::model::usage::{Tokens, Usage};
use crate::model::{Body, Content};
use crate::ui::testing::screen::NOW;

/// The tasks of the fixture.
pub struct Ids {
    pub root: TaskId,
    pub login: TaskId,
    pub store: TaskId,
    pub callback: TaskId,
    pub docs: TaskId,
    pub wide: TaskId,
    pub failed: TaskId,
    pub draft: TaskId,
    pub closed: TaskId,
    pub ask: AskId,
}

pub fn task(number: u128) -> TaskId {
    TaskId::from_ulid(Ulid::from_parts(1_794_808_000_000, number))
}

impl Default for Ids {
    fn default() -> Self {
        Self {
            root: task(1),
            login: task(2),
            store: task(3),
            callback: task(4),
            docs: task(5),
            wide: task(6),
            failed: task(7),
            draft: task(8),
            closed: task(9),
            ask: AskId::from_ulid(Ulid::from_parts(1_794_808_000_000, 77)),
        }
    }
}

fn ago(seconds: i64) -> Timestamp {
    Timestamp::from_millis(NOW - seconds * 1_000)
}

fn view(id: TaskId, title: &str, status: Status, activity: Activity) -> TaskView {
    let mut node = TaskNode::new(id, title, "engineer", ago(3_600));
    node.status = status;
    TaskView { activity, alive: status == Status::InProgress, ..TaskView::of(node) }
}

fn used(view: &mut TaskView, tokens: u64, cost: u64) {
    let usage = Usage {
        tokens: Tokens { input: tokens / 4, output: tokens / 4, cache_read: tokens / 2, ..Tokens::default() },
        model: "sonnet".to_owned(),
        cost: Some(MicroUsd(cost)),
        context_window: 200_000,
        estimated: false,
    };
    view.usage.on_usage(&usage);
    view.usage.context = Some(ContextSize { tokens: 41_000, window: 200_000 });
    view.model = Some("sonnet".to_owned());
}

pub fn snapshot() -> Snapshot {
    let ids = Ids::default();
    let mut root = view(ids.root, "orchestrator", Status::InProgress, Activity::Idle);
    used(&mut root, 90_000, 210_000);
    let mut login = view(ids.login, "add oauth login", Status::InProgress, Activity::Tool);
    login.since = Some(ago(74));
    used(&mut login, 180_000, 310_000);
    let mut store = view(ids.store, "token store", Status::Passed, Activity::Stopped);
    store.diff = Some(DiffStat { files: 3, added: 84, removed: 3, dirty: false });
    used(&mut store, 60_000, 400_000);
    let mut callback = view(ids.callback, "callback route", Status::InProgress, Activity::Waiting);
    callback.asks.push(Ask {
        id: ids.ask,
        subject: Subject::Clarify,
        question: "Which path should the provider call back to?".to_owned(),
        detail: "The existing routes live under /auth, but the admin pages use /login.".to_owned(),
        choices: Choice::options(["/auth/callback", "/login/callback"]),
        default: None,
        mode: AskMode::Blocks,
        deadline: None,
        tool_call: None,
    });
    used(&mut callback, 40_000, 100_000);
    let docs = view(ids.docs, "docs", Status::Pending, Activity::Stopped);
    let mut wide = view(
        ids.wide,
        "日本語の題名 with 👩‍👩‍👧 emoji, e\u{301}, עברית and \u{1b}[31mcontrols\u{7} in a title that never ends",
        Status::InProgress,
        Activity::Thinking,
    );
    wide.since = Some(ago(4));
    wide.node.colour = Some(Colour::Purple);
    used(&mut wide, 42_000, 300_000);
    let mut failed = view(ids.failed, "flaky test", Status::Failed, Activity::Stopped);
    failed.diff = Some(DiffStat { files: 1, added: 2, removed: 2, dirty: true });
    used(&mut failed, 1_200, 99_000);
    let draft = view(ids.draft, "an idea for later", Status::Draft, Activity::Stopped);
    let closed = view(ids.closed, "spike", Status::Closed, Activity::Stopped);

    let mut tasks = vec![root, login, store, callback, docs, wide, failed, draft, closed];
    let parents = [
        (ids.login, ids.root),
        (ids.store, ids.login),
        (ids.callback, ids.login),
        (ids.docs, ids.root),
        (ids.wide, ids.root),
        (ids.failed, ids.wide),
        (ids.draft, ids.root),
        (ids.closed, ids.root),
    ];
    for (child, parent) in parents {
        for task in &mut tasks {
            if task.node.id == child {
                task.node.parent = Some(parent);
            }
            if task.node.id == parent {
                task.node.children.push(child);
            }
        }
    }
    let project = ProjectView {
        id: ProjectId::from_ulid(Ulid::from_parts(1, 1)),
        name: "matrix".to_owned(),
        path: "/home/me/matrix".into(),
        base_branch: "main".to_owned(),
        budget: None,
        max_running: 8,
        model: Some("sonnet".to_owned()),
        profiles: Vec::new(),
        bypass: crate::permit::Bypass::default(),
        broken_profiles: Vec::new(),
        selection: String::new(),
    };
    Snapshot { project, root: ids.root, tasks, quiet: false, live: LiveTurns::default(), clients: Vec::new() }
}

/// Returns event number `number`, which happened `seconds` ago.
pub fn event(number: u128, seconds: i64, body: Body) -> Event {
    let id = EventId::from_ulid(Ulid::from_parts(1_794_808_000_000, number));
    Event { v: 1, id, parent: None, ts: ago(seconds), run: None, batch: None, body }
}

fn said(number: u128, text: &str) -> Message {
    let id = MessageId::from_ulid(Ulid::from_parts(7, number));
    Message::new(id, ago(100), MessageSource::User, text)
}

fn call(id: &str, name: &str, input: &serde_json::Value) -> Body {
    let input = Json::of(input).unwrap();
    Body::ToolCall(ToolUse { call: id.to_owned(), name: format!("mcp__mxd__{name}"), input, malformed: None })
}

fn result(id: &str, name: &str, text: &str, millis: u64, is_error: bool) -> Body {
    Body::ToolResult(ToolResult {
        call: id.to_owned(),
        name: format!("mcp__mxd__{name}"),
        content: Content::text(text),
        is_error,
        images: Vec::new(),
        full: None,
        background: None,
        ended: None,
        cwd: None,
        permission: None,
        duration_ms: millis,
    })
}

const EDIT: &str = "Edited src/session/store.rs.\n--- src/session/store.rs\n+++ src/session/store.rs\n@@ -10,4 +10,6 @@\n fn open() {\n-    let ttl = 60;\n+    let ttl = Duration::from_secs(60);\n+    let tokens = Tokens::new(ttl);\n     store()\n }\n";

/// Returns the session of a task of the fixture.
pub fn events(of: TaskId) -> Vec<Event> {
    let ids = Ids::default();
    if of != ids.login {
        return Vec::new();
    }
    let first = said(1, "use the existing session store, please");
    let run = RunStarted { shape: ResumeShape::Fresh, profile: "worker".to_owned(), model: "sonnet".to_owned() };
    let thought = Thought {
        text: "The user wants the session store.\nLet me look.".to_owned(),
        signature: None,
        redacted: None,
        wire: Wire::Anthropic,
    };
    let consumed = MessagesConsumed { ids: vec![first.id] };
    let turn = TurnEnded { turn: crate::base::TurnId::from_ulid(Ulid::from_parts(1, 1)), stop: StopReason::ToolUse };
    let bodies = vec![
        Body::RunStarted(run),
        Body::Message(first),
        Body::MessagesConsumed(consumed),
        Body::Thinking(thought),
        Body::AssistantText(AssistantText {
            text: "The session store already has a **TTL**, so the tokens can live beside it. I'll add a column and a migration.\n\n- keep `Session` as it is\n- add `tokens`".to_owned(),
        }),
        call("1", "edit_file", &json!({"path": "src/session/store.rs", "edits": []})),
        result("1", "edit_file", EDIT, 12, false),
        call("2", "bash", &json!({"command": "cargo test -p session"})),
        result("2", "bash", "running 14 tests\n\u{1b}[32mtest result: ok\u{1b}[0m. 14 passed\n", 3_100, false),
        Body::TurnEnded(turn),
        call("3", "bash", &json!({"command": "cargo clippy --all"})),
        result("3", "bash", "error: unused variable `ttl`\nerror: could not compile", 800, true),
        call("4", "bash", &json!({"command": "cargo clippy"})),
    ];
    let count = i64::try_from(bodies.len()).unwrap();
    bodies
        .into_iter()
        .zip(0i64..)
        .map(|(body, at)| event(100 + u128::try_from(at).unwrap(), (count - at) * 4, body))
        .collect()
}
