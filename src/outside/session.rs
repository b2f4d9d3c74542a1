//! A session with a program, whatever protocol it speaks.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use super::acp::AcpSession;
use super::elicitation::Question;
use super::json_lines::LinesSession;
use super::permission::{PermissionAnswer, PermissionRequest};
use super::rpc::RpcError;
use super::update::Update;
use crate::model::event::StopReason;
use crate::model::usage::Tokens;
use crate::process::{Process, ProcessExit};

/// How long a program may take to end after its stdin was closed.
const CLOSE_LIMIT: Duration = Duration::from_secs(3);
/// How much of what a program wrote to its error stream is shown.
const ERROR_LINES: usize = 12;
const ERROR_BYTES: usize = 2_000;

/// What a session needs to begin.
#[derive(Clone, Debug)]
pub struct OpenRequest {
    /// Safe as a file name, different for each process.
    pub process_id: String,
    pub cwd: PathBuf,
    /// More folders that the program may write.
    pub folders: Vec<PathBuf>,
    /// What the agent has to know before anything else.
    pub system: String,
    pub model: Option<String>,
    pub effort: Option<String>,
    pub mode: Option<String>,
    pub tools: Option<ToolAccess>,
    /// The session to continue.
    pub resume: Option<String>,
    pub limit: Duration,
    /// Where everything that is said is recorded.
    pub wire_log: Option<PathBuf>,
}

/// How a program reaches our tools.
#[derive(Clone, Debug)]
pub struct ToolAccess {
    /// The name of the server.
    pub name: String,
    /// The address, and the token for it. `None` if there is no such door.
    pub http: Option<(String, String)>,
    /// A program that speaks over its stdio.
    pub command: PathBuf,
    pub arguments: Vec<String>,
    pub variables: Vec<(String, String)>,
}

/// What a program said about itself and the session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Opened {
    pub program: String,
    pub version: String,
    pub protocol: String,
    pub session: String,
    /// The session that was asked for goes on.
    pub continued: bool,
    /// Why the session that was asked for could not be continued.
    pub not_continued: Option<String>,
    pub model: Option<String>,
    pub mode: Option<String>,
    /// What was asked for and is not in effect.
    pub ignored: Vec<String>,
    /// The program has what its agent must know. Otherwise the first prompt says it.
    pub has_system: bool,
    pub can: Can,
}

/// What a program announced that it can do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent flags in any combination")]
pub struct Can {
    pub load: bool,
    pub resume: bool,
    pub steer: bool,
    pub images: bool,
    pub mcp_http: bool,
    pub system_prompt: bool,
}

/// Why a session could not be opened.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum OpenError {
    #[error("{0}")]
    Start(String),
    /// The user has to log in first.
    #[error("it wants you to log in: {0}")]
    Login(String),
    #[error("it did not answer within {} s{}", .limit.as_secs(), with_errors(.errors))]
    Silent { limit: Duration, errors: String },
    #[error("it speaks version {0} of the Agent Client Protocol, and only version 1 is supported")]
    Protocol(String),
    #[error("it refused to open a session: {0}")]
    Refused(String),
    #[error("it ended before a session was open ({exit}){}", with_errors(.errors))]
    Died { exit: String, errors: String },
}

fn with_errors(errors: &str) -> String {
    if errors.is_empty() { String::new() } else { format!(". Its last words:\n{errors}") }
}

/// Something that a program said.
#[derive(Debug)]
pub enum FromAgent {
    Update(Update),
    /// The id of its session, if it was not known when the session was opened.
    SessionId(String),
    Permission(Box<PermissionRequest>),
    Question(Question),
    /// It wants us to do something with a file or a command.
    Method {
        id: Value,
        method: String,
        params: Value,
    },
    /// A message that has no meaning here, as it came.
    Unknown {
        what: String,
        raw: Value,
    },
    Steered(Steered),
    /// The prompt was answered: the turn is over.
    PromptEnded(Result<TurnEnd, RpcError>),
    /// The program has ended, or no longer talks.
    Closed,
}

