//! One run of an outside program on a task: passes messages to the program, records what it says, and ends when there is
//! nothing to do.
//!
//! Every prompt is recorded before it is sent, and its end when it came, so a crash in between is known at the next
//! start. Nothing waits unseen: a program that dies is started again, and if that does not help, the run ends with the
//! reason.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _};
use futures::stream::{FuturesUnordered, StreamExt as _};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::Starter;
use super::permission::Judgement;
use super::program::Program;
use super::served_tools::ToolRequest;
use super::transcript::{Output, Transcript};
use crate::base::{AskId, EventId, MessageId, MicroUsd, Timestamp, TurnId};
use crate::engine::backend::RunRequest;
use crate::engine::driver::EngineContext;
use crate::engine::update::{Level, Notice, Update as EngineUpdate};
use crate::model::backend::{BackendEvent, ForeignSession, SessionOrigin};
use crate::model::event::{AskWithdrawn, Body, BudgetExceeded, Event, Exit, RunStarted, ToolResult, Verdict};
use crate::model::fold::{RunningProcess, SessionState};
use crate::model::live::{Activity, Live};
use crate::model::message::{Message, MessageSource};
use crate::model::resume::{self, Resume};
use crate::model::run::{Ending, RunCommand};
use crate::outside::elicitation::Question;
use crate::outside::{FromAgent, OpenError, Opened, PermissionRequest, Session};
use crate::store::StoreError;
use crate::tools::{self, Reply};

/// How long a program may take to end a cancelled turn.
pub(super) const CANCEL_GRACE: Duration = Duration::from_secs(5);
/// How long a turn may go on after the task was declared done.
pub(super) const DONE_GRACE: Duration = Duration::from_secs(120);
/// How long a program may take to ask for the list of our tools.
pub(super) const TOOLS_LIMIT: Duration = Duration::from_secs(20);
/// How often a program that died is started again without a turn that succeeded in between.
pub(super) const MAX_RESTARTS: u32 = 2;
/// What a call gets whose end is not known.
pub(super) const UNKNOWN_END: &str =
    "The program did not report how this call ended. It may have taken effect; check before you repeat it.";
pub(super) const INTERRUPTED: &str = "The user interrupted you here.";

/// What a run begins with.
pub(super) struct RunParts {
    pub(super) ctx: Arc<EngineContext>,
    pub(super) program: Arc<Program>,
    pub(super) request: RunRequest,
    pub(super) starter: Starter,
    pub(super) events: Vec<Event>,
    pub(super) state: SessionState,
    pub(super) session: Session,
    pub(super) opened: Opened,
}

pub(super) struct Run {
    pub(super) ctx: Arc<EngineContext>,
    pub(super) program: Arc<Program>,
    pub(super) request: RunRequest,
    pub(super) starter: Arc<Starter>,
    pub(super) state: SessionState,
    /// The last event that was read at the start. It may be delivered again.
    pub(super) last_read: Option<EventId>,
    /// `None` while the program is being started again.
    pub(super) agent: Option<Session>,
    pub(super) opened: Opened,
    pub(super) transcript: Transcript,
    pub(super) phase: Phase,
    pub(super) pending: FuturesUnordered<BoxFuture<'static, Finished>>,
    pub(super) asks: BTreeMap<AskId, OpenAsk>,
    /// Calls that the user allowed when the program was gone.
    pub(super) consents: Vec<crate::model::ask::PermissionRequest>,
    /// Messages that were sent during the turn, until the program says what became of them.
    pub(super) steering: Vec<MessageId>,
    /// Answers to calls of our tools in this turn, for repetitions.
    served: BTreeMap<String, crate::tools::mcp_server::ServedReply>,
    pub(super) next: NextPrompt,
    pub(super) done: Option<(Verdict, String)>,
    pub(super) flags: RunFlags,
    /// What the session has cost, as far as it is booked.
    pub(super) booked: MicroUsd,
    pub(super) turn_cost: Option<MicroUsd>,
    /// The tokens of the session, as last reported, where the program counts them for the session.
    pub(super) session_tokens: crate::model::usage::Tokens,
    pub(super) restarts: u32,
    pub(super) tools_by: Option<Instant>,
    pub(super) exit: Option<Exit>,
}

