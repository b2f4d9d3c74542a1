//! The world around one machine.

mod outside;
mod tally;

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use mxd::agent::machine::{Effect, Input, Limits, Machine, Purpose};
use mxd::base::{Clock, EventId, IdSource, MessageId, RunId, Timestamp};
use mxd::model::ask::{AnsweredBy, AskReply};
use mxd::model::conversation::{RoleMessage, ToolUse};
use mxd::model::event::{AskAnswered, Body, Event, InterruptReason, VERSION};
use mxd::model::fold::SessionState;
use mxd::model::message::Delivery;
use mxd::model::message::{Message, MessageSource};

use super::rules;
pub use tally::Tally;

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
    Count { number: u64 },
    Reserve,
    Model { number: u64, purpose: Purpose, cancelled: bool },
    Tool { call: ToolUse, cancelled: bool },
    Timer { timer: u64, cancelled: bool },
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
    news: VecDeque<Event>,
    /// The calls that were really carried out.
    ran: BTreeSet<String>,
    /// The calls that the user allowed.
    consented: BTreeSet<String>,
    pub answered: BTreeSet<String>,
    pub consumed: BTreeSet<MessageId>,
    pub sent: BTreeSet<MessageId>,
    pub withdrawn: BTreeSet<MessageId>,
    /// The conversation as it was last sent, in this segment.
    pub last_request: Vec<Arc<RoleMessage>>,
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
            consented: BTreeSet::new(),
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
        world.say(MessageSource::User);
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
            ..Limits::default()
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
            Effect::Count { number } => self.work.push(Work::Count { number }),
            Effect::Release => {}
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
            Effect::RunTools { calls, consents } => {
                self.consented.extend(consents.into_keys());
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
            Effect::Sleep { timer, .. } | Effect::AwaitBudget { timer } => {
                self.work.push(Work::Timer { timer, cancelled: false });
            }
            Effect::CancelSleep { timer: which } => self.each(|work| {
                if let Work::Timer { timer, cancelled } = work {
                    *cancelled |= *timer == which;
                }
            }),
            Effect::Exit(_) => self.ended = true,
            Effect::Activity(_) | Effect::Retrying { .. } | Effect::UseModel { .. } => {}
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
            self.say(MessageSource::User);
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

    /// Lets everything finish, with a user who answers what is asked.
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
        let run = RunId::fresh(&self.ids);
        let events: Vec<Event> = bodies.into_iter().map(|body| self.append(Some(run), body)).collect();
        Some((ticket, events))
    }

    fn append(&mut self, run: Option<RunId>, mut body: Body) -> Event {
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
            Event { v: VERSION, id: EventId::fresh(&self.ids), parent, ts: Self::now(), run, batch: None, body };
        rules::check_event(self, &event);
        self.log.push(event.clone());
        event
    }

    fn some_source(&mut self) -> MessageSource {
        match self.draw(8) {
            0 => MessageSource::Compact,
            1 => MessageSource::UserMessageForwarded {
                task: mxd::base::TaskId::fresh(&self.ids),
                title: "below".to_owned(),
                woke: false,
            },
            2 => MessageSource::BackgroundComplete {
                process: "p".to_owned(),
                command: "make".to_owned(),
                exit: Some(0),
                duration_ms: 5,
            },
            _ => MessageSource::User,
        }
    }

    fn say(&mut self, from: MessageSource) {
        self.tally.messages += 1;
        let message =
            Message::new(MessageId::fresh(&self.ids), Self::now(), from, format!("message {}", self.sent.len()));
        self.sent.insert(message.id);
        let delivery = if self.chance(25) { Delivery::Next } else { Delivery::Steer };
        let event = self.append(None, Message { delivery, ..message }.into());
        self.tell(event);
    }

    /// Tells the machine what was written, at once or some time later, but always in order.
    fn tell(&mut self, event: Event) {
        self.news.push_back(event);
        if !self.chance(40) {
            while self.tell_one() {}
        }
    }

    fn tell_one(&mut self) -> bool {
        let Some(event) = self.news.pop_front() else { return false };
        self.feed(Input::Delivered { event: Arc::new(event) });
        true
    }

    /// Takes the oldest message back that, as far as the disk knows, nobody has read.
    fn withdraw_one(&mut self) {
        let state = SessionState::replay(&rules::active(&self.log));
        let pending =
            state.messages.iter().find(|message| message.from == MessageSource::User).map(|message| message.id);
        if let Some(id) = pending {
            self.feed(Input::Withdraw { ids: vec![id] });
        }
    }

    /// Answers an open question. Tells whether there was one.
    fn answer_one(&mut self) -> bool {
        let state = SessionState::replay(&rules::active(&self.log));
        let Some(ask) = state.asks.iter().next().cloned() else { return false };
        let choice = if self.calm { 0 } else { usize::try_from(self.draw(3)).unwrap() };
        let given = match ask.choices.get(choice) {
            Some(choice) => AskReply::Choice(choice.id.clone()),
            None => AskReply::Text("other-model".to_owned()),
        };
        let answer = ask.answer(given, AnsweredBy::User).unwrap();
        let event = self.append(None, AskAnswered { id: ask.id, answer }.into());
        self.tell(event);
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
                let events = events.into_iter().map(Arc::new).collect();
                self.feed(Input::Saved { ticket, events });
            }
            return;
        }
        let input = match self.work.swap_remove(at) {
            Work::Save { .. } => return,
            Work::Prepare { config, context } => Input::Prepared(Box::new(self.prepared(config, context))),
            Work::Count { number } => Input::Counted { number, tokens: self.chance(50).then_some(3_000) },
            Work::Reserve => Input::Reserved(self.verdict()),
            Work::Model { number, purpose, cancelled } => self.model(number, purpose, cancelled),
            Work::Tool { call, cancelled } => self.tool(&call, cancelled),
            Work::Timer { cancelled: true, .. } => return,
            Work::Timer { timer, .. } => Input::Timer { timer },
        };
        self.feed(input);
    }

    pub fn is_quiet(&self) -> bool {
        self.saves.is_empty() && self.work.is_empty() && self.news.is_empty()
    }

    pub fn has_ended(&self) -> bool {
        self.ended
    }
}
