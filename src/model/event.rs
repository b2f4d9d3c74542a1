//! An event: one line of a session. The envelope has its position in the chain, the body what happened.
//!
//! On disk: `{"v":1,"id":…,"parent":…,"ts":…,"run":…,"type":"assistant_text","body":{…}}`. The body is a nested
//! object, so that a reader that only follows the chain skips it unparsed. An unknown type or form is preserved as
//! [`Unknown`], with its exact text.

mod bodies;
mod read;

use std::borrow::Cow;

use serde::de::Error as _;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

pub use bodies::*;

use crate::base::{EventId, Json, RunId, Timestamp};
use crate::model::ask::Ask;
use crate::model::backend::BackendEvent;
use crate::model::conversation::{Thought, ToolUse};
use crate::model::hook::HookRan;
use crate::model::message::Message;
use crate::model::usage::Usage;
use crate::model::work::Work;

/// The version of the envelope that this program writes.
pub const VERSION: u16 = 1;

/// The position of a line in a batch: `[2, 3]` is the second of three.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch(pub u32, pub u32);

impl Batch {
    pub fn is_last(self) -> bool {
        self.0 >= self.1
    }
}

/// One event of a session, stamped by the store.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    pub v: u16,
    pub id: EventId,
    /// The parent in the chain. `None` for the first event.
    pub parent: Option<EventId>,
    pub ts: Timestamp,
    /// The run that wrote it. `None` if no run was alive.
    pub run: Option<RunId>,
    pub batch: Option<Batch>,
    pub body: Body,
}

/// The envelope of a line, parsed without the body.
#[derive(Clone, Debug, Deserialize)]
pub struct Header<'a> {
    pub v: u16,
    pub id: EventId,
    #[serde(default)]
    pub parent: Option<EventId>,
    pub ts: Timestamp,
    #[serde(default)]
    pub run: Option<RunId>,
    #[serde(default)]
    pub batch: Option<Batch>,
    #[serde(rename = "type", borrow)]
    pub kind: Cow<'a, str>,
    #[serde(borrow)]
    body: &'a RawValue,
}

impl<'a> Header<'a> {
    pub fn parse(line: &'a str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(line)
    }

    /// Returns the whole event. Never fails: an unknown body becomes [`Unknown`].
    pub fn into_event(self) -> Event {
        let body = Body::read(&self.kind, self.body);
        Event { v: self.v, id: self.id, parent: self.parent, ts: self.ts, run: self.run, batch: self.batch, body }
    }
}

impl Event {
    pub fn parse(line: &str) -> Result<Self, serde_json::Error> {
        match serde_json::from_str(line) {
            Ok(read::Plain(event)) => Ok(event),
            Err(_) => Header::parse(line).map(Header::into_event),
        }
    }

    /// Returns true if `line` starts as this version writes the line of event `id`. Another spelling of the line may
    /// still be that event.
    pub fn opens(line: &[u8], id: EventId) -> bool {
        const OPENING: &[u8] = b"{\"v\":1,\"id\":\"";
        let mut buffer = [0; ulid::ULID_LEN];
        let id = id.ulid().array_to_str(&mut buffer).as_bytes();
        line.strip_prefix(OPENING).is_some_and(|rest| rest.starts_with(id))
    }
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut line = serializer.serialize_struct("Event", 8)?;
        line.serialize_field("v", &self.v)?;
        line.serialize_field("id", &self.id)?;
        line.serialize_field("parent", &self.parent)?;
        line.serialize_field("ts", &self.ts)?;
        if let Some(run) = &self.run {
            line.serialize_field("run", run)?;
        }
        if let Some(batch) = &self.batch {
            line.serialize_field("batch", batch)?;
        }
        line.serialize_field("type", self.body.kind())?;
        line.serialize_field("body", &Payload(&self.body))?;
        line.end()
    }
}

/// Describes the envelope. The body of each type is described in `docs/dev/disk-format.md`.
impl schemars::JsonSchema for Event {
    fn schema_name() -> Cow<'static, str> {
        "Event".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "One event of a session. Types that a reader does not know are to be ignored.",
            "type": "object",
            "properties": {
                "v": {"type": "integer"},
                "id": generator.subschema_for::<EventId>(),
                "parent": generator.subschema_for::<Option<EventId>>(),
                "ts": generator.subschema_for::<Timestamp>(),
                "run": generator.subschema_for::<Option<RunId>>(),
                "type": {"type": "string", "examples": Body::KINDS},
                "body": {"type": "object"},
            },
            "required": ["v", "id", "parent", "ts", "type", "body"],
        })
    }
}

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Self::parse(raw.get()).map_err(D::Error::custom)
    }
}

/// A body that this version cannot interpret: preserved, displayed as "unknown", never dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    pub kind: String,
    pub body: Json,
    /// Why a known type could not be parsed. `None` if the type itself is unknown.
    pub problem: Option<String>,
}

