//! What the tests of this room share: logs, responses, and a machine whose disk answers at once.

use std::sync::Arc;

use crate::agent::machine::{Effect, Input, Limits, Machine, Prepared, Purpose};
use crate::base::{EventId, IdSource, Json, MessageId, RunId, SystemClock, Timestamp, TurnId};
use crate::model::ask::{AnsweredBy, Given};
use crate::model::conversation::ToolUse;
use crate::model::event::{
    AskAnswered, AssistantText, Body, Event, MessagesConsumed, SessionConfig, StopReason, ToolResult, TurnEnded,
    VERSION,
};
use crate::model::fold::SessionState;
use crate::model::message::{Delivery, Message, Source};
use crate::model::usage::{Tokens, Usage};
use crate::model::{Ask, Content};
use crate::provider::{ApiError, ErrorClass, Response, ResponseBlock};
use crate::tools::{self, names};

pub(crate) fn ids() -> IdSource {
    IdSource::seeded(Arc::new(SystemClock), 11)
}

pub(crate) fn now() -> Timestamp {
    Timestamp::from_millis(1_800_000_000_000)
}

pub(crate) fn event(ids: &IdSource, body: impl Into<Body>) -> Event {
    Event { v: VERSION, id: EventId::fresh(ids), parent: None, ts: now(), run: None, batch: None, body: body.into() }
}

pub(crate) fn message(ids: &IdSource, from: Source, body: &str) -> Message {
    Message::new(MessageId::fresh(ids), now(), from, body)
}

pub(crate) fn said(text: &str) -> Body {
    AssistantText { text: text.to_owned() }.into()
}

/// A call of one of our own tools.
pub(crate) fn call(id: &str, name: &str) -> ToolUse {
    ToolUse { call: id.to_owned(), name: names::wire(name), input: Json::object(), malformed: None }
}

pub(crate) fn result(id: &str, text: &str) -> ToolResult {
    ToolResult {
        call: id.to_owned(),
        name: names::wire("bash"),
        content: Content::text(text),
        is_error: false,
        images: Vec::new(),
        full: None,
        background: None,
        ended: None,
        cwd: None,
        duration_ms: 1,
    }
}

pub(crate) fn ended(ids: &IdSource, stop: StopReason) -> Body {
    TurnEnded { turn: TurnId::fresh(ids), stop }.into()
}

pub(crate) fn consumed(message: &Message) -> Body {
    MessagesConsumed { ids: vec![message.id] }.into()
}

pub(crate) fn text_of(result: &ToolResult) -> &str {
    match &result.content {
        Content::Text { text } => text,
        Content::Blob(_) => "",
    }
}

pub(crate) fn response(stop: StopReason, blocks: Vec<ResponseBlock>) -> Response {
    Response { blocks, tokens: Tokens::default(), usage_reported: true, stop, cut_call: None, model: String::new() }
}

pub(crate) fn saying(text: &str) -> Response {
    response(StopReason::EndTurn, vec![ResponseBlock::Text(text.to_owned())])
}

pub(crate) fn calling(calls: &[ToolUse]) -> Response {
    response(StopReason::ToolUse, calls.iter().cloned().map(ResponseBlock::ToolUse).collect())
}

pub(crate) fn usage() -> Usage {
    Usage { tokens: Tokens::default(), model: "m".to_owned(), cost: None, context_window: 100_000, estimated: false }
}

/// A summary that is accepted.
pub(crate) fn summary() -> Response {
    let sections: Vec<_> =
        crate::agent::compaction::SECTIONS.iter().map(|s| format!("## {s}\nSomething of it.")).collect();
    saying(&format!("<summary>{}{}</summary>", sections.join("\n"), "x".repeat(200)))
}

/// A machine in a world that saves at once, prepares at once, and otherwise waits to be told.
pub(crate) struct Bench {
    pub machine: Machine,
    pub ids: IdSource,
    pub log: Vec<Event>,
    /// Everything else that the machine wanted done.
    pub effects: Vec<Effect>,
    /// Appends wait in `unsaved` instead of being acknowledged.
    pub slow_disk: bool,
    /// What a segment needs is not made before [`Bench::prepare`].
    pub slow_preparer: bool,
    pub unsaved: Vec<(u64, Vec<Body>)>,
    wanted: Option<(bool, bool)>,
}

impl Bench {
    /// Returns a run that has been spoken to and has just asked the model.
    pub fn calling(limits: Limits) -> Self {
        let mut bench = Self::silent(limits);
        bench.hear(Source::User, "Hello");
        assert_eq!(bench.machine.waits_for(), "model");
        bench
    }

    /// Returns a run of a new session, to which nothing was said.
    pub fn silent(limits: Limits) -> Self {
        Self::resumed(Vec::new(), ids(), limits)
    }

    /// Takes up a session.
    pub fn resumed(log: Vec<Event>, ids: IdSource, limits: Limits) -> Self {
        let machine = Machine::new(&log, limits, ids.clone());
        let mut bench = Self {
            machine,
            ids,
            log,
            effects: Vec::new(),
            slow_disk: false,
            slow_preparer: false,
            unsaved: Vec::new(),
            wanted: None,
        };
        bench.feed(Input::Start);
        bench
    }

    pub fn feed(&mut self, input: Input) {
        for effect in self.machine.step(now(), input) {
            match effect {
                Effect::Save { ticket, bodies } => self.unsaved.push((ticket, bodies)),
                Effect::Prepare { config, context } => self.wanted = Some((config, context)),
                other => self.effects.push(other),
            }
        }
        if !self.slow_disk {
            self.save();
        }
        if !self.slow_preparer {
            self.prepare();
        }
    }