/// What became of a message that was sent during a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steered {
    Injected,
    /// No turn is running.
    NoTurn,
    Failed,
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnEnd {
    pub stop: StopReason,
    pub tokens: Option<Tokens>,
    /// The whole answer.
    pub raw: Value,
}

/// A part of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PromptPart {
    Text(String),
    Image { media_type: String, base64: String },
}

#[derive(Debug)]
pub enum Session {
    Acp(AcpSession),
    Lines(LinesSession),
}

impl Session {
    /// Returns what the program says next. Cancel safe.
    pub async fn next(&mut self) -> FromAgent {
        match self {
            Self::Acp(session) => session.next().await,
            Self::Lines(session) => session.next().await,
        }
    }

    /// Starts a turn. There must be none.
    pub fn prompt(&mut self, parts: &[PromptPart]) {
        match self {
            Self::Acp(session) => session.prompt(parts),
            Self::Lines(session) => session.prompt(parts),
        }
    }

    /// Sends a message during a turn. What becomes of it arrives as [`FromAgent::Steered`].
    pub fn steer(&mut self, parts: &[PromptPart]) {
        match self {
            Self::Acp(session) => session.steer(parts),
            Self::Lines(_) => {}
        }
    }

    /// Asks the program to end the turn, which it then answers.
    pub fn cancel(&mut self) {
        match self {
            Self::Acp(session) => session.cancel(),
            Self::Lines(session) => session.cancel(),
        }
    }

    pub fn answer_permission(&mut self, request: &PermissionRequest, answer: PermissionAnswer) {
        match self {
            Self::Acp(session) => session.answer(&request.id, Ok(request.result(answer))),
            Self::Lines(session) => session.answer_permission(&request.id, answer),
        }
    }

    /// Answers another request of the program.
    pub fn answer(&mut self, id: &Value, result: Result<Value, RpcError>) {
        match self {
            Self::Acp(session) => session.answer(id, result),
            // A wrapper asks for nothing but permission.
            Self::Lines(_) => {}
        }
    }

    /// Ends the session. When this returns, no process of the program is left.
    pub async fn close(self) {
        match self {
            Self::Acp(session) => session.close().await,
            Self::Lines(session) => session.close().await,
        }
    }

    /// Returns how the program ended, with its last words. Waits a moment for its exit.
    pub async fn last_words(&self) -> (String, String) {
        let process = match self {
            Self::Acp(session) => session.process(),
            Self::Lines(session) => session.process(),
        };
        last_words(process).await
    }
}

/// Waits a moment for the exit of a program that no longer talks. Returns how it ended, and the end of its error stream.
pub(super) async fn last_words(process: &Process) -> (String, String) {
    let exit = tokio::time::timeout(Duration::from_secs(1), process.wait_exited()).await.ok();
    (exit_words(exit), error_tail(process))
}

fn exit_words(exit: Option<ProcessExit>) -> String {
    match exit {
        None => "it still runs but closed its output".to_owned(),
        Some(ProcessExit { code: Some(code), .. }) if code > 128 => format!("signal {}", code - 128),
        Some(ProcessExit { code: Some(code), .. }) => format!("exit code {code}"),
        Some(ProcessExit { signal: Some(signal), .. }) => format!("signal {signal}"),
        Some(_) => "unknown exit".to_owned(),
    }
}

/// Returns the last lines of a program's error stream, without credentials.
pub(super) fn error_tail(process: &Process) -> String {
    let tail = process.output().snapshot().tail;
    let text = String::from_utf8_lossy(&tail);
    let text = crate::base::sanitize::lines(&text);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines[lines.len().saturating_sub(ERROR_LINES)..].join("\n");
    let start = last.ceil_char_boundary(last.len().saturating_sub(ERROR_BYTES));
    crate::base::known_secrets::mask(&last[start..]).into_owned()
}

/// Ends a program whose stdin was closed: waits for it, then terminates what is left.
pub(super) async fn end(process: &Process) {
    let _ = tokio::time::timeout(CLOSE_LIMIT, process.wait_exited()).await;
    process.kill();
    process.wait_gone().await;
}
