//! What one run does next, as a pure function: `step(&mut self, now, input) -> Vec<Effect>`.
//!
//! No runtime, no clock, no disk, no network. At any moment exactly one thing is under way, its phase; inputs that do
//! not concern it are remembered and looked at when it is over. Invariants: an event changes the state only when the
//! store has acknowledged it; every call of a response is answered exactly once, or left open on purpose (`yield`,
//! `done`) or by a crash (then [`resume`] answers it); the run never waits without a phase that says for what.

mod asking;
mod compacting;
mod failing;
mod hearing;
mod io;
mod responding;
mod tooling;

use std::collections::BTreeSet;

pub(in crate::agent) use asking::About;
pub use io::{Effect, Input, Limits, Prepared, Purpose};

use crate::agent::control;
use crate::agent::conversation::Conversation;
use crate::agent::gauge::Gauge;
use crate::agent::loop_watch::{LoopWatch, Verdict};
use crate::agent::repair::repair;
use crate::base::{AskId, EventId, IdSource, MessageId, Timestamp};
use crate::model::control::Control;
use crate::model::conversation::Role;
use crate::model::event::{AskWithdrawn, Body, Event, Exit, InterruptReason, RunEnded, RunStarted, ToolResult};
use crate::model::fold::{OpenCall, SessionState};
use crate::model::live::Activity;
use crate::model::message::{Delivery, Message, Source};
use crate::model::resume::{self, Resume};
use crate::provider::Catalogue;

/// One run of one task.
#[derive(Debug)]
pub struct Machine {
    ids: IdSource,
    limits: Limits,
    conversation: Conversation,
    state: SessionState,
    gauge: Gauge,
    watch: LoopWatch,
    phase: Phase,
    wants: Wants,
    tries: Tries,
    /// Messages that are to wait until the agent would otherwise sleep.
    held: BTreeSet<MessageId>,
    /// Messages on their way into the conversation, and messages on their way out of the session. None is both.
    handed_over: BTreeSet<MessageId>,
    withdrawing: BTreeSet<MessageId>,
    /// Answers that this run has acted on.
    acted_on: BTreeSet<AskId>,
    /// The agent slept when the person asked for a summary.
    asleep: bool,
    /// The person cut the agent short: it owes nothing until it is spoken to.
    halted: bool,
    /// The last event that was in the log when it was taken up. News of it, or of anything before it, is no news.
    known: Option<EventId>,
    numbers: u64,
    out: Vec<Effect>,
}

/// What was asked for while something else was under way.
#[derive(Debug, Default)]
struct Wants {
    interrupt: bool,
    teardown: Option<InterruptReason>,
}

/// What has been tried without success, so that it ends.
#[derive(Debug, Default)]
struct Tries {
    /// Responses in a row that said nothing, or stopped at a limit.
    unfinished: u32,
    bad_summaries: u32,
    /// Compactions in a row that the next one followed within a few responses.
    hasty_compactions: u32,
    /// Responses since the last compaction of this run, `None` before the first.
    since_compaction: Option<u32>,
    /// A compaction was made, or given up, and the context has not been sent since.
    compacted: bool,
    counted: bool,
    reserved: bool,
}

/// The one thing that is under way.
#[derive(Debug)]
enum Phase {
    Saving {
        ticket: u64,
        then: Then,
    },
    Preparing {
        after: Option<compacting::Summary>,
    },
    Counting {
        number: u64,
    },
    Reserving {
        purpose: Purpose,
        attempt: u32,
    },
    /// Others hold what is left of the budget.
    Held {
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
    Tools(tooling::Running),
    Asking {
        ask: AskId,
        about: asking::About,
    },
    Parked,
    Ended,
}

/// Which messages stay where they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hold {
    Nothing,
    /// Those that are for when the agent would otherwise sleep.
    UntilIdle,
}

/// What comes after an append.
#[derive(Debug)]
enum Then {
    Advance,
    Call { purpose: Purpose, attempt: u32 },
    Wait { millis: u64, purpose: Purpose, attempt: u32, reason: String, of: u32 },
    Tools(control::Plan),
    Ask { ask: AskId, about: asking::About },
    End(Exit),
}