    /// Acknowledges what waits to be saved.
    pub fn save(&mut self) {
        while !self.unsaved.is_empty() {
            let (ticket, bodies) = self.unsaved.remove(0);
            let run = RunId::fresh(&self.ids);
            let events = bodies.into_iter().map(|body| Arc::new(self.stamp(Some(run), body))).collect();
            self.feed(Input::Saved { ticket, events });
        }
    }

    /// Hands over what a segment needs.
    pub fn prepare(&mut self) {
        if let Some((config, context)) = self.wanted.take() {
            let config = config.then(SessionConfig::default);
            let work_context = context.then(|| message(&self.ids, Source::WorkContext, "You are here."));
            self.feed(Input::Prepared(Box::new(Prepared { config, work_context })));
        }
    }

    fn stamp(&mut self, run: Option<RunId>, mut body: Body) -> Event {
        if let Body::CompactMarker(marker) = &mut body {
            *marker.carry = SessionState::replay(&self.log);
        }
        let event = Event { run, ..event(&self.ids, body) };
        self.log.push(event.clone());
        event
    }

    pub fn hear(&mut self, from: Source, body: &str) {
        self.hear_as(from, body, Delivery::Steer);
    }

    pub fn hear_as(&mut self, from: Source, body: &str, delivery: Delivery) {
        let message = Message { delivery, ..message(&self.ids, from, body) };
        let event = self.stamp(None, message.into());
        self.feed(Input::Heard { event: Arc::new(event) });
    }

    /// The exact size of the next request is known, or is not.
    pub fn count(&mut self, tokens: Option<u64>) {
        let number = self.effects.iter().rev().find_map(|effect| match effect {
            Effect::Count { number } => Some(*number),
            _ => None,
        });
        self.feed(Input::Counted { number: number.expect("nothing is counted"), tokens });
    }

    pub fn request(&self) -> (u64, Purpose, u32) {
        let last = self.effects.iter().rev().find_map(|effect| match effect {
            Effect::CallModel { number, purpose, attempt } => Some((*number, *purpose, *attempt)),
            _ => None,
        });
        last.expect("the model was never asked")
    }

    pub fn purpose(&self) -> Purpose {
        self.request().1
    }

    pub fn attempt(&self) -> u32 {
        self.request().2
    }

    pub fn requests(&self) -> usize {
        self.effects.iter().filter(|effect| matches!(effect, Effect::CallModel { .. })).count()
    }

    /// The model answers the last request.
    pub fn respond(&mut self, response: Response) {
        let number = self.request().0;
        self.feed(Input::Response { number, response: Box::new(response), usage: Box::new(usage()) });
    }

    pub fn fail(&mut self, class: ErrorClass) {
        self.fail_with(ApiError::new(class, "it went wrong"));
    }

    pub fn fail_with(&mut self, error: ApiError) {
        let number = self.request().0;
        self.feed(Input::Failed { number, error: Box::new(error), usage: None, jitter: 0.5 });
    }

    pub fn finish(&mut self, call: &str, text: &str) {
        self.finish_with(result(call, text), None);
    }

    pub fn finish_with(&mut self, result: ToolResult, control: Option<tools::Control>) {
        self.feed(Input::ToolFinished { result: Box::new(result), control });
    }

    /// The timer of the last wait runs out.
    pub fn wake(&mut self) {
        let timer = self.effects.iter().rev().find_map(|effect| match effect {
            Effect::Sleep { timer, .. } => Some(*timer),
            _ => None,
        });
        self.feed(Input::Timer { timer: timer.expect("nothing waits") });
    }

    pub fn asked(&self) -> Option<Ask> {
        self.machine.state().asks.iter().next().cloned()
    }

    /// Answers the Ask that stands: with one of its choices, or in other words.
    pub fn answer(&mut self, words: &str) {
        let ask = self.asked().expect("nothing is asked");
        let given = match ask.choice_written(words) {
            Some(choice) => Given::Choice(choice.id.clone()),
            None => Given::Text(words.to_owned()),
        };
        let answer = ask.answer(given, AnsweredBy::Person).expect("it is one of the choices");
        let event = self.stamp(None, AskAnswered { id: ask.id, answer }.into());
        self.feed(Input::Heard { event: Arc::new(event) });
    }

    /// Returns what the log says, type by type.
    pub fn kinds(&self) -> Vec<&str> {
        self.log.iter().map(|event| event.body.kind()).collect()
    }

    /// Returns the texts of every message from `from`.
    pub fn messages(&self, from: &Source) -> Vec<&str> {
        let messages = self.log.iter().filter_map(|event| match &event.body {
            Body::Message(message) if message.from == *from => Some(message.body.as_str()),
            _ => None,
        });
        messages.collect()
    }

    /// Returns the results in the log, with whether each is an error.
    pub fn results(&self) -> Vec<(&str, &str, bool)> {
        let results = self.log.iter().filter_map(|event| match &event.body {
            Body::ToolResult(result) => Some((result.call.as_str(), text_of(result), result.is_error)),
            _ => None,
        });
        results.collect()
    }

    /// Returns the texts that the model is shown as the last speech.
    pub fn last_words(&self) -> String {
        format!("{:?}", self.machine.conversation().speeches().last())
    }
}
