//! How a server is reached: a program that is started, or an address that is called.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use rmcp::transport::StreamableHttpClientTransport;

use crate::base::RunId;
use crate::config::mask;
use crate::config::settings::{McpServer, Transport};
use crate::process::{self, Dialogue, Process, Spec};
use crate::tools::mcp::http;
use crate::tools::mcp::log::Log;
use crate::tools::mcp::pool::Options;
use crate::tools::mcp::redact::Redactor;

/// The way to a server that has not been spoken with yet.
pub(super) enum Line {
    Stdio(Process, Dialogue),
    Http(StreamableHttpClientTransport<http::Caller>),
}

/// Opens the way to a server. Must be called in a runtime.
pub(super) fn open(
    name: &str,
    server: &McpServer,
    options: &Options,
    redactor: &Arc<Redactor>,
) -> Result<Line, String> {
    match &server.transport {
        Transport::Stdio { command, args, env, cwd } => {
            let id = format!("mcp-{name}-{}", RunId::fresh(&options.ids));
            let cwd = cwd.as_ref().map_or_else(|| options.root.clone(), |cwd| options.root.join(cwd));
            let shown = [std::slice::from_ref(command), &mask::scrub_args(args.expose())].concat().join(" ");
            let mut environment = options.environment.clone();
            for (variable, value) in env {
                environment = environment.with(variable, value.expose());
            }
            let spec = Spec {
                environment,
                shown: format!("server {name}: {shown}"),
                records: options.records.clone(),
                ..Spec::new(id, program(command, &options.root), cwd).arguments(args.expose())
            };
            let (process, dialogue) = process::converse(spec).map_err(|error| format!("{error}."))?;
            if let Some(folder) = &options.logs {
                let log = Log::new(folder.join(format!("mcp-{name}.log")), Arc::clone(redactor));
                let headline = format!("{shown} (pid {})", process.pid());
                tokio::spawn(log.follow(headline, Arc::clone(process.output())));
            }
            Ok(Line::Stdio(process, dialogue))
        }
        Transport::Http { url, headers } => http::transport(url, headers).map(Line::Http),
    }
}

/// A program that is named by a relative path belongs to the project, whatever folder it is started in.
fn program(command: &str, root: &Path) -> OsString {
    let path = Path::new(command);
    if path.is_relative() && command.contains('/') { root.join(path).into() } else { command.into() }
}
