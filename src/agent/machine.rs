//! The state machine of one run: `step(&mut self, now, input) -> Vec<Effect>`.
//!
//! No runtime, no clock, no disk, no network. At any moment exactly one operation is in progress: the phase. Inputs
//! that do not concern it are stored until it ends. Invariants: an event changes the state only after the store has
//! acknowledged it; every call of a response is answered exactly once, or left open on purpose (`yield`, `done`) or by
//! a crash (then [`resume`] answers it); the run never waits without a phase that names the reason.

mod asks;
mod compaction;
mod failures;
mod held_calls;
mod hooks;
mod inbox;
mod io;
mod remedies;
mod responses;
mod stop;
mod tool_calls;

use std::collections::BTreeSet;

pub(in crate::agent) use asks::AskCause;
pub use io::{Effect, Input, Limits, Prepared, Purpose};

use crate::agent::context_gauge::ContextEstimate;
use crate::agent::control;
use crate::agent::conversation::Conversation;
use crate::agent::loop_watch::{LoopDetector, LoopVerdict};
use crate::agent::repair::repair;
use crate::base::{AskId, EventId, IdSource, MessageId, Timestamp};
use crate::model::control::Control;
use crate::model::conversation::Role;
use crate::model::event::{AskWithdrawn, Body, Event, Exit, InterruptReason, RunEnded, RunStarted, ToolResult};
use crate::model::fold::{OpenCall, SessionState};
use crate::model::hook::HookEvent;
use crate::model::live::Activity;
use crate::model::message::{Delivery, HookMessage, Message, MessageSource};
use crate::model::resume::{self, Resume};
use crate::provider::Catalogue;

/// One run of one task.
#[derive(Debug)]
pub struct Machine {
    ids: IdSource,
    limits: Limits,
    conversation: Conversation,
    state: SessionState,
    gauge: ContextEstimate,
    watch: LoopDetector,
    phase: Phase,
    stop_requests: StopRequests,
    attempts: Attempts,
    /// Messages to deliver only when the agent would otherwise sleep.
    held: BTreeSet<MessageId>,
    /// Messages whose consumption was requested. Disjoint from `withdrawing`.
    consuming: BTreeSet<MessageId>,
    /// Messages whose withdrawal was requested.
    withdrawing: BTreeSet<MessageId>,
    /// Asks whose answers this run has applied.
    applied_answers: BTreeSet<AskId>,
    /// The agent was asleep when the user requested a summary.
    asleep: bool,
    /// The user interrupted the agent. It waits until it receives a message.
    halted: bool,
    /// The newest event in the log when the run started. Deliveries up to it are duplicates.
    last_known: Option<EventId>,
    last_number: u64,
    effects: Vec<Effect>,
}

/// Stop requests that arrived during an operation.
#[derive(Debug, Default)]
struct StopRequests {
    interrupt: bool,
    /// No further turn may begin.
    wrap_up: bool,
    /// The interrupt comes from this hook, with this reason.
    hook: Option<(HookEvent, String)>,
    teardown: Option<InterruptReason>,
}

/// Counters that bound repeated failures.
#[derive(Debug, Default)]
struct Attempts {
    /// Consecutive responses that were empty or stopped at a limit.
    unfinished: u32,
    bad_summaries: u32,
    /// Refusals of `done` since somebody spoke to the agent.
    refusals: Refusals,
    /// How often a hook sent the agent back since somebody spoke to it.
    sent_back: u32,
    /// Consecutive compactions that came within a few responses of the one before.
    hasty_compactions: u32,
    /// Responses since the last compaction of this run, `None` before the first.
    since_compaction: Option<u32>,
    /// A compaction was made or skipped, and no request was sent since.
    compacted: bool,
    counted: bool,
    reserved: bool,
}

/// Refusals of `done`.
#[derive(Debug, Default)]
struct Refusals {
    total: u32,
    /// How many of the last ones had the same text.
    same: u32,
    last: String,
}

impl Refusals {
    fn add(&mut self, text: &str) {
        self.total += 1;
        self.same = if self.last == text { self.same + 1 } else { 1 };
        text.clone_into(&mut self.last);
    }
}

