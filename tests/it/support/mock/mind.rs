//! What the mock knows and decides: each request is recorded, held to the rules, and given its answer or its fault.
//!
//! Synchronous and without a clock. Answers depend on the conversation and its turn alone, so a client that repeats a
//! request after a crash gets the same words and ids again.

pub mod compose;
pub mod identify;
pub mod progress;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::{Value, json};

use super::cache::{self, Cache};
use super::delivery::Delivery;
use super::fault::{ErrorKind, Fault};
use super::http::HttpRequest;
use super::models::{self, Model};
use super::reply::{Step, Tokens};
use super::rules::prefix::{Relation, Snapshot};
use super::rules::{self, Findings, Rule, Violation};
use super::script::{MAIN, Script};
use super::seen::{Role, Seen, Wire};
use super::wire::{Reader, chat_reply, errors};
use progress::{Progress, Taken};

/// One request, as tests look at it afterwards.
#[derive(Clone, Debug)]
pub struct Record {
    /// From 1, over all conversations. Requests that only count tokens have the number of the next one.
    pub number: usize,
    pub wire: Wire,
    pub path: String,
    pub conversation: String,
    pub headers: Vec<(String, String)>,
    pub body: Arc<str>,
    pub outcome: Outcome,
    /// Which segment of its conversation it belongs to, from 0.
    pub epoch: usize,
    /// It is byte for byte the request before it.
    pub repeat: bool,
    pub asks_for_summary: bool,
    /// The number of the parent's request that a fork continues.
    pub continues: Option<usize>,
    /// What the answer was said to cost.
    pub charged: Tokens,
}

impl Record {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// What became of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The answer is on its way.
    Pending,
    Answered,
    /// Turned away with this status: a violation, a bad key, an unknown model.
    Refused(u16),
    Faulted(Fault),
    /// The client closed the connection first.
    ClientGone,
}

/// Everything the mock remembers.
#[derive(Debug, Default)]
pub struct Mind {
    pub script: Script,
    pub models: Vec<Model>,
    pub records: Vec<Record>,
    pub violations: Vec<Violation>,
    pub captures: HashMap<String, String>,
    pub gates_open: HashSet<String>,
    pub gates_reached: HashSet<String>,
    conversations: HashMap<String, Progress>,
    /// What each record will have become once it is carried out.
    plans: Vec<Outcome>,
    cache: Cache,
    answers_asked: usize,
}

impl Mind {
    pub fn new(script: Script) -> Self {
        let mut models = models::built_in();
        models.retain(|model| script.models.iter().all(|own| own.id != model.id));
        models.extend(script.models.iter().cloned());
        Self { script, models, ..Self::default() }
    }

    /// Takes a request in and decides what is sent back. The number is the record's place.
    pub fn admit(&mut self, request: &HttpRequest, wire: Wire, counting: bool) -> (Delivery, usize) {
        let number = self.answers_asked + 1;
        self.answers_asked += usize::from(!counting);
        let body = String::from_utf8_lossy(&request.body);
        let mut found = Findings::default();
        let seen = Reader {
            wire,
            also_known: &self.script.known_fields,
            tool_error_marker: &self.script.tool_error_marker,
            found: &mut found,
        }
        .read(&body, counting);
        headers(request, wire, &mut found);
        let conversation = match &seen {
            Some(seen) => identify::conversation(&self.script, request, seen, &mut found),
            None => MAIN.to_owned(),
        };
        self.records.push(Record {
            number,
            wire,
            path: request.path.clone(),
            conversation: conversation.clone(),
            headers: request.headers.clone(),
            body: body.as_ref().into(),
            outcome: Outcome::Pending,
            epoch: 0,
            repeat: false,
            asks_for_summary: false,
            continues: None,
            charged: Tokens::default(),
        });
        let record = self.records.len() - 1;
        let (delivery, plan) = self.decide(request, seen, &conversation, record, found);
        self.plans.push(plan);
        (delivery, record)
    }

    fn decide(
        &mut self,
        request: &HttpRequest,
        seen: Option<Seen>,
        conversation: &str,
        record: usize,
        mut found: Findings,
    ) -> (Delivery, Outcome) {
        let wire = self.records[record].wire;
        if !self.lets_in(request) {
            return refuse(wire, ErrorKind::Unauthorized, None);
        }
        let Some(seen) = seen else { return self.violated(record, found) };
        let Some(model) = self.models.iter().find(|model| model.id == seen.model).cloned() else {
            if found.0.is_empty() {
                let message = format!("model: {}", seen.model);
                return refuse(wire, ErrorKind::UnknownModel, Some(&message));
            }
            return self.violated(record, found);
        };
        let progress = progress::of(&mut self.conversations, &self.script, conversation);
        rules::check_alone(&seen, model.max_output, progress.paused, &mut found);
        if seen.counting {
            if !found.0.is_empty() {
                return self.violated(record, found);
            }
            let body = json!({"input_tokens": cache::prompt_tokens(&seen)});
            return (Delivery::json(200, &body), Outcome::Answered);
        }
        let summary = self.asks_for_summary(&seen);
        let (snapshot, relation) = self.compare(record, conversation, &seen, &mut found);
        self.records[record].asks_for_summary = summary;
        if !found.0.is_empty() {
            return self.violated(record, found);
        }
        let size = cache::prompt_tokens(&seen);
        if size > model.window {
            let message = format!("prompt is too long: {size} tokens > {} maximum", model.window);
            return refuse(wire, ErrorKind::ContextOverflow, (wire == Wire::Anthropic).then_some(&message));
        }
        self.answer(record, conversation, &seen, summary, snapshot, relation)
    }