impl Machine {
    /// Takes up a session from its active log. Nothing happens before [`Input::Start`].
    pub fn new(events: &[Event], limits: Limits, ids: IdSource) -> Self {
        let state = SessionState::replay(events);
        let halted = state.messages.iter().any(|message| message.from == Source::Interrupt)
            || state.turns.exit() == Some(&Exit::Interrupted(InterruptReason::Stopped));
        let waits = state.messages.iter().filter(|message| message.delivery == Delivery::Next);
        let held = waits.map(|message| message.id).collect();
        Self {
            ids,
            limits,
            conversation: Conversation::replay(events),
            gauge: Gauge::replay(events),
            state,
            watch: LoopWatch::default(),
            phase: Phase::Parked,
            wants: Wants::default(),
            tries: Tries::default(),
            held,
            handed_over: BTreeSet::new(),
            withdrawing: BTreeSet::new(),
            acted_on: BTreeSet::new(),
            asleep: false,
            halted,
            known: events.iter().map(|event| event.id).max(),
            numbers: 0,
            out: Vec::new(),
        }
    }

    pub fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    pub fn state(&self) -> &SessionState {
        &self.state
    }

    /// Takes note that another model, with another window, is used from now on.
    pub fn use_window(&mut self, window: u64) {
        self.limits.window = Some(window);
    }

    pub fn catalogue(&self) -> &Catalogue {
        &self.limits.catalogue
    }

    /// Takes over what is known of models by now.
    pub fn use_catalogue(&mut self, catalogue: Catalogue) {
        self.limits.catalogue = catalogue;
    }

    /// Returns about how many tokens the next request has.
    pub fn context_tokens(&self) -> u64 {
        self.gauge.tokens()
    }

    /// Returns the model that is asked: the frozen one, or the one that a new session will have.
    fn model(&self) -> &str {
        self.conversation.config().map_or(self.limits.model.as_str(), |config| &config.model)
    }