/// The operation in progress.
#[derive(Debug)]
enum Phase {
    Saving {
        ticket: u64,
        then: AfterSave,
    },
    Preparing {
        after: Option<compaction::PendingSummary>,
    },
    Counting {
        number: u64,
    },
    Reserving {
        purpose: Purpose,
        attempt: u32,
    },
    /// Other runs have reserved the rest of the budget.
    AwaitingBudget {
        timer: u64,
        purpose: Purpose,
        attempt: u32,
    },
    Calling {
        number: u64,
        purpose: Purpose,
        attempt: u32,
    },
    Backoff {
        timer: u64,
        purpose: Purpose,
        attempt: u32,
    },
    Tools(tool_calls::Running),
    Asking {
        ask: AskId,
        cause: asks::AskCause,
    },
    /// Every call has run that may, and the others wait for the user.
    Holding,
    Parked,
    Ended,
}

/// Which messages to leave in the inbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hold {
    None,
    /// Those to deliver only when the agent would otherwise sleep.
    UntilIdle,
}

/// The next step after an append.
#[derive(Debug)]
enum AfterSave {
    Advance,
    Call { purpose: Purpose, attempt: u32 },
    Wait { millis: u64, purpose: Purpose, attempt: u32, reason: String, of: u32 },
    Tools(control::CallPlan),
    Release(held_calls::Released),
    Ask { ask: AskId, cause: asks::AskCause },
    End(Exit),
}

impl Machine {
    /// Creates a machine from the active log of a session. It does nothing before [`Input::Start`].
    pub fn new(events: &[Event], limits: Limits, ids: IdSource) -> Self {
        let state = SessionState::replay(events);
        let halted = state.messages.iter().any(|message| message.from.halts())
            || state.turns.exit() == Some(&Exit::Interrupted(InterruptReason::Stopped));
        let waits = state.messages.iter().filter(|message| message.delivery == Delivery::Next);
        let held = waits.map(|message| message.id).collect();
        Self {
            ids,
            limits,
            conversation: Conversation::replay(events),
            gauge: ContextEstimate::replay(events),
            state,
            watch: LoopDetector::default(),
            phase: Phase::Parked,
            stop_requests: StopRequests::default(),
            attempts: Attempts::default(),
            held,
            consuming: BTreeSet::new(),
            withdrawing: BTreeSet::new(),
            applied_answers: BTreeSet::new(),
            asleep: false,
            halted,
            last_known: events.iter().map(|event| event.id).max(),
            last_number: 0,
            effects: Vec::new(),
        }
    }

    pub fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    pub fn state(&self) -> &SessionState {
        &self.state
    }

    /// Sets the window, after a change of model.
    pub fn use_window(&mut self, window: u64) {
        self.limits.window = Some(window);
    }

    pub fn catalogue(&self) -> &Catalogue {
        &self.limits.catalogue
    }

    pub fn use_catalogue(&mut self, catalogue: Catalogue) {
        self.limits.catalogue = catalogue;
    }

    /// Returns the estimated number of tokens of the next request.
    pub fn context_tokens(&self) -> u64 {
        self.gauge.tokens()
    }

    /// Returns the model of this segment, or the configured one in a session without a segment.
    fn model(&self) -> &str {
        self.conversation.config().map_or(self.limits.model.as_str(), |config| &config.model)
    }