/// What has happened in this run.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub(super) struct RunFlags {
    pub(super) has_context: bool,
    /// The agent was reminded of `done`.
    pub(super) nudged: bool,
    /// It said that it waits.
    pub(super) yielded: bool,
    /// The user interrupted it, and has said nothing since.
    pub(super) halted: bool,
    pub(super) told_branch: bool,
    /// No further turn begins.
    pub(super) wraps_up: bool,
    pub(super) warned_budget: bool,
}

/// What the next prompt has to say besides messages.
#[derive(Debug, Default)]
pub(super) struct NextPrompt {
    /// The program does not know yet how agents work here.
    pub(super) needs_system: bool,
    pub(super) digest: String,
    /// A prompt is due although no message is.
    pub(super) is_due: bool,
    pub(super) notes: Vec<String>,
}

#[derive(Debug)]
pub(super) enum Phase {
    Idle,
    Running(Turn),
}

/// A prompt that is not answered yet.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) id: TurnId,
    pub(super) last_heard: Instant,
    pub(super) cancel: Option<Cancel>,
}

/// Why a turn is being cancelled, and until when.
#[derive(Debug)]
pub(super) struct Cancel {
    pub(super) by: Instant,
    pub(super) cause: CancelCause,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CancelCause {
    User,
    Done,
    Silent,
    Budget(BudgetExceeded),
}

/// An Ask that the program waits for.
#[derive(Debug)]
pub(super) enum OpenAsk {
    Permission(Box<PermissionRequest>),
    Question(Box<Question>),
}

/// Something that took time and is over.
pub(super) enum Finished {
    Judged {
        request: Box<PermissionRequest>,
        judgement: Judgement,
    },
    Tool {
        call: String,
        name: String,
        key: String,
        reply: Box<Reply>,
        answer: oneshot::Sender<tools::mcp_server::ServedReply>,
    },
    Method {
        id: serde_json::Value,
        result: Result<serde_json::Value, crate::outside::rpc::RpcError>,
    },
    Reopened(Result<Box<(Session, Opened)>, OpenError>),
}

enum Step {
    Command(Option<RunCommand>),
    Finished(Finished),
    Tool(ToolRequest),
    Said(FromAgent),
    Deadline,
}

impl Run {
    pub(super) fn new(parts: RunParts) -> Self {
        let RunParts { ctx, program, request, starter, events, state, session, opened } = parts;
        let has_context = events
            .iter()
            .any(|event| matches!(&event.body, Body::Message(message) if message.from == MessageSource::WorkContext));
        let digest = if opened.continued { String::new() } else { super::digest::digest(&events, &state.messages) };
        let next = NextPrompt { needs_system: !opened.has_system, digest, ..NextPrompt::default() };
        Self {
            booked: if opened.continued { state.backend.spent } else { MicroUsd::ZERO },
            last_read: events.last().map(|event| event.id),
            transcript: Transcript::new(&program.name),
            flags: RunFlags { has_context, ..RunFlags::default() },
            agent: Some(session),
            phase: Phase::Idle,
            pending: FuturesUnordered::new(),
            asks: BTreeMap::new(),
            consents: Vec::new(),
            steering: Vec::new(),
            served: BTreeMap::new(),
            done: None,
            turn_cost: None,
            session_tokens: if opened.continued {
                state.usage.tokens()
            } else {
                crate::model::usage::Tokens::default()
            },
            restarts: 0,
            tools_by: Some(Instant::now() + TOOLS_LIMIT),
            exit: None,
            starter: Arc::new(starter),
            ctx,
            program,
            request,
            state,
            opened,
            next,
        }
    }

    pub(super) fn now(&self) -> Timestamp {
        self.request.clock.now()
    }

    pub(super) async fn run_to_end(mut self) -> Result<Ending, StoreError> {
        self.begin().await?;
        loop {
            if let Some(exit) = self.exit.take() {
                self.close().await;
                return Ok(Ending::Exited(exit));
            }
            let is_free = matches!(self.phase, Phase::Idle) && self.pending.is_empty();
            if is_free && !self.next_turn().await? && self.exit.is_none() && self.request.inbox.is_empty() {
                self.close().await;
                return Ok(Ending::Idle);
            }
            if self.exit.is_some() {
                continue;
            }
            let deadline = self.deadline();
            let served = Arc::clone(&self.starter.served);
            let step = tokio::select! {
                biased;
                command = self.request.inbox.recv() => Step::Command(command),
                Some(finished) = self.pending.next() => Step::Finished(finished),
                request = served.next() => Step::Tool(request),
                said = said(&mut self.agent) => Step::Said(said),
                () = until(deadline) => Step::Deadline,
            };
            match step {
                Step::Command(command) => self.on_command(command).await?,
                Step::Finished(finished) => self.on_finished(finished).await?,
                Step::Tool(request) => self.on_tool(request).await?,
                Step::Said(said) => self.on_said(said).await?,
                Step::Deadline => self.on_deadline().await?,
            }
        }
    }

