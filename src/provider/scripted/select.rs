//! Selects the turn of a scenario that answers a request. A pure function of both.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::base::Json;
use crate::model::conversation::{Role, Thought, ToolUse, Wire};
use crate::model::event::StopReason;
use crate::provider::response::ResponseBlock;
use crate::provider::scripted::request::{Request, ScriptedMessage, tokens_of};
use crate::provider::scripted::scenario::{
    CaptureSource, Condition, Pacing, Scenario, ScriptedConversation, ScriptedError, ScriptedTurn,
};

/// The answer to play, with its errors and pacing.
#[derive(Debug)]
pub(super) struct Step<'a> {
    pub(super) answer: Answer,
    pub(super) errors: &'a [ScriptedError],
    pub(super) pacing: Pacing,
}

/// An answer with all captures filled in.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) blocks: Vec<ResponseBlock>,
    pub(super) stop: StopReason,
    pub(super) model: String,
}

impl Answer {
    pub(super) fn tokens(&self) -> u64 {
        let sizes = self.blocks.iter().map(|block| match block {
            ResponseBlock::Text(text) => text.len(),
            ResponseBlock::Thinking(thought) => thought.text.len(),
            ResponseBlock::ToolUse(call) => call.name.len() + call.input.as_str().len(),
        });
        tokens_of(sizes.sum()).max(1)
    }
}

/// The user's input since the last answer.
#[derive(Default)]
struct UserInput {
    text: String,
    result: String,
}

impl UserInput {
    fn add(&mut self, message: &ScriptedMessage) {
        let (texts, results) = message.texts_and_results();
        for (all, parts) in [(&mut self.text, texts), (&mut self.result, results)] {
            for part in parts {
                if !all.is_empty() {
                    all.push('\n');
                }
                all.push_str(part);
            }
        }
    }

    fn last(&self) -> String {
        format!("{}\n{}", self.result, self.text)
    }

    fn satisfies(&self, condition: &Condition) -> bool {
        condition.text.match_all(&self.text)
            && condition.result.match_all(&self.result)
            && condition.last.match_all(&self.last())
    }
}

/// Returns the answer to `request`. Fails if the scenario uses a name that was never captured.
pub(super) fn step<'a>(scenario: &'a Scenario, request: &Request) -> Result<Step<'a>, String> {
    let mut first = UserInput::default();
    let opening = request.messages.iter().take_while(|message| message.role == Role::User);
    opening.for_each(|message| first.add(message));
    let selected = scenario.conversations.iter().find_map(|conversation| {
        let start = start(conversation, request, &first)?;
        Some((conversation, start))
    });
    let (conversation, start) = selected.map_or((None, 0), |(conversation, start)| (Some(conversation), start));
    let mut cursor = ScriptCursor { scenario, conversation, next: 0, captured: BTreeMap::new(), all: String::new() };
    let mut input = UserInput::default();
    for message in &request.messages[start..] {
        match message.role {
            Role::User => input.add(message),
            Role::Assistant => {
                cursor.advance(&std::mem::take(&mut input), &first);
            }
        }
    }
    let turn = cursor.advance(&input, &first);
    let place = conversation.map_or("the scenario", |conversation| conversation.name.as_str());
    let answered = request.messages.iter().filter(|message| message.role == Role::Assistant).count();
    let answer = answer(turn, &cursor.captured, &request.model, answered)
        .map_err(|name| format!("conversation \"{place}\" of the scenario uses ${{{name}}} before it is captured"))?;
    Ok(Step {
        answer,
        errors: turn.map_or(&[], |turn| turn.errors.as_slice()),
        pacing: turn.and_then(|turn| turn.pacing).unwrap_or(scenario.pacing),
    })
}

/// Returns the index of the message where a conversation starts, or `None` if the request does not belong to it.
fn start(conversation: &ScriptedConversation, request: &Request, first: &UserInput) -> Option<usize> {
    let when = &conversation.when;
    if !when.system.match_all(&request.system) || !when.first.match_all(&first.last()) {
        return None;
    }
    if when.anchor.is_empty() {
        return Some(0);
    }
    request.messages.iter().position(|message| {
        let mut input = UserInput::default();
        input.add(message);
        message.role == Role::User && when.anchor.match_all(&input.last())
    })
}

/// The position in a scripted conversation.
struct ScriptCursor<'a> {
    scenario: &'a Scenario,
    conversation: Option<&'a ScriptedConversation>,
    next: usize,
    captured: BTreeMap<&'a str, String>,
    all: String,
}

