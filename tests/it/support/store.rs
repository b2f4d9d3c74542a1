//! A store to test with: a clock that ticks by itself, seeded ids, sample bodies of every kind that folds look at.

use std::borrow::Borrow;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use mxd::base::{AskId, Clock, IdSource, Json, MessageId, MicroUsd, TaskId, Timestamp, TurnId};
use mxd::model::ask::{Ask, AskMode, Subject};
use mxd::model::content::Content;
use mxd::model::conversation::ToolUse;
use mxd::model::event::{
    AssistantText, Body, CompactMarker, CompactStarted, CompactTrigger, Event, HeadMoved, MoveReason, StopReason,
    ToolResult, TurnEnded,
};
use mxd::model::fold::SessionState;
use mxd::model::message::{Message, MessageSource};
use mxd::model::usage::{Tokens, Usage};
use mxd::store::disk::Disk;
use mxd::store::writer::Options;
use mxd::store::{Durability, Sessions, Store};

/// A clock that moves one millisecond whenever it is read.
pub struct TickingClock(AtomicI64);

impl Clock for TickingClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

pub fn clock() -> Arc<dyn Clock> {
    Arc::new(TickingClock(AtomicI64::new(1_800_000_000_000)))
}

/// A project's folder, a disk, and what is needed to start stores on it again and again.
#[derive(Clone)]
pub struct Bench {
    pub disk: Arc<dyn Disk>,
    pub folder: PathBuf,
    pub ids: IdSource,
    pub durability: Durability,
}

impl Bench {
    pub fn new(disk: impl Disk, folder: impl Into<PathBuf>) -> Self {
        let ids = IdSource::seeded(clock(), 7);
        Self { disk: Arc::new(disk), folder: folder.into(), ids, durability: Durability::Sync }
    }

    /// Returns a store as a new process would start it.
    pub fn store(&self) -> Store {
        let options = Options {
            disk: self.disk.clone(),
            clock: clock(),
            ids: self.ids.clone(),
            sessions: self.sessions_folder(),
            blobs: self.folder.join("blobs"),
            durability: self.durability,
        };
        Store::start(options).unwrap()
    }

    pub fn sessions_folder(&self) -> PathBuf {
        self.folder.join("sessions")
    }

    pub fn sessions(&self) -> Sessions {
        Sessions::new(self.disk.clone(), self.sessions_folder())
    }

    pub fn log(&self, task: TaskId) -> PathBuf {
        self.sessions().path(task)
    }

    pub fn task(&self) -> TaskId {
        TaskId::fresh(&self.ids)
    }

    /// Returns every event in the file, in order, and how many lines hold none.
    pub fn stream(&self, task: TaskId) -> (Vec<Event>, usize) {
        let mut events = Vec::new();
        let bad = self.sessions().stream(task, |event| events.push(event)).unwrap();
        (events, bad)
    }
}

pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    thread_local! {
        static RUNTIME: tokio::runtime::Runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    }
    RUNTIME.with(|runtime| runtime.block_on(future))
}

/// Returns how many cases a test tries: `usual`, or what `MXD_TEST_CASES` says.
pub fn cases(usual: u32) -> u32 {
    std::env::var("MXD_TEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(usual)
}

/// Returns the names of the files beside a log that start with its name.
pub fn beside(disk: &dyn Disk, log: &Path, ending: &str) -> Vec<PathBuf> {
    let start = format!("{}.{ending}", log.file_name().unwrap().to_string_lossy());
    let names = disk.list(log.parent().unwrap()).unwrap();
    let names = names.iter().filter(|name| name.to_string_lossy().starts_with(&start));
    names.map(|name| log.with_file_name(name)).collect()
}

/// Returns what an event was before the store filled anything in, for telling whether it was ever handed in.
pub fn fingerprint(body: &Body) -> String {
    if let Body::AssistantText(AssistantText { text }) = body {
        // The long ones: a hash is enough, and much faster than spelling them out.
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        return format!("text {} {:x}", text.len(), hasher.finish());
    }
    let mut body = body.clone();
    match &mut body {
        Body::CompactMarker(marker) => *marker.carry = SessionState::default(),
        Body::HeadMoved(moved) => {
            moved.from = None;
            *moved.carry = SessionState::default();
        }
        _ => {}
    }
    format!("{body:?}")
}

pub fn ids<E: Borrow<Event>>(events: &[E]) -> Vec<mxd::base::EventId> {
    events.iter().map(|event| event.borrow().id).collect()
}

/// Events as they are read back: nobody shares them any more.
pub fn owned(events: Vec<Arc<Event>>) -> Vec<Event> {
    events.into_iter().map(Arc::unwrap_or_clone).collect()
}

pub fn text(text: impl Into<String>) -> Body {
    AssistantText { text: text.into() }.into()
}

pub fn message(id: MessageId, body: impl Into<String>) -> Body {
    Message::new(id, Timestamp::EPOCH, MessageSource::User, body).into()
}

pub fn usage(model: &str, output: u64, cost: Option<u64>) -> Body {
    let tokens = Tokens { input: 3, output, cache_read: 5, cache_write_5m: 7, cache_write_1h: 11 };
    let cost = cost.map(MicroUsd);
    Usage { tokens, model: model.to_owned(), cost, context_window: 200_000, estimated: false }.into()
}

pub fn call(call: &str) -> Body {
    let input = Json::parse("{\"path\": \"a/b\"}").unwrap();
    ToolUse { call: call.to_owned(), name: "mcp__files__read".to_owned(), input, malformed: None }.into()
}

pub fn result(call: &str) -> Body {
    ToolResult {
        call: call.to_owned(),
        name: "mcp__files__read".to_owned(),
        content: Content::text("ok"),
        is_error: false,
        images: Vec::new(),
        full: None,
        background: None,
        ended: None,
        cwd: None,
        permission: None,
        duration_ms: 3,
    }
    .into()
}

pub fn turn_ended(ids: &IdSource) -> Body {
    TurnEnded { turn: TurnId::fresh(ids), stop: StopReason::EndTurn }.into()
}

pub fn ask(id: AskId, question: impl Into<String>) -> Body {
    Ask {
        id,
        subject: Subject::Clarify,
        question: question.into(),
        detail: String::new(),
        choices: Vec::new(),
        default: None,
        mode: AskMode::Blocks,
        deadline: None,
        tool_call: None,
    }
    .into()
}

pub fn compact_started() -> Body {
    CompactStarted { trigger: CompactTrigger::Manual }.into()
}

pub fn compact_marker(summary: impl Into<String>) -> Body {
    CompactMarker { summary: summary.into(), tokens_before: 100, tokens_after: 10, carry: Box::default() }.into()
}

pub fn head_moved(to: Option<mxd::base::EventId>) -> Body {
    HeadMoved { to, from: None, reason: MoveReason::Rewind, carry: Box::default() }.into()
}
