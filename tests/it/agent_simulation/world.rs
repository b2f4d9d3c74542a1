//! The world around one machine.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::ops::AddAssign;
use std::sync::Arc;

use mxd::agent::machine::{BudgetVerdict, Delivery, Effect, Input, Limits, Machine, Prepared, Purpose};
use mxd::base::{Clock, EventId, IdSource, Json, MessageId, MicroUsd, Timestamp, TurnId};
use mxd::model::ask::AnsweredBy;
use mxd::model::conversation::{Speech, ToolUse, Wire};
use mxd::model::event::{
    AskAnswered, Body, BudgetScope, CachePolicy, Event, InterruptReason, SessionConfig, StopReason, SystemPrompt,
    ToolResult, VERSION, Verdict,
};
use mxd::model::fold::SessionState;
use mxd::model::message::{Message, Source};
use mxd::model::usage::{Tokens, Usage};
use mxd::model::{Answer, Content};
use mxd::provider::{ApiError, ErrorClass, Response, ResponseBlock};
use mxd::tools::{self, names};

use super::rules;

/// A clock that stands still: order must never depend on it.
struct Still;

impl Clock for Still {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(1_800_000_000_000)
    }
}

/// What is under way outside the machine.
#[derive(Debug)]
enum Work {
    Save { ticket: u64, bodies: Vec<Body> },
    Prepare { config: bool, context: bool },
    Count,
    Reserve,
    Model { number: u64, purpose: Purpose, cancelled: bool },
    Tool { call: ToolUse, cancelled: bool },
    Timer { timer: u64, cancelled: bool },
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    steps: u64,
    crashes: u64,
    requests: u64,
    tools: u64,
    messages: u64,
    interrupts: u64,
    faults: u64,
    asks: u64,
    compactions: u64,
    dones: u64,
    repairs: u64,
    withdrawn: u64,
}

pub struct World {
    pub seed: u64,
    random: u64,
    ids: IdSource,
    pub log: Vec<Event>,
    pub machine: Option<Machine>,
    saves: VecDeque<Work>,
    work: Vec<Work>,
    /// Written by others, and not yet told to the machine.
    news: VecDeque<(Event, Delivery)>,
    /// The calls that were really carried out.
    ran: BTreeSet<String>,
    pub answered: BTreeSet<String>,
    pub consumed: BTreeSet<MessageId>,
    pub sent: BTreeSet<MessageId>,
    pub withdrawn: BTreeSet<MessageId>,
    /// The conversation as it was last sent, in this segment.
    pub last_request: Vec<Speech>,
    pub epoch: usize,
    /// The world stops causing trouble and lets everything finish.
    calm: bool,
    ended: bool,
    tally: Tally,
}

impl World {
    pub fn new(seed: u64) -> Self {
        let ids = IdSource::seeded(Arc::new(Still), seed);
        let mut world = Self {
            seed,
            random: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03,
            ids,
            log: Vec::new(),
            machine: None,
            saves: VecDeque::new(),
            work: Vec::new(),
            news: VecDeque::new(),
            ran: BTreeSet::new(),
            answered: BTreeSet::new(),
            consumed: BTreeSet::new(),
            sent: BTreeSet::new(),
            withdrawn: BTreeSet::new(),
            last_request: Vec::new(),
            epoch: 0,
            calm: false,
            ended: false,
            tally: Tally::default(),
        };
        world.say(Source::User);
        world.launch();
        world
    }

    pub fn tally(&self) -> Tally {
        self.tally
    }

    fn draw(&mut self, bound: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % bound
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.draw(100) < percent
    }

    fn now() -> Timestamp {
        Still.now()
    }

    /// Starts a run on what the disk has.
    fn launch(&mut self) {
        let active = rules::active(&self.log);
        let limits = Limits {
            profile: "engineer".to_owned(),
            model: "test".to_owned(),
            window: Some(20_000),
            can_count: self.seed.is_multiple_of(2),
            max_turns: self.seed.is_multiple_of(5).then_some(12),
            budgeted: self.seed.is_multiple_of(3),
            may_repeat: false,
        };
        self.machine = Some(Machine::new(&active, limits, self.ids.clone()));
        self.ended = false;
        self.feed(Input::Start);
    }

