//! A server's tool as one of ours. It names the server and the tool; which connection serves it is decided per call.

use std::sync::Arc;

use futures::future::FutureExt as _;
use rmcp::model::JsonObject;

use crate::base::Json;
use crate::model::ToolSpec;
use crate::tools::input::InputError;
use crate::tools::mcp::answer;
use crate::tools::mcp::failure::Failure;
use crate::tools::mcp::slot::Lease;
use crate::tools::reply::Reply;
use crate::tools::tool::{Call, Effect, Prepared, Tool};

/// A tool of an external server.
pub(super) struct External {
    spec: ToolSpec,
    effect: Effect,
    lease: Arc<Lease>,
}

impl External {
    pub(super) fn new(spec: ToolSpec, effect: Effect, lease: Lease) -> Self {
        Self { spec, effect, lease: Arc::new(lease) }
    }
}

impl Tool for External {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// What the running server says of the tool, else what was known when the session began.
    fn effect(&self) -> Effect {
        self.lease.slot().effect(&self.spec.name).unwrap_or(self.effect)
    }

    /// Only the outermost form is checked: what is in it is for the server to judge.
    fn prepare(&self, input: &Json) -> Result<Prepared, InputError> {
        let input: JsonObject = input.read().map_err(|error| InputError {
            problem: format!("the input must be a JSON object ({error})"),
            example: "{}".to_owned(),
        })?;
        let (lease, wire) = (Arc::clone(&self.lease), self.spec.name.clone());
        Ok(Box::new(move |call| run(lease, wire, input, call).boxed()))
    }
}

async fn run(lease: Arc<Lease>, wire: String, input: JsonObject, call: Call) -> Reply {
    let slot = lease.slot();
    let outcome = tokio::select! {
        biased;
        // Dropping the other branch is what tells the server to stop. Nobody waits for it to obey.
        () = call.context.tokens.cancelled() => Err(Failure::Interrupted { server: slot.name().to_owned() }),
        outcome = slot.call(&wire, input) => outcome,
    };
    match outcome {
        Ok(result) => answer::reply(result, &call.context, slot.redactor()).await,
        Err(failure) => Reply::error(slot.clean(&failure.to_string())),
    }
}

/// A tool that a session was promised by a server that is no longer configured.
pub(super) struct Orphan {
    pub(super) spec: ToolSpec,
}

impl Tool for Orphan {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn effect(&self) -> Effect {
        Effect::Opaque
    }

    fn prepare(&self, _input: &Json) -> Result<Prepared, InputError> {
        let said = "Not run: the server of this tool is no longer among the settings. Do without it.";
        Ok(Box::new(move |_| std::future::ready(Reply::error(said)).boxed()))
    }
}