    /// Records the start, and repairs what an earlier run left.
    async fn begin(&mut self) -> Result<(), StoreError> {
        let profile = self.request.assignment.order.node.profile.clone().unwrap_or_default();
        let shape = resume::of(&self.state).shape();
        let model = self.model();
        let mut bodies: Vec<Body> = vec![RunStarted { shape, profile, model }.into()];
        // What the earlier process asked is void: nobody would get the answer.
        let void = self.state.asks.iter().filter(|ask| ask.tool_call.is_some());
        let reason = "the program that asked has ended; it asks again if it still needs to know";
        bodies.extend(void.map(|ask| Body::from(AskWithdrawn { id: ask.id, reason: reason.to_owned() })));
        bodies.extend(self.end_earlier_holds());
        let orphans = self.state.turns.open.iter().filter(|call| !self.state.held_calls.holds(&call.call));
        bodies.extend(orphans.map(|call| Body::from(ToolResult::unrun(call, UNKNOWN_END, true))));
        bodies.extend(self.lost_processes());
        // Whoever answered an Ask of an earlier run expects that it goes on.
        self.next.is_due |= !self.state.decisions.is_empty();
        if matches!(resume::of(&self.state), Resume::Interrupted | Resume::NeedsRepair { .. }) {
            self.next.is_due = true;
            self.next.notes.push(
                "You were interrupted here: the program or Matrix was stopped in the middle of your turn. What you were \
                 doing may have taken effect in part. Check `git status` and go on."
                    .to_owned(),
            );
        }
        let has_history = self.state.turns.of_profile() > 0 || self.state.turns.last_role.is_some();
        bodies.push(self.session_event(has_history));
        self.append(bodies).await?;
        self.tell_about_session();
        self.request.snapshots.take_first().await;
        Ok(())
    }

    /// Returns messages about background processes of an earlier run of the native agent: they are gone.
    fn lost_processes(&self) -> Vec<Body> {
        let lost = |process: &RunningProcess| {
            let (id, command) = (process.id.clone(), process.command.clone());
            let from = MessageSource::BackgroundComplete { process: id, command, exit: None, duration_ms: 0 };
            Body::from(self.message(from, "It ended when Matrix did."))
        };
        self.state.background.iter().map(lost).collect()
    }

    pub(super) fn session_event(&self, has_history: bool) -> Body {
        let Opened { program, version, protocol, session, continued, not_continued, model, mode, ignored, .. } =
            &self.opened;
        let origin = match (continued, not_continued) {
            (true, _) => SessionOrigin::Continued,
            (false, Some(reason)) => SessionOrigin::Replaced { reason: reason.clone() },
            (false, None) if has_history => {
                SessionOrigin::Replaced { reason: "the conversation was led elsewhere or rewound".to_owned() }
            }
            (false, None) => SessionOrigin::New,
        };
        let session = ForeignSession {
            backend: self.program.name.clone(),
            id: session.clone(),
            program: program.clone(),
            version: version.clone(),
            protocol: protocol.clone(),
            origin,
            model: model.clone(),
            mode: mode.clone(),
            ignored: ignored.clone(),
        };
        BackendEvent::Session { session }.into()
    }

    fn tell_about_session(&self) {
        let label = &self.program.label;
        if !self.opened.ignored.is_empty() {
            self.notify(Level::Warning, format!("{label} does not use: {}", self.opened.ignored.join(", ")));
        }
        if let Some(known) = self.program.known.filter(|known| !known.is_tested(&self.opened.version)) {
            let text = format!("{label} {} was not tested with Matrix; {} was", self.opened.version, known.tested);
            self.notify(Level::Info, text);
        }
    }

    pub(super) fn notify(&self, level: Level, text: String) {
        let task = Some(self.request.assignment.task());
        self.ctx.feed.publish(&EngineUpdate::Notice { notice: Notice { level, text, task } });
    }

