//! From a turn of the script to an answer: names filled in, ids given, tokens counted.

use std::collections::HashMap;

use serde_json::Value;

use crate::support::mock::cache;
use crate::support::mock::reply::{Reply, Spoken, Tokens};
use crate::support::mock::rules::{Findings, Rule};
use crate::support::mock::seen::{Seen, Wire};
use crate::support::mock::turn::{Chunk, Piece, Stop, Turn};
use crate::support::mock::wire::sse;

/// Long enough for a test to be quick, short enough that a word is cut now and then.
const TEXT_DELTA: usize = 12;

/// Returns what `turn` says to `seen`.
pub fn reply(
    turn: &Turn,
    seen: &Seen,
    conversation: &str,
    index: usize,
    tokens: Tokens,
    captures: &HashMap<String, String>,
    found: &mut Findings,
) -> Reply {
    let tag = format!("{}{index:04}", &blake3::hash(conversation.as_bytes()).to_hex()[..8]);
    let mut fill = Fill { captures, index, found };
    let mut pieces = Vec::new();
    for (at, piece) in turn.say.iter().enumerate() {
        pieces.push(spoken(piece, &call_id(seen.wire, &tag, at), &mut fill));
    }
    let stop = turn.stop.clone().unwrap_or_else(|| {
        let calls = pieces.iter().any(|piece| matches!(piece, Spoken::Tool { .. }));
        if calls { Stop::ToolUse } else { Stop::EndTurn }
    });
    let tokens = counted(turn, &pieces, tokens);
    Reply {
        tag,
        model: seen.model.clone(),
        pieces,
        stop,
        tokens,
        with_usage: !turn.without_usage && (seen.include_usage || !seen.stream),
        encrypted_reasoning: seen.encrypted_reasoning,
    }
}

fn call_id(wire: Wire, tag: &str, at: usize) -> String {
    match wire {
        Wire::Anthropic => format!("toolu_{tag}_{at}"),
        Wire::Responses | Wire::Chat => format!("call_{tag}_{at}"),
    }
}

fn spoken(piece: &Piece, call: &str, fill: &mut Fill<'_>) -> Spoken {
    match piece {
        Piece::Text(text) => {
            let text = fill.text(text);
            Spoken::Text(sse::split(&text, TEXT_DELTA).into_iter().map(Chunk::Say).collect())
        }
        Piece::Chunks(chunks) => Spoken::Text(
            chunks
                .iter()
                .map(|chunk| match chunk {
                    Chunk::Say(text) => Chunk::Say(fill.text(text)),
                    Chunk::Gate(_) | Chunk::DelayMs(_) => chunk.clone(),
                })
                .collect(),
        ),
        Piece::Thinking(text) => Spoken::Thinking(fill.text(text)),
        Piece::RedactedThinking(data) => Spoken::Redacted(data.clone()),
        Piece::Tool { name, input, id } => {
            let mut input = input.clone();
            fill.value(&mut input);
            let input = if input.is_null() { "{}".to_owned() } else { input.to_string() };
            Spoken::Tool { id: id.clone().unwrap_or_else(|| call.to_owned()), name: name.clone(), input }
        }
        Piece::RawTool { name, input } => {
            Spoken::Tool { id: call.to_owned(), name: name.clone(), input: input.clone() }
        }
        Piece::Gate(name) => Spoken::Gate(name.clone()),
        Piece::DelayMs(ms) => Spoken::DelayMs(*ms),
    }
}

fn counted(turn: &Turn, pieces: &[Spoken], prompt: Tokens) -> Tokens {
    let mut output = 1;
    let mut thinking = 0;
    for piece in pieces {
        match piece {
            Spoken::Text(chunks) => output += cache::tokens(&Spoken::words(chunks)),
            Spoken::Thinking(text) | Spoken::Redacted(text) => thinking += cache::tokens(text),
            Spoken::Tool { name, input, .. } => output += cache::tokens(name) + cache::tokens(input),
            Spoken::Gate(_) | Spoken::DelayMs(_) => {}
        }
    }
    let own = turn.usage;
    Tokens {
        input: own.input.unwrap_or(prompt.input),
        output: own.output.unwrap_or(output + thinking),
        thinking,
        cache_read: own.cache_read.unwrap_or(prompt.cache_read),
        cache_write_5m: own.cache_write_5m.unwrap_or(prompt.cache_write_5m),
        cache_write_1h: own.cache_write_1h.unwrap_or(prompt.cache_write_1h),
    }
}

/// Puts captured values in place of `${name}`. `${turn}` is the number of the turn in its conversation.
struct Fill<'a> {
    captures: &'a HashMap<String, String>,
    index: usize,
    found: &'a mut Findings,
}

impl Fill<'_> {
    fn text(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            out.push_str(before);
            let Some((name, after)) = after.split_once('}') else {
                out.push_str("${");
                rest = after;
                continue;
            };
            match self.captures.get(name) {
                Some(value) => out.push_str(value),
                None if name == "turn" => out.push_str(&self.index.to_string()),
                None => self.found.add(Rule::UnknownCapture, format!("nothing has been captured as {name:?} yet")),
            }
            rest = after;
        }
        out + rest
    }

    fn value(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(members) => members.values_mut().for_each(|member| self.value(member)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}