impl<'a> ScriptCursor<'a> {
    /// Returns the turn that answers the input, and moves past it.
    fn advance(&mut self, input: &UserInput, first: &UserInput) -> Option<&'a ScriptedTurn> {
        self.all.push('\n');
        self.all.push_str(&input.last());
        let turn = self.choose(input);
        if let Some(turn) = turn {
            self.capture(turn, input, first);
        }
        turn
    }

    fn choose(&mut self, input: &UserInput) -> Option<&'a ScriptedTurn> {
        let (scenario, conversation) = (self.scenario, self.conversation);
        let own = conversation.map_or(&[][..], |conversation| conversation.rules.as_slice());
        let mut rules = own.iter().chain(&scenario.rules);
        let holds = |turn: &&ScriptedTurn| turn.when.as_ref().is_none_or(|condition| input.satisfies(condition));
        if let Some(rule) = rules.find(|turn| holds(turn)) {
            return Some(rule);
        }
        let next = conversation.and_then(|conversation| conversation.turns.get(self.next));
        if let Some(turn) = next.filter(|turn| holds(turn)) {
            self.next += 1;
            return Some(turn);
        }
        let fallbacks = [
            next.and_then(|turn| turn.otherwise.as_deref()),
            conversation.and_then(|conversation| conversation.otherwise.as_deref()),
            scenario.otherwise.as_deref(),
        ];
        fallbacks.into_iter().flatten().next()
    }

    fn capture(&mut self, turn: &'a ScriptedTurn, input: &UserInput, first: &UserInput) {
        for (name, capture) in &turn.capture {
            let text = match capture.from {
                CaptureSource::Text => &input.text,
                CaptureSource::Result => &input.result,
                CaptureSource::Last => &input.last(),
                CaptureSource::First => &first.last(),
                CaptureSource::All => &self.all,
            };
            if let Some(found) = capture.regex.capture(text) {
                self.captured.insert(name, found.to_owned());
            }
        }
    }
}

/// Fills in the captures of a turn. Fails with the name of a missing one.
fn answer(
    turn: Option<&ScriptedTurn>,
    captured: &BTreeMap<&str, String>,
    model: &str,
    answered: usize,
) -> Result<Answer, String> {
    let model = model.to_owned();
    let Some(turn) = turn else {
        return Ok(Answer {
            blocks: vec![ResponseBlock::Text("Acknowledged.".to_owned())],
            stop: StopReason::EndTurn,
            model,
        });
    };
    let fill = |text: &String| fill(text, captured);
    let thought =
        turn.thinking.as_ref().map(fill).transpose()?.map(|text| {
            ResponseBlock::Thinking(Thought { text, signature: None, redacted: None, wire: Wire::Scripted })
        });
    let text = turn.text.as_ref().map(fill).transpose()?.map(ResponseBlock::Text);
    let mut blocks: Vec<_> = thought.into_iter().chain(text).collect();
    for (index, call) in turn.calls.iter().enumerate() {
        let mut input = call.input.clone();
        fill_value(&mut input, captured)?;
        let input = if input.is_object() { Json::of(&input).unwrap_or_default() } else { Json::object() };
        blocks.push(ResponseBlock::ToolUse(ToolUse {
            call: format!("scripted_{answered}_{index}"),
            name: call.tool.clone(),
            input,
            malformed: call.malformed.clone(),
        }));
    }
    let natural = if turn.calls.is_empty() { StopReason::EndTurn } else { StopReason::ToolUse };
    Ok(Answer { blocks, stop: turn.stop.clone().unwrap_or(natural), model })
}

fn fill(text: &str, captured: &BTreeMap<&str, String>) -> Result<String, String> {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        filled.push_str(before);
        // Anything but a plain name belongs to shell code in the script, such as `${words:-none}`.
        match after.split_once('}').filter(|(name, _)| is_name(name)) {
            Some((name, after)) => {
                filled.push_str(captured.get(name).ok_or_else(|| name.to_owned())?);
                rest = after;
            }
            None => {
                filled.push_str("${");
                rest = after;
            }
        }
    }
    filled.push_str(rest);
    Ok(filled)
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

fn fill_value(value: &mut Value, captured: &BTreeMap<&str, String>) -> Result<(), String> {
    match value {
        Value::String(text) => *text = fill(text, captured)?,
        Value::Array(items) => items.iter_mut().try_for_each(|item| fill_value(item, captured))?,
        Value::Object(fields) => fields.values_mut().try_for_each(|field| fill_value(field, captured))?,
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    Ok(())
}
