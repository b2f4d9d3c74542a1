//! The faults, and what must come of each.

use mxd::agent::compaction::SECTIONS;
use mxd::model::AskKind;

use crate::support::agent_fixture::tool;
use crate::support::mock::{ErrorKind, Fault, Stop, Turn, answer};

/// What the model says when nothing is wrong: long enough to be cut.
pub const GOOD: &str = "Recovered from everything that went wrong before.";

pub struct Case {
    pub name: &'static str,
    pub trouble: Trouble,
    /// How often the request is tried again by itself.
    pub retries: usize,
    /// The class of its error events, and how many there are.
    pub class: Option<&'static str>,
    pub errors: usize,
    pub ask: Option<AskKind>,
}

/// What goes wrong: on the way, or in what the model says.
pub enum Trouble {
    Fault(Fault),
    Said(Vec<Turn>),
}

impl Case {
    fn fault(name: &'static str, fault: Fault, class: &'static str, retries: usize) -> Self {
        let ask = Some(AskKind::RetriesExhausted);
        Self { name, trouble: Trouble::Fault(fault), retries, class: Some(class), errors: retries + 1, ask }
    }

    fn said(name: &'static str, turns: Vec<Turn>, ask: Option<AskKind>) -> Self {
        Self { name, trouble: Trouble::Said(turns), retries: 0, class: None, errors: 0, ask }
    }

    /// Tells whether it is the client's patience that has to run out.
    pub fn silent(&self) -> bool {
        matches!(self.trouble, Trouble::Fault(Fault::Stall { .. }))
    }

    /// Returns what the mock answers: the trouble as long as it is tried, then a good response.
    pub fn turns(&self) -> Vec<Turn> {
        let good = answer().text(GOOD);
        match &self.trouble {
            Trouble::Fault(Fault::Stall { after, .. }) => {
                let stall = |number| Fault::Stall { after: *after, gate: silence(number) };
                vec![(0..self.errors).fold(good, |turn, number| turn.fault(stall(number)))]
            }
            Trouble::Fault(fault) => {
                vec![(0..self.errors.max(1)).fold(good, |turn, _| turn.fault(fault.clone()))]
            }
            Trouble::Said(turns) => turns.iter().cloned().chain([good]).collect(),
        }
    }
}

/// Returns the gate before which the stream of an attempt falls silent.
pub fn silence(attempt: usize) -> String {
    format!("silence {attempt}")
}

/// Returns what a summary says.
pub fn summary() -> String {
    let sections =
        SECTIONS.iter().map(|section| format!("## {section}\nWhatever there is to say of it, at some length."));
    sections.collect::<Vec<_>>().join("\n\n")
}

/// Returns every case.
pub fn all() -> Vec<Case> {
    let stopped = |stop: Stop| answer().text("I stop here.").stop(stop);
    let cut = answer().raw_tool(&tool("note"), "{\"text\": \"half a sen").stop(Stop::MaxTokens);
    vec![
        Case::fault("429 with `Retry-After: 7`", Fault::rate_limited("7"), "rate_limit", 10),
        Case::fault("429 with `Retry-After` of two hours", Fault::rate_limited("7200"), "rate_limit", 0),
        Case::fault("429 without advice", Fault::rate_limited_without_advice(), "rate_limit", 10),
        Case::fault("529 overloaded", Fault::overloaded(), "overloaded", 8),
        Case::fault("503 unavailable", Fault::unavailable(), "overloaded", 8),
        Case::fault("500 server error", Fault::server_error(), "server", 6),
        Case::fault("401 wrong key", Fault::unauthorized(), "auth", 0),
        Case::fault("no credit left", Fault::no_credit(), "credit", 0),
        Case::fault("400 invalid request", Fault::invalid_request("temperature: out of range"), "invalid_request", 0),
        Case::fault("404 unknown model", Fault::unknown_model(), "unknown_model", 0),
        Case {
            errors: 1,
            ask: None,
            ..Case::fault("context overflow", Fault::context_overflow(), "context_overflow", 0)
        },
        Case::fault("connection closed before a response", Fault::CloseWithoutResponse, "network", 8),
        Case::fault("a web page instead of a response", Fault::WrongContentType, "network", 8),
        Case::fault("connection reset in mid-stream", Fault::ResetAfter(300), "truncated", 4),
        Case::fault("connection closed in mid-stream", Fault::CutAfter(300), "truncated", 4),
        Case::fault("stream ends without its end", Fault::Truncated(3), "truncated", 4),
        Case::fault("malformed JSON in mid-stream", Fault::MalformedJson(3), "server", 6),
        Case::fault(
            "error event in mid-stream",
            Fault::ErrorEvent { after: 3, kind: ErrorKind::Overloaded },
            "overloaded",
            8,
        ),
        Case::fault("silence in mid-stream", Fault::Stall { after: 3, gate: String::new() }, "timeout", 4),
        Case {
            class: None,
            errors: 0,
            ask: None,
            ..Case::fault("slow but steady stream", Fault::SlowDrip { bytes: 40, every_ms: 0 }, "", 0)
        },
        Case::said("refusal", vec![stopped(Stop::Refusal)], Some(AskKind::ModelStopped)),
        Case::said("output limit, once", vec![stopped(Stop::MaxTokens)], None),
        Case::said("output limit, four times in a row", vec![stopped(Stop::MaxTokens); 4], Some(AskKind::ModelStopped)),
        Case::said("output limit within a tool call", vec![cut], None),
    ]
}
