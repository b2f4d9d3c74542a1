//! How a response leaves: what is sent in which order, and how it ends. Faults of the stream are worked in here.
//!
//! Pure. The connection carries it out step by step.

use super::fault::Fault;
use super::reply::Step;
use super::seen::Wire;
use super::wire::errors;

/// A response to be carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Pauses before the status line.
    pub before: Vec<Step>,
    /// Nothing: the connection is closed without one.
    pub status: Option<u16>,
    pub headers: Vec<(String, String)>,
    pub framing: Framing,
    pub steps: Vec<Step>,
    pub ending: Ending,
    /// Pieces of this many bytes, this many milliseconds apart.
    pub drip: Option<(usize, u64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// One body of known length.
    Whole,
    Chunked,
}

/// How the connection is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    Clean,
    /// Closed after so many bytes of the body, without the end of the encoding.
    Cut(usize),
    Reset(usize),
}

impl Delivery {
    /// Returns a body of JSON with a status.
    pub fn json(status: u16, body: &serde_json::Value) -> Self {
        Self {
            before: Vec::new(),
            status: Some(status),
            headers: vec![header("content-type", "application/json"), header("request-id", "req_mock")],
            framing: Framing::Whole,
            steps: vec![Step::Send(body.to_string())],
            ending: Ending::Clean,
            drip: None,
        }
    }

    /// Returns an answer: a stream of events, or one body.
    pub fn answer(steps: Vec<Step>, streamed: bool) -> Self {
        let mut delivery = Self::json(200, &serde_json::Value::Null);
        delivery.steps = steps;
        if streamed {
            delivery.framing = Framing::Chunked;
            delivery.headers =
                vec![header("content-type", "text/event-stream; charset=utf-8"), header("cache-control", "no-cache")];
        }
        delivery
    }

    /// Works `fault` into the response.
    pub fn with_fault(mut self, fault: &Fault, wire: Wire) -> Self {
        let streamed = self.framing == Framing::Chunked;
        match fault {
            Fault::Http { kind, retry_after, message } => {
                let body = errors::body(wire, *kind, message.as_deref());
                let mut delivery = Self::json(errors::status(wire, *kind), &body);
                delivery.before = self.before;
                delivery.headers.extend(retry_after.as_ref().map(|after| header("retry-after", after)));
                return delivery;
            }
            Fault::ResetAfter(bytes) => self.ending = Ending::Reset(*bytes),
            Fault::CutAfter(bytes) => self.ending = Ending::Cut(*bytes),
            Fault::Truncated(events) if streamed => self.keep_events(*events),
            Fault::Truncated(_) => self.spoil_body(|body| body.truncate(half(body))),
            Fault::MalformedJson(events) if streamed => {
                let at = self.position(*events);
                self.steps
                    .insert(at, Step::Send("data: {\"type\": \"content_block_delta\", \"delta\": {\n\n".to_owned()));
            }
            Fault::MalformedJson(_) => self.spoil_body(|body| body.insert(1, '}')),
            Fault::ErrorEvent { after, kind } if streamed => {
                let whole = self.steps.clone();
                self.keep_events(*after);
                // An error at the very beginning still names the response that it ends.
                let sent = if self.steps.is_empty() { &whole[..1.min(whole.len())] } else { &self.steps[..] };
                let error = errors::event(wire, *kind, sent);
                self.steps.push(error);
            }
            Fault::ErrorEvent { kind, .. } => {
                return self.with_fault(&Fault::Http { kind: *kind, retry_after: None, message: None }, wire);
            }
            Fault::Stall { after, gate } => {
                let at = self.position(*after);
                self.steps.insert(at, Step::Gate(gate.clone()));
            }
            Fault::SlowDrip { bytes, every_ms } => self.drip = Some(((*bytes).max(1), *every_ms)),
            Fault::WrongContentType => {
                self.framing = Framing::Whole;
                self.headers = vec![header("content-type", "text/html; charset=utf-8")];
                self.steps = vec![Step::Send("<html><body>Please log in to the network.</body></html>".to_owned())];
            }
            Fault::CloseWithoutResponse => self.status = None,
        }
        self
    }

    /// Returns where in the steps `events` events have been sent.
    fn position(&self, events: usize) -> usize {
        let sends = self.steps.iter().enumerate().filter(|(_, step)| matches!(step, Step::Send(_)));
        sends.map(|(at, _)| at).nth(events).unwrap_or(self.steps.len())
    }

    fn keep_events(&mut self, events: usize) {
        self.steps.truncate(self.position(events));
    }

    fn spoil_body(&mut self, spoil: impl FnOnce(&mut String)) {
        if let Some(Step::Send(body)) = self.steps.last_mut() {
            spoil(body);
        }
    }
}

fn half(text: &str) -> usize {
    (0..=text.len() / 2).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

fn header(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}
