//! The values in the frames of both directions.
//!
//! A frame is an object with one field, whose name is the kind of the frame. A client says hello first; every later
//! request has a number, which its answer repeats. Unknown fields are ignored, so a newer minor version can be read; an
//! unknown kind of request is answered with a fault and changes nothing.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use ulid::Ulid;

use crate::base::{Fault, ProjectId, TaskId};
use crate::engine::command::{Command, Outcome};
use crate::engine::query::{Page, Query, QueryAnswer};
use crate::engine::snapshot::Snapshot;
use crate::engine::update::{EngineEnd, Update};
pub use crate::model::ClientKind;

/// The version of the protocol that this program speaks.
pub const VERSION: Version = Version { major: 1, minor: 1 };

/// A version of the protocol. A different minor version only adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    pub major: u32,
    pub minor: u32,
}

impl Version {
    pub fn speaks(self, other: Self) -> bool {
        self.major == other.major
    }
}

macro_rules! ulid_newtypes {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Ulid);

        impl $name {
            pub fn fresh() -> Self {
                Self(Ulid::generate())
            }
        }
    )*};
}

ulid_newtypes! {
    /// One life of a server. Sequence numbers of different epochs have nothing to do with each other.
    Epoch;
    /// One client, across its connections.
    ClientId;
}

/// The number of a request, chosen by its client. The numbers of one client increase.
pub type RequestId = u64;

/// A position in the stream of updates: all updates up to `seq` were seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    pub epoch: Epoch,
    pub seq: u64,
}

/// The first frame of a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    pub version: Version,
    /// The version of the client's program.
    pub program: String,
    pub client: ClientId,
    pub kind: ClientKind,
    /// The name that other clients see.
    pub name: String,
}

/// The answer to a hello.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    pub version: Version,
    pub program: String,
    pub epoch: Epoch,
    pub project: ProjectId,
    pub pid: u32,
}

/// A command with what makes it safe to send again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CommandRequest {
    pub id: RequestId,
    pub command: Command,
    /// The epoch of the server to which it was sent first. `None` if it was never sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<Epoch>,
    /// The outcomes of all commands with lower numbers have arrived.
    #[serde(default)]
    pub answered_below: RequestId,
}

/// A frame of a client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientFrame {
    Hello(Hello),
    Command(Box<CommandRequest>),
    Query {
        id: RequestId,
        query: Query,
    },
    /// Starts reading a whole session. Each page is asked for.
    Session {
        id: RequestId,
        task: TaskId,
    },
    NextPage {
        id: RequestId,
    },
    CloseSession {
        id: RequestId,
    },
    /// Sends the updates after `after`, or a snapshot and the updates after it.
    Subscribe {
        id: RequestId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<Position>,
    },
    Unsubscribe {
        id: RequestId,
    },
}

/// The kinds of frames of a client, as they are named in a frame.
const REQUESTS: [&str; 8] =
    ["hello", "command", "query", "session", "next_page", "close_session", "subscribe", "unsubscribe"];

/// Why a frame of a client cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{problem}")]
pub struct BadRequest {
    /// The number of the request, if it could be read.
    pub id: Option<RequestId>,
    problem: String,
}

impl From<BadRequest> for Fault {
    fn from(error: BadRequest) -> Self {
        Self::user(error.problem).hint("nothing was changed")
    }
}

/// The number of a request of any kind.
#[derive(Deserialize)]
struct Numbered {
    id: RequestId,
}

impl ClientFrame {
    /// Reads a frame. If that fails, tries to read at least its number, so that the fault reaches its request.
    pub fn read(bytes: &[u8]) -> Result<Self, BadRequest> {
        let error = match serde_json::from_slice(bytes) {
            Ok(frame) => return Ok(frame),
            Err(error) => error,
        };
        let fields: Option<std::collections::BTreeMap<String, Box<RawValue>>> = serde_json::from_slice(bytes).ok();
        let Some((kind, body)) = fields.and_then(|mut fields| fields.pop_first().filter(|_| fields.is_empty())) else {
            let problem = format!("a frame must be a JSON object with one field, the kind of the request: {error}");
            return Err(BadRequest { id: None, problem });
        };
        let id = serde_json::from_str(body.get()).ok().map(|Numbered { id }| id);
        let problem = if REQUESTS.contains(&kind.as_str()) {
            format!("the {kind} request cannot be read: {error}")
        } else {
            format!("unknown kind of request \"{}\"; known are {}", kind.escape_debug(), REQUESTS.join(", "))
        };
        Err(BadRequest { id, problem })
    }
}

/// Why a server closes a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Goodbye {
    /// The engine has ended because someone asked for it.
    Ended,
    /// Another process takes over the project; connect again.
    Moved,
}

impl From<EngineEnd> for Goodbye {
    fn from(end: EngineEnd) -> Self {
        match end {
            EngineEnd::Quit => Self::Ended,
            EngineEnd::Moved => Self::Moved,
        }
    }
}

/// A frame of a server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerFrame {
    Welcome(Welcome),
    /// The request with this number cannot be carried out. Without a number, the connection is closed.
    Refused {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<RequestId>,
        fault: Fault,
    },
    Outcome {
        id: RequestId,
        result: Result<Outcome, Fault>,
    },
    Answer {
        id: RequestId,
        result: Box<Result<QueryAnswer, Fault>>,
    },
    /// The next page of a session. `None` after the last one.
    Page {
        id: RequestId,
        page: Option<Result<Page, Fault>>,
    },
    /// The subscription has begun, with a snapshot unless it was resumed.
    Subscribed {
        id: RequestId,
        at: Position,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        snapshot: Option<Box<Snapshot>>,
    },
    /// An update of the subscription `id`. After `resync` and `ended` there are no more.
    Update {
        id: RequestId,
        seq: u64,
        update: Update,
    },
    Goodbye(Goodbye),
}

#[cfg(test)]
#[path = "protocol_tests.rs"]
mod tests;
