//! Test support for the agent: logs, responses, and a machine with a fake disk.

use std::sync::Arc;

use crate::agent::machine::{Effect, Input, Limits, Machine, Prepared, Purpose};
use crate::base::{EventId, IdSource, Json, MessageId, RunId, SystemClock, Timestamp, TurnId};
use crate::model::ask::{AnsweredBy, AskReply};
use crate::model::conversation::ToolUse;
use crate::model::event::{
    AskAnswered, AssistantText, Body, Event, MessagesConsumed, SessionConfig, StopReason, ToolResult, TurnEnded,
    VERSION,
};
use crate::model::fold::SessionState;
use crate::model::message::{Delivery, Message, MessageSource};
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

pub(crate) fn message(ids: &IdSource, from: MessageSource, body: &str) -> Message {
    Message::new(MessageId::fresh(ids), now(), from, body)
}

pub(crate) fn assistant_text(text: &str) -> Body {
    AssistantText { text: text.to_owned() }.into()
}

/// Returns a call of a built-in tool.
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
        permission: None,
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

pub(crate) fn text_response(text: &str) -> Response {
    response(StopReason::EndTurn, vec![ResponseBlock::Text(text.to_owned())])
}

pub(crate) fn call_response(calls: &[ToolUse]) -> Response {
    response(StopReason::ToolUse, calls.iter().cloned().map(ResponseBlock::ToolUse).collect())
}

pub(crate) fn usage() -> Usage {
    Usage { tokens: Tokens::default(), model: "m".to_owned(), cost: None, context_window: 100_000, estimated: false }
}

/// Returns a response with a valid summary.
pub(crate) fn summary() -> Response {
    let sections: Vec<_> =
        crate::agent::compaction::SECTIONS.iter().map(|s| format!("## {s}\nSomething of it.")).collect();
    text_response(&format!("<summary>{}{}</summary>", sections.join("\n"), "x".repeat(200)))
}

/// A machine whose saves and preparations succeed at once. The test supplies every other input.
pub(crate) struct Bench {
    pub machine: Machine,
    pub ids: IdSource,
    pub log: Vec<Event>,
    /// All other effects.
    pub effects: Vec<Effect>,
    /// Appends stay in `unsaved` until [`Bench::save`].
    pub slow_disk: bool,
    /// Preparations wait for [`Bench::prepare`].
    pub slow_preparer: bool,
    pub unsaved: Vec<(u64, Vec<Body>)>,
    pending_preparation: Option<(bool, bool)>,
}

impl Bench {
    /// Returns a run that has a message and has called the model.
    pub fn calling(limits: Limits) -> Self {
        let mut bench = Self::silent(limits);
        bench.send(MessageSource::User, "Hello");
        assert_eq!(bench.machine.waits_for(), "model");
        bench
    }

    /// Returns a run of a new session without messages.
    pub fn silent(limits: Limits) -> Self {
        Self::resumed(Vec::new(), ids(), limits)
    }

    /// Returns a run that resumes a session.
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
            pending_preparation: None,
        };
        bench.feed(Input::Start);
        bench
    }

    pub fn feed(&mut self, input: Input) {
        for effect in self.machine.step(now(), input) {
            match effect {
                Effect::Save { ticket, bodies } => self.unsaved.push((ticket, bodies)),
                Effect::Prepare { config, context } => self.pending_preparation = Some((config, context)),
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

    /// Acknowledges all pending appends.
    pub fn save(&mut self) {
        while !self.unsaved.is_empty() {
            let (ticket, bodies) = self.unsaved.remove(0);
            let run = RunId::fresh(&self.ids);
            let events = bodies.into_iter().map(|body| Arc::new(self.stamp(Some(run), body))).collect();
            self.feed(Input::Saved { ticket, events });
        }
    }

    /// Answers a pending preparation.
    pub fn prepare(&mut self) {
        if let Some((config, context)) = self.pending_preparation.take() {
            let config = config.then(SessionConfig::default);
            let work_context = context.then(|| message(&self.ids, MessageSource::WorkContext, "You are here."));
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

    pub fn send(&mut self, from: MessageSource, body: &str) {
        self.send_as(from, body, Delivery::Steer);
    }

    pub fn send_as(&mut self, from: MessageSource, body: &str, delivery: Delivery) {
        let message = Message { delivery, ..message(&self.ids, from, body) };
        let event = self.stamp(None, message.into());
        self.feed(Input::Delivered { event: Arc::new(event) });
    }

    /// Answers the last count.
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

    /// Answers the last request.
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

    pub fn finish_with(&mut self, result: ToolResult, control: Option<tools::ControlRequest>) {
        self.feed(Input::ToolFinished { result: Box::new(result), control });
    }

    /// Fires the timer of the last wait.
    pub fn wake(&mut self) {
        let timer = self.effects.iter().rev().find_map(|effect| match effect {
            Effect::Sleep { timer, .. } => Some(*timer),
            _ => None,
        });
        self.feed(Input::Timer { timer: timer.expect("nothing waits") });
    }

    pub fn open_ask(&self) -> Option<Ask> {
        self.machine.state().asks.iter().next().cloned()
    }

    /// Answers the open Ask with one of its choices, or with free text.
    pub fn answer(&mut self, text: &str) {
        let ask = self.open_ask().expect("nothing is asked");
        let given = match ask.choice_by_label(text) {
            Some(choice) => AskReply::Choice(choice.id.clone()),
            None => AskReply::Text(text.to_owned()),
        };
        let answer = ask.answer(given, AnsweredBy::User).expect("it is one of the choices");
        let event = self.stamp(None, AskAnswered { id: ask.id, answer }.into());
        self.feed(Input::Delivered { event: Arc::new(event) });
    }

    /// Returns the types of all events.
    pub fn kinds(&self) -> Vec<&str> {
        self.log.iter().map(|event| event.body.kind()).collect()
    }

    /// Returns the bodies of all messages from `from`.
    pub fn messages(&self, from: &MessageSource) -> Vec<&str> {
        let messages = self.log.iter().filter_map(|event| match &event.body {
            Body::Message(message) if message.from == *from => Some(message.body.as_str()),
            _ => None,
        });
        messages.collect()
    }

    /// Returns call, text and error flag of all results in the log.
    pub fn results(&self) -> Vec<(&str, &str, bool)> {
        let results = self.log.iter().filter_map(|event| match &event.body {
            Body::ToolResult(result) => Some((result.call.as_str(), text_of(result), result.is_error)),
            _ => None,
        });
        results.collect()
    }

    /// Returns the last message of the conversation as debug text.
    pub fn last_message(&self) -> String {
        format!("{:?}", self.machine.conversation().role_messages().last())
    }
}
