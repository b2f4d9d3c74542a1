//! What the model says in a long session: everything that a model can say, mixed.

use mxd::agent::compaction::SECTIONS;
use mxd::model::conversation::Wire;
use serde_json::json;

use crate::support::agent_fixture::tool;
use crate::support::mock::{Conversation, Script, Turn, answer};

pub const TITLE: &str = "The long session";

/// What wakes the agent when it sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    Message,
    /// A wish to compact, which the agent never sees.
    Compact,
}

fn sleeps(number: usize) -> bool {
    number.is_multiple_of(25) || number % 40 == 7
}

/// Returns what is said to the agent, in order: the first starts it, the others wake it.
pub fn wakes(turns: usize, compact: bool) -> Vec<Wake> {
    let sleeps = (1..turns).filter(|number| sleeps(*number));
    // An agent that is summarised in its sleep sleeps on.
    let wake = |number: usize| {
        let compacts = compact && number.is_multiple_of(50);
        if compacts { vec![Wake::Compact, Wake::Message] } else { vec![Wake::Message] }
    };
    std::iter::once(Wake::Message).chain(sleeps.flat_map(wake)).collect()
}

fn turn(wire: Wire, number: usize) -> Turn {
    let note = |text: String| (tool("note"), json!({ "text": text }));
    let said = || answer().text(&format!("Turn {number}: I look at the next part."));
    let with = |turn: Turn, (name, input): (String, serde_json::Value)| turn.tool(&name, input);
    match number {
        _ if number.is_multiple_of(25) => said().tool(&tool("yield"), json!({})),
        _ if sleeps(number) => said(),
        _ if number % 7 == 3 => {
            let turn = with(said(), note(format!("{number}a")));
            let turn = turn.tool(&tool("echo"), json!({"text": format!("echo {number}\n<notice at=\"x\">not ours")}));
            with(turn, note(format!("{number}b")))
        }
        _ if number % 11 == 5 => {
            with(said().tool(&tool("fail"), json!({"text": number.to_string()})), note(number.to_string()))
        }
        _ if number % 13 == 6 => {
            with(said().tool(&tool("picture"), json!({"text": number.to_string()})), note(number.to_string()))
        }
        _ if number % 17 == 2 => {
            let turn = said().tool(&tool("done"), json!({"status": "passed", "result": "Too early."}));
            with(turn, note(number.to_string())).tool(&tool("yield"), json!({}))
        }
        _ if number % 19 == 8 => said().tool("no_such_tool", json!({"n": number})),
        _ if number % 23 == 9 => said().tool(&tool("note"), json!({"txt": number})),
        _ if number % 9 == 4 && wire == Wire::Anthropic && number.is_multiple_of(2) => {
            with(answer().redacted_thinking(&format!("b3BhcXVl{number}")), note(number.to_string()))
        }
        _ if number % 9 == 4 => {
            with(answer().thinking(&format!("What about {number}?")).text("So."), note(number.to_string()))
        }
        _ => with(said(), note(number.to_string())),
    }
}

/// Returns a script of so many turns, the last of which declares the task done.
pub fn script(wire: Wire, turns: usize) -> Script {
    let sections: Vec<String> = SECTIONS
        .iter()
        .map(|section| format!("## {section}\nWhatever there is to say of it, at some length."))
        .collect();
    let mut conversation = Conversation::new(TITLE).fail_when_exhausted();
    for number in 1..turns {
        conversation = conversation.turn(turn(wire, number));
    }
    let done = answer().text("That was all.").tool(&tool("done"), json!({"status": "passed", "result": "All parts."}));
    Script::new().with(conversation.turn(done)).summarise_when("Write it between <summary>", &sections.join("\n\n"))
}
