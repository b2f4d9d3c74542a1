//! Inputs and effects of the machine, as plain data.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::agent::compaction::Trim;
use crate::base::MessageId;
use crate::model::Usage;
use crate::model::conversation::ToolUse;
use crate::model::event::{Allowance, Body, Event, Exit, InterruptReason, PermissionNote, SessionConfig, ToolResult};
use crate::model::hook::HookEvent;
use crate::model::live::Activity;
use crate::model::message::Message;
use crate::provider::budget::BudgetVerdict;
use crate::provider::{ApiError, Catalogue, Response};
use crate::tools;

/// The limits and settings of a run.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    pub profile: String,
    /// The model for a new session.
    pub model: String,
    /// The credential group of the model.
    pub auth_group: Option<String>,
    /// The known models, to recognise a model's name in an answer.
    pub catalogue: Catalogue,
    /// The model's context window. `None` if unknown: then there is no automatic compaction.
    pub window: Option<u64>,
    /// Whether the provider can count tokens exactly.
    pub can_count: bool,
    pub max_turns: Option<u64>,
    /// The profiles that use another auth group.
    pub elsewhere: Vec<String>,
    /// Whether money has to be reserved before each request.
    pub budgeted: bool,
}

/// Why the model is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Respond,
    /// Request a summary of the trimmed conversation.
    Summarise {
        trim: Trim,
    },
}

/// The start of a segment.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepared {
    /// Present if requested with [`Effect::Prepare`].
    pub config: Option<SessionConfig>,
    pub work_context: Option<Message>,
}

/// An input of the machine.
#[derive(Debug)]
pub enum Input {
    Start,
    /// The events of an [`Effect::Save`] are on disk.
    Saved {
        ticket: u64,
        events: Vec<Arc<Event>>,
    },
    SaveFailed {
        reason: String,
    },
    /// Someone else appended to the session, for example a message or an answer.
    Delivered {
        event: Arc<Event>,
    },
    /// The user withdraws messages. Those that are being consumed stay.
    Withdraw {
        ids: Vec<MessageId>,
    },
    Prepared(Box<Prepared>),
    /// A hook does not let the agent sleep.
    SentBack {
        event: HookEvent,
        reason: String,
    },
    /// A hook refuses the summary that was about to be requested.
    CompactionRefused {
        number: u64,
        reason: String,
    },
    /// `tokens` is `None` if counting failed.
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
    /// `usage` is the known cost of a response that broke off; `jitter` is a random number from 0 to 1.
    Failed {
        number: u64,
        error: Box<ApiError>,
        usage: Option<Box<Usage>>,
        jitter: f64,
    },
    ToolFinished {
        result: Box<ToolResult>,
        control: Option<tools::ControlRequest>,
    },
    Timer {
        timer: u64,
    },
    /// The user interrupts the current turn.
    Interrupt,
    /// The run has to end after the turn in progress.
    WrapUp,
    /// The run has to end.
    Teardown(InterruptReason),
}

/// An effect for the driver to perform.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Append, and answer with [`Input::Saved`] or [`Input::SaveFailed`].
    Save { ticket: u64, bodies: Vec<Body> },
    /// Prepare a segment, and answer with [`Input::Prepared`].
    Prepare { config: bool, context: bool },
    /// Count the next request exactly, and answer with [`Input::Counted`].
    Count { number: u64 },
    /// Reserve money for a request of about `tokens`, and answer with [`Input::Reserved`].
    Reserve { tokens: u64, allowances: Vec<Allowance> },
    /// Release the reservation: the request is not made.
    Release,
    /// Call the model, and answer with [`Input::Response`] or [`Input::Failed`].
    CallModel { number: u64, purpose: Purpose, attempt: u32 },
    /// Cancel a request or a count. It still answers.
    CancelModel { number: u64 },
    /// Run these calls, in parallel where possible, and answer each with [`Input::ToolFinished`]. The user has already
    /// consented to those in `consents`.
    RunTools { calls: Vec<ToolUse>, consents: BTreeMap<String, PermissionNote> },
    /// Cancel running tools. Every call still answers.
    CancelTools,
    /// Answer with [`Input::Timer`] after `millis`.
    Sleep { timer: u64, millis: u64 },
    /// Answer with [`Input::Timer`] when money reserved by other runs is released or spent.
    AwaitBudget { timer: u64 },
    /// Cancel a [`Effect::Sleep`] or [`Effect::AwaitBudget`].
    CancelSleep { timer: u64 },
    /// Show the activity.
    Activity(Activity),
    /// Show that a request failed and is retried after `millis`.
    Retrying { attempt: u32, of: u32, millis: u64, reason: String },
    /// Use this model from the next [`Effect::Prepare`] on.
    UseModel { model: String },
    /// The run is over.
    Exit(Exit),
}
