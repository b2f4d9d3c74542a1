//! Opens transports to servers: a child process or an HTTP address.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use rmcp::transport::StreamableHttpClientTransport;

use crate::base::RunId;
use crate::config::mask;
use crate::config::settings::{McpServer, Transport};
use crate::process::{self, ChildSpec, Process, StdioPipes};
use crate::tools::mcp::http;
use crate::tools::mcp::log::ServerLog;
use crate::tools::mcp::pool::Options;
use crate::tools::mcp::redact::Redactor;

/// A transport before the handshake.
pub(super) enum ServerTransport {
    Stdio(Process, StdioPipes),
    Http(StreamableHttpClientTransport<http::McpHttpClient>),
}

/// Opens the transport to a server. Must be called in a runtime.
pub(super) fn open(
    name: &str,
    server: &McpServer,
    options: &Options,
    redactor: &Arc<Redactor>,
) -> Result<ServerTransport, String> {
    match &server.transport {
        Transport::Stdio { command, args, env, cwd } => {
            let id = format!("mcp-{name}-{}", RunId::fresh(&options.ids));
            let cwd = cwd.as_ref().map_or_else(|| options.root.clone(), |cwd| options.root.join(cwd));
            let shown = [std::slice::from_ref(command), &mask::scrub_args(args.expose())].concat().join(" ");
            let mut environment = options.environment.clone();
            for (variable, value) in env {
                environment = environment.with(variable, value.expose());
            }
            let spec = ChildSpec {
                environment,
                label: format!("server {name}: {shown}"),
                records: options.records.clone(),
                ..ChildSpec::new(id, program(command, &options.root), cwd).arguments(args.expose())
            };
            let (process, dialogue) = process::start_with_stdio(spec).map_err(|error| format!("{error}."))?;
            if let Some(folder) = &options.logs {
                let log = ServerLog::new(folder.join(format!("mcp-{name}.log")), Arc::clone(redactor));
                let headline = format!("{shown} (pid {})", process.pid());
                tokio::spawn(log.follow(headline, Arc::clone(process.output())));
            }
            Ok(ServerTransport::Stdio(process, dialogue))
        }
        Transport::Http { url, headers } => http::transport(url, headers).map(ServerTransport::Http),
    }
}

/// Resolves a relative program path against the project's root.
fn program(command: &str, root: &Path) -> OsString {
    let path = Path::new(command);
    if path.is_relative() && command.contains('/') { root.join(path).into() } else { command.into() }
}