    /// Tells whether the run is over.
    pub fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Ended)
    }

    /// Tells whether nothing is under way and nothing will be before somebody speaks, answers, or a process ends.
    pub fn is_resting(&self) -> bool {
        matches!(self.phase, Phase::Parked | Phase::Asking { .. })
    }

    /// Returns what the run is waiting for, in a word: nothing waits without a name.
    pub fn waits_for(&self) -> &'static str {
        match &self.phase {
            Phase::Saving { .. } => "disk",
            Phase::Preparing { .. } => "context",
            Phase::Counting { .. } => "count",
            Phase::Reserving { .. } => "budget",
            Phase::Held { .. } => "money",
            Phase::Calling { .. } => "model",
            Phase::Backoff { .. } => "retry",
            Phase::Tools(_) => "tools",
            Phase::Asking { .. } => "person",
            Phase::Parked => "message",
            Phase::Ended => "nothing",
        }
    }

    /// Takes one input and returns what is to be done about it, in order.
    pub fn step(&mut self, now: Timestamp, input: Input) -> Vec<Effect> {
        if !self.is_over() {
            self.take(now, input);
        }
        std::mem::take(&mut self.out)
    }

    fn take(&mut self, now: Timestamp, input: Input) {
        match input {
            Input::Start => self.start(now),
            Input::Saved { ticket, events } => {
                events.iter().for_each(|event| self.absorb(event));
                self.saved(now, ticket);
            }
            Input::SaveFailed { reason } => self.abandon(reason),
            Input::Heard { event } => self.heard(now, &event),
            Input::Prepared(prepared) => self.prepared(now, prepared),
            Input::Counted { number, tokens } => self.counted(now, number, tokens),
            Input::Reserved(verdict) => self.reserved(now, verdict),
            Input::Response { number, response, usage } => self.responded(now, number, *response, *usage),
            Input::Failed { number, error, usage, jitter } => {
                self.failed(now, number, &error, usage.map(|usage| *usage), jitter);
            }
            Input::ToolFinished { result, control } => self.tool_finished(*result, control.as_ref()),
            Input::Withdraw { ids } => self.withdraw(&ids),
            Input::Timer { timer } => match self.phase {
                Phase::Backoff { timer: waiting, purpose, attempt } if waiting == timer => {
                    self.call(purpose, attempt + 1);
                }
                Phase::Held { timer: waiting, purpose, attempt } if waiting == timer => self.call(purpose, attempt),
                Phase::Tools(_) => self.waited_for_results(timer),
                _ => {}
            },
            Input::Interrupt => self.interrupt(now),
            Input::Teardown(reason) => self.teardown(now, reason),
        }
    }

    fn start(&mut self, now: Timestamp) {
        debug_assert_eq!(
            self.conversation.last_role(),
            self.state.turns.voice,
            "the folds disagree about who spoke last"
        );
        let resume = resume::of(&self.state);
        let started =
            RunStarted { shape: resume.shape(), profile: self.limits.profile.clone(), model: self.model().to_owned() };
        let mut bodies = vec![Body::from(started)];
        if let Resume::NeedsRepair { orphans } = &resume {
            bodies.extend(repair(orphans));
        }
        // A run looks after its own processes: what an earlier one left behind is gone.
        bodies.extend(self.state.background.iter().map(|process| {
            let from = Source::BackgroundComplete {
                process: process.id.clone(),
                command: process.command.clone(),
                exit: None,
                duration_ms: 0,
            };
            Body::from(self.message(now, from, LEFT_BEHIND))
        }));
        self.save(bodies, Then::Advance);
    }

    /// Takes in an event that is on the disk.
    fn absorb(&mut self, event: &Event) {
        self.conversation.apply(event);
        self.state.apply(event);
        self.gauge.apply(event);
        self.watch.apply(event);
        // What was said before a summary is in it, or in what the marker carries: late news of it is no news.
        if matches!(event.body, Body::CompactMarker(_)) {
            self.known = self.known.max(Some(event.id));
        }
    }

    fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    fn save(&mut self, bodies: Vec<Body>, then: Then) {
        let ticket = self.number();
        self.phase = Phase::Saving { ticket, then };
        self.out.push(Effect::Save { ticket, bodies });
    }

    fn saved(&mut self, now: Timestamp, ticket: u64) {
        match std::mem::replace(&mut self.phase, Phase::Parked) {
            Phase::Saving { ticket: expected, then } if expected == ticket => self.proceed(now, then),
            Phase::Tools(running) => {
                self.phase = Phase::Tools(running);
                self.result_saved(now, ticket);
            }
            other => self.phase = other,
        }
    }

    fn proceed(&mut self, now: Timestamp, then: Then) {
        let cut_short = self.wants.interrupt || self.wants.teardown.is_some();
        match then {
            Then::End(exit) => self.finish(exit),
            Then::Tools(plan) if cut_short => self.leave_unrun(now, plan),
            Then::Call { .. } | Then::Wait { .. } if cut_short => self.advance(now),
            Then::Ask { .. } if self.wants.teardown.is_some() => self.advance(now),
            Then::Advance => self.advance(now),
            Then::Call { purpose, attempt } => self.call(purpose, attempt),
            Then::Wait { millis, purpose, attempt, reason, of } => {
                let timer = self.number();
                self.phase = Phase::Backoff { timer, purpose, attempt };
                self.out.push(Effect::Retrying { attempt, of, millis, reason });
                self.out.push(Effect::Sleep { timer, millis });
            }
            Then::Tools(plan) => self.run_tools(now, plan),
            Then::Ask { ask, about } => self.wait_for(now, ask, about),
        }
    }

    /// Decides what to do when nothing is under way.
    fn advance(&mut self, now: Timestamp) {
        if let Some(reason) = self.wants.teardown.take() {
            return self.end(Exit::Interrupted(reason));
        }
        if std::mem::take(&mut self.wants.interrupt) {
            self.halted = true;
            // Money for a request that is not made must not be kept from others while the agent waits.
            if self.limits.budgeted {
                self.tries.reserved = false;
                self.out.push(Effect::Release);
            }
            let mut bodies = vec![Body::from(self.message(now, Source::Interrupt, INTERRUPTED))];
            // A summary that was asked for is cut short too, and not begun again behind the person's back.
            bodies.extend(self.drop_wishes());
            return self.save(bodies, Then::Advance);
        }
        if let Some((about, decision)) = self.standing_decision() {
            return self.answered(now, about, &decision);
        }
        if let Some((ask, about)) = self.standing_ask() {
            return self.settle_standing(ask, about);
        }
        let manual = self.control_messages();
        if !manual.is_empty() {
            return self.compact_by_hand(manual);
        }
        let spoken_to = self.spoken_to();
        if !spoken_to && (self.halted || !self.owes_response()) {
            return self.park();
        }
        let prepare = (self.conversation.config().is_none(), !self.conversation.has_work_context());
        if (prepare.0 || prepare.1) && !self.context_waits() {
            self.phase = Phase::Preparing { after: None };
            return self.out.push(Effect::Prepare { config: prepare.0, context: prepare.1 });
        }
        let taken = self.take_messages();
        if !taken.is_empty() {
            return self.save(taken, Then::Advance);
        }
        if !self.within_limits(now) {
            return;
        }
        self.call(Purpose::Respond, 1);
    }

    /// Tells whether the model has been given something that it has not responded to.
    fn owes_response(&self) -> bool {
        self.conversation.last_role() == Some(Role::User) && self.state.turns.open.is_empty()
    }

    /// Looks at every limit before a request. Tells whether it may be made; if not, something else is under way.
    fn within_limits(&mut self, now: Timestamp) -> bool {
        match self.watch.turn_over() {
            Verdict::Fine => {}
            Verdict::Warn { .. } | Verdict::Ask { .. } if self.limits.may_repeat => {}
            Verdict::Warn { turns } => {
                let notice = self.message(now, Source::Notice, &repeating(turns));
                self.save(vec![notice.into()], Then::Advance);
                return false;
            }
            Verdict::Ask { turns } => {
                self.ask(asking::About::Loop, &repeating_question(turns), "");
                return false;
            }
        }
        if let Some(max) = self.limits.max_turns
            && self.state.turns.ended >= self.state.grants.turns.map_or(max, |granted| granted.max(max))
        {
            let question = format!(
                "This agent has had {} turns, as many as it may have. Let it have {max} more?",
                self.state.turns.ended
            );
            self.ask(asking::About::TurnLimit, &question, "");
            return false;
        }
        if self.compaction_is_due() {
            return false;
        }
        true
    }

    /// Asks the model, once there is money for it: also for a summary, and again for every further try.
    fn call(&mut self, purpose: Purpose, attempt: u32) {
        if self.limits.budgeted && !std::mem::take(&mut self.tries.reserved) {
            self.phase = Phase::Reserving { purpose, attempt };
            return self.out.push(Effect::Reserve { tokens: self.gauge.tokens() });
        }
        let number = self.number();
        self.tries.counted = false;
        self.phase = Phase::Calling { number, purpose, attempt };
        let activity = match purpose {
            Purpose::Respond => Activity::Thinking,
            Purpose::Summarise { .. } => Activity::Compacting,
        };
        self.out.push(Effect::Activity(activity));
        self.out.push(Effect::CallModel { number, purpose, attempt });
    }

    fn park(&mut self) {
        // An answer that led to nothing that is on the disk would be acted on again after every restart.
        let done_with: Vec<Body> = self
            .state
            .decisions
            .iter()
            .map(|decision| AskWithdrawn { id: decision.ask.id, reason: "the answer was acted on".to_owned() }.into())
            .collect();
        if !done_with.is_empty() {
            return self.save(done_with, Then::Advance);
        }
        self.phase = Phase::Parked;
        self.out.push(Effect::Activity(Activity::Idle));
    }

    fn end(&mut self, exit: Exit) {
        self.end_with(RunEnded::from(exit));
    }

    fn end_with(&mut self, ended: RunEnded) {
        let exit = ended.exit.clone();
        self.save(vec![ended.into()], Then::End(exit));
    }

    fn finish(&mut self, exit: Exit) {
        self.phase = Phase::Ended;
        self.out.push(Effect::Activity(Activity::Stopped));
        self.out.push(Effect::Exit(exit));
    }

    /// Gives up at once: the disk did not take an event, so nothing more may happen that it does not know of.
    fn abandon(&mut self, reason: String) {
        match self.phase {
            Phase::Calling { number, .. } | Phase::Counting { number } => {
                self.out.push(Effect::CancelModel { number });
            }
            Phase::Tools(_) => self.out.push(Effect::CancelTools),
            Phase::Saving { .. }
            | Phase::Preparing { .. }
            | Phase::Reserving { .. }
            | Phase::Held { .. }
            | Phase::Backoff { .. }
            | Phase::Asking { .. }
            | Phase::Parked
            | Phase::Ended => {}
        }
        self.finish(Exit::Interrupted(InterruptReason::Storage(reason)));
    }

    fn interrupt(&mut self, now: Timestamp) {
        match self.phase {
            // There is nothing to cut short.
            Phase::Parked | Phase::Asking { .. } | Phase::Ended => {}
            // Of a summary too: the context is as it was, and it is asked for again when it is needed.
            Phase::Calling { number, .. } => {
                self.wants.interrupt = true;
                self.out.push(Effect::CancelModel { number });
            }
            // How large the next request is no longer matters, and nobody waits for the answer.
            Phase::Counting { number } => {
                self.wants.interrupt = true;
                self.out.push(Effect::CancelModel { number });
                self.advance(now);
            }
            Phase::Tools(_) => {
                self.wants.interrupt = true;
                self.out.push(Effect::CancelTools);
            }
            Phase::Backoff { timer, .. } | Phase::Held { timer, .. } => {
                self.wants.interrupt = true;
                self.out.push(Effect::CancelSleep { timer });
                self.advance(now);
            }
            // What is under way is over in a moment; then it is looked at.
            Phase::Saving { .. } | Phase::Preparing { .. } | Phase::Reserving { .. } => {
                self.wants.interrupt = true;
            }
        }
    }

    fn teardown(&mut self, now: Timestamp, reason: InterruptReason) {
        self.wants.teardown.get_or_insert(reason);
        match &mut self.phase {
            &mut Phase::Calling { number, .. } => self.out.push(Effect::CancelModel { number }),
            Phase::Tools(_) => self.out.push(Effect::CancelTools),
            &mut (Phase::Backoff { timer, .. } | Phase::Held { timer, .. }) => {
                self.out.push(Effect::CancelSleep { timer });
                self.advance(now);
            }
            &mut Phase::Counting { number } => {
                self.out.push(Effect::CancelModel { number });
                self.advance(now);
            }
            // A summary that will not be used was paid for.
            Phase::Preparing { after } => match after.take() {
                Some(summary) => self.save(vec![summary.usage.into()], Then::Advance),
                None => self.advance(now),
            },
            Phase::Parked | Phase::Asking { .. } | Phase::Reserving { .. } => self.advance(now),
            Phase::Saving { .. } | Phase::Ended => {}
        }
    }

    fn message(&self, now: Timestamp, from: Source, body: &str) -> Message {
        Message::new(MessageId::fresh(&self.ids), now, from, body)
    }
}

/// Tells whether a message is something to respond to. A wish to compact is not: nobody sees it.
fn wakes(message: &Message) -> bool {
    message.from.wakes() && message.from.is_visible()
}

/// Returns the result of a call that the agent slept on.
fn woken(call: &OpenCall) -> ToolResult {
    let text = match Control::of(&call.name) {
        Some(Control::Done) => {
            "You had declared this task done, and were spoken to again. The task is open: deal with what follows, then call done anew."
        }
        Some(Control::Yield | Control::Fork) | None => "Resumed: something was said to you.",
    };
    ToolResult::unrun(call, text, false)
}

const LEFT_BEHIND: &str = "It was ended because Matrix stopped. How far it came is not known.";
const INTERRUPTED: &str = "The person interrupted you. What you were doing stopped where it was.";

fn repeating(turns: u32) -> String {
    format!(
        "Your last {turns} turns made calls you had made before, with the same results. You are going in circles. Step \
         back: say what you are trying to find out, and try something else or ask."
    )
}

fn repeating_question(turns: u32) -> String {
    format!("This agent has repeated itself for {turns} turns. Let it go on?")
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