    /// Compares with what the conversation sent before, or with its parent where it has sent nothing yet.
    fn compare(
        &mut self,
        record: usize,
        conversation: &str,
        seen: &Seen,
        found: &mut Findings,
    ) -> (Snapshot, Relation) {
        let progress = progress::of(&mut self.conversations, &self.script, conversation);
        let snapshot = Snapshot::of(seen, progress.last());
        if progress.starts_new_epoch(seen) {
            progress.epoch += 1;
            self.records[record].epoch = progress.epoch;
            return (snapshot, Relation::Extended);
        }
        self.records[record].epoch = progress.epoch;
        if let Some(before) = progress.last() {
            snapshot.check_against(before, found);
            let relation = snapshot.relation_to(before);
            self.records[record].repeat = relation == Relation::Same;
            return (snapshot, relation);
        }
        if let Some(parent) = progress.fork_of.clone() {
            let history = self.conversations.get(&parent).map_or(&[][..], |parent| &parent.history);
            let continued = history.iter().rev().find(|(_, old)| snapshot.relation_to(old) != Relation::Broken);
            self.records[record].continues = continued.map(|(number, _)| *number);
            if continued.is_none() {
                let mut why = Findings::default();
                if let Some((_, last)) = history.last() {
                    snapshot.check_against(last, &mut why);
                }
                let why = why.0.first().map_or("it has sent nothing yet", |(_, why)| why.as_str());
                found
                    .add(Rule::ForkPrefix, format!("messages: {conversation} continues no request of {parent}: {why}"));
            }
        }
        (snapshot, Relation::Extended)
    }

    fn answer(
        &mut self,
        record: usize,
        conversation: &str,
        seen: &Seen,
        summary: bool,
        snapshot: Snapshot,
        relation: Relation,
    ) -> (Delivery, Outcome) {
        let number = self.records[record].number;
        let reasoned = self.script.reason.as_ref().and_then(|reason| (reason.0)(conversation, seen));
        let progress = progress::of(&mut self.conversations, &self.script, conversation);
        progress.requests += 1;
        let taken = if summary {
            Some(progress.take_summary(&self.script, snapshot))
        } else {
            progress.sent(number, snapshot);
            // The number of the answer follows from the request, too, and with it the ids of its calls.
            let answers = seen.entries.iter().filter(|entry| entry.role == Role::Assistant).count();
            match reasoned {
                Some(turn) => Some(Taken { turn, index: answers + 1, fault: None }),
                None => progress.take(relation),
            }
        };
        let Some(Taken { turn, index, fault }) = taken else {
            let mut found = Findings::default();
            found.add(Rule::QueueEmpty, format!("the queue of {conversation} is empty"));
            return self.violated(record, found);
        };
        let by_number = self.script.faults.get(&number).cloned();
        let by_conversation = progress.faults.get(&progress.requests).cloned();
        let fault = by_number.or(by_conversation).or(fault);
        let mut found = Findings::default();
        for check in &turn.expect {
            match check.ask(seen) {
                Ok(Some((name, value))) => {
                    self.captures.insert(name, value);
                }
                Ok(None) => {}
                Err(why) => found.add(Rule::Expectation, format!("turn {index} of {conversation}: {why}")),
            }
        }
        let unread = matches!(fault, Some(Fault::Http { .. } | Fault::CloseWithoutResponse));
        let tokens = if unread { Tokens::default() } else { self.cache.charge(seen, self.script.cache_minimum) };
        let reply = compose::reply(&turn, seen, conversation, index, tokens, &self.captures, &mut found);
        self.records[record].charged = reply.tokens;
        if !found.0.is_empty() {
            return self.violated(record, found);
        }
        let progress = progress::of(&mut self.conversations, &self.script, conversation);
        progress.planned(&reply, summary, fault.is_some());
        let mut delivery = Delivery::answer(reply.spell(seen), seen.stream);
        delivery.before.extend(turn.hold.map(Step::Gate));
        delivery.before.extend((turn.delay_ms > 0).then_some(Step::DelayMs(turn.delay_ms)));
        match fault {
            Some(fault) => (delivery.with_fault(&fault, seen.wire), Outcome::Faulted(fault)),
            None => (delivery, Outcome::Answered),
        }
    }

