//! What an agent can ask of the engine through its tools. Tasks are named as the model names them: by an id or the
//! start of one, resolved once, where the request arrives.

use crate::base::MicroUsd;
use crate::config::recurring::Schedule;
use crate::model::ask::AskMode;
use crate::model::event::Verdict;
use crate::model::task::{Colour, Recurring};

/// How many characters a message from one agent to another may have: it goes whole into the other's context.
pub const MESSAGE_CHARS: usize = 20_000;
/// How many messages of other tasks may wait to be read by one task.
pub const UNREAD_MESSAGES: usize = 20;

/// A request of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    CreateTask {
        /// Nothing: below the asking task itself.
        parent: Option<String>,
        title: String,
        description: String,
        profile: Option<String>,
        budget: Option<MicroUsd>,
        colour: Option<Colour>,
        recurring: Recurring,
        schedule: Schedule,
        start: bool,
        draft: bool,
    },
    UpdateTask {
        task: String,
        title: Option<String>,
        description: Option<String>,
        budget: Option<MicroUsd>,
        colour: Option<Colour>,
        draft: Option<bool>,
    },
    StopTask {
        task: String,
    },
    CloseTask {
        task: String,
    },
    DeleteTask {
        task: String,
    },
    ResetTask {
        task: String,
    },
    ReorderTasks {
        parent: String,
        order: Vec<String>,
    },
    SendMessage {
        task: String,
        message: String,
        request_reply: bool,
    },
    Clarify {
        question: String,
        detail: String,
        choices: Vec<String>,
        default: Option<String>,
        mode: AskMode,
    },
    GetTree {
        below: Option<String>,
        include_closed: bool,
    },
    GetTask {
        task: String,
    },
    SearchTasks {
        query: String,
        limit: usize,
    },
    Fork {
        /// `None`: the asking task itself.
        source: Option<String>,
        target: String,
    },
    /// May the task be declared done? Answered with nothing if so, with the reason if not.
    MayFinish {
        verdict: Verdict,
    },
}
