//! Sessions to measure on: what agents really write, in the proportions they write it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mxd::base::{EventId, IdSource, Json, MessageId, RunId, SystemClock, TaskId, Timestamp, TurnId};
use mxd::model::content::Content;
use mxd::model::conversation::{Thought, ToolUse, Wire};
use mxd::model::event::{
    AssistantText, Body, CompactMarker, CompactStarted, CompactTrigger, Event, MessagesConsumed, StopReason,
    ToolResult, TurnEnded, VERSION,
};
use mxd::model::fold::SessionState;
use mxd::model::message::{Message, MessageSource};
use mxd::model::usage::{Tokens, Usage};
use mxd::store::{line, session};

use crate::Outcome;

pub fn ids() -> IdSource {
    IdSource::new(Arc::new(SystemClock))
}

/// Returns text as code and prose are: quotes, newlines, indentation, now and then a letter beyond ASCII.
pub fn text(bytes: usize) -> String {
    const PARAGRAPH: &str = "    let name = \"value\"; // the largest naïve answer is kept\n\
        The tests pass, but one of them waits for a second thread that is never started.\n\
        \tif (left < right) { return lookup(table, key) ?? default; }\n";
    let mut text: String = PARAGRAPH.chars().cycle().take(bytes).collect();
    while text.len() > bytes {
        text.pop();
    }
    text
}

/// How large the lines are that the append rows write.
#[derive(Clone, Copy)]
pub enum Size {
    /// About 600 bytes: a sentence of the model.
    Small,
    /// About 3 KB: what a command printed.
    Large,
}

impl Size {
    pub fn body(self) -> Body {
        match self {
            Self::Small => AssistantText { text: text(440) }.into(),
            Self::Large => tool_result("call-1".to_owned(), 2700).into(),
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Small => "600 B",
            Self::Large => "3 KB",
        }
    }

    /// Returns the line that the store would write, for the raw loop.
    pub fn line(self) -> Outcome<Vec<u8>> {
        let ids = ids();
        let mut writer = Session::new(&ids);
        writer.push(self.body())?;
        let event = stamped(&ids, writer.head, writer.run, self.body());
        let mut line = Vec::new();
        line::encode(&event, &mut line)?;
        Ok(line)
    }
}

fn tool_result(call: String, bytes: usize) -> ToolResult {
    ToolResult {
        call,
        name: "mcp__mxd__bash".to_owned(),
        content: Content::text(text(bytes)),
        is_error: false,
        images: Vec::new(),
        full: None,
        background: None,
        ended: None,
        cwd: None,
        permission: None,
        duration_ms: 12,
    }
}

fn stamped(ids: &IdSource, parent: Option<EventId>, run: RunId, body: Body) -> Event {
    let ts = Timestamp::from_millis(1_700_000_000_123);
    Event { v: VERSION, id: EventId::fresh(ids), parent, ts, run: Some(run), batch: None, body }
}

/// Returns the events of a session that shows at least so many entries.
pub fn events(ids: &IdSource, entries: usize) -> Outcome<Vec<Event>> {
    // A turn shows its thinking, its words, and its call with the result.
    const SHOWN: usize = 3;
    let mut session = Session { kept: Some(Vec::new()), ..Session::new(ids) };
    for turn in 0..entries.div_ceil(SHOWN) {
        session.lines.clear();
        session.round(turn)?;
    }
    Ok(session.kept.unwrap_or_default())
}

/// A session's lines in memory.
struct Session<'a> {
    ids: &'a IdSource,
    run: RunId,
    head: Option<EventId>,
    lines: Vec<u8>,
    /// The events behind the lines, if somebody wants them.
    kept: Option<Vec<Event>>,
}

impl<'a> Session<'a> {
    fn new(ids: &'a IdSource) -> Self {
        Self { ids, run: RunId::fresh(ids), head: None, lines: Vec::new(), kept: None }
    }

    fn push(&mut self, body: impl Into<Body>) -> Outcome {
        let event = stamped(self.ids, self.head, self.run, body.into());
        self.head = Some(event.id);
        line::encode(&event, &mut self.lines)?;
        if let Some(kept) = &mut self.kept {
            kept.push(event);
        }
        Ok(())
    }

    /// Adds whole turns until `bytes` are there: a message now and then, thinking, words, a call, its result, the bill.
    fn fill(&mut self, bytes: usize) -> Outcome {
        let mut turn = 0_usize;
        while self.lines.len() < bytes {
            self.round(turn)?;
            turn += 1;
        }
        Ok(())
    }

    /// A turn, and now and then what a user said before it.
    fn round(&mut self, turn: usize) -> Outcome {
        if turn.is_multiple_of(16) {
            let id = MessageId::fresh(self.ids);
            let at = Timestamp::from_millis(1_700_000_000_000);
            self.push(Message::new(id, at, MessageSource::User, text(300)))?;
            self.push(MessagesConsumed { ids: vec![id] })?;
        }
        self.turn(turn)
    }

    fn turn(&mut self, number: usize) -> Outcome {
        let call = format!("toolu_{number:016}");
        let input = Json::of(&serde_json::json!({ "command": text(90), "timeout_ms": 120_000 }))?;
        self.push(Thought {
            text: text(500),
            signature: Some("c2ln".repeat(60)),
            redacted: None,
            wire: Wire::Anthropic,
        })?;
        self.push(AssistantText { text: text(250) })?;
        self.push(ToolUse { call: call.clone(), name: "mcp__mxd__bash".to_owned(), input, malformed: None })?;
        self.push(Usage {
            tokens: Tokens { input: 4, output: 310, cache_read: 81_234, cache_write_5m: 900, cache_write_1h: 0 },
            model: "a-model-of-some-name".to_owned(),
            cost: None,
            context_window: 200_000,
            estimated: false,
        })?;
        self.push(TurnEnded { turn: TurnId::fresh(self.ids), stop: StopReason::ToolUse })?;
        // From one line to a file of fourteen kilobytes.
        self.push(tool_result(call, 200 + 700 * (number % 21)))
    }
}

/// A session on disk, and what of it is active.
pub struct Fixture {
    pub task: TaskId,
    pub folder: PathBuf,
    pub path: PathBuf,
    pub bytes: u64,
    /// Where the active part starts.
    pub active_from: u64,
}

impl Fixture {
    /// Writes a session of `bytes`, of which the last `active` are behind a compaction. As many as all: there is none.
    pub fn write(folder: &Path, bytes: usize, active: usize) -> Outcome<Self> {
        let ids = ids();
        let task = TaskId::fresh(&ids);
        let mut session = Session::new(&ids);
        let mut active_from = 0;
        if active < bytes {
            session.fill(bytes - active)?;
            active_from = session.lines.len() as u64;
            session.push(CompactStarted { trigger: CompactTrigger::Threshold })?;
            let carry = Box::new(SessionState::default());
            session.push(CompactMarker { summary: text(4000), tokens_before: 180_000, tokens_after: 9_000, carry })?;
        }
        session.fill(bytes)?;
        let path = folder.join(session::file_name(task));
        let mut file = std::fs::File::create(&path)?;
        file.write_all(&session.lines)?;
        // What is still to be written out would be measured as somebody else's work.
        file.sync_all()?;
        Ok(Self { task, folder: folder.to_owned(), path, bytes: session.lines.len() as u64, active_from })
    }

    /// Returns the lines of the active part.
    pub fn active_text(&self) -> Outcome<String> {
        let all = std::fs::read(&self.path)?;
        Ok(String::from_utf8(all[usize::try_from(self.active_from)?..].to_vec())?)
    }
}