/// Whether an event belongs to the conversation, which a fork copies, or to the lifecycle of the task, which it does
/// not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartOf {
    Conversation,
    Lifecycle,
}

struct Payload<'a>(&'a Body);

macro_rules! bodies {
    ($($(#[$doc:meta])* $name:ident($payload:ty) = $kind:literal, $part_of:ident;)*) => {
        /// What happened. Every variant is stored; [`crate::model::Live`] is for display only.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Body {
            $($(#[$doc])* $name($payload),)*
            /// An event of a newer version.
            Unknown(Unknown),
        }

        impl Body {
            /// Every type that this version can read, as stored.
            pub const KINDS: &'static [&'static str] = &[$($kind),*];

            /// Returns the stored name of the type.
            pub fn kind(&self) -> &str {
                match self {
                    $(Self::$name(_) => $kind,)*
                    Self::Unknown(unknown) => &unknown.kind,
                }
            }

            /// Returns what the event is part of. Unknown events count as conversation.
            pub fn part_of(&self) -> PartOf {
                match self {
                    $(Self::$name(_) => PartOf::$part_of,)*
                    Self::Unknown(_) => PartOf::Conversation,
                }
            }

            /// Deserializes the body of a known type.
            fn read_known<'de, D: Deserializer<'de>>(kind: &str, body: D) -> Result<Self, D::Error> {
                match kind {
                    $($kind => Deserialize::deserialize(body).map(Self::$name),)*
                    _ => Err(D::Error::custom("a type of a newer version")),
                }
            }

            fn read(kind: &str, raw: &RawValue) -> Self {
                let known = match kind {
                    $($kind => serde_json::from_str(raw.get()).map(Self::$name),)*
                    _ => return Self::Unknown(Unknown { kind: kind.to_owned(), body: raw.to_owned().into(), problem: None }),
                };
                known.unwrap_or_else(|error| Self::Unknown(Unknown {
                    kind: kind.to_owned(),
                    body: raw.to_owned().into(),
                    problem: Some(error.to_string()),
                }))
            }
        }

        $(impl From<$payload> for Body {
            fn from(payload: $payload) -> Self {
                Self::$name(payload)
            }
        })*

        impl Serialize for Payload<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self.0 {
                    $(Body::$name(payload) => payload.serialize(serializer),)*
                    Body::Unknown(unknown) => unknown.body.serialize(serializer),
                }
            }
        }
    };
}

// The variant, its payload, its stored name, and what it is part of. `model/fold.rs` describes how to add one.
bodies! {
    Message(Message) = "message", Conversation;
    MessagesConsumed(MessagesConsumed) = "messages_consumed", Conversation;
    MessagesWithdrawn(MessagesWithdrawn) = "messages_withdrawn", Conversation;
    SessionConfig(SessionConfig) = "session_config", Conversation;
    AssistantText(AssistantText) = "assistant_text", Conversation;
    Thinking(Thought) = "thinking", Conversation;
    ToolCall(ToolUse) = "tool_call", Conversation;
    ToolResult(ToolResult) = "tool_result", Conversation;
    Usage(Usage) = "usage", Conversation;
    TurnEnded(TurnEnded) = "turn_ended", Conversation;
    CompactStarted(CompactStarted) = "compact_started", Conversation;
    CompactMarker(CompactMarker) = "compact_marker", Conversation;
    ForkMarker(ForkMarker) = "fork_marker", Conversation;
    HandedOver(HandedOver) = "handed_over", Lifecycle;
    RunStarted(RunStarted) = "run_started", Lifecycle;
    RunEnded(RunEnded) = "run_ended", Lifecycle;
    DoneNotified(DoneNotified) = "done_notified", Lifecycle;
    AskRaised(Ask) = "ask_raised", Lifecycle;
    AskAnswered(AskAnswered) = "ask_answered", Lifecycle;
    AskWithdrawn(AskWithdrawn) = "ask_withdrawn", Lifecycle;
    CallReleased(CallReleased) = "call_released", Lifecycle;
    Granted(Granted) = "granted", Lifecycle;
    BudgetWarning(BudgetWarning) = "budget_warning", Lifecycle;
    BudgetExceeded(BudgetExceeded) = "budget_exceeded", Lifecycle;
    Error(ErrorNote) = "error", Lifecycle;
    Repaired(Repaired) = "repaired", Lifecycle;
    HeadMoved(HeadMoved) = "head_moved", Lifecycle;
    Snapshot(Snapshot) = "snapshot", Lifecycle;
    Work(Work) = "work", Lifecycle;
    Backend(BackendEvent) = "backend", Lifecycle;
    TaskChanged(TaskChanged) = "task_changed", Lifecycle;
    HookRan(HookRan) = "hook_ran", Lifecycle;
}

#[cfg(test)]
#[path = "event_tests.rs"]
mod tests;
