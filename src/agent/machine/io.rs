//! What goes into the machine and what comes out, as plain data.

use std::sync::Arc;

use crate::agent::compaction::Trim;
use crate::base::MessageId;
use crate::model::Usage;
use crate::model::conversation::ToolUse;
use crate::model::event::{Body, Event, Exit, InterruptReason, SessionConfig, ToolResult};
use crate::model::live::Activity;
use crate::model::message::Message;
use crate::provider::purse::BudgetVerdict;
use crate::provider::{ApiError, Catalogue, Response};
use crate::tools;

/// What a run is allowed, and what it needs to know of its task.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    pub profile: String,
    /// The model of a session that has none yet.
    pub model: String,
    /// The credential group that the model is reached with.
    pub auth_group: Option<String>,
    /// What is known of models, to tell the name of one from other words.
    pub catalogue: Catalogue,
    /// The model's window. Nothing: unknown, and nothing is summarised by itself.
    pub window: Option<u64>,
    /// Whether the provider can count tokens exactly.
    pub can_count: bool,
    pub max_turns: Option<u64>,
    /// Whether money has to be reserved before each request.
    pub budgeted: bool,
    /// Whether the agent may do the same thing over and over without being asked about it.
    pub may_repeat: bool,
}

/// Why the model is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Respond,
    /// For a summary of a conversation that is trimmed so far.
    Summarise {
        trim: Trim,
    },
}

/// What a segment of a conversation starts with.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepared {
    /// Given if the segment has none yet, or another model was chosen.
    pub config: Option<SessionConfig>,
    pub work_context: Option<Message>,
}

/// Something that happened.
#[derive(Debug)]
pub enum Input {
    Start,
    /// The store has what [`Effect::Save`] asked it to keep.
    Saved {
        ticket: u64,
        events: Vec<Arc<Event>>,
    },
    SaveFailed {
        reason: String,
    },
    /// Somebody else wrote into the session: a message, an answer.
    Heard {
        event: Arc<Event>,
    },
    /// The person takes messages back. Those that are already on their way into the conversation stay.
    Withdraw {
        ids: Vec<MessageId>,
    },
    Prepared(Box<Prepared>),
    /// Nothing: it could not be counted.
    Counted {
        number: u64,
        tokens: Option<u64>,
    },
    Reserved(BudgetVerdict),
    Response {
        number: u64,
        response: Box<Response>,
        usage: Box<Usage>,
    },
    /// `usage` is what a broken-off response is known to have cost; `jitter` a number drawn from 0..1.
    Failed {
        number: u64,
        error: Box<ApiError>,
        usage: Option<Box<Usage>>,
        jitter: f64,
    },
    ToolFinished {
        result: Box<ToolResult>,
        control: Option<tools::Control>,
    },
    Timer {
        timer: u64,
    },
    /// The person ends the turn and keeps the session.
    Interrupt,
    /// The run has to end.
    Teardown(InterruptReason),
}

/// Something to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Append, and answer with [`Input::Saved`] or [`Input::SaveFailed`].
    Save { ticket: u64, bodies: Vec<Body> },
    /// Make what the segment needs, and answer with [`Input::Prepared`].
    Prepare { config: bool, context: bool },
    /// Count the next request exactly, and answer with [`Input::Counted`].
    Count { number: u64 },
    /// Reserve money for a request of about so many tokens, and answer with [`Input::Reserved`].
    Reserve { tokens: u64 },
    /// Give back what was reserved: the request is not made.
    Release,
    /// Ask the model, and answer with [`Input::Response`] or [`Input::Failed`].
    CallModel { number: u64, purpose: Purpose, attempt: u32 },
    /// Stop that request, or that count. It still answers.
    CancelModel { number: u64 },
    /// Run these, as far as possible at the same time, and answer each with [`Input::ToolFinished`].
    RunTools { calls: Vec<ToolUse> },
    /// Stop what runs. Every call still answers.
    CancelTools,
    /// Answer with [`Input::Timer`] after so long.
    Sleep { timer: u64, millis: u64 },
    /// Answer with [`Input::Timer`] when money that others had set aside is free, or spent.
    AwaitMoney { timer: u64 },
    /// Stop waiting, for a time or for money.
    CancelSleep { timer: u64 },
    /// For the screen.
    Activity(Activity),
    /// For the screen: a request failed and is tried again.
    Retrying { attempt: u32, of: u32, millis: u64, reason: String },
    /// Another model was chosen; it is used from the next [`Effect::Prepare`] on.
    UseModel { model: String },
    /// The run is over.
    Exit(Exit),
}
