//! `send_message_to_project`: sends a message to the root of another project.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::Fault;
use crate::engine::tools::answer;
use crate::engine::tools::projects::Projects;
use crate::tools::{Call, Handler, Reply, ToolEffect, names};

pub(super) struct SendMessageToProject(pub(super) Arc<dyn Projects>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// The project: its id, as the list of projects shows it, or its name.
    project: String,
    /// What its root reads. It knows nothing of your project: say who asks, what for, and what you would like back.
    message: String,
}

impl Handler for SendMessageToProject {
    const NAME: &'static str = names::SEND_MESSAGE_TO_PROJECT;
    const DESCRIPTION: &'static str = "Says something to the root of another project of this machine, such as a \
        change that it must follow or a question about its interface. It is kept until that project reads it, which \
        may be long: do not wait for an answer. Work in that repository is its own agents' business; never change its \
        files yourself.";
    const EFFECT: ToolEffect = ToolEffect::Opaque;
    const EXAMPLE: &'static str = concat!(
        r#"{"project": "web-client", "message": "From the API project: from version 2.3 on, /login may answer 429 "#,
        r#"with Retry-After. Please tell people how long to wait."}"#
    );

    type Input = Input;

    async fn run(self: Arc<Self>, input: Input, call: Call) -> Reply {
        let message = input.message.trim();
        if message.is_empty() {
            return Reply::error("Not sent: the message is empty.");
        }
        let sending = async { self.0.send(input.project.trim(), message).await.map_err(Fault::user) };
        answer(sending, &call).await
    }
}

#[cfg(test)]
#[path = "send_message_to_project_tests.rs"]
mod tests;