    fn feed(&mut self, input: Input) {
        let Some(machine) = &mut self.machine else { return };
        let effects = machine.step(Self::now(), input);
        for effect in effects {
            self.perform(effect);
        }
        rules::check(self);
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Save { ticket, bodies } => self.saves.push_back(Work::Save { ticket, bodies }),
            Effect::Prepare { config, context } => self.work.push(Work::Prepare { config, context }),
            Effect::Count => self.work.push(Work::Count),
            Effect::Reserve { .. } => self.work.push(Work::Reserve),
            Effect::CallModel { number, purpose, .. } => {
                self.tally.requests += 1;
                if purpose == Purpose::Respond {
                    rules::check_request(self);
                }
                self.work.push(Work::Model { number, purpose, cancelled: false });
            }
            Effect::CancelModel { number: which } => self.each(|work| {
                if let Work::Model { number, cancelled, .. } = work {
                    *cancelled |= *number == which;
                }
            }),
            Effect::RunTools { calls } => {
                for call in calls {
                    self.tally.tools += 1;
                    let first = self.ran.insert(call.call.clone());
                    assert!(first, "seed {}: call {} was carried out twice", self.seed, call.call);
                    self.work.push(Work::Tool { call, cancelled: false });
                }
            }
            Effect::CancelTools => self.each(|work| {
                if let Work::Tool { cancelled, .. } = work {
                    *cancelled = true;
                }
            }),
            Effect::Sleep { timer, .. } => self.work.push(Work::Timer { timer, cancelled: false }),
            Effect::CancelSleep { timer: which } => self.each(|work| {
                if let Work::Timer { timer, cancelled } = work {
                    *cancelled |= *timer == which;
                }
            }),
            Effect::Exit(_) => self.ended = true,
            Effect::Activity(_) | Effect::Retrying { .. } | Effect::UseModel { .. } | Effect::Park => {}
        }
    }

    fn each(&mut self, change: impl FnMut(&mut Work)) {
        self.work.iter_mut().for_each(change);
    }

    /// Does one thing that could happen now.
    pub fn step(&mut self) {
        self.tally.steps += 1;
        if self.ended {
            // Whoever looks after the run starts it again, or somebody speaks to the task.
            self.say(Source::User);
            return self.relaunch();
        }
        match self.draw(100) {
            0..=3 => self.crash(),
            4..=13 => {
                let from = self.some_source();
                self.say(from);
            }
            14..=17 => {
                self.tally.interrupts += 1;
                self.feed(Input::Interrupt);
            }
            18 => self.feed(Input::Teardown(InterruptReason::Quit)),
            19..=21 => self.withdraw_one(),
            22..=30 => drop(self.answer_one()),
            _ => self.finish_one(),
        }
    }

    /// Lets everything finish, with a person who answers what is asked.
    pub fn settle(&mut self) {
        self.calm = true;
        for _ in 0..2_000 {
            if self.ended {
                self.relaunch();
            }
            if self.is_quiet() {
                if self.answer_one() {
                    continue;
                }
                return rules::check_quiet(self);
            }
            self.finish_one();
        }
        panic!(
            "seed {}: still busy: {:?}\n{}",
            self.seed,
            self.machine.as_ref().map(Machine::waits_for),
            rules::tail(&self.log)
        );
    }

    fn relaunch(&mut self) {
        self.saves.clear();
        self.work.clear();
        // What is on the disk is read from there.
        self.news.clear();
        self.launch();
    }

    /// The process dies. What had reached the disk stays; a write that was under way may have.
    fn crash(&mut self) {
        self.tally.crashes += 1;
        while !self.saves.is_empty() && self.chance(40) {
            self.write_one();
        }
        self.machine = None;
        self.relaunch();
        if matches!(self.saves.back(), Some(Work::Save { bodies, .. }) if bodies.iter().any(|body| matches!(body, Body::Repaired(_))))
        {
            self.tally.repairs += 1;
        }
    }

    /// Appends the oldest write. Returns it.
    fn write_one(&mut self) -> Option<(u64, Vec<Event>)> {
        let Some(Work::Save { ticket, bodies }) = self.saves.pop_front() else { return None };
        let events: Vec<Event> = bodies.into_iter().map(|body| self.append(body)).collect();
        Some((ticket, events))
    }

    fn append(&mut self, mut body: Body) -> Event {
        if let Body::CompactMarker(marker) = &mut body {
            *marker.carry = SessionState::replay(&rules::active(&self.log));
            self.tally.compactions += 1;
            self.epoch += 1;
            self.last_request.clear();
        }
        if matches!(body, Body::AskRaised(_)) {
            self.tally.asks += 1;
        }
        if matches!(body, Body::MessagesWithdrawn(_)) {
            self.tally.withdrawn += 1;
        }
        let parent = self.log.last().map(|event| event.id);
        let event =
            Event { v: VERSION, id: EventId::fresh(&self.ids), parent, ts: Self::now(), run: None, batch: None, body };
        rules::check_event(self, &event);
        self.log.push(event.clone());
        event
    }

    fn some_source(&mut self) -> Source {
        match self.draw(8) {
            0 => Source::Compact,
            1 => Source::UserMessageForwarded {
                task: mxd::base::TaskId::fresh(&self.ids),
                title: "below".to_owned(),
                woke: false,
            },
            2 => Source::BackgroundComplete {
                process: "p".to_owned(),
                command: "make".to_owned(),
                exit: Some(0),
                duration_ms: 5,
            },
            _ => Source::User,
        }
    }

    fn say(&mut self, from: Source) {
        self.tally.messages += 1;
        let message = Message {
            id: MessageId::fresh(&self.ids),
            from,
            body: format!("message {}", self.sent.len()),
            images: Vec::new(),
            at: Self::now(),
        };
        self.sent.insert(message.id);
        let delivery = if self.chance(25) { Delivery::Next } else { Delivery::Steer };
        let event = self.append(message.into());
        self.tell(event, delivery);
    }

    /// Tells the machine what was written, at once or some time later, but always in order.
    fn tell(&mut self, event: Event, delivery: Delivery) {
        self.news.push_back((event, delivery));
        if !self.chance(40) {
            while self.tell_one() {}
        }
    }

    fn tell_one(&mut self) -> bool {
        let Some((event, delivery)) = self.news.pop_front() else { return false };
        self.feed(Input::Heard { event: Box::new(event), delivery });
        true
    }

    /// Takes the oldest message back that, as far as the disk knows, nobody has read.
    fn withdraw_one(&mut self) {
        let state = SessionState::replay(&rules::active(&self.log));
        let pending = state.messages.iter().find(|message| message.from == Source::User).map(|message| message.id);
        if let Some(id) = pending {
            self.feed(Input::Withdraw { ids: vec![id] });
        }
    }

    /// Answers an open question. Tells whether there was one.
    fn answer_one(&mut self) -> bool {
        let state = SessionState::replay(&rules::active(&self.log));
        let Some(ask) = state.asks.iter().next().cloned() else { return false };
        let choice = if self.calm { 0 } else { usize::try_from(self.draw(3)).unwrap() };
        let (text, choice) = match ask.choices.get(choice) {
            Some(text) => (text.clone(), Some(choice)),
            None => ("other-model".to_owned(), None),
        };
        let answer = Answer { text, choice, by: AnsweredBy::Person };
        let event = self.append(AskAnswered { id: ask.id, answer }.into());
        self.tell(event, Delivery::Steer);
        true
    }

    /// Finishes one thing that is under way. Writes finish in the order they were asked for.
    fn finish_one(&mut self) {
        let total = self.work.len() + usize::from(!self.saves.is_empty());
        let news = usize::from(!self.news.is_empty());
        if total + news == 0 {
            return;
        }
        let at = usize::try_from(self.draw((total + news) as u64)).unwrap();
        if at == total {
            self.tell_one();
            return;
        }
        if at == self.work.len() {
            if !self.calm && self.chance(1) {
                self.tally.faults += 1;
                self.saves.clear();
                return self.feed(Input::SaveFailed { reason: "the disk is full".to_owned() });
            }
            if let Some((ticket, events)) = self.write_one() {
                self.feed(Input::Saved { ticket, events });
            }
            return;
        }
        let input = match self.work.swap_remove(at) {
            Work::Save { .. } => return,
            Work::Prepare { config, context } => Input::Prepared(Box::new(self.prepared(config, context))),
            Work::Count => Input::Counted { tokens: self.chance(50).then_some(3_000) },
            Work::Reserve => Input::Reserved(self.verdict()),
            Work::Model { number, purpose, cancelled } => self.model(number, purpose, cancelled),
            Work::Tool { call, cancelled } => self.tool(&call, cancelled),
            Work::Timer { cancelled: true, .. } => return,
            Work::Timer { timer, .. } => Input::Timer { timer },
        };
        self.feed(input);
    }

    fn prepared(&mut self, config: bool, context: bool) -> Prepared {
        let config = config.then(|| SessionConfig {
            model: "test".to_owned(),
            wire: Wire::Anthropic,
            tools: Vec::new(),
            system: SystemPrompt::default(),
            cache: CachePolicy::default(),
            max_output: 1_000,
            effort: None,
        });
        if config.is_some() {
            self.epoch += 1;
            self.last_request.clear();
        }
        let work_context = context.then(|| Message {
            id: MessageId::fresh(&self.ids),
            from: Source::WorkContext,
            body: "where you are".to_owned(),
            images: Vec::new(),
            at: Self::now(),
        });
        Prepared { config, work_context }
    }

    fn verdict(&mut self) -> BudgetVerdict {
        let (scope, spent, limit) = (BudgetScope::Task, MicroUsd(90), MicroUsd(100));
        match self.draw(12) {
            0 if !self.calm => BudgetVerdict::Refused { scope, spent, limit },
            1 => BudgetVerdict::Low { scope, spent, limit },
            _ => BudgetVerdict::Granted,
        }
    }

    fn model(&mut self, number: u64, purpose: Purpose, cancelled: bool) -> Input {
        // A request that was stopped may still have finished in time.
        if cancelled && !self.chance(20) {
            let mut error = ApiError::cancelled();
            if self.chance(50) {
                error = error.with_partial(Self::response(
                    vec![ResponseBlock::Text("half a sen".to_owned())],
                    StopReason::EndTurn,
                ));
            }
            return Input::Failed { number, error: Box::new(error), usage: None, jitter: 0.5 };
        }
        if !self.calm && self.chance(12) {
            self.tally.faults += 1;
            let class = ErrorClass::ALL[usize::try_from(self.draw(ErrorClass::ALL.len() as u64)).unwrap()];
            if class != ErrorClass::Cancelled {
                let usage = self.chance(30).then(|| Box::new(Self::usage(100)));
                return Input::Failed { number, error: Box::new(ApiError::new(class, "no")), usage, jitter: 0.5 };
            }
        }
        let response = match purpose {
            Purpose::Summarise { .. } => self.summary(),
            Purpose::Respond => self.turn(),
        };
        let tokens = if self.chance(6) { 18_000 } else { 2_000 };
        Input::Response { number, response: Box::new(response), usage: Box::new(Self::usage(tokens)) }
    }

    fn usage(input: u64) -> Usage {
        Usage {
            tokens: Tokens { input, output: 10, ..Tokens::default() },
            model: "test".to_owned(),
            cost: Some(MicroUsd(7)),
            context_window: 20_000,
            estimated: false,
        }
    }

    fn response(blocks: Vec<ResponseBlock>, stop: StopReason) -> Response {
        Response {
            blocks,
            tokens: Tokens::default(),
            usage_reported: true,
            stop,
            cut_call: None,
            model: "test".to_owned(),
        }
    }

    fn summary(&mut self) -> Response {
        let text = if !self.calm && self.chance(30) {
            "I would rather not".to_owned()
        } else {
            let sections =
                mxd::agent::compaction::SECTIONS.map(|section| format!("## {section}\n{}", "known ".repeat(10)));
            format!("<summary>{}</summary>", sections.join("\n"))
        };
        Self::response(vec![ResponseBlock::Text(text)], StopReason::EndTurn)
    }

    fn call(&mut self, name: &str) -> ResponseBlock {
        let call = format!("call_{}", TurnId::fresh(&self.ids));
        let input = Json::parse(format!("{{\"n\":{}}}", self.draw(3))).unwrap();
        ResponseBlock::ToolUse(ToolUse { call, name: names::wire(name), input, malformed: None })
    }

    fn turn(&mut self) -> Response {
        let text = ResponseBlock::Text("Working on it.".to_owned());
        if self.calm {
            return Self::response(vec![text], StopReason::EndTurn);
        }
        let mut blocks = if self.chance(50) { vec![text.clone()] } else { Vec::new() };
        let stop = match self.draw(20) {
            0..=8 => {
                for _ in 0..=self.draw(3) {
                    blocks.push(self.call("look"));
                }
                StopReason::ToolUse
            }
            9 | 10 => {
                blocks.push(self.call(names::YIELD));
                if self.chance(30) {
                    blocks.push(self.call(names::YIELD));
                }
                StopReason::ToolUse
            }
            11 => {
                blocks.push(self.call(names::DONE));
                StopReason::ToolUse
            }
            12 => {
                blocks.push(self.call("look"));
                let other =
                    [names::YIELD, names::DONE, names::FORK_TASK_CONTEXT][usize::try_from(self.draw(3)).unwrap()];
                blocks.push(self.call(other));
                StopReason::ToolUse
            }
            13 => {
                blocks.push(self.call("look"));
                let mut response = Self::response(blocks, StopReason::MaxTokens);
                response.cut_call = response.calls().last().map(|call| call.call.clone());
                return response;
            }
            14 => StopReason::MaxTokens,
            15 => StopReason::Refusal,
            16 => StopReason::Pause,
            17 => StopReason::ContextOverflow,
            18 => StopReason::Other("new_word".to_owned()),
            _ => {
                blocks.push(text);
                StopReason::EndTurn
            }
        };
        Self::response(blocks, stop)
    }

    fn tool(&mut self, call: &ToolUse, cancelled: bool) -> Input {
        let mut result = ToolResult {
            call: call.call.clone(),
            name: call.name.clone(),
            content: Content::text(if cancelled { "interrupted" } else { "seen" }),
            is_error: cancelled,
            images: Vec::new(),
            full: None,
            background: None,
            duration_ms: 1,
        };
        let is_done = call.name == names::wire(names::DONE);
        let control = if is_done && self.chance(70) {
            self.tally.dones += 1;
            Some(tools::Control::Done { verdict: Verdict::Passed, result: "ok".to_owned() })
        } else {
            if is_done {
                result.is_error = true;
            }
            None
        };
        Input::ToolFinished { result: Box::new(result), control }
    }

    pub fn is_quiet(&self) -> bool {
        self.saves.is_empty() && self.work.is_empty() && self.news.is_empty()
    }

    pub fn has_ended(&self) -> bool {
        self.ended
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.steps += other.steps;
        self.crashes += other.crashes;
        self.requests += other.requests;
        self.tools += other.tools;
        self.messages += other.messages;
        self.interrupts += other.interrupts;
        self.faults += other.faults;
        self.asks += other.asks;
        self.compactions += other.compactions;
        self.dones += other.dones;
        self.repairs += other.repairs;
        self.withdrawn += other.withdrawn;
    }
}

impl Tally {
    pub fn assert_everything_happened(&self) {
        let Self {
            steps,
            crashes,
            requests,
            tools,
            messages,
            interrupts,
            faults,
            asks,
            compactions,
            dones,
            repairs,
            withdrawn,
        } = *self;
        let all = [
            steps,
            crashes,
            requests,
            tools,
            messages,
            interrupts,
            faults,
            asks,
            compactions,
            dones,
            repairs,
            withdrawn,
        ];
        assert!(all.iter().all(|count| *count > 0), "something never happened: {self}");
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} steps: {} crashes, {} requests, {} tools, {} messages ({} withdrawn), {} interrupts, {} faults, {} asks, {} compactions, {} dones, {} repairs",
            self.steps,
            self.crashes,
            self.requests,
            self.tools,
            self.messages,
            self.withdrawn,
            self.interrupts,
            self.faults,
            self.asks,
            self.compactions,
            self.dones,
            self.repairs
        )
    }
}
