//! `clarify`: asks the user.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::engine::agent_port::AgentPort;
use crate::engine::command::Command;
use crate::engine::tools::{answer, fields};
use crate::model::ask::AskMode;
use crate::tools::{Call, Handler, Reply, ToolEffect, names};

pub(super) struct Clarify(pub(super) AgentPort);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// One line, understood without your conversation: what you need to know.
    question: String,
    /// What the user should know to decide: what you found, what follows from each way.
    #[serde(default)]
    detail: Option<String>,
    /// Answers to choose from, a few words each. The user may also say something else.
    #[serde(default)]
    choices: Vec<String>,
    /// What you would do without an answer. It is taken if nobody answers in time; without one, you wait for ever.
    #[serde(default)]
    default: Option<String>,
    /// true: you cannot go on without the answer. false: there is other work meanwhile. Default true.
    #[serde(default = "blocks")]
    block: bool,
}

fn blocks() -> bool {
    true
}

impl Handler for Clarify {
    const NAME: &'static str = names::CLARIFY;
    const DESCRIPTION: &'static str = "Asks the user something that only they can decide: what is wanted, which of \
        two readings is meant, whether a risk may be taken. One question per call, asked early: a guess that is wrong \
        costs more than the wait. The answer comes as a message. After a question that blocks call yield; otherwise \
        go on with what does not depend on it. What the code says, look up; what the task above knows, ask it with \
        send_message. You cannot pass while a question is open.";
    const EFFECT: ToolEffect = ToolEffect::Opaque;
    const EXAMPLE: &'static str = concat!(
        r#"{"question": "Should a password change end the other sessions?", "detail": "Today it does not.", "#,
        r#""choices": ["End them", "Keep them"], "default": "End them", "block": false}"#
    );

    type Input = Input;

    async fn run(self: Arc<Self>, input: Input, call: Call) -> Reply {
        let (question, rest) = one_line(&input.question);
        let detail = [rest, input.detail.as_deref().unwrap_or_default().trim()];
        let mode = if input.block { AskMode::Blocks } else { AskMode::Continues };
        let command = Command::Ask {
            question: question.to_owned(),
            detail: detail.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n"),
            choices: input.choices.into_iter().filter_map(|choice| fields::given(Some(choice))).collect(),
            default: fields::given(input.default),
            mode,
        };
        let asking = async {
            self.0.command(command).await?;
            let text = match mode {
                AskMode::Blocks => {
                    "The question was put to the user. Call yield now: the answer wakes you. Do not go on with what \
                     depends on it."
                }
                AskMode::Continues => {
                    "The question was put to the user. Go on with what does not depend on it; the answer comes as a \
                     message."
                }
            };
            Ok(text.to_owned())
        };
        answer(asking, &call).await
    }
}

/// Splits the first line, which is shown as the question, from the rest.
fn one_line(question: &str) -> (&str, &str) {
    let question = question.trim();
    question.split_once('\n').map_or((question, ""), |(first, rest)| (first.trim_end(), rest.trim()))
}

#[cfg(test)]
#[path = "clarify_tests.rs"]
mod tests;
