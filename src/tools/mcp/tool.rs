//! A server's tool as a [`Tool`]. It names the server and the tool; the connection is chosen per call.

use std::sync::Arc;

use futures::future::FutureExt as _;
use rmcp::model::JsonObject;

use crate::base::Json;
use crate::model::ToolSpec;
use crate::tools::input::InputError;
use crate::tools::mcp::failure::Failure;
use crate::tools::mcp::result;
use crate::tools::mcp::slot::Lease;
use crate::tools::reply::Reply;
use crate::tools::tool::{Call, Prepared, Tool, ToolEffect};

pub(super) struct ExternalTool {
    spec: ToolSpec,
    effect: ToolEffect,
    lease: Arc<Lease>,
}

impl ExternalTool {
    pub(super) fn new(spec: ToolSpec, effect: ToolEffect, lease: Lease) -> Self {
        Self { spec, effect, lease: Arc::new(lease) }
    }
}

impl Tool for ExternalTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// Returns the effect according to the running server, or that of the session's start.
    fn effect(&self) -> ToolEffect {
        self.lease.slot().effect(&self.spec.name).unwrap_or(self.effect)
    }

    /// Checks only that the input is an object: the server judges the rest.
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
        // Dropping the other branch tells the server to stop, without waiting for it.
        () = call.context.tokens.cancelled() => Err(Failure::Interrupted { server: slot.name().to_owned() }),
        outcome = slot.call(&wire, input) => outcome,
    };
    match outcome {
        Ok(result) => result::reply(result, &call.context, slot.redactor()).await,
        Err(failure) => Reply::error(slot.clean(&failure.to_string())),
    }
}

/// A tool of a session whose server is no longer configured.
pub(super) struct UnconfiguredTool {
    pub(super) spec: ToolSpec,
}

impl Tool for UnconfiguredTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn effect(&self) -> ToolEffect {
        ToolEffect::Opaque
    }

    fn prepare(&self, _input: &Json) -> Result<Prepared, InputError> {
        let message = "Not run: the server of this tool is no longer among the settings. Do without it.";
        Ok(Box::new(move |_| std::future::ready(Reply::error(message)).boxed()))
    }
}