    pub fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Ended)
    }

    /// Returns true if the run only waits for a message, an answer or the end of a background process.
    pub fn is_idle(&self) -> bool {
        matches!(self.phase, Phase::Parked | Phase::Asking { .. } | Phase::Holding)
    }

    /// Returns a word for what the run waits for.
    pub fn waits_for(&self) -> &'static str {
        match &self.phase {
            Phase::Saving { .. } => "disk",
            Phase::Preparing { .. } => "context",
            Phase::Counting { .. } => "count",
            Phase::Reserving { .. } => "budget",
            Phase::AwaitingBudget { .. } => "money",
            Phase::Calling { .. } => "model",
            Phase::Backoff { .. } => "retry",
            Phase::Tools(_) => "tools",
            Phase::Asking { .. } | Phase::Holding => "user",
            Phase::Parked => "message",
            Phase::Ended => "nothing",
        }
    }

    /// Handles one input and returns the effects to perform, in order.
    pub fn step(&mut self, now: Timestamp, input: Input) -> Vec<Effect> {
        if !self.is_over() {
            self.on_input(now, input);
        }
        std::mem::take(&mut self.effects)
    }

    fn on_input(&mut self, now: Timestamp, input: Input) {
        match input {
            Input::Start => self.start(now),
            Input::Saved { ticket, events } => {
                events.iter().for_each(|event| self.apply_event(event));
                self.on_saved(now, ticket);
            }
            Input::SaveFailed { reason } => self.abandon(reason),
            Input::Delivered { event } => self.on_delivered(now, &event),
            Input::Prepared(prepared) => self.on_prepared(now, prepared),
            Input::Counted { number, tokens } => self.on_counted(now, number, tokens),
            Input::Reserved(verdict) => self.on_reserved(now, verdict),
            Input::Response { number, response, usage } => self.on_response(now, number, *response, *usage),
            Input::Failed { number, error, usage, jitter } => {
                self.on_failed(now, number, &error, usage.map(|usage| *usage), jitter);
            }
            Input::ToolFinished { result, control } => self.on_tool_finished(*result, control.as_ref()),
            Input::SentBack { event, reason } => self.on_sent_back(now, event, &reason),
            Input::CompactionRefused { number, reason } => self.on_compaction_refused(number, &reason),
            Input::Withdraw { ids } => self.withdraw(&ids),
            Input::Timer { timer } => match self.phase {
                Phase::Backoff { timer: waiting, purpose, attempt } if waiting == timer => {
                    self.call(purpose, attempt + 1);
                }
                Phase::AwaitingBudget { timer: waiting, purpose, attempt } if waiting == timer => {
                    self.call(purpose, attempt);
                }
                Phase::Tools(_) => self.on_results_timeout(timer),
                _ => {}
            },
            Input::Interrupt => self.interrupt(now),
            Input::WrapUp => self.wrap_up(now),
            Input::Teardown(reason) => self.teardown(now, reason),
        }
    }

    fn start(&mut self, now: Timestamp) {
        debug_assert_eq!(
            self.conversation.last_role(),
            self.state.turns.last_role,
            "the folds disagree about the last role"
        );
        let resume = resume::of(&self.state);
        let started =
            RunStarted { shape: resume.shape(), profile: self.limits.profile.clone(), model: self.model().to_owned() };
        let mut bodies = vec![Body::from(started)];
        if let Resume::NeedsRepair { orphans } = &resume {
            bodies.extend(repair(orphans));
        }
        // Background processes end with their run, so those of an earlier run are gone.
        bodies.extend(self.state.background.iter().map(|process| {
            let from = MessageSource::BackgroundComplete {
                process: process.id.clone(),
                command: process.command.clone(),
                exit: None,
                duration_ms: 0,
            };
            Body::from(self.message(now, from, LEFT_BEHIND))
        }));
        self.save(bodies, AfterSave::Advance);
    }

    /// Applies an event that is on disk.
    fn apply_event(&mut self, event: &Event) {
        self.conversation.apply(event);
        self.state.apply(event);
        self.gauge.apply(event);
        self.watch.apply(event);
        // The summary or its marker covers everything before it, so later deliveries of that are duplicates.
        if matches!(event.body, Body::CompactMarker(_)) {
            self.last_known = self.last_known.max(Some(event.id));
        }
    }

    fn next_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    fn save(&mut self, bodies: Vec<Body>, then: AfterSave) {
        let ticket = self.next_number();
        self.phase = Phase::Saving { ticket, then };
        self.effects.push(Effect::Save { ticket, bodies });
    }

    fn on_saved(&mut self, now: Timestamp, ticket: u64) {
        match std::mem::replace(&mut self.phase, Phase::Parked) {
            Phase::Saving { ticket: expected, then } if expected == ticket => self.proceed(now, then),
            Phase::Tools(running) => {
                self.phase = Phase::Tools(running);
                self.on_result_saved(now, ticket);
            }
            other => self.phase = other,
        }
    }

    fn proceed(&mut self, now: Timestamp, then: AfterSave) {
        let is_stopping = self.stop_requests.interrupt || self.stop_requests.teardown.is_some();
        match then {
            AfterSave::End(exit) => self.finish(exit),
            AfterSave::Tools(plan) if is_stopping => self.skip_calls(now, plan),
            AfterSave::Release(released) if is_stopping => self.skip_calls(now, released.into_plan()),
            AfterSave::Call { .. } | AfterSave::Wait { .. } if is_stopping || self.stop_requests.wrap_up => {
                self.advance(now);
            }
            AfterSave::Ask { .. } if self.stop_requests.teardown.is_some() => self.advance(now),
            AfterSave::Advance => self.advance(now),
            AfterSave::Call { purpose, attempt } => self.call(purpose, attempt),
            AfterSave::Wait { millis, purpose, attempt, reason, of } => {
                let timer = self.next_number();
                self.phase = Phase::Backoff { timer, purpose, attempt };
                self.effects.push(Effect::Retrying { attempt, of, millis, reason });
                self.effects.push(Effect::Sleep { timer, millis });
            }
            AfterSave::Tools(plan) => self.run_tools(now, plan),
            AfterSave::Release(released) => self.run_calls(now, released.calls, released.consents),
            AfterSave::Ask { ask, cause } => self.await_answer(now, ask, cause),
        }
    }

    /// Decides what to do next when no operation is in progress.
    fn advance(&mut self, now: Timestamp) {
        if let Some(reason) = self.stop_requests.teardown.take() {
            return self.end(Exit::Interrupted(reason));
        }
        if std::mem::take(&mut self.stop_requests.interrupt) {
            self.halted = true;
            // The request is not made, so other runs may have its money.
            if self.limits.budgeted {
                self.attempts.reserved = false;
                self.effects.push(Effect::Release);
            }
            let message = match self.stop_requests.hook.take() {
                Some((event, reason)) => {
                    let from = MessageSource::Hook { event, effect: HookMessage::EndsTurn };
                    self.message(now, from, &format!("Your turn was ended: {reason}"))
                }
                None => self.message(now, MessageSource::Interrupt, INTERRUPTED),
            };
            let mut bodies = vec![Body::from(message)];
            bodies.extend(self.withdraw_held_calls());
            // The interrupt also cancels a requested summary.
            bodies.extend(self.withdraw_compact_requests());
            return self.save(bodies, AfterSave::Advance);
        }
        if self.stop_requests.wrap_up {
            return self.end_or_await_processes();
        }
        if let Some((cause, decision)) = self.unapplied_decision() {
            return self.on_decision(now, cause, &decision);
        }
        if let Some((ask, cause)) = self.open_ask() {
            return self.resume_open_ask(ask, cause);
        }
        if !self.state.held_calls.is_empty() {
            return self.release_calls();
        }
        let manual = self.control_messages();
        if !manual.is_empty() {
            return self.compact_manually(manual);
        }
        let has_wake_message = self.has_wake_message();
        if !has_wake_message && (self.halted || !self.owes_response()) {
            return self.park();
        }
        let prepare = (self.conversation.config().is_none(), !self.conversation.has_work_context());
        if (prepare.0 || prepare.1) && !self.has_pending_context() {
            self.phase = Phase::Preparing { after: None };
            return self.effects.push(Effect::Prepare { config: prepare.0, context: prepare.1 });
        }
        let taken = self.take_messages();
        if !taken.is_empty() {
            return self.save(taken, AfterSave::Advance);
        }
        if !self.within_limits(now) {
            return;
        }
        self.call(Purpose::Respond, 1);
    }

    /// Returns true if the model has not responded to the last message.
    fn owes_response(&self) -> bool {
        self.conversation.last_role() == Some(Role::User) && self.state.turns.open.is_empty()
    }

    /// Checks all limits before a request. If it returns false, another operation is in progress.
    fn within_limits(&mut self, now: Timestamp) -> bool {
        match self.watch.end_turn() {
            LoopVerdict::Fine => {}
            LoopVerdict::Warn { turns } => {
                let notice = self.message(now, MessageSource::Notice, &loop_notice(turns));
                self.save(vec![notice.into()], AfterSave::Advance);
                return false;
            }
            LoopVerdict::Ask { turns } => {
                self.ask(asks::AskCause::Loop, &loop_question(turns), "");
                return false;
            }
        }
        if let Some(max) = self.limits.max_turns
            && self.state.turns.of_profile() >= self.state.grants.turns.map_or(max, |granted| granted.max(max))
        {
            let ended = self.state.turns.of_profile();
            let question = format!("This agent has reached its limit of turns ({ended}). Allow {max} more?");
            self.ask(asks::AskCause::TurnLimit, &question, "");
            return false;
        }
        if self.compact_if_due() {
            return false;
        }
        true
    }

    /// Calls the model, after reserving money for the request. Summaries and retries reserve money too.
    fn call(&mut self, purpose: Purpose, attempt: u32) {
        if self.limits.budgeted && !std::mem::take(&mut self.attempts.reserved) {
            self.phase = Phase::Reserving { purpose, attempt };
            return self
                .effects
                .push(Effect::Reserve { tokens: self.gauge.tokens(), allowances: self.state.grants.money.clone() });
        }
        let number = self.next_number();
        self.attempts.counted = false;
        self.phase = Phase::Calling { number, purpose, attempt };
        let activity = match purpose {
            Purpose::Respond => Activity::Thinking,
            Purpose::Summarise { .. } => Activity::Compacting,
        };
        self.effects.push(Effect::Activity(activity));
        self.effects.push(Effect::CallModel { number, purpose, attempt });
    }

    fn park(&mut self) {
        // An answer without any event as its result would be applied again after each restart.
        let applied: Vec<Body> = self
            .state
            .decisions
            .iter()
            .map(|decision| AskWithdrawn { id: decision.ask.id, reason: "the answer was acted on".to_owned() }.into())
            .collect();
        if !applied.is_empty() {
            return self.save(applied, AfterSave::Advance);
        }
        self.phase = Phase::Parked;
        self.effects.push(Effect::Activity(Activity::Idle));
    }

    fn end(&mut self, exit: Exit) {
        self.end_with(RunEnded::from(exit));
    }

    fn end_with(&mut self, ended: RunEnded) {
        let exit = ended.exit.clone();
        self.save(vec![ended.into()], AfterSave::End(exit));
    }

    fn finish(&mut self, exit: Exit) {
        self.phase = Phase::Ended;
        self.effects.push(Effect::Activity(Activity::Stopped));
        self.effects.push(Effect::Exit(exit));
    }

    fn message(&self, now: Timestamp, from: MessageSource, body: &str) -> Message {
        Message::new(MessageId::fresh(&self.ids), now, from, body)
    }
}

/// Returns true if a message needs a response. A request to compact does not: the model never sees it.
fn wakes(message: &Message) -> bool {
    message.from.wakes() && message.from.is_visible()
}

/// Returns the result of a call that the agent slept on, now that it wakes.
fn wake_result(call: &OpenCall) -> ToolResult {
    let text = match Control::of(&call.name) {
        Some(Control::Done) => {
            "You had declared this task done, and were spoken to again. The task is open: deal with what follows, then call done anew."
        }
        Some(Control::Yield | Control::Fork) | None => "Resumed: something was said to you.",
    };
    ToolResult::unrun(call, text, false)
}

const LEFT_BEHIND: &str = "It was ended because Matrix stopped. How far it came is not known.";
const INTERRUPTED: &str = "The user interrupted you. What you were doing stopped where it was.";

fn loop_notice(turns: u32) -> String {
    format!(
        "Your last {turns} turns made calls you had made before, with the same results. You are going in circles. Step \
         back: say what you are trying to find out, and try something else or ask."
    )
}

fn loop_question(turns: u32) -> String {
    format!("This agent has repeated the same calls for {turns} turns. Let it continue?")
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