    /// Returns the name under which usage is booked.
    pub(super) fn model(&self) -> String {
        let model = self.opened.model.clone().or_else(|| self.starter.asked_model().map(str::to_owned));
        model.unwrap_or_else(|| self.program.label.clone())
    }

    /// Appends events and takes them into account.
    pub(super) async fn append(&mut self, bodies: Vec<Body>) -> Result<(), StoreError> {
        if bodies.is_empty() {
            return Ok(());
        }
        for event in self.request.session.append(bodies).await? {
            self.state.apply(&event);
        }
        Ok(())
    }

    pub(super) async fn emit(&mut self, out: Output) -> Result<(), StoreError> {
        out.live.into_iter().for_each(|live| self.request.live.send(live));
        self.append(out.bodies).await
    }

    pub(super) fn show(&self, activity: Activity) {
        self.request.live.send(Live::Activity { activity });
    }

    pub(super) fn message(&self, from: MessageSource, text: &str) -> Message {
        Message::new(MessageId::fresh(&self.request.ids), self.now(), from, text)
    }

    pub(super) async fn on_said(&mut self, said: FromAgent) -> Result<(), StoreError> {
        if let Phase::Running(turn) = &mut self.phase {
            turn.last_heard = Instant::now();
        }
        match said {
            FromAgent::Update(update) => {
                let now = self.now();
                let out = self.transcript.on_update(now, update);
                self.emit(out).await?;
                self.book_cost().await
            }
            FromAgent::SessionId(id) => {
                self.opened.session = id;
                let event = self.session_event(false);
                self.append(vec![event]).await
            }
            FromAgent::Permission(request) => self.on_permission(request).await,
            FromAgent::Question(question) => self.on_question(question).await,
            FromAgent::Method { id, method, params } => {
                let tools = self.starter.tools.clone();
                let root = self.request.worktree.clone();
                let done = super::client_methods::carry_out(tools, root, method, params);
                self.pending.push(done.map(move |result| Finished::Method { id, result }).boxed());
                Ok(())
            }
            FromAgent::Unknown { what, raw } => {
                let mut out = Output::default();
                let raw = crate::base::Json::of(&raw).unwrap_or_default();
                self.transcript.on_unknown(&what, &raw, &mut out);
                self.emit(out).await
            }
            FromAgent::Steered(steered) => self.on_steered(steered).await,
            FromAgent::PromptEnded(result) => self.on_prompt_ended(result).await,
            FromAgent::Closed => self.on_lost().await,
        }
    }

    pub(super) async fn on_finished(&mut self, finished: Finished) -> Result<(), StoreError> {
        match finished {
            Finished::Judged { request, judgement } => self.on_judged(request, judgement).await,
            Finished::Tool { call, name, key, reply, answer } => {
                let served = self.on_tool_finished(&call, &name, *reply).await?;
                self.served.insert(key, served.clone());
                // The program may have gone away.
                let _ = answer.send(served);
                Ok(())
            }
            Finished::Method { id, result } => {
                if let Some(agent) = &mut self.agent {
                    agent.answer(&id, result);
                }
                Ok(())
            }
            Finished::Reopened(result) => self.on_reopened(result).await,
        }
    }

    /// A call of our tools. The answer to a repetition is the first one.
    async fn on_tool(&mut self, request: ToolRequest) -> Result<(), StoreError> {
        let ToolRequest { call, reply: answer } = request;
        let key = format!("{} {} {}", call.request, call.name, call.input.as_str());
        if let Some(served) = self.served.get(&key) {
            let _ = answer.send(served.clone());
            return Ok(());
        }
        self.begin_tool(call, key, answer).await
    }

    pub(super) fn on_turn_began(&mut self, id: TurnId) {
        self.phase = Phase::Running(Turn { id, last_heard: Instant::now(), cancel: None });
        self.served.clear();
        self.turn_cost = None;
    }

    async fn close(&mut self) {
        // Dropped first: a program that is just starting ends with its future.
        self.pending.clear();
        if let Some(agent) = self.agent.take() {
            agent.close().await;
        }
    }
}

/// Returns what the program says next, or waits for ever while there is none.
async fn said(agent: &mut Option<Session>) -> FromAgent {
    match agent {
        Some(agent) => agent.next().await,
        None => std::future::pending().await,
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