    fn asks_for_summary(&self, seen: &Seen) -> bool {
        let marker = self.script.summary.as_ref().map(|summary| summary.marker.as_str());
        marker.is_some_and(|marker| seen.last_user_texts().any(|text| text.contains(marker)))
    }

    fn lets_in(&self, request: &HttpRequest) -> bool {
        let bearer = request.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
        let Some(key) = request.header("x-api-key").or(bearer) else { return false };
        self.script.api_key.as_deref().is_none_or(|wanted| wanted == key)
    }

    fn violated(&mut self, record: usize, found: Findings) -> (Delivery, Outcome) {
        let Record { number, conversation, wire, .. } = self.records[record].clone();
        let sentence = found.0.first().map(|(_, sentence)| sentence.clone());
        self.violations.extend(found.0.into_iter().map(|(rule, sentence)| Violation {
            request: number,
            conversation: conversation.clone(),
            rule,
            sentence,
        }));
        refuse(wire, ErrorKind::Invalid, sentence.as_deref())
    }

    /// Says what a record was meant to become.
    pub fn plan(&self, record: usize) -> Outcome {
        self.plans.get(record).cloned().unwrap_or(Outcome::ClientGone)
    }

    /// Notes what became of a request.
    pub fn finish(&mut self, record: usize, outcome: Outcome) {
        // A script loaded meanwhile has cleared the records.
        let Some(entry) = self.records.get_mut(record) else { return };
        if outcome == Outcome::ClientGone
            && entry.path != "/v1/messages/count_tokens"
            && let Some(progress) = self.conversations.get_mut(&entry.conversation)
        {
            progress.dropped(entry.number);
        }
        entry.outcome = outcome;
    }

    /// Declares that the next request of a conversation need not continue what it sent.
    pub fn new_epoch(&mut self, conversation: &str) {
        progress::of(&mut self.conversations, &self.script, conversation).epoch_declared = true;
    }

    /// Returns how many turns each conversation has left.
    pub fn turns_left(&self) -> Vec<(String, usize)> {
        let declared = |name: &str| self.script.conversations.iter().any(|c| c.name == name);
        let mut left: Vec<(String, usize)> =
            self.conversations.iter().map(|(name, progress)| (name.clone(), progress.queue.len())).collect();
        let untouched = self.script.conversations.iter().filter(|c| !self.conversations.contains_key(&c.name));
        left.extend(untouched.map(|c| (c.name.clone(), c.turns.len())));
        if self.conversations.keys().all(|name| declared(name)) {
            left.push((MAIN.to_owned(), self.script.turns.len()));
        }
        left.sort();
        left
    }

    /// Returns the catalogue, or one model of it, as the vendor whose client asks would.
    pub fn models(&self, request: &HttpRequest) -> Delivery {
        if !self.lets_in(request) {
            let wire = if request.header("anthropic-version").is_some() { Wire::Anthropic } else { Wire::Chat };
            return refuse(wire, ErrorKind::Unauthorized, None).0;
        }
        let anthropic = request.header("anthropic-version").is_some();
        let spell = |model: &Model| if anthropic { anthropic_model(model) } else { openai_model(model) };
        let id = request.path.trim_start_matches("/v1/models").trim_start_matches('/');
        if !id.is_empty() {
            let wire = if anthropic { Wire::Anthropic } else { Wire::Chat };
            return match self.models.iter().find(|model| model.id == id) {
                Some(model) => Delivery::json(200, &spell(model)),
                None => refuse(wire, ErrorKind::UnknownModel, Some(&format!("model: {id}"))).0,
            };
        }
        let data: Vec<Value> = self.models.iter().map(spell).collect();
        let first = self.models.first().map(|model| &model.id);
        let last = self.models.last().map(|model| &model.id);
        let body = if anthropic {
            json!({"data": data, "has_more": false, "first_id": first, "last_id": last})
        } else {
            json!({"object": "list", "data": data})
        };
        Delivery::json(200, &body)
    }
}

fn anthropic_model(model: &Model) -> Value {
    json!({
        "type": "model",
        "id": model.id,
        "display_name": model.id,
        "created_at": "2026-01-01T00:00:00Z",
        "lifecycle": "active",
        "max_input_tokens": model.window,
        "max_tokens": model.max_output,
    })
}

fn openai_model(model: &Model) -> Value {
    json!({"id": model.id, "object": "model", "created": chat_reply::CREATED, "owned_by": "mock"})
}

fn headers(request: &HttpRequest, wire: Wire, found: &mut Findings) {
    if wire == Wire::Anthropic && request.header("anthropic-version").is_none() {
        found.add(Rule::Header, "anthropic-version: header is required");
    }
    if !request.header("content-type").is_some_and(|kind| kind.starts_with("application/json")) {
        found.add(Rule::Header, "content-type: application/json is required");
    }
}

fn refuse(wire: Wire, kind: ErrorKind, message: Option<&str>) -> (Delivery, Outcome) {
    let status = errors::status(wire, kind);
    (Delivery::json(status, &errors::body(wire, kind, message)), Outcome::Refused(status))
}
