//! MCP server entries for lists, with secrets masked.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::base::Secret;
use crate::config::settings::Transport;
use crate::config::{Server, ServerState, mask};

/// A line of `mxd mcp list`.
#[derive(Serialize)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) layer: &'static str,
    pub(super) transport: String,
    pub(super) state: &'static str,
    timeout_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hint: Option<String>,
}

impl Entry {
    pub(super) fn of(server: &Server) -> Self {
        let (state, hint) = match &server.state {
            ServerState::Active => ("active", None),
            ServerState::Disabled => ("disabled", None),
            ServerState::NeedsApproval { .. } => (
                "needs approval",
                Some(format!(
                    "requested by the repository; review and approve it with `mxd mcp approve {}`",
                    server.name
                )),
            ),
        };
        Self {
            name: server.name.clone(),
            layer: server.origin.word(),
            transport: mask_transport(&server.server.transport),
            state,
            timeout_ms: u64::try_from(server.server.timeout.as_millis()).unwrap_or(u64::MAX),
            hint,
        }
    }
}

fn mask_transport(transport: &Transport) -> String {
    match transport {
        Transport::Stdio { command, args, env, cwd } => {
            let mut words: Vec<String> = env.iter().map(|(name, value)| format!("{name}={}", value.masked())).collect();
            words.push(mask::scrub(command));
            words.extend(mask::scrub_args(args.expose()));
            let line = words.join(" ");
            cwd.as_ref().map_or_else(|| line.clone(), |cwd| format!("{line} (in {})", cwd.display()))
        }
        Transport::Http { url, headers } => {
            let headers: Vec<String> = masked_pairs(headers).collect();
            if headers.is_empty() { url.to_string() } else { format!("{url} ({})", headers.join(", ")) }
        }
    }
}

fn masked_pairs(pairs: &BTreeMap<String, Secret>) -> impl Iterator<Item = String> {
    pairs.iter().map(|(name, value)| format!("{name}: {}", value.masked()))
}
